"""What a mechanism shows, as matrices, read off from its real code.

A linear mechanism shows M z + V x + constant for the draws z on the tape and the inputs x.
One run with zeros gives the constant, a run with an impulse on the tape a column of M, a run
with an impulse in the data a column of V.  Some counters weight their noises by fractions and
round at the end; their recipe has a ``resolution``, and impulses of that size show the
fractions whole.  Superposition is then probed, since a column says nothing about sums.

What is shown are the outputs, and at chosen instants the integers of the state.  A run whose
outputs are decoded from noisy integers has a method ``encodings`` that takes inputs as ``feed``
does and gives those integers instead.  A run whose steps have parts has ``add`` and ``release``,
one that can be told of an intrusion ``announce``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

import numpy as np

from ameles.audit.algebra import Whole, clear_denominators, product, whole_array
from ameles.audit.instant import Act, Phase, Place, View, acts_of, refuse_unseen
from ameles.core.guarantee import Guarantee
from ameles.core.mechanism import Noise
from ameles.mechanisms.snapshot import unpack
from ameles.noise import Tape, Zero

Seen: TypeAlias = Fraction | int


class Auditable(Protocol):
    """What the audit needs of a recipe: its promise, its runs, and whose snapshots they are."""

    @property
    def guarantee(self) -> Guarantee: ...
    @property
    def fingerprint(self) -> bytes: ...
    def start(self, noise: Noise) -> Any: ...


class NotLinear(Exception):
    """The code does not do what a matrix does; the text says how that was seen."""


@dataclass(frozen=True)
class Matrices:
    """How draws and inputs move what is seen; rows are rescaled and combined at will."""

    noise: Whole  # one column a draw that is seen at all
    data: Whole  # one column a step
    draws: tuple[int, ...]  # the place on the tape of each column of ``noise``
    laws: tuple[tuple[str, Fraction], ...]  # and its law and scale, or variance
    rounded: bool  # whether what is seen was rounded to whole numbers
    whole: bool  # whether inputs move it by whole numbers, which commutes with rounding


class Observer:
    """Runs the real code on a tape and on inputs, and lists all that was seen."""

    def __init__(
        self,
        recipe: Auditable,
        steps: int,
        view: View = (),
        *,
        stepping: bool = False,
        decoded: bool = False,
    ) -> None:
        self.recipe = recipe
        self.steps = steps
        self.view = view
        self.stepping = stepping
        run = recipe.start(Zero())
        refuse_unseen(view, run, steps)
        # Outputs that are decoded from noisy integers: these are looked at instead.
        self.encoded = not (decoded or view or stepping) and hasattr(run, "encodings")
        # ``step`` is another way to the same outputs, up to the horizon.
        horizon = recipe.guarantee.horizon
        within = horizon is None or steps <= horizon
        self.steps_too = within and not (view or stepping or self.encoded)
        self.resolution = int(getattr(recipe, "resolution", 1))
        self.laws: list[tuple[str, Any]] | None = None
        self._acts = acts_of(view)
        self._fingerprint = recipe.fingerprint
        self._size: int | None = None

    def see(self, draws: Sequence[int], inputs: Sequence[int]) -> list[Seen]:
        """All numbers seen in one run, in a fixed order."""
        tape = Tape(draws)
        run = self.recipe.start(tape)
        if self.view or self.stepping:
            shown = self._step_by_step(run, inputs)
        else:
            look = run.encodings if self.encoded else run.feed
            shown = np.asarray(look(list(inputs))).ravel().tolist()
        seen = [_exact(value) for value in shown]
        laws = [(draw.law, draw.scale) for draw in tape.draws]
        if self.laws is None:
            self.laws, self._size = laws, len(seen)
        if laws != self.laws:
            raise NotLinear("what is drawn depends on the inputs or on earlier draws")
        if len(seen) != self._size:
            raise NotLinear("how much is seen depends on the inputs or on the draws")
        return seen

    def _step_by_step(self, run: Any, inputs: Sequence[int]) -> list[Any]:
        seen: list[Any] = []
        self._act(run, (0, Phase.CLOSED), seen)
        for t, x in enumerate(inputs):
            if (t, Phase.BETWEEN) in self._acts:
                run.add(0)
                self._act(run, (t, Phase.BETWEEN), seen)
            if (t, Phase.ADDED) in self._acts:
                run.add(x)
                self._act(run, (t, Phase.ADDED), seen)
                release = run.release()
            else:
                release = run.step(x)
            seen += np.asarray(release).ravel().tolist()
            self._act(run, (t + 1, Phase.CLOSED), seen)
        return seen

    def _act(self, run: Any, place: Place, seen: list[Any]) -> None:
        for act in self._acts.get(place, ()):
            if act is Act.ANNOUNCED:
                run.announce()
            else:
                for part in unpack(run.snapshot(), self._fingerprint).parts:
                    seen += part.tolist()


def matrices_of(observer: Observer) -> Matrices:
    """The matrices of a mechanism; raises NotLinear where there are none."""
    unit = observer.resolution
    steps = observer.steps
    still = observer.see((), [0] * steps)
    draws = observer.laws or []
    for law, _ in draws:
        if law not in ("laplace", "gaussian"):
            raise NotLinear(f"a draw from {law} cannot be shifted; small cases can be enumerated")
    raised = [observer.see([0] * i + [unit], [0] * steps) for i in range(len(draws))]
    moved = [observer.see((), _impulse(steps, s, unit)) for s in range(steps)]

    def column(seen: list[Seen]) -> list[Seen]:
        changes = [now - then for now, then in zip(seen, still, strict=True)]
        return changes if unit == 1 else [Fraction(change, unit) for change in changes]

    noise, data = [column(seen) for seen in raised], [column(seen) for seen in moved]
    _probe(observer, still, noise, data)
    whole = all(value.denominator == 1 for one in data for value in one)
    reduced = _reduce(list(zip(*noise, *data, strict=True)), len(draws))
    return Matrices(
        noise=reduced[0],
        data=reduced[1],
        draws=reduced[2],
        laws=tuple((draws[i][0], draws[i][1]) for i in reduced[2]),
        rounded=unit != 1,
        whole=whole,
    )


def _impulse(steps: int, place: int, size: int) -> list[int]:
    return [size if s == place else 0 for s in range(steps)]


def _exact(value: Any) -> Seen:
    if isinstance(value, int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return Fraction(value)
    raise NotLinear("what is seen is not a finite number")


@dataclass(frozen=True)
class Pattern:
    """Draws and inputs to probe with, made of their places and of the size of the noise."""

    draw: Callable[[int, int], int]  # the place on the tape, a standard deviation or so
    change: Callable[[int], int]  # the step, counted from 0

    def draws(self, laws: Sequence[tuple[str, Fraction]]) -> list[int]:
        """What is on the tape."""
        sizes = (math.isqrt(int(s)) if law == "gaussian" else int(s) for law, s in laws)
        return [self.draw(i, 1 + size) for i, size in enumerate(sizes)]

    def inputs(self, steps: int) -> list[int]:
        """What is in the data."""
        return [self.change(s) for s in range(steps)]


# Small and large, of both signs, with zeros, and as noise is: what code could depend on.
PATTERNS = (
    Pattern(lambda i, size: (7 * i + 3) % 11 - 5, lambda s: (5 * s + 2) % 7 - 3),
    Pattern(lambda i, size: (i % 7 - 3) * size + i, lambda s: s % 2),
    Pattern(lambda i, size: (1 - 2 * (i % 2)) * 997 * (i % 5), lambda s: 1009 * (s * s % 13)),
    Pattern(lambda i, size: 0, lambda s: 1),
    Pattern(lambda i, size: -(1 << 20) - i - 5 * size, lambda s: -s),
)


def _probe(
    observer: Observer,
    still: list[Seen],
    noise: list[list[Seen]],
    data: list[list[Seen]],
) -> None:
    """Sums of impulses must give sums of columns, through ``feed`` and through ``step``."""
    unit = observer.resolution
    cleared = clear_denominators([[*row, 1] for row in zip(*noise, *data, strict=True)])
    matrix = whole_array([row[:-1] for row in cleared])
    factors = [row[-1] for row in cleared]
    for number, pattern in enumerate(PATTERNS):
        draws = [unit * z for z in pattern.draws(observer.laws or [])]
        inputs = [unit * x for x in pattern.inputs(observer.steps)]
        expected = product(matrix, whole_array([*draws, *inputs])).tolist()
        ways = [observer]
        if number == 0 and observer.steps_too:
            ways.append(Observer(observer.recipe, observer.steps, stepping=True))
        for way in ways:
            seen = way.see(draws, inputs)
            found = [(now - then) * f for now, then, f in zip(seen, still, factors, strict=True)]
            if found != expected:
                raise NotLinear("the effect of a sum is not the sum of the effects")


def _reduce(rows: Sequence[Sequence[Seen]], draws: int) -> tuple[Whole, Whole, tuple[int, ...]]:
    """The same information in fewer and sparser rows: no zeros, no repetitions, differences.

    A release and the next one differ little, so their difference is almost empty, and
    solvers like that.  Draws that nobody sees are left out.
    """
    cleared = list(dict.fromkeys(tuple(row) for row in clear_denominators(rows) if any(row)))
    sparse = [
        [a - b for a, b in zip(row, before, strict=True)] if place else list(row)
        for place, (row, before) in enumerate(zip(cleared, [(), *cleared[:-1]], strict=True))
    ]
    width = len(rows[0]) if rows else draws
    matrix = whole_array(sparse).reshape(len(sparse), width)
    seen = tuple(int(i) for i in np.flatnonzero(matrix[:, :draws].any(axis=0)))
    return matrix[:, list(seen)], matrix[:, draws:], seen
