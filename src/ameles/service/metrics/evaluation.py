"""What a selector shows at some moments: the series that match, and their numbers.

Numbers are read once for each step, however many moments see it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ameles.service.metrics.families import FAMILIES, STEP, Family, shows, split_label
from ameles.service.metrics.refusals import QueryRefused
from ameles.service.metrics.selectors import NAME, Matcher
from ameles.service.metrics.series_labels import Group
from ameles.service.views import Column, Sampled

MOST_SERIES = 10_000
MOST_NUMBERS = 2_000_000  # that are read, and that are answered


@dataclass(frozen=True, slots=True)
class Chosen:
    """Series of one metric and one release; ``later`` is about a label that is read with them."""

    family: Family
    group: Group
    places: tuple[int, ...]  # of the keys
    split: str | None
    later: tuple[Matcher, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A series: its labels and its numbers, NaN where there is none, at each step that is seen."""

    labels: dict[str, str]
    numbers: NDArray[np.float64]
    seen: NDArray[np.int64]  # for each moment the place of its step, or -1


def choose(groups: Sequence[Group], matchers: Sequence[Matcher]) -> list[Chosen]:
    """The series that match, before any number is read."""
    names = _accepted(matchers, NAME, [family.name for family in FAMILIES])
    judged = {matcher: matcher.accepted(_values(groups, matcher.label)) for matcher in matchers}
    chosen = []
    for family in FAMILIES:
        if family.name not in names:
            continue
        for group in groups:
            if not shows(family, group.measure):
                continue
            split = split_label(family, group.measure)
            later = tuple(one for one in matchers if one.label == split)
            now = {one: good for one, good in judged.items() if one.label not in (NAME, split)}
            if places := _matching(group, now):
                chosen.append(Chosen(family, group, places, split, later))
    return chosen


def _values(groups: Sequence[Group], label: str) -> set[str]:
    """All values of a label, so that a matcher looks at each of them once."""
    return {labels.get(label, "") for group in groups for labels in group.labels}


def check_series(chosen: Sequence[Chosen]) -> None:
    """Refuses more series than anybody can look at."""
    if sum(len(one.places) for one in chosen) > MOST_SERIES:
        raise QueryRefused(f"A query may choose {MOST_SERIES:,} series.", "execution")


def _accepted(matchers: Sequence[Matcher], label: str, values: Sequence[str]) -> set[str]:
    left = set(values)
    for matcher in matchers:
        if matcher.label == label:
            left = matcher.accepted(left)
    return left


def _matching(group: Group, judged: Mapping[Matcher, set[str]]) -> tuple[int, ...]:
    """The places of the keys whose labels match."""
    places: Iterable[int] = range(len(group.labels))
    for matcher, good in judged.items():
        places = [p for p in places if group.labels[p].get(matcher.label, "") in good]
    return tuple(places)


def evaluate(samples: Sampled, chosen: Sequence[Chosen], times: Sequence[int]) -> Iterator[Line]:
    """The chosen series at some moments; some of them may have no number at any."""
    steps = {
        name: samples.current_steps(name, times)
        for name in dict.fromkeys(one.group.stream for one in chosen)
    }
    check_series(chosen)
    _check_size(chosen, steps)
    return at_steps(samples, chosen, steps)


def at_steps(
    samples: Sampled, chosen: Sequence[Chosen], steps: Mapping[str, NDArray[np.int64]]
) -> Iterator[Line]:
    """The chosen series, at some released steps of each stream; 0 is none."""
    for one in chosen:
        at = steps[one.group.stream]
        different = np.unique(at[at > 0])
        if len(different):
            seen = np.where(at > 0, np.searchsorted(different, at), -1)
            yield from _lines(samples, one, different, seen)


def _check_size(chosen: Sequence[Chosen], steps: Mapping[str, NDArray[np.int64]]) -> None:
    """Refuses what would take too much memory, before it is read."""
    seen = {name: int(np.count_nonzero(at)) for name, at in steps.items()}
    read = {name: len(np.unique(at)) for name, at in steps.items()}
    answered = sum(seen[one.group.stream] * len(one.places) for one in chosen)
    width = [(read[one.group.stream], one.places[-1] - one.places[0] + 1) for one in chosen]
    if max(answered, sum(rows * keys for rows, keys in width)) > MOST_NUMBERS:
        raise QueryRefused(
            f"A query may have {MOST_NUMBERS:,} numbers: ask for fewer series or moments.",
            "execution",
        )


def _lines(
    samples: Sampled, one: Chosen, steps: NDArray[np.int64], seen: NDArray[np.int64]
) -> Iterator[Line]:
    group, family = one.group, one.family
    if family.column is None:
        numbers = steps.astype(np.float64) if family is STEP else _ends(samples, group, steps)
        yield Line({NAME: family.name, **group.labels[0]}, numbers, seen)
        return
    first, last = one.places[0], one.places[-1]
    inside = np.array(one.places) - first

    def column(which: Column) -> NDArray[Any]:
        table = samples.table(group.stream, group.release, which, steps.tolist(), (first, last))
        return table[:, inside]

    words = column("label") if one.split is not None else None
    if family.column == "label":
        numbers = np.ones((len(steps), len(inside)))
    else:
        numbers = column(family.column)
    for place, key in enumerate(one.places):
        labels = {NAME: family.name, **group.labels[key]}
        if words is None or one.split is None:
            yield Line(labels, numbers[:, place], seen)
            continue
        for word in sorted(_accepted(one.later, one.split, words[:, place].tolist()) - {""}):
            here = np.where(words[:, place] == word, numbers[:, place], np.nan)
            yield Line({**labels, one.split: word}, here, seen)


def _ends(samples: Sampled, group: Group, steps: NDArray[np.int64]) -> NDArray[np.float64]:
    return samples.step_ends(group.stream, steps.tolist())
