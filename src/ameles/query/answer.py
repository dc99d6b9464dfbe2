"""Answers: published values with their intervals, what they cost, and how they are shown.

>>> from ameles.query.ending import AnswerRow
>>> answer = Answer(
...     asked="noisy_count", key_names=("region",), value_name="count", population="visitors",
...     rows=(AnswerRow(key=("north",), value=812, low=807, high=817),), entry=3,
...     paid="epsilon 0.5", repeated=False)
>>> print(answer)
region   count   95% interval
north      812   807 to 817
<BLANKLINE>
noisy_count of visitors: epsilon 0.5, entry 3 of the ledger
"""

from __future__ import annotations

import importlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ameles.core.exceptions import BadInput, MissingExtra
from ameles.core.small_table import SmallTable
from ameles.plot.answers import answers
from ameles.plot.drawing import Drawing, drawing
from ameles.plot.table import Cell, PlotTable
from ameles.query.ending import AnswerRow, Value


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Answer:
    """The published answer to a question: everyone may see it.

    ``entry`` is the number of the ledger entry that paid for it.  ``repeated`` says that it was
    stored before and cost nothing this time.  ``interval_of`` says what the intervals are about, if
    not the values, and ``interval_if`` which public assumption they need.  ``price`` is what a part
    of a partition paid, if the population paid another amount: that of the most expensive parts.
    """

    asked: str
    key_names: tuple[str, ...]
    value_name: str
    rows: tuple[AnswerRow, ...]
    population: str
    entry: int
    paid: str
    repeated: bool
    interval_of: str = ""
    interval_if: str = ""
    price: str = ""

    @property
    def value(self) -> Value:
        """The value, if there is only one."""
        return self._only.value

    @property
    def interval(self) -> tuple[Any, Any]:
        """The interval of the value, or of what ``interval_of`` says, if there is only one row."""
        return self._only.low, self._only.high

    @property
    def _only(self) -> AnswerRow:
        if len(self.rows) != 1:
            raise BadInput(
                f"This answer has {len(self.rows)} rows.",
                tip='answer.rows, answer["key"], or answer.columns()',
            )
        return self.rows[0]

    def __getitem__(self, key: str | tuple[str, ...]) -> AnswerRow:
        """The row of a key."""
        wanted = key if isinstance(key, tuple) else (key,)
        for row in self.rows:
            if row.key == wanted:
                return row
        raise KeyError(key)

    def __len__(self) -> int:
        return len(self.rows)

    def columns(self) -> dict[str, list[Any]]:
        """The answer as columns: those of the key, then value, low and high."""
        keys: dict[str, list[Any]] = {
            name: [row.key[i] for row in self.rows] for i, name in enumerate(self.key_names)
        }
        return {
            **keys,
            self.value_name: [row.value for row in self.rows],
            "low": [row.low for row in self.rows],
            "high": [row.high for row in self.rows],
        }

    def to_pandas(self) -> Any:
        """A data frame of pandas."""
        return _library("pandas").DataFrame(self.columns())

    def to_polars(self) -> Any:
        """A data frame of Polars."""
        return _library("polars").DataFrame(self.columns())

    def to_arrow(self) -> Any:
        """An Arrow table."""
        return _library("pyarrow").table(self.columns())

    def to_json(self) -> str:
        """The whole answer as JSON."""
        fields = asdict(self)
        for name in ("interval_of", "interval_if", "price"):
            if not fields[name]:  # as answers were stored before they had it
                del fields[name]
        return json.dumps(fields, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, *, repeated: bool) -> Answer:
        """The answer that ``to_json`` wrote."""
        document = json.loads(text)
        rows = tuple(AnswerRow(**{**row, "key": tuple(row["key"])}) for row in document["rows"])
        names = tuple(document["key_names"])
        return cls(**{**document, "rows": rows, "key_names": names, "repeated": repeated})

    def plot(self, file: str | Path | None = None) -> Drawing | None:
        """Draws the values with their intervals, into a .png or .svg file (the ``plot`` extra).

        Without a file, the picture is returned and a notebook shows it.
        """
        rows: list[tuple[Cell, ...]] = []
        for row in self.rows:
            value = None if self.interval_of else row.value
            if isinstance(value, str | None) or row.low is None or row.high is None:
                raise BadInput("This answer has no numbers with intervals to draw.")
            rows.append(("/".join(row.key) or self.value_name, value, row.low, row.high))
        table = PlotTable(("key", "value", "low", "high"), rows)
        if file is None:
            return drawing(lambda path: answers(table, path, value=self.value_name))
        answers(table, Path(file), value=self.value_name)
        return None

    @property
    def _table(self) -> SmallTable:
        heads = [*self.key_names, self.value_name, self._interval_head]
        rows = [[*row.key, row.value_in_words, row.interval_in_words] for row in self.rows]
        shared = f" for a price of {self.price}, shared with other parts" if self.price else ""
        cost = "stored before, at no cost" if self.repeated else f"{self.paid}{shared}"
        footer = f"{self.asked} of {self.population}: {cost}, entry {self.entry} of the ledger"
        return SmallTable(heads, rows, numbers=(len(self.key_names),), footer=footer)

    @property
    def _interval_head(self) -> str:
        about = f" of {self.interval_of}" if self.interval_of else ""
        return f"95% interval{about}" + (f", if {self.interval_if}" if self.interval_if else "")

    def __repr__(self) -> str:
        return str(self._table)

    def _repr_html_(self) -> str:
        """As a notebook shows it."""
        return self._table.html()


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingExtra(
            f"This needs {name}, which is not installed.", tip=f"pip install {name}"
        ) from None
