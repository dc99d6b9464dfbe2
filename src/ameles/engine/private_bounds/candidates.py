"""The bounds of a plan that can be chosen, each with its public candidates.

By default the plan's own bound is the widest candidate, and the others are the round numbers
between it and the narrowest bound that makes sense: 1 for ``max_per_step`` and ``max_steps``, and
for ``lower`` and ``upper`` the value nearest to zero.

>>> [str(one) for one in round_numbers(60)]
['1', '2', '5', '10', '20', '50', '60']
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ameles.core.exceptions import BadInput
from ameles.core.parameters import shown
from ameles.measures.bounded import BoundedMeasure
from ameles.measures.discovering import DiscoveringMeasure
from ameles.plan.plan import Plan, check_plan

MOST = 1000  # candidates of one bound
USER_BOUNDS = ("max_per_step", "max_steps")
VALUE_BOUNDS = ("lower", "upper")
KEY_BOUNDS = ("max_keys", "max_per_key")

Grids = Mapping[str, Sequence[Fraction]]


@dataclass(frozen=True, slots=True)
class CandidateBound:
    """A bound with its candidates, from the narrowest to the widest."""

    name: str  # the key in the plan
    release: str | None  # None: a bound on users
    candidates: tuple[Fraction, ...]
    unit: Fraction  # what candidates are multiples of

    @property
    def label(self) -> str:
        """Its name in ``--grid`` and in tables: ``max_steps``, or ``spending.upper``."""
        return self.name if self.release is None else f"{self.release}.{self.name}"

    @property
    def whole(self) -> tuple[int, ...]:
        """The candidates in whole units."""
        return tuple(int(one / self.unit) for one in self.candidates)

    @property
    def reach(self) -> int:
        """The distance in units between the narrowest and the widest candidate."""
        whole = self.whole
        return abs(whole[-1] - whole[0])


def round_numbers(top: int) -> list[int]:
    """1, 2, 5, 10, 20, ... and the top itself."""
    numbers, power = list[int](), 1
    while power < top:
        numbers += [digit * power for digit in (1, 2, 5) if digit * power < top]
        power *= 10
    return [*numbers, top]


def plan_bounds(plan: Plan, grids: Grids | None = None) -> tuple[CandidateBound, ...]:
    """Every bound of the plan; ``grids`` replaces the candidates of some.

    A bound with one candidate is not chosen: it stays as it is.
    """
    given = dict(grids or {})
    bounds = tuple(_with_grid(bound, given.pop(bound.label, None)) for bound in _all_bounds(plan))
    if given:
        known = ", ".join(bound.label for bound in bounds) or "none"
        raise BadInput(
            f"The plan has no bound {next(iter(given))[:64]!r}.", tip=f"its bounds are: {known}"
        )
    with_bounds(plan, {bound.label: bound.candidates[0] for bound in bounds})  # or it is refused
    return bounds


def with_bounds(plan: Plan, values: Mapping[str, Fraction]) -> Plan:
    """The plan with other bounds, checked like a plan file.

    Discovered keys have bounds within those of users, which become narrower with them.
    """
    values = {**values, **narrower_keys(plan, values)}
    document = json.loads(plan.to_json())
    tables = {release["name"]: release for release in document["release"]}
    for label, value in values.items():
        if label in USER_BOUNDS:
            document["privacy"][label] = int(value)
        else:
            release, _, name = label.rpartition(".")
            tables[release][name] = int(value) if name in KEY_BOUNDS else str(value)
    document["store"] = plan.store.model_dump(exclude_none=True)
    return replace(check_plan(document, plan.base), stream=plan.stream, rules=plan.rules)


def narrower_keys(plan: Plan, values: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """``max_keys`` and ``max_per_key`` of releases that allow more than these bounds of users do.

    They are not chosen: they are what is left of the plan's own numbers.
    """
    per_step, steps = (
        values.get(name, Fraction(getattr(plan.privacy, name) or 1)) for name in USER_BOUNDS
    )
    return {
        f"{release.name}.{name}": per_step * steps
        for release in plan.releases
        if isinstance(release, DiscoveringMeasure)
        for name in KEY_BOUNDS
        if (getattr(release, name) or 0) > per_step * steps
    }


def _all_bounds(plan: Plan) -> Iterator[CandidateBound]:
    """Every bound of the plan, with its default candidates."""
    one = Fraction(1)
    if plan.privacy.user is not None:
        for name in USER_BOUNDS:
            top = getattr(plan.privacy, name) or 1
            yield CandidateBound(name, None, tuple(map(Fraction, round_numbers(top))), one)
    for release in plan.releases:
        if isinstance(release, BoundedMeasure):
            yield from _of_values(release)


def _of_values(release: BoundedMeasure) -> Iterator[CandidateBound]:
    unit = release.grid.granularity
    low, high = release.ends
    inner = min(max(0, low), high)  # the value nearest to zero
    below = [inner - step for step in round_numbers(inner - low)] if low < inner else [low]
    above = [inner + step for step in round_numbers(high - inner)] if high > inner else [high]
    for name, ends in zip(VALUE_BOUNDS, (below, above), strict=True):
        yield CandidateBound(name, release.name, tuple(end * unit for end in ends), unit)


def _with_grid(bound: CandidateBound, grid: Sequence[Fraction] | None) -> CandidateBound:
    """The bound with the candidates that a person gave."""
    if grid is None:
        return bound
    narrow_first = sorted(set(grid), reverse=bound.name == "lower")
    if not 1 <= len(narrow_first) <= MOST or len(narrow_first) < len(grid):
        raise BadInput(
            f"The grid of {bound.label} must have 1 to {MOST} different numbers.",
            tip=f"--grid {bound.label}=1,2,5,10",
        )
    if any((one / bound.unit).denominator != 1 for one in narrow_first):
        raise BadInput(
            f"The grid of {bound.label} must have multiples of {shown(bound.unit)} only.",
            why="values are counted in steps of the granularity"
            if bound.release
            else "events and steps are whole",
            tip="--grid " + bound.label + "=" + ",".join(shown(bound.unit * n) for n in (1, 2, 5)),
        )
    return replace(bound, candidates=tuple(narrow_first))
