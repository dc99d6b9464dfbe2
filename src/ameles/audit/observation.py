"""What a mechanism shows, as matrices, read off from its real code.

A linear mechanism shows M z + V x + constant for the draws z on the tape and the inputs x.
One run with zeros gives the constant, a run with an impulse on the tape a column of M, a run
with an impulse in the data a column of V.  Some counters weight their noises by fractions and
round at the end; their recipe has a ``resolution``, and impulses of that size show the
fractions whole.  Superposition is then probed, since a column says nothing about sums.

A mechanism shows its outputs and, at chosen instants, the integers of its state.  An output must be
plain numbers, in arrays or lists, because anything else could carry more than what is read; of an
array that is a view, all numbers behind it are seen.  A run whose
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
# The types that are a number and nothing else.
_NUMBERS = frozenset({int, float, bool, *(kind for kind in np.sctypeDict.values())})
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


class Releases:
    """What a run has released: each release is its numbers alone, and stays as it was."""

    def __init__(self) -> None:
        self.forms: list[str] = []  # the types and shapes, which must not depend on data
        self.behind: list[Block] = []  # the numbers that arrays of releases are views of
        self._kept: list[tuple[Any, Block]] = []

    def take(self, release: Any) -> Block:
        """The numbers of a release; refuses what can carry more."""
        block = block_of(release, self.behind)
        self.forms.append(_form(release))
        self._kept.append((release, block))
        return block

    def check(self) -> None:
        """Refuses releases that have changed since, such as arrays that the run goes on to use."""
        if any(not np.array_equal(block_of(release), block) for release, block in self._kept):
            raise NotLinear("a release changes after it was released")


def block_of(release: Any, behind: list[Block] | None = None) -> Block:
    """A copy of the numbers that a release shows; arrays with more that it is a view of go
    ``behind``.

    >>> more: list[Block] = []
    >>> block_of([1, np.int8(2)]).tolist(), block_of(np.arange(5)[3:], more).tolist(), more
    ([1, 2], [3, 4], [array([0, 1, 2, 3, 4])])
    """
    if type(release) is np.ndarray:
        return _block_of_array(release, behind)
    if type(release) in _NUMBERS:
        return _numbers([release]).reshape(())
    if type(release) not in (list, tuple):
        raise NotLinear(
            f"a release is of the type {_name(release)}, which can carry more than numbers"
        )
    if set(map(type, release)) <= _NUMBERS:
        return _numbers(release)
    blocks = [block_of(each, behind) for each in release]
    if len({block.shape for block in blocks}) == 1:
        return np.array(blocks)
    return np.concatenate([block.ravel() for block in blocks])


def _block_of_array(array: Block, behind: list[Block] | None) -> Block:
    root = array
    while type(root.base) is np.ndarray:
        root = root.base
    if root.base is not None:
        raise NotLinear(f"a release is a view of the type {_name(root.base)}")
    for each in (array, root):
        plain = each.dtype.kind in "biuf" or set(map(type, each.ravel().tolist())) <= _NUMBERS
        if each.dtype.metadata or not plain:
            raise NotLinear("a release is an array of other things than numbers")
    if root.nbytes > array.nbytes and behind is not None:
        behind.append(root.copy())
    return array.copy()


def _numbers(values: Sequence[Any]) -> Block:
    """These numbers as an array that does not round them."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    block = np.array(plain) if set(map(type, plain)) <= {int} else np.array(plain, dtype=object)
    return block if block.dtype.kind == "i" else np.array(plain, dtype=object)


def _name(value: object) -> str:
    return type(value).__name__


def _form(release: Any) -> str:
    if isinstance(release, np.ndarray):
        return f"{release.dtype} {release.shape}"
    if isinstance(release, list | tuple):
        return f"{_name(release)} of {', '.join(dict.fromkeys(map(_form, release)))}"
    return _name(release)


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
        self._forms: list[str] = []
        self._last_forms: list[str] = []
        self._visible = 0  # how many numbers are seen besides those that releases are views of

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
        self._forms = self._forms or self._last_forms
        if self._last_forms != self._forms:
            raise NotLinear("the types or shapes of releases depend on the inputs or on the draws")
        return seen

    @property
    def places(self) -> list[Place | None]:
        """For each number seen: where its state was looked at, or None for an output."""
        return [place for size, place in self.blocks for _ in range(size)]

    def shown(self, tape: Tape, inputs: Sequence[Any]) -> list[tuple[Place | None, Block]]:
        """Each output and each part of a state that one run shows, in a fixed order."""
        run = self.recipe.start(tape)
        identity = getattr(run, "id", None)
        releases = Releases()
        if self.view or self.stepping:
            shown = self._step_by_step(run, inputs, releases)
        else:
            look = run.encodings if self.encoded and isinstance(run, Decoding) else run.feed
            shown = [(None, releases.take(look(list(inputs))))]
        releases.check()
        self._visible = sum(block.size for _, block in shown)
        shown += [(None, more) for more in releases.behind]
        if getattr(run, "id", None) != identity:
            raise NotLinear("the run's identity changes")
        self._last_forms = releases.forms
        return shown

    def _step_by_step(
        self, run: Run[Any, Any], inputs: Sequence[Any], releases: Releases
    ) -> list[tuple[Place | None, Block]]:
        shown: list[tuple[Place | None, Block]] = []
        self._act(run, (0, Phase.CLOSED), shown)
        folded = isinstance(run, Parted)
        for t, x in enumerate(inputs):
            release = self._parted(run, t, x, shown) if folded else run.step(x)
            shown.append((None, releases.take(release)))
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
            count = len(seen) if way is observer else way._visible
            if count < len(seen) or (way is not observer and count != observer._visible):
                raise NotLinear("single steps show another number of values than one feed")
            answers = [(n - then) * f for n, then, f in zip(seen, still, factors, strict=False)]
            if answers != expected[:count]:
                raise NotLinear("the effect of a sum is not the sum of the effects")
