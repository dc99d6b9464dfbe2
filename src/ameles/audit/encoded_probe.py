"""The roundings of encoded counters, probed on the real code with noises of several kinds.

For each neighbour the probe solves, step by step, for the noise that gives the same encoded values.
In every part this noise may differ from the shift without roundings by no more than the recipe
allows.  In a part where nothing changes, the noise must not change either.  With this noise the
neighbour's releases must equal the original ones, number by number.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Sequence
from dataclasses import is_dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from ameles.audit.encoded_parts import (
    Encoded,
    GaussianScript,
    Part,
    Rows,
    added_to,
    encode,
    released,
    shaped,
)
from ameles.audit.hiding_shift import DIGITS, HidingShift
from ameles.audit.observation import NotLinear
from ameles.audit.patterns import PATTERNS
from ameles.mechanisms.counters.summed import Process
from ameles.noise import Tape

# A change of the inputs: by how much, for each step and each key.
Change: TypeAlias = dict[tuple[int, int], int]

# Up to this many steps, every noise is probed with every change; beyond, with one change.
_SHORT = 128
# The pattern whose noise is far above the grid, so that releases show it.
_LOUD = 1


def probe(
    recipe: Encoded,
    parts: Sequence[Part],
    shifts: Sequence[HidingShift],
    variances: Sequence[tuple[Fraction, Fraction | None]],
    tick: Callable[[], None],
) -> None:
    """Raises NotLinear if the code does not do what the bounds say."""
    keys, steps = recipe.columns, sum(part.steps for part in parts)
    laws: list[tuple[str, Fraction]] = []
    for part, (filtered, closing) in zip(parts, variances, strict=True):
        laws += [("gaussian", filtered)] * (part.inside * keys)
        laws += [("gaussian", closing)] * keys if closing else []
    for number, pattern in enumerate(PATTERNS):
        draws, inputs = pattern.draws(laws), pattern.inputs(steps * keys)
        encoded = encode(recipe.process(GaussianScript(draws, words=True), None), steps)
        shown = recipe.start(Tape(draws)).feed(shaped(recipe, inputs)).tolist()
        rounded = released(
            recipe, parts, _sum(encoded, added_to(recipe, parts, _rows(inputs, keys)))
        )
        if np.array(shown).ravel().tolist() != rounded:
            raise NotLinear("the releases are not those of the encoded values")
        if number == _LOUD:
            _check_steps(recipe, draws, inputs, rounded)
        changes = _changes(recipe, parts, number)
        for change in changes if steps <= _SHORT else changes[number % len(changes) :][:1]:
            shifted = _hiding_noise(recipe, parts, _rows(draws, keys), encoded, change)
            moved = [
                [new - old for new, old in zip(*both, strict=True)]
                for both in zip(shifted, _rows(draws, keys), strict=True)
            ]
            for part, shift in zip(parts, shifts, strict=True):
                _check_part(part, shift, moved, change)
            neighbour = list(inputs)
            for (step, key), by in change.items():
                neighbour[step * keys + key] += by
            flat = [value for row in shifted for value in row]
            if recipe.start(Tape(flat)).feed(shaped(recipe, neighbour)).tolist() != shown:
                raise NotLinear("shifted noise does not show what the neighbour shows")
            tick()


def _rows(numbers: Sequence[int], keys: int) -> Rows:
    return [list(numbers[i : i + keys]) for i in range(0, len(numbers), keys)]


def _sum(one: Rows, other: Rows) -> Rows:
    return [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(one, other, strict=True)]


def _check_steps(
    recipe: Encoded, draws: Sequence[int], inputs: Sequence[int], rounded: list[int]
) -> None:
    """One step after the other shows what ``feed`` shows."""
    run = recipe.start(Tape(draws))
    shown = [run.step(x) for x in shaped(recipe, inputs).tolist()]
    if np.array(shown).ravel().tolist() != rounded:
        raise NotLinear("single steps show something else than the same steps at once")


def _changes(recipe: Encoded, parts: Sequence[Part], number: int) -> list[Change]:
    """One step by one; the first steps by the bound; steps everywhere, up and down, in all keys."""
    steps, keys = sum(part.steps for part in parts), recipe.columns
    most = min(recipe.contributions, steps)
    apart = [i * steps // most for i in range(most)]
    first = parts[number % len(parts)].start
    together = range(first, min(first + most, steps))
    return [
        {(number * steps // len(PATTERNS), number % keys): 1},
        {(step, 0): recipe.bound for step in together},
        {(step, i % keys): (-1) ** i * recipe.bound for i, step in enumerate(apart)},
    ]


def _hiding_noise(
    recipe: Encoded, parts: Sequence[Part], draws: Rows, encoded: Rows, change: Change
) -> Rows:
    """The noise with which the changed inputs have the same encoded values."""
    script = GaussianScript(words=True)
    process = recipe.process(script, None)
    fixed = _fixed_parts(process)
    rows: Rows = []
    steps, keys = len(encoded), recipe.columns
    changed = [[change.get((step, key), 0) for key in range(keys)] for step in range(steps)]
    added = added_to(recipe, parts, changed)
    for step in range(steps):
        row = draws[step]
        if any(key_step <= step for key_step, _ in change):
            [without] = encode(copy.deepcopy(process, dict(fixed)), 1)
            row = [
                value - moved - own
                for value, moved, own in zip(encoded[step], added[step], without, strict=True)
            ]
        script.values += row
        encode(process, 1)
        rows.append(row)
    return rows


def _fixed_parts(process: Process) -> dict[int, object]:
    """The recipes and rates in a process, by their ids: its copies share them."""
    inner = [process, *(part for part in vars(process).values() if hasattr(part, "__dict__"))]
    values = [value for part in inner for value in vars(part).values()]
    values += [
        value for part in values if hasattr(part, "__dict__") for value in vars(part).values()
    ]
    fixed = (value for value in values if is_dataclass(value) and isinstance(value, Hashable))
    return {id(value): value for value in fixed}


def _check_part(part: Part, shift: HidingShift, moved: Rows, change: Change) -> None:
    """Checks that the noise of a part moved as the bounds say."""
    own = {place: by for place, by in change.items() if 0 <= place[0] - part.start < part.steps}
    rows = moved[part.start : part.start + part.steps]
    if not own and any(any(row) for row in rows):
        raise NotLinear("a change in one segment moves the noise of another")
    off = 0
    for t, row in enumerate(rows[: part.inside]):
        for key, value in enumerate(row):
            hidden = sum(
                by * part.units[step - part.start] * shift.values[part.start + t - step]
                for (step, changed), by in own.items()
                if changed == key and step <= part.start + t
            )
            off += ((value << DIGITS + part.bits) + hidden) ** 2
    if off > part.allowance**2 * (1 << 2 * (DIGITS + part.bits)):
        raise NotLinear("roundings move the encoded values by more than it allows for")
    for row in rows[part.inside :]:
        for key, value in enumerate(row):
            if value != -sum(by for (_, changed), by in own.items() if changed == key):
                raise NotLinear("a segment's total is not moved by the changes in the segment")
