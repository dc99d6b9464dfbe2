"""Putting a backup in the place of a store, if the store has nothing that the backup lacks.

What a store has published, sold, renewed, revoked or retired is a fact outside of it, too.  A
restore that forgot such a fact could publish a step a second time, with other noise, or sell a
budget twice.  So a store is replaced only if the backup has every permanent row of it.
"""

from __future__ import annotations

from itertools import chain, zip_longest
from typing import Any

from ameles.core.exceptions import StoreRefused
from ameles.store.session import Row, StoreSession, TransactionPart

_EVERY = (0, (1 << 63) - 1)
# Tables whose rows come and go.  All others are permanent, also those of later versions.
_FLUID = frozenset(
    {
        *("position", "pending", "state", "seen", "sent", "description"),
        "user_records",
        *("batch", "intake", "arrived"),
    }
)
_COMPARED_APART = frozenset({"meta", "release", "step"})
# Columns that change once, from NULL or upwards: the backup may be further.
_GROWING = frozenset(
    {
        *(("stream", "released"), ("stream", "scheduled"), ("population", "phase")),
        *(("epoch", "begun"), ("answer", "answer"), ("answer", "answered"), ("token", "revoked")),
    }
)
# Columns that are erased when the row has what it was kept for.
_ERASED = frozenset({("answer", "snapshot"), ("stream", "salt")})
_WORDS = {
    "entry": "payments",
    "stream": "streams or releases",
    "retirement": "retired streams",
    "renewal": "renewals",
    "budget_renewal": "renewals",
    "budget": "budgets",
    "population": "populations",
    "answer": "answers",
    "token": "tokens or revocations",
    "epoch": "restarts",
    "intrusion": "intrusions",
    "gap": "gaps",
}


class Replacement(TransactionPart):
    """A store as a whole, compared with and replaced by that of a backup."""

    def check_replaceable(self, backup: Replacement, where: str) -> None:
        """Refuses a backup that lacks something that this store has."""
        lacking = _lacking(self._session, backup._session)
        if lacking:
            raise StoreRefused(
                f"The store '{where}' has {lacking} that the backup does not have.",
                why="the backup is older than the store, or is of another one; in its place, steps "
                "could be published again with other noise, and budgets be spent again",
                tip="a newer backup. If this store must go, move its file away first: the sinks "
                "are compared all the same",
            )

    def replace_all(self, backup: Replacement) -> None:
        """Puts all rows of the backup in the place of those of this store."""
        target, source = self._session, backup._session
        tables = target.tables()
        target.empty()
        for table, columns in source.tables().items():
            if tables.get(table) is None or set(tables[table]) != set(columns):
                raise StoreRefused(
                    "The tables of the backup are not those of this program.",
                    why="one of the two has another version",
                    tip="update ameles",
                )
            for rows in source.dump(table, columns):
                target.fill(table, columns, rows)


def _lacking(there: StoreSession, backup: StoreSession) -> str:
    """What a store has and its backup has not, in words; nothing if there is no such thing."""
    if there.row("SELECT 1 FROM meta WHERE name = 'noise'") != backup.row(
        "SELECT 1 FROM meta WHERE name = 'noise'"
    ) and there.row("SELECT 1 FROM meta WHERE name = 'noise'"):
        return "the mark of noise that is not genuine"
    for table, columns in there.tables().items():
        if table in _FLUID | _COMPARED_APART:
            continue
        if not _has_all(table, columns, there, backup):
            return _WORDS.get(table, "records")
    for number, released in there.rows("SELECT number, released FROM stream"):
        if not _has_releases(number, released, there, backup):
            return "releases"
        if _took_in_more(number, released, there, backup):
            return "events of an open step"
    return ""


def _has_all(
    table: str, columns: tuple[str, ...], there: StoreSession, backup: StoreSession
) -> bool:
    """Whether the backup has all rows of a permanent table, unchanged or further."""
    fixed = [
        place for place, column in enumerate(columns) if (table, column) not in _GROWING | _ERASED
    ]
    growing = [place for place, column in enumerate(columns) if (table, column) in _GROWING]

    def key(row: Row) -> Row:
        return tuple(row[place] for place in fixed)

    kept = {key(row): row for row in chain.from_iterable(backup.dump(table, columns))}
    for row in chain.from_iterable(there.dump(table, columns)):
        other = kept.get(key(row))
        if other is None or not all(_is_before(row[at], other[at]) for at in growing):
            return False
    return True


def _is_before(there: Any, backup: Any) -> bool:
    if there is None or there == backup:
        return True
    return isinstance(there, int) and isinstance(backup, int) and there < backup


def _has_releases(stream: int, released: int, there: StoreSession, backup: StoreSession) -> bool:
    """Whether the backup has the same numbers for all steps that the store has released."""
    if not released:
        return True
    rows = (
        chain.from_iterable(session.published(stream, (1, released), _EVERY))
        for session in (there, backup)
    )
    return all(tuple(one or ()) == tuple(other or ()) for one, other in zip_longest(*rows))


def _took_in_more(stream: int, released: int, there: StoreSession, backup: StoreSession) -> bool:
    """Whether the store has counted events since a backup of the same step."""
    if backup.one("SELECT released FROM stream WHERE number = ?", (stream,)) != released:
        return False
    return any(
        there.rows(question, (stream,)) != backup.rows(question, (stream,))
        for question in (
            "SELECT position FROM position WHERE stream = ?",
            "SELECT secret FROM pending WHERE stream = ?",
            "SELECT last FROM intake WHERE stream = ?",
        )
    )
