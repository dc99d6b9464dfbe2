"""What a dashboard asks of its data source: selectors of the query API, or SQL of the view.

Names of streams and releases have letters, digits, dots, dashes and underscores alone, so they
stand in a query as they are.  Keys may be any text; Grafana quotes those.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from ameles.service.metrics.families import LOWER, UPPER, VALUE

BAND = ("lower", "upper", "value")  # the upper end is filled down to the lower one


@dataclass(frozen=True, slots=True)
class ShownRelease:
    """A release that a panel shows; ``variable`` has the key if there are several."""

    stream: str
    release: str
    variable: str | None = None


class Queries(ABC):
    """The queries of one kind of data source."""

    kind: str  # of the data source, as Grafana calls it

    @property
    def source(self) -> dict[str, str]:
        """How panels name the data source."""
        return {"type": self.kind, "uid": "ameles"}

    @abstractmethod
    def band(self, shown: ShownRelease) -> list[dict[str, Any]]:
        """Series with the names of ``BAND``."""

    @abstractmethod
    def states(self, shown: ShownRelease) -> list[dict[str, Any]]:
        """The values of an alert by time: 1 is above."""

    @abstractmethod
    def ranks(self, shown: ShownRelease) -> list[dict[str, Any]]:
        """The last ranks with their winners, as a table."""

    @abstractmethod
    def keys(self, shown: ShownRelease) -> dict[str, Any]:
        """The query of the variable that has the keys."""

    def target(self, number: int, **asked: Any) -> dict[str, Any]:
        """One query of a panel."""
        return {"refId": "ABC"[number], "datasource": self.source, **asked}


class PrometheusQueries(Queries):
    """Selectors, for the query API of ``ameles serve`` or for a Prometheus that scrapes it."""

    kind = "prometheus"

    def band(self, shown: ShownRelease) -> list[dict[str, Any]]:
        metrics = dict(zip(BAND, (LOWER, UPPER, VALUE), strict=True))
        return [
            self.target(
                number,
                expr=metrics[name].name + _selected(shown),
                legendFormat=name,
                range=True,
                instant=False,
            )
            for number, name in enumerate(BAND)
        ]

    def states(self, shown: ShownRelease) -> list[dict[str, Any]]:
        selector = VALUE.name + _selected(shown)
        return [self.target(0, expr=selector, legendFormat="{{key}}", range=True, instant=False)]

    def ranks(self, shown: ShownRelease) -> list[dict[str, Any]]:
        selector = VALUE.name + _selected(shown)
        return [self.target(0, expr=selector, format="table", range=False, instant=True)]

    def keys(self, shown: ShownRelease) -> dict[str, Any]:
        asked = f"label_values({VALUE.name}{_selected(shown)}, key)"
        return {"query": {"query": asked, "refId": "Keys"}, "definition": asked}


class PostgresQueries(Queries):
    """SQL, for the view ``releases`` of a store in Postgres."""

    kind = "grafana-postgresql-datasource"

    def band(self, shown: ShownRelease) -> list[dict[str, Any]]:
        return [self._sql("low AS lower, high AS upper, value", shown)]

    def states(self, shown: ShownRelease) -> list[dict[str, Any]]:
        return [self._sql('"key" AS metric, value', shown)]

    def ranks(self, shown: ShownRelease) -> list[dict[str, Any]]:
        where = _where(shown)
        asked = (
            f'SELECT "key", label AS winner, value, low, high FROM releases WHERE {where} AND '
            f'step = (SELECT max(step) FROM releases WHERE {where} AND $__timeFilter("end")) '
            'ORDER BY "key"::int'
        )
        return [self.target(0, rawSql=asked, format="table", rawQuery=True, editorMode="code")]

    def keys(self, shown: ShownRelease) -> dict[str, Any]:
        asked = f'SELECT DISTINCT "key" FROM releases WHERE {_where(shown)} ORDER BY 1'
        return {"query": asked, "definition": asked}

    def _sql(self, columns: str, shown: ShownRelease) -> dict[str, Any]:
        key = f' AND "key" IN (${{{shown.variable}:sqlstring}})' if shown.variable else ""
        asked = (
            f'SELECT "end" AS time, {columns} FROM releases WHERE {_where(shown)}{key} '
            'AND $__timeFilter("end") ORDER BY 1'
        )
        return self.target(0, rawSql=asked, format="time_series", rawQuery=True, editorMode="code")


def _selected(shown: ShownRelease) -> str:
    # Grafana escapes the values of a variable for a regular expression.
    key = f',key=~"${shown.variable}"' if shown.variable else ""
    return f'{{stream="{shown.stream}",release="{shown.release}"{key}}}'


def _where(shown: ShownRelease) -> str:
    return f"stream = '{shown.stream}' AND release = '{shown.release}'"
