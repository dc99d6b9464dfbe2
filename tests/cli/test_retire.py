"""``ameles retire``: the state is erased and the stream never runs again; what was published
stays."""

from __future__ import annotations

import json
import os
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ameles.engine.sealed.vault import record
from ameles.engine.sealed.vault.record import Holds
from ameles.store import open_store
from tests.cli.conftest import Program, TypeIn
from tests.cli.test_run import change

NOW = datetime.now(UTC)


def retire(ameles: Program, *options: str) -> tuple[int, str, str]:
    ended = ameles("retire", "flu", "--why", "the season is over", *options)
    return ended.code, ended.out, ended.err


def add_tokens() -> None:
    with closing(open_store("flu.db")) as store, store.writing() as transaction:
        for number, stream in enumerate(("flu", "flu", "cold")):
            transaction.add_token(
                digest=bytes([number]) * 32,
                name=str(number),
                stream=stream,
                scope="read",
                created=NOW,
                expires=NOW + timedelta(days=1),
            )
        transaction.revoke_token(1, NOW)


@pytest.mark.usefixtures("fresh")
def test_its_state_is_erased_and_what_it_published_stays(ameles: Program) -> None:
    assert ameles("run", "--until", "2025-10-20").code == 0
    add_tokens()
    before = {words: ameles(*words).out for words in (("releases",), ("ledger",))}
    with closing(open_store("flu.db")) as store, store.reading() as transaction:
        (stream,) = transaction.streams()
        states = [transaction.state(stream, name) for name in ("visits", "fever-today")]
        secrets = [state.snapshot[-64:] for state in states if state is not None]
        secrets += [stream.salt, (transaction.position(stream) or "").encode()]
    assert len(secrets) == 4
    assert all(secrets)
    code, out, err = retire(ameles, "--yes")
    assert code == 0
    assert "store       best effort: " in out
    assert "tokens      1 revoked" in out
    assert "backups     those made before have its state: delete them" in out
    assert err.startswith("Stream 'flu' is retired since ")
    disk = b"".join(file.read_bytes() for file in Path().glob("flu.db*"))
    assert not any(secret in disk for secret in secrets)
    assert {words: ameles(*words).out for words in before} == before
    with closing(open_store("flu.db")) as store, store.reading() as transaction:
        assert [token.revoked is None for token in transaction.tokens()] == [False, False, True]
        assert transaction.position(stream) is None
    assert ameles("explain", "visits", "3").code == 0


@pytest.mark.usefixtures("fresh")
def test_it_never_runs_again_and_says_why(ameles: Program) -> None:
    assert ameles("run", "--until", "2025-10-04").code == 0
    assert retire(ameles, "--yes")[0] == 0
    for words in (("run",), ("run", "--follow")):
        refused = ameles(*words)
        assert refused.code == 4
        assert "Stream 'flu' was retired on " in refused.err
        assert "the season is over" in refused.err
    said = ameles("status").out
    assert "next        none: it was retired on " in said
    assert "lag         0 steps" in said
    assert json.loads(ameles("status", "--json").out)["retired"] is not None
    code, _, err = retire(ameles, "--yes")
    assert (code, "was retired before, on" in err) == (0, True)


@pytest.mark.usefixtures("site")
def test_it_asks_and_the_name_must_be_that_of_the_plan(ameles: Program, type_in: TypeIn) -> None:
    code, _, err = retire(ameles)
    assert (code, "needs --yes" in err) == (2, True)
    type_in("no\n")
    code, _, err = retire(ameles)
    assert (code, "was not retired" in err) == (1, True)
    other = ameles("retire", "cold", "--why", "over", "--yes")
    assert (other.code, "is about stream 'flu', not 'cold'" in other.err) == (2, True)
    silent = ameles("retire", "flu", "--yes")
    assert (silent.code, "needs --why" in silent.err) == (2, True)
    assert json.loads(ameles("status", "--json").out)["retired"] is None
    type_in("y\n")
    assert retire(ameles, "--json")[0] == 0
    assert json.loads(ameles("status", "--json").out)["retired"] is not None


@pytest.mark.usefixtures("site")
def test_a_stream_that_runs_or_was_never_launched_is_not_retired(ameles: Program) -> None:
    with closing(open_store("flu.db")) as store, store.holding("flu"):
        code, _, err = retire(ameles, "--yes")
    assert (code, "is run by another process" in err) == (4, True)
    change('name = "flu"', 'name = "cold"')
    ended = ameles("retire", "cold", "--why", "over", "--yes")
    assert (ended.code, "was not launched" in ended.err) == (4, True)


def key_slot(folder: Path) -> Path:
    (slot,) = (folder / "keys").glob("*/key")
    return slot


def test_the_key_of_a_state_that_may_be_seized_is_overwritten(
    door: Path, tmp_path: Path, ameles: Program
) -> None:
    states = sorted(door.parent.glob("door.vault/*/state.*"))
    assert any(any(state.read_bytes()) for state in states)
    before = key_slot(tmp_path).read_bytes()
    ended = ameles("retire", "door", "door.toml", "--why", "closed", "--yes", "--json")
    assert ended.code == 0
    assert json.loads(ended.out)["erased"]["key"].partition(":")[0] in (
        *("memory", "in place", "best effort", "unknown"),
    )
    after = key_slot(tmp_path).read_bytes()
    kept = record.read(bytearray(after[: record.SECTOR]))
    assert kept is not None
    assert kept.holds is Holds.ENDED
    key = record.key_in(bytearray(before[: record.SECTOR]))
    assert bytes(key) not in after
    assert not any(any(state.read_bytes()) for state in states)
    # and again, as after a crash
    again = ameles("retire", "door", "door.toml", "--why", "closed", "--yes")
    assert (again.code, "key         " in again.out) == (0, True)


def test_a_torn_key_and_a_state_without_a_key_are_erased_too(
    door: Path, tmp_path: Path, ameles: Program
) -> None:
    states = sorted(door.parent.glob("door.vault/*/state.*"))
    slot = key_slot(tmp_path)
    slot.write_bytes(bytes(range(256)) * 2 + bytes(slot.stat().st_size - 512))
    words = ("retire", "door", "door.toml", "--why", "closed", "--yes")
    assert ameles(*words).code == 0
    assert bytes(range(16, 64)) not in slot.read_bytes()
    slot.unlink()
    states[0].write_bytes(os.urandom(100))
    ended = ameles(*words)
    assert (ended.code, "key         its key is gone already" in ended.out) == (0, True)
    assert not any(states[0].read_bytes())


def test_a_key_on_a_disk_that_is_not_mounted_is_said_to_be_left(
    door: Path, tmp_path: Path, ameles: Program
) -> None:
    (tmp_path / "keys").rename(tmp_path / "elsewhere")
    words = ("retire", "door", str(door), "--why", "closed", "--yes")
    refused = ameles(*words)
    assert refused.code == 4
    assert "is retired, but its key is not erased yet" in refused.err
    assert "then ameles retire again" in refused.err
    assert json.loads(ameles("status", "door.toml", "--json").out)["retired"] is not None
    (tmp_path / "elsewhere").rename(tmp_path / "keys")
    assert ameles(*words).code == 0
