"""The sliders of a preview: the parameters of a plan that a person may want to try, and their
positions.

All of them are public.  A position that the plan cannot have is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from ameles.core.exceptions import AmelesError
from ameles.core.parameters import shown
from ameles.measures.bounded import BoundedMeasure
from ameles.plan.durations import Duration
from ameles.plan.plan import Plan, read_plan_text
from ameles.simulate.preview.plan_edits import Address, edited

FACTORS = tuple(Fraction(2) ** power for power in (-3, -2, -1, 0, 1, 2, 3))
MOST_SLIDERS = 8


@dataclass(frozen=True, slots=True)
class Slider:
    """A parameter, the values that it may have, and the place of the plan's own value."""

    label: str
    address: Address
    values: tuple[str, ...]  # as TOML
    start: int


def sliders(plan: Plan, text: str) -> tuple[Slider, ...]:
    """What can be changed in a plan."""
    made = []
    for label, address, own, others in _parameters(plan):
        values = tuple(
            value
            for value in dict.fromkeys(others)
            if value == own or _possible(plan, text, address, value)
        )
        if len(values) > 1:
            made.append(Slider(label, address, values, values.index(own)))
    return tuple(made[:MOST_SLIDERS])


def _possible(plan: Plan, text: str, address: Address, value: str) -> bool:
    try:
        changed = edited(text, address, value)
        if changed is None:
            return False
        read_plan_text(changed, plan.base)
    except AmelesError:
        return False
    return True


def _parameters(plan: Plan) -> Iterator[tuple[str, Address, str, Iterable[str]]]:
    """Each with its label, its address, its own value and values around it in order."""
    privacy = plan.privacy
    epsilons = [privacy.epsilon * factor for factor in FACTORS]
    yield "epsilon", ("privacy", "epsilon"), _number(privacy.epsilon), map(_number, epsilons)
    if privacy.window is not None:
        yield _spans("window of a user", ("privacy", "window"), privacy.window)
    for name, words in (
        ("max_per_step", "events of a user in a step"),
        ("max_steps", "steps of a user"),
    ):
        bound = getattr(privacy, name)
        if bound is not None:
            around = sorted({max(1, int(bound * factor)) for factor in FACTORS} | {bound})
            yield words, ("privacy", name), str(bound), map(str, around)
    for place, release in enumerate(plan.releases):
        if isinstance(release, BoundedMeasure):
            yield _upper(release, place)
        if release.over not in ("total", "step"):
            window = Duration.read(release.over)
            yield _spans(f"window of {release.name}", ("release", place, "over"), window)


def _upper(release: BoundedMeasure, place: int) -> tuple[str, Address, str, Iterable[str]]:
    """The upper bound of values, on their grid."""
    grid = release.grid
    around = [
        grid.lower + (grid.upper - grid.lower) * factor // grid.granularity * grid.granularity
        for factor in FACTORS
    ]
    ends = sorted({end for end in around if end > grid.lower} | {grid.upper})
    address = ("release", place, "upper")
    return f"upper bound of {release.name}", address, _number(grid.upper), map(_number, ends)


def _spans(label: str, address: Address, own: Duration) -> tuple[str, Address, str, Iterable[str]]:
    counts = sorted({max(1, int(own.count * factor)) for factor in FACTORS} | {own.count})
    return label, address, f'"{own}"', [f'"{count}{own.unit}"' for count in counts]


def _number(value: Fraction) -> str:
    """A number as a person writes it in a plan; TOML has no fractions."""
    text = shown(value)
    return f'"{text}"' if "/" in text else text
