"""The labels of published series: stream, release, key, and a label for each column of the key.

Columns become ``by_NAME``, so that no column can take the name of another label, nor of those that
Prometheus adds (``job``, ``instance``).  What is not allowed in a label's name becomes ``_``:

>>> column_labels(["region", "home town", "home_town"])
('by_region', 'by_home_town', 'by_home_town_2')
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ameles.service.views import Published, SeriesView

MOST_KEYS = 10_000  # a release with more keys is not shown to Prometheus
_NOT_ALLOWED = re.compile(r"[^a-zA-Z0-9_]")


@dataclass(frozen=True, slots=True)
class Group:
    """The series of one release, each with its labels; or with no release, a whole stream."""

    stream: str
    release: str
    measure: str
    labels: tuple[dict[str, str], ...]


def groups_of(source: Published, names: Sequence[str]) -> list[Group]:
    """The series of some streams; a stream without a release has none."""
    groups = []
    for name in names:
        releases: dict[str, list[SeriesView]] = {}
        for line in source.series(name):
            releases.setdefault(line.release, []).append(line)
        if releases or source.stream(name).released:
            groups.append(Group(name, "", "", ({"stream": name},)))
        for release, of_release in releases.items():
            if len(of_release) <= MOST_KEYS:
                groups.append(_group(name, release, of_release))
    return groups


def _group(stream: str, release: str, lines: Sequence[SeriesView]) -> Group:
    columns = column_labels([column for column, _ in lines[0].columns])
    about = {"stream": stream, "release": release}
    return Group(
        stream,
        release,
        lines[0].measure,
        tuple(
            _without_empty(
                about
                | {"key": line.key}
                | dict(zip(columns, (value for _, value in line.columns), strict=True))
            )
            for line in lines
        ),
    )


def _without_empty(labels: dict[str, str]) -> dict[str, str]:
    """To Prometheus, an empty label is none."""
    return {name: value for name, value in labels.items() if value}


def column_labels(columns: Sequence[str]) -> tuple[str, ...]:
    """The name of each column's label; different columns have different ones."""
    names: list[str] = []
    for column in columns:
        base = name = f"by_{_NOT_ALLOWED.sub('_', column)}"
        number = 1
        while name in names:
            number += 1
            name = f"{base}_{number}"
        names.append(name)
    return tuple(names)
