"""What each column holds: values read, missing or of another kind, and the shapes of the latter."""

from __future__ import annotations

from collections import Counter

import duckdb

from ameles.connectors.duck import quiet
from ameles.connectors.typed_columns import given_name
from ameles.engine.owner_check.facts import ColumnFacts, ValueShape
from ameles.measures.fields import identifier, literal
from ameles.plan.plan import Plan

SHOWN = 5  # shapes of a column that are shown
_SHAPES = 1000  # shapes of a column that are counted separately
_LONGEST = 40  # characters of a shape
_TRIED = 10_000  # values that are tried with other formats of times
_LIKELY = 6  # formats that are kept: those that fit most of these values

# Common formats of times; those that can be confused with each other are next to each other.
FORMATS = (
    *("%d.%m.%Y", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M:%S.%f", "%d.%m.%y"),
    *("%d/%m/%Y", "%d/%m/%Y %H:%M", "%d/%m/%Y %H:%M:%S", "%d/%m/%y"),
    *("%d/%m/%y %H:%M", "%m/%d/%Y", "%m/%d/%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%m/%d/%y"),
    *("%m/%d/%y %H:%M", "%m/%d/%Y %I:%M:%S %p", "%m/%d/%Y %I:%M %p"),
    *("%d/%m/%y %H:%M:%S", "%m/%d/%y %H:%M:%S", "%d.%m.%y %H:%M", "%d.%m.%y %H:%M:%S"),
    *("%d-%m-%Y", "%d-%m-%Y %H:%M", "%d-%m-%Y %H:%M:%S", "%m-%d-%Y"),
    *("%d-%m-%y", "%d-%m-%y %H:%M", "%d-%m-%y %H:%M:%S"),
    *("%m-%d-%y", "%m-%d-%y %H:%M", "%m-%d-%y %H:%M:%S"),
    *("%Y/%m/%d", "%Y/%m/%d %H:%M", "%Y/%m/%d %H:%M:%S", "%Y.%m.%d"),
    *("%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y"),
    *("%a, %d %b %Y %H:%M:%S %z", "%d/%b/%Y:%H:%M:%S %z", "%Y%m%d%H%M%S"),
)
ISO = "ISO 8601"
_EPOCHS = {"epoch": 10, "epoch-ms": 13, "epoch-us": 16}


class ColumnLook:
    """Counts the values of each column, scan by scan."""

    def __init__(self, plan: Plan, *, show: bool) -> None:
        self.facts = [ColumnFacts(name, kind) for name, kind in plan.stream.columns.items()]
        self._show = show
        self._patterns = plan.form.time_format
        self._shapes: list[Counter[str]] = [Counter() for _ in self.facts]
        self._examples: list[dict[str, str]] = [{} for _ in self.facts]
        self._fitting: list[Counter[str]] = [Counter() for _ in self.facts]

    def add(self, duck: duckdb.DuckDBPyConnection, scan: str) -> None:
        """Adds the rows of ``scan``, which has the plan's columns and their texts."""
        asked = []
        for column in self.facts:
            value, given = identifier(column.name), identifier(given_name(column.name))
            asked += [
                f"count({given})",
                f"count(*) - count({given})",
                f"count(*) FILTER ({given} IS NOT NULL AND {value} IS NULL)",
                f"count(*) FILTER ({value} IS NULL AND trim({given}) = {literal(column.name)})",
            ]
        with quiet("looking at the columns"):
            (counts,) = duck.execute(f"SELECT {', '.join(asked)} FROM {scan}").fetchall()
        for place, column in enumerate(self.facts):
            read, missing, unfit, named = counts[4 * place : 4 * place + 4]
            column.read += read
            column.missing += missing
            column.unfit += unfit
            column.named += named
            if unfit:
                self._add_shapes(duck, scan, place)

    def finished(self) -> list[ColumnFacts]:
        """The facts, with the most frequent shapes."""
        for place, column in enumerate(self.facts):
            column.shapes = [
                ValueShape(shape, count, self._examples[place].get(shape))
                for shape, count in self._shapes[place].most_common(SHOWN)
            ]
            column.formats = dict(self._fitting[place].most_common(_LIKELY))
        return self.facts

    def _add_shapes(self, duck: duckdb.DuckDBPyConnection, scan: str, place: int) -> None:
        column = self.facts[place]
        value, given = identifier(column.name), identifier(given_name(column.name))
        unfit = f"SELECT {given} AS given FROM {scan} WHERE {given} IS NOT NULL AND {value} IS NULL"
        with quiet("looking at values that do not fit"):
            rows = duck.execute(
                f"SELECT {shape_sql('given')} AS shape, count(*), min(left(given, 60)) "
                f"FROM ({unfit}) GROUP BY shape ORDER BY count(*) DESC, shape LIMIT {_SHAPES}"
            ).fetchall()
            if column.kind == "timestamp" and column.tried < _TRIED:
                self._try_formats(duck, unfit, place)
        for shape, count, example in rows:
            if shape in self._shapes[place] or len(self._shapes[place]) < _SHAPES:
                self._shapes[place][shape] += count
                if self._show:
                    self._examples[place].setdefault(shape, example)

    def _try_formats(self, duck: duckdb.DuckDBPyConnection, unfit: str, place: int) -> None:
        """Counts for some of the unfit values which other time formats would fit."""
        fits = {name: f"try_strptime(given, {literal(name)}) IS NOT NULL" for name in FORMATS}
        fits |= {
            name: f"regexp_full_match(given, '[0-9]{{{digits}}}(\\.[0-9]+)?')"
            for name, digits in _EPOCHS.items()
        }
        if self._patterns:
            fits[ISO] = "TRY_CAST(given AS TIMESTAMPTZ) IS NOT NULL"
        counts = ", ".join(f"count(*) FILTER ({holds})" for holds in fits.values())
        some = f"SELECT trim(given) AS given FROM ({unfit}) LIMIT {_TRIED}"
        (numbers,) = duck.execute(f"SELECT count(*), {counts} FROM ({some})").fetchall()
        self.facts[place].tried += numbers[0]
        tried = dict(zip(fits, numbers[1:], strict=True))
        self._fitting[place].update({name: count for name, count in tried.items() if count})


def shape_sql(value: str) -> str:
    """SQL for the shape of a text: digits become 9, letters a or A, and long runs are shortened."""
    shape = value
    for pattern, instead in (
        ("\\p{Nd}", "9"),
        ("\\p{Lu}", "A"),
        ("[\\p{Ll}\\p{Lo}\\p{Lm}\\p{Lt}]", "a"),
        ("9{9,}", "9..9"),
        ("A{9,}", "A..A"),
        ("a{9,}", "a..a"),
        (" {3,}", "  "),
    ):
        shape = f"regexp_replace({shape}, {literal(pattern)}, {literal(instead)}, 'g')"
    return f"left({shape}, {_LONGEST})"
