"""What each release counts: by declared key, without a key, clamped, and beyond the edges."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

import duckdb

from ameles.connectors.duck import quiet
from ameles.engine.gathering.event_sql import EventSql
from ameles.engine.owner_check.facts import ReleaseFacts
from ameles.measures.bins import real, real_literal
from ameles.measures.fields import identifier, literal
from ameles.measures.keys import Keys
from ameles.measures.measure import Measure
from ameles.plan.plan import Plan

OTHERS = 10  # undeclared values that are shown
_KEPT = 10_000  # undeclared values that are counted separately: the most frequent ones


@dataclass
class _Part:
    """One release, and the SQL that counts it."""

    facts: ReleaseFacts
    matches: str
    keyed: dict[str, tuple[str, ...]]  # columns with their declared values
    values: str | None  # SQL: the value that it needs
    ends: tuple[Fraction, Fraction] | None  # lowest and highest value that is not clamped
    cells: Counter[int] = field(default_factory=Counter)
    words: set[int] = field(default_factory=set)  # hashes of keys, if they are discovered
    others: dict[str, Counter[str]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return "<_Part>"


class ReleaseLook:
    """Counts what each release counts, scan by scan."""

    def __init__(self, plan: Plan, *, show: bool) -> None:
        self._plan = plan
        self._show = show
        self._events = EventSql(plan)
        self._parts = [self._part(release) for release in plan.releases]

    def add(self, duck: duckdb.DuckDBPyConnection, counted: str, events: str) -> None:
        """Adds the rows that count in a step.

        ``counted`` has all columns; ``events`` has the engine's answers about the same rows.
        """
        asked = [text for part in self._parts for text in self._questions(part)]
        with quiet("looking at the releases"):
            (counts,) = duck.execute(f"SELECT {', '.join(asked)} FROM ({counted})").fetchall()
            self._count_cells(duck, events)
            if self._show:
                for part in self._parts:
                    self._add_others(duck, part, counted)
        remaining = iter(counts)
        for part in self._parts:
            facts = part.facts
            facts.matched += next(remaining)
            facts.valueless += next(remaining)
            facts.below += next(remaining)
            facts.above += next(remaining)
            for column in part.keyed:
                facts.undeclared[column] += next(remaining)
                facts.nearly[column] += next(remaining)

    def finished(self) -> list[ReleaseFacts]:
        """The facts, with keys by name."""
        for part, release in zip(self._parts, self._plan.releases, strict=True):
            names = release.declared.names
            each = release.cells // len(names)  # bins of one key, if bins have no names
            counts = dict.fromkeys(names, 0)
            for cell, count in part.cells.items():
                counts[names[cell // each]] += count
            part.facts.keys = counts
            part.facts.found = len(part.words) if release.discovered is not None else None
            part.facts.others = {
                column: values.most_common(OTHERS) for column, values in part.others.items()
            }
        return [part.facts for part in self._parts]

    def _part(self, release: Measure) -> _Part:
        keyed, read = dict(release.keyed), release.read_values
        values, ends = None, None
        if read is not None:
            values, ends = real(read.column), (read.low, read.high)
        facts = ReleaseFacts(release.name, release.measure)
        facts.undeclared, facts.nearly = dict.fromkeys(keyed, 0), dict.fromkeys(keyed, 0)
        others: dict[str, Counter[str]] = {column: Counter() for column in keyed}
        matches = self._events.matches(release)
        return _Part(facts, matches, keyed, values, ends, others=others if self._show else {})

    def _questions(self, part: _Part) -> list[str]:
        """SQL that counts events: that match, have no value, are below and above; and for each key
        column, those without a declared key, and those of them that nearly have one."""

        def count(holds: str) -> str:
            return f"count(*) FILTER ({part.matches} AND {holds})"

        asked = [count("true")]
        if part.values is None or part.ends is None:
            asked += ["0", "0", "0"]
        else:
            low, high = (real_literal(end) for end in part.ends)
            asked += [
                count(f"({part.values} IS NULL)"),
                count(f"{part.values} < {low}"),
                count(f"{part.values} > {high}"),
            ]
        for column, declared in part.keyed.items():
            plain = ", ".join({literal(value.strip().lower()): None for value in declared})
            near = f"lower(trim(CAST({identifier(column)} AS VARCHAR))) IN ({plain})"
            none = _undeclared(column, declared)
            asked += [count(none), count(f"{none} AND {near}")]
        return asked

    def _count_cells(self, duck: duckdb.DuckDBPyConnection, events: str) -> None:
        """Counts events by cell as the engine does; a line with a weight counts that many times."""
        amount = "count(*)" if self._plan.stream.weight is None else "sum(weight)"
        cells, words = self._events.cells, self._events.words
        asked = [(cells[part.facts.name], words.get(part.facts.name)) for part in self._parts]
        for name, word in dict.fromkeys(asked):
            mine = [p for p, one in zip(self._parts, asked, strict=True) if one == (name, word)]
            known = f"{name} IS NOT NULL" + (f" AND {word} IS NOT NULL" if word else "")
            rows = duck.execute(
                f"SELECT {name}, count(*), {amount} FROM ({events}) WHERE {known} GROUP BY {name}"
            ).fetchall()
            hashes = f"SELECT DISTINCT hash({word}) FROM ({events}) WHERE {known}"
            found = {key for (key,) in duck.execute(hashes).fetchall()} if word else set[int]()
            for part in mine:
                part.words |= found
                for cell, lines, count in rows:
                    part.facts.counted += lines
                    part.cells[cell] += int(count)

    def _add_others(self, duck: duckdb.DuckDBPyConnection, part: _Part, counted: str) -> None:
        for column, declared in part.keyed.items():
            value = f"left(CAST({identifier(column)} AS VARCHAR), 60)"
            none = f"{_undeclared(column, declared)} AND {identifier(column)} IS NOT NULL"
            rows = duck.execute(
                f"SELECT {value} AS value, count(*) FROM ({counted}) WHERE {part.matches} "
                f"AND {none} GROUP BY value ORDER BY count(*) DESC LIMIT {_KEPT}"
            ).fetchall()
            part.others[column].update(dict(rows))
            if len(part.others[column]) > 2 * _KEPT:
                part.others[column] = Counter(dict(part.others[column].most_common(_KEPT)))


def _undeclared(column: str, declared: tuple[str, ...]) -> str:
    return f"({Keys({column: declared}, other=False).cell} IS NULL)"
