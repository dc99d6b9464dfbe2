"""What a mechanism shows, as matrices, read off from its real code.

A linear mechanism shows M z + V x + constant for the draws z on the tape and the inputs x.
One run with zeros gives the constant, a run with an impulse on the tape a column of M, a run
with an impulse in the data a column of V.  Some counters weight their noises by fractions and
round at the end; their recipe has a ``resolution``, and impulses of that size show the
fractions whole.  Superposition is then probed, since a column says nothing about sums.

A mechanism shows its outputs and, at chosen instants, the integers of its state.  A run whose
outputs are decoded from noisy integers has a method ``encodings`` that takes inputs as ``feed``
does and gives those integers instead.  A run whose steps have parts has ``add`` and ``release``;
a run to which an intrusion can be announced has ``announce``.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ameles.audit.algebra import Whole, clear_denominators, product, reduced_rows, whole_array
from ameles.audit.instant import Act, Parted, Phase, Place, View, acts_of, refuse_unseen
from ameles.audit.patterns import MIXED, PATTERNS, Pattern
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.mechanisms.pan_private.intrusions import Announced
from ameles.mechanisms.run import Run
from ameles.mechanisms.snapshot import unpack
from ameles.noise import Tape, Zero

Seen: TypeAlias = Fraction | int
# What is seen at once: an output, or a part of a state.
Block: TypeAlias = NDArray[Any]


@runtime_checkable
class Decoding(Protocol):
    """A run whose outputs are decoded from noisy integers."""

    def encodings(self, xs: Any) -> Any:
        """Those integers, for inputs as ``feed`` takes them."""
        ...


class NotLinear(Exception):
    """The code does not act like a matrix; the text says what showed it."""


@dataclass(frozen=True)
class Matrices:
    """How draws and inputs move what is seen; rows may be rescaled and combined."""

    noise: Whole  # one column for each draw that is seen at all
    data: Whole  # one column for each step
    draws: tuple[int, ...]  # the place on the tape of each column of ``noise``
    laws: tuple[tuple[str, Fraction], ...]  # and its law and scale, or variance
    rounded: bool  # whether what is seen was rounded to whole numbers
    whole: bool  # whether inputs move it by whole numbers, which commutes with rounding

    @property
    def problem(self) -> Hashable:
        """Everything but the places of the draws: views that agree in it lose the same."""
        numbers = [
            str(each.tolist()) if each.dtype == object else (each.shape, each.tobytes())
            for each in (self.noise, self.data)
        ]
        return *numbers, self.laws, self.rounded, self.whole


@dataclass(frozen=True)
class Effects:
    """What a draw or an input of 1 adds to each number that is seen."""

    noise: list[list[Seen]]  # one list for each draw
    data: list[list[Seen]]  # one list for each step

    def at(self, numbers: Sequence[int]) -> Effects:
        """The effects on some of the numbers."""
        return Effects(
            [[one[i] for i in numbers] for one in self.noise],
            [[one[i] for i in numbers] for one in self.data],
        )


class Observer:
    """Runs the real code on a tape and on inputs, and lists all that was seen."""

    def __init__(
        self,
        recipe: AnyMechanism,
        steps: int,
        view: View = (),
        *,
        stepping: bool = False,
        decoded: bool = False,
    ) -> None:
        self.recipe = recipe
        self.contributions = recipe.guarantee.contribution.steps
        self.keys = 1  # of the vector that one unit changes, of which this is one key
        self.steps = steps
        self.view = view
        self.stepping = stepping
        run = recipe.start(Zero())
        refuse_unseen(view, run, steps)
        # If outputs are decoded from noisy integers, those integers are examined instead.
        self.encoded = not (decoded or view or stepping) and isinstance(run, Decoding)
        # ``step`` is another way to the same outputs, up to the horizon.
        horizon = recipe.guarantee.horizon
        within = horizon is None or steps <= horizon
        self.steps_too = within and not (view or stepping or self.encoded)
        self.resolution = int(getattr(recipe, "resolution", 1))
        self.laws: list[tuple[str, Any]] | None = None
        self._acts = acts_of(view)
        self._fingerprint = recipe.state_fingerprint
        width = getattr(recipe, "width", None)
        self._nothing = 0 if width is None else [0] * width
        # What the last run showed: how many numbers each time, and where its state was looked at,
        # or None for an output.
        self.blocks: list[tuple[int, Place | None]] = []
        self._size: int | None = None

    def see(self, draws: Sequence[int], inputs: Sequence[int]) -> list[Seen]:
        """All numbers seen in one run, in a fixed order."""
        tape = Tape(draws)
        shown = self.shown(tape, inputs)
        numbers = [value for _, block in shown for value in block.ravel().tolist()]
        seen = numbers if set(map(type, numbers)) <= {int} else [_exact(n) for n in numbers]
        self.blocks = [(block.size, place) for place, block in shown]
        laws = tape.laws
        if self.laws is None:
            self.laws, self._size = laws, len(seen)
        if laws != self.laws:
            raise NotLinear("what is drawn depends on the inputs or on earlier draws")
        if len(seen) != self._size:
            raise NotLinear("how much is seen depends on the inputs or on the draws")
        return seen

    @property
    def places(self) -> list[Place | None]:
        """For each number seen: where its state was looked at, or None for an output."""
        return [place for size, place in self.blocks for _ in range(size)]

    def shown(self, tape: Tape, inputs: Sequence[Any]) -> list[tuple[Place | None, Block]]:
        """Each output and each part of a state that one run shows, in a fixed order."""
        run = self.recipe.start(tape)
        if self.view or self.stepping:
            return self._step_by_step(run, inputs)
        look = run.encodings if self.encoded and isinstance(run, Decoding) else run.feed
        return [(None, np.asarray(look(list(inputs))))]

    def _step_by_step(
        self, run: Run[Any, Any], inputs: Sequence[Any]
    ) -> list[tuple[Place | None, Block]]:
        shown: list[tuple[Place | None, Block]] = []
        self._act(run, (0, Phase.CLOSED), shown)
        folded = isinstance(run, Parted)
        for t, x in enumerate(inputs):
            release = self._parted(run, t, x, shown) if folded else run.step(x)
            shown.append((None, np.asarray(release)))
            self._act(run, (t + 1, Phase.CLOSED), shown)
        return shown

    def _parted(self, run: Any, t: int, x: Any, shown: list[tuple[Place | None, Block]]) -> Any:
        """A step with what happens between its parts."""
        if (t, Phase.BETWEEN) in self._acts:
            run.add(self._nothing)
            self._act(run, (t, Phase.BETWEEN), shown)
        if (t, Phase.ADDED) not in self._acts:
            return run.step(x)
        run.add(x)
        self._act(run, (t, Phase.ADDED), shown)
        return run.release()

    def _act(
        self, run: Run[Any, Any], place: Place, shown: list[tuple[Place | None, Block]]
    ) -> None:
        for act in self._acts.get(place, ()):
            if act is Act.SEEN:
                shown += [(place, part) for part in self._state(run)]
            elif isinstance(run, Announced):
                run.announce()

    def _state(self, run: Run[Any, Any]) -> Sequence[Block]:
        """What a look at the state shows."""
        return unpack(run.snapshot(), self._fingerprint).parts


def matrices_of(observer: Observer, likely: Effects | None = None) -> Matrices:
    """The matrices of a mechanism; raises NotLinear where there are none.

    ``likely`` are effects that another way to run the mechanism has shown.  They are believed if
    this way shows them too, on mixtures of all draws and inputs; otherwise the effects are read
    again.  A mixture of random weights below 2^20 misses a wrong effect with probability at most
    2^-20.
    """
    still = observer.see((), [0] * observer.steps)
    draws = observer.laws or []
    for law, _ in draws:
        if law not in ("laplace", "gaussian"):
            raise NotLinear(f"a draw from {law} cannot be shifted; small cases can be enumerated")
    effects = likely if likely is not None and _agree(observer, still, likely) else None
    if effects is None:
        effects = effects_of(observer, still)
        _probe(observer, still, effects)
    whole = all(value.denominator == 1 for one in effects.data for value in one)
    reduced = reduced_rows(list(zip(*effects.noise, *effects.data, strict=True)), len(draws))
    return Matrices(
        noise=reduced[0],
        data=reduced[1],
        draws=reduced[2],
        laws=tuple((draws[i][0], draws[i][1]) for i in reduced[2]),
        rounded=observer.resolution != 1,
        whole=whole,
    )


def effects_of(observer: Observer, still: list[Seen]) -> Effects:
    """The effects of all draws and inputs, each read from a run with one impulse.

    ``still`` is what is seen without any.
    """
    unit, steps = observer.resolution, observer.steps
    count = len(observer.laws or [])
    raised = [observer.see([0] * i + [unit], [0] * steps) for i in range(count)]
    moved = [observer.see((), _impulse(steps, s, unit)) for s in range(steps)]

    def effect(seen: list[Seen]) -> list[Seen]:
        changes = [now - then for now, then in zip(seen, still, strict=True)]
        return changes if unit == 1 else [Fraction(change, unit) for change in changes]

    return Effects([effect(seen) for seen in raised], [effect(seen) for seen in moved])


def _agree(observer: Observer, still: list[Seen], likely: Effects) -> bool:
    """Whether runs show these effects, with the same numbers of draws and of values seen."""
    sizes = {len(one) for one in (*likely.noise, *likely.data)}
    if len(likely.noise) != len(observer.laws or []) or sizes != {len(still)}:
        return False
    try:
        _probe(observer, still, likely, (*PATTERNS, *MIXED))
    except NotLinear:
        return False
    return True


def _impulse(steps: int, place: int, size: int) -> list[int]:
    return [size if s == place else 0 for s in range(steps)]


def _exact(value: Any) -> Seen:
    if isinstance(value, int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return Fraction(value)
    raise NotLinear("what is seen is not a finite number")


def _with_room(draws: Sequence[int], unit: int) -> list[int]:
    """Draws whose sum fits into 64 bits with the weights of a mechanism that rounds.

    Such a mechanism adds draws up in parts of ``unit``, and gets ``unit`` times these.  Real noise
    of that size does not occur: the recipe would have been refused.
    """
    if unit == 1:
        return list(draws)
    most = max(1, (1 << 62) // (unit * unit * max(1, len(draws)))) + 1
    return [z % most if z >= 0 else -(-z % most) for z in draws]


def _probe(
    observer: Observer,
    still: list[Seen],
    effects: Effects,
    patterns: Sequence[Pattern] = PATTERNS,
) -> None:
    """Sums of impulses must give sums of columns, through ``feed`` and through ``step``."""
    unit = observer.resolution
    rows = zip(*effects.noise, *effects.data, strict=True)
    cleared = clear_denominators([[*row, 1] for row in rows])
    matrix = whole_array([row[:-1] for row in cleared])
    factors = [row[-1] for row in cleared]
    for number, pattern in enumerate(patterns):
        draws = [unit * z for z in _with_room(pattern.draws(observer.laws or []), unit)]
        inputs = [unit * x for x in pattern.inputs(observer.steps)]
        expected = product(matrix, whole_array([*draws, *inputs])).tolist()
        ways = [observer]
        if number == 0 and observer.steps_too:
            ways.append(Observer(observer.recipe, observer.steps, stepping=True))
        for way in ways:
            seen = way.see(draws, inputs)
            answers = [(now - then) * f for now, then, f in zip(seen, still, factors, strict=True)]
            if answers != expected:
                raise NotLinear("the effect of a sum is not the sum of the effects")
