"""Tables of Postgres and streams of Redis get each release once, whatever happens on the way."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from ameles.connectors import step_batches
from ameles.core.exceptions import AmelesError, StoreRefused
from ameles.engine.running import remote_delivery, store_table
from tests.connectors.database_places import (
    CSV,
    Place,
    Stream,
    Table,
    crash,
    place,
    quick,
    redis_server,
    remote,
)

__all__ = ["place", "quick", "redis_server", "remote"]  # fixtures


def test_every_release_is_there_once(place: Place) -> None:
    place.run(3)
    assert sorted(place.has(), key=repr) == sorted(place.released(), key=repr)
    assert len(place.has()) == 9
    place.run(5)
    place.run(5)
    assert sorted(place.has(), key=repr) == sorted(place.released(), key=repr)
    state = place.state()
    assert (state.step, state.behind, state.problem) == (5, 0, None)


def test_a_crash_between_sending_and_recording_adds_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the store nothing is between: rows and step are one transaction."""
    if isinstance(place, Table) and place.store.startswith("postgres"):
        place.run(1)
        place.admin.execute(f"ALTER TABLE {place.name} DROP CONSTRAINT {place.name}_pkey")
        target: Any = "ameles.store.streams.Streams.set_sent"
    else:
        target = "ameles.engine.running.remote_delivery.RemoteDelivery._record"
    with monkeypatch.context() as patched:
        patched.setattr(target, crash)
        with pytest.raises(KeyboardInterrupt):
            place.run(3)
    place.run(4)
    assert sorted(place.has(), key=repr) == sorted(place.released(), key=repr)


def test_steps_of_many_rows_come_in_parts(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part that was sent before a crash is not sent again."""
    monkeypatch.setattr(step_batches.parts, "__defaults__", (2,))
    monkeypatch.setattr(remote_delivery, "_ROWS", 4)
    monkeypatch.setattr(store_table, "ROWS", 6)
    place.run(2)
    whole = place.has()
    assert sorted(whole, key=repr) == sorted(place.released(), key=repr)
    if isinstance(place, Stream):
        place.client.delete(place.name)  # all of it comes again, some rows at a time
        place.run(5)
        assert place.has()[: len(whole)] == whole
        assert sorted(place.has(), key=repr) == sorted(place.released(), key=repr)


def test_what_the_other_side_has_lost_is_sent_again(remote: Place) -> None:
    remote.run(4)
    remote.forget(2)
    remote.run(5)
    assert sorted(remote.has(), key=repr) == sorted(remote.released(), key=repr)


def test_other_values_for_the_same_steps_are_an_error(remote: Place) -> None:
    remote.run(2)
    remote.alter()
    remote.forget(1)
    with pytest.raises(AmelesError, match="gets nothing more") as caught:
        remote.run(3)
    assert "other values for the same steps" in caught.value.why


def test_a_store_that_is_older_than_its_sink_is_refused(place: Place, tmp_path: Path) -> None:
    place.run(2)
    if place.store.startswith("postgres"):
        assert isinstance(place, Table)
        place.admin.execute(
            f'INSERT INTO {place.name} SELECT launch, stream, release, "key", step + 5, start, '
            f'"end", value, low, high, label, mechanism, entry FROM {place.name}'
        )
    else:
        old = tmp_path / "old.db"
        shutil.copy(place.store, old)
        place.run(4)
        for file in tmp_path.glob("s.db*"):
            file.unlink()
        shutil.copy(old, place.store)
    with pytest.raises(StoreRefused, match="the store has released 2"):
        place.run(5)
    assert {row[3] for row in place.released()} == {"1", "2"}


def test_a_sink_that_is_away_stops_nothing_and_gets_everything_later(remote: Place) -> None:
    remote.world.text += CSV
    remote.run(1)
    away = remote.world.text
    remote.world.text = away.replace(remote.url, remote.url.replace("host=", "host=%2Fno"))
    remote.world.text = re.sub(r"redis://127.0.0.1:\d+", "redis://127.0.0.1:1", remote.world.text)
    with pytest.raises(AmelesError, match=r"cannot be (reached|written)\."):
        remote.run(3)
    remote.world.text = away
    remote.run(3)
    assert sorted(remote.has(), key=repr) == sorted(remote.released(), key=repr)
