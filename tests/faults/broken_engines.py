"""Engines with one known mistake each, which the suite of faults must catch.

Each names the invariants of the docs that it violates.  It is broken in the victim's process only.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count
from types import SimpleNamespace
from typing import Any
from unittest import mock

from ameles.connectors import appended_sink
from ameles.connectors.appended_sink import AppendedSink
from ameles.connectors.parquet import sink as parquet_sink
from ameles.connectors.sink import Row
from ameles.connectors.text import source as text_source
from ameles.core.exceptions import StoreRefused
from ameles.engine.distributed import bucket_folder
from ameles.engine.distributed.bucket_gatherer import BucketGatherer
from ameles.engine.following.counting import Counting
from ameles.engine.gathering.gatherer import DuckGatherer, Gathered
from ameles.engine.gathering.moment import Moment
from ameles.engine.running.stream_sink import StreamSink
from ameles.engine.running.stream_sinks import StreamSinks
from ameles.engine.sealed import sealed_state, stream_vault
from ameles.noise import entropy
from ameles.store import StreamRecord, Transaction
from ameles.store.sqlite import store as settings
from ameles.store.sqlite.session import SqliteSession
from tests.faults.removable_noise import RemovableNoise


@dataclass(frozen=True, slots=True)
class Broken:
    """A mistake, and how to make it."""

    what: str
    violates: str
    break_it: Callable[[], object]


def _patch(kind: Any, name: str, change: Callable[[Any], Any]) -> None:
    mock.patch.object(kind, name, change(getattr(kind, name))).start()


def _ends_transaction(transaction: Transaction) -> None:
    transaction._session.rows("COMMIT")
    transaction._session.rows("BEGIN IMMEDIATE")


def _split_before(name: str) -> Callable[[], None]:
    def change(method: Any) -> Any:
        def early(self: Transaction, *given: Any, **named: Any) -> Any:
            _ends_transaction(self)
            return method(self, *given, **named)

        return early

    return lambda: _patch(Transaction, name, change)


def _split_after(name: str) -> Callable[[], None]:
    def change(method: Any) -> Any:
        def late(self: Transaction, *given: Any, **named: Any) -> Any:
            done = method(self, *given, **named)
            _ends_transaction(self)
            return done

        return late

    return lambda: _patch(Transaction, name, change)


def _publish_before_commit() -> None:
    outlets: list[StreamSinks] = []

    def made(make: Any) -> Any:
        def kept(self: StreamSinks, *given: Any, **named: Any) -> None:
            make(self, *given, **named)
            outlets[:] = [self]

        return kept

    def advanced(advance: Any) -> Any:
        def published(self: Transaction, stream: StreamRecord, **named: Any) -> Any:
            done = advance(self, stream, **named)
            for outlet in outlets[0].sinks:
                sink = outlet.sink
                if sink is None:
                    continue
                first = sink.first_needed(self.sent(stream, sink.name))
                sink.write(list(self.release_rows(stream, first=first)), named["released"])
            return done

        return published

    _patch(StreamSinks, "__init__", made)
    # as if nobody had thought of a store that is behind its sinks, which is what this one becomes
    _unfenced()
    _patch(Transaction, "advance", advanced)


def _unfenced() -> None:
    """A store that is older than its sinks goes on."""
    _patch(StreamSink, "check_fence", lambda check: lambda self, released: None)


def _noise_at_publish() -> None:
    def change(method: Any) -> Any:
        def drawn(self: Transaction, *given: Any, **named: Any) -> Iterator[Row]:
            for row in method(self, *given, **named):
                yield (
                    *row[:6],
                    row[6] + int(RemovableNoise().laplace(Fraction(1), 1)[0]),
                    *row[7:],
                )

        return drawn

    _patch(Transaction, "release_rows", change)


def _synchronous(how: str, reported: int) -> Callable[[], None]:
    def change() -> None:
        changed = tuple(
            ("synchronous", how, reported) if each[0] == "synchronous" else each
            for each in settings.SETTINGS
        )
        mock.patch.object(settings, "SETTINGS", changed).start()

    return change


def _vault_unsynced() -> None:
    unsynced = SimpleNamespace(replace=lambda path, content: path.write_bytes(content))
    mock.patch.object(stream_vault, "durable", unsynced).start()
    make = lambda folder: folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    mock.patch.object(stream_vault, "_make_durably", make).start()


def _with(module: Any, **changed: Any) -> Callable[[], object]:
    """A module for which the operating system is another."""
    system = SimpleNamespace(**{**vars(os), **changed})
    return lambda: mock.patch.object(module, "os", system).start()


def _gathering(change: Callable[[Moment], int]) -> Callable[[], object]:
    """Gathers as if another step were the last released one."""
    gather = DuckGatherer.gather

    def changed(self: DuckGatherer, reading: Any, moment: Moment, *rest: Any) -> Gathered:
        return gather(self, reading, replace(moment, released=change(moment)), *rest)

    return lambda: mock.patch.object(DuckGatherer, "gather", changed).start()


def _copied() -> Callable[[int], bytes]:
    """Random bytes of a state that every fork has a copy of."""
    used = count()

    def draw(size: int) -> bytes:
        drawn = [hashlib.sha512(str(next(used)).encode()).digest() for _ in range(0, size, 64)]
        return b"".join(drawn)[:size]

    return draw


def _clock_believed() -> None:
    def step_of(self: Any, at: int) -> int:
        return int(self._session.plan.clock.ended(at)) + 1

    mock.patch.object(Counting, "_step_of", step_of).start()
    released = _gathering(lambda at: min(at.released, (at.arrived or 0) - 1))
    released()


def _deaf_commit() -> None:
    def change(method: Any) -> Any:
        def commit(self: SqliteSession) -> None:
            try:
                method(self)
            except StoreRefused:
                connection = self._connection
                if connection is not None and connection.in_transaction:
                    connection.execute("ROLLBACK")

        return commit

    _patch(SqliteSession, "commit", change)
    _patch(SqliteSession, "end", lambda end: lambda self: end(self) or True)


def _nothing(kind: Any, name: str) -> Callable[[], None]:
    return lambda: _patch(kind, name, lambda method: lambda self, *given: None)


def _unsealed_folds() -> None:
    def change(seal: Any) -> Any:
        def sealed_with_releases(self: Any, step: int, outputs: Any) -> None:
            if outputs is not None:
                seal(self, step, outputs)

        return sealed_with_releases

    _patch(sealed_state.SealedState, "_seal", change)


def _users_removed_early() -> None:
    def change(gather: Any) -> Any:
        def early(self: BucketGatherer, *given: Any) -> Gathered:
            gathered: Gathered = gather(self, *given)
            self.committed(gathered.state)
            return gathered

        return early

    _patch(BucketGatherer, "gather", change)


BROKEN: dict[str, Broken] = {
    "publish before commit": Broken(
        "sinks get values that a crash takes back", "I1 I4", _publish_before_commit
    ),
    "two transactions": Broken(
        "releases are kept before the state that made them", "I1", _split_after("add_releases")
    ),
    "noise at publish": Broken("noise is drawn when a value is sent", "I1", _noise_at_publish),
    "position apart": Broken(
        "the position is kept before what was counted", "I3", _split_after("set_position")
    ),
    "launch in two": Broken(
        "the budget is spent before there is a stream", "I2", _split_before("add_stream")
    ),
    "synchronous NORMAL": Broken("commits are not synced", "I4", _synchronous("NORMAL", 1)),
    "synchronous OFF": Broken("nothing is synced", "I4", _synchronous("OFF", 0)),
    "no fence": Broken(
        "a store older than its sinks goes on",
        "I5",
        _unfenced,
    ),
    "blind fence": Broken(
        "what a crash left in a sink passes for not published",
        "I5",
        _nothing(AppendedSink, "_look_beyond"),
    ),
    "vault unsynced": Broken(
        "the vault's folders do not survive a power cut", "I13", _vault_unsynced
    ),
    "deaf commit": Broken("a commit that failed passes for one", "I13", _deaf_commit),
    "speechless": Broken(
        "what the disk refuses to the vault's folder is a surprise",
        "I13",
        lambda: _patch(stream_vault, "told", lambda told: lambda path, doing: nullcontext()),
    ),
    "lost position": Broken(
        "the position in the source is not kept", "I3", _nothing(Transaction, "set_position")
    ),
    "pending forgotten": Broken(
        "what waits for its step is forgotten at every start",
        "I3",
        lambda: _patch(Transaction, "pending", lambda pending: lambda self, stream: None),
    ),
    "pending not kept": Broken(
        "what was read is kept only when its step is released",
        "I3",
        _nothing(Transaction, "set_pending"),
    ),
    "folds not kept": Broken(
        "what was folded is sealed only when its step is released", "I3", _unsealed_folds
    ),
    "late lost": Broken(
        "late events count in a step that is closed",
        "I3",
        _gathering(lambda at: 0),
    ),
    "missed steps as one": Broken(
        "the events of all missed steps count in the last of them",
        "I3",
        _gathering(lambda at: max(at.released, at.target - 1)),
    ),
    "clock believed": Broken(
        "after the clock was set back, events count in a closed step", "I3", _clock_believed
    ),
    "half lines": Broken(
        "a line that is still being written is read",
        "I3",
        lambda: _patch(
            text_source, "last_newline", lambda newline: lambda handle, start, end, *rest: end
        ),
    ),
    "users unsynced": Broken(
        "a commit names files of users that are not on the disk",
        "I4",
        _with(bucket_folder, fsync=lambda handle: None),
    ),
    "users removed early": Broken(
        "files of users are removed before the commit that needs them no more",
        "I3",
        _users_removed_early,
    ),
    "no hold": Broken(
        "two processes may run one stream",
        "I1",
        lambda: _patch(
            settings.SqliteStore, "holding", lambda holding: lambda self, stream: nullcontext()
        ),
    ),
    "copied noise": Broken(
        "forks share the state of a generator", "I7", _with(entropy, urandom=_copied())
    ),
    "lines unsynced": Broken(
        "a sink's note is kept before its lines",
        "I4",
        _with(appended_sink, fsync=lambda handle: None),
    ),
    "Parquet unsynced": Broken(
        "a sink's file is replaced by one that is not on the disk",
        "I4",
        _with(parquet_sink, fsync=lambda handle: None),
    ),
}
