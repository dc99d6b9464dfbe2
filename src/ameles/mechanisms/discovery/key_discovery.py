"""Key discovery: keys become public while a stream runs, and then have running counts.

Theorem      ``docs/discovery.md`` has it with its proof.  delta = delta_G + delta_tau.  Given what
             was published, one user changes the inputs of the selection counters by the weights of
             the slots in L2, and those of the values by sqrt(records per_key) bound; the encoders
             are lower triangular with columns of norm 1, so both together are rho-zCDP, hence
             (epsilon, delta_G).  Which keys have a counter differs between neighbours only where
             one user alone has named a key, and then it is found with probability delta_tau at
             most (``selection_law``)
Neighbours   all records of one user are added or removed, after ``user_records`` has bounded them
Noise        discrete Gaussian on a grid of 2^-s counts, one draw for each key and look, and for
             each public cell and step; half of rho for selection, half for values
Error        ``users_needed`` for keys, ``value_error`` for the values of those that are public
Memory       six integers for each key that somebody's slot has named, and seven for each cell of a
             public key

Keys are looked for at public instants: look i is at step ceil(i horizon / looks).

>>> from ameles.noise import Zero
>>> recipe = KeyDiscovery(epsilon=6, delta=1e-9, horizon=4, records=8)
>>> run = recipe.start(Zero())
>>> outputs = [run.step({"cats": (160, 40), "dogs": (4, 1)}), run.step({"cats": (0, 2)})]
>>> [(run.names(out.public), out.values.tolist()) for out in outputs]
[(['cats'], [[40]]), (['cats'], [[42]])]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import ClassVar

from ameles.accounting.concentrated import zcdp_rho
from ameles.core.error import check_beta
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import (
    Contribution,
    Guarantee,
    Intrusions,
    Neighbours,
    Norm,
    Protects,
    Unit,
)
from ameles.core.loss import Approx
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Number, OptionalWhole, Parameter, Whole, refuse, whole
from ameles.mechanisms.counters.gaussian.cascade import Cascade
from ameles.mechanisms.counters.gaussian.encoded import root_up
from ameles.mechanisms.discovery.discovery_run import DiscoveryRun
from ameles.mechanisms.discovery.encoded_noise import EncodedNoise
from ameles.mechanisms.discovery.selection_law import SelectionLaw
from ameles.mechanisms.discovery.value_error import KeyValueError
from ameles.mechanisms.mechanism import Mechanism
from ameles.mechanisms.snapshot import State

LONGEST = 1 << 20
MOST_LOOKS = 1000
DEFAULT_LOOKS = 100
MOST_SLOTS = 32
LARGEST_WEIGHT = 1 << 10
BUFFERS = 3


class Slots(Parameter[Sequence[int], tuple[int, ...]]):
    """The weights of a user's discoveries: whole numbers, the first is the largest."""

    def check(self, value: Sequence[int]) -> tuple[int, ...]:
        must = f"a tuple of 1 to {MOST_SLOTS} whole numbers from 1 to {LARGEST_WEIGHT}"
        if not isinstance(value, tuple | list) or not 1 <= len(value) <= MOST_SLOTS:
            raise refuse(self.name, must, value)
        weights = tuple(whole(each, self.name, low=1, high=LARGEST_WEIGHT) for each in value)
        if max(weights) != weights[0]:
            raise refuse(self.name, f"{must}, of which the first is the largest", value)
        return weights


@dataclass(frozen=True, kw_only=True)
class KeyDiscovery(Mechanism[DiscoveryRun]):
    """Keys that users bring, once they are common enough, with the counts of their cells.

    >>> recipe = KeyDiscovery(epsilon=6, delta=1e-9, horizon=100, records=32)
    >>> [recipe.users_needed(step) for step in (1, 50, 100)]
    [44, 22, 21]
    """

    version: ClassVar[int] = 1

    epsilon: Epsilon = Epsilon()
    delta: Number = Number(Fraction(1, 10**30), Fraction(1, 2))
    horizon: Whole = Whole(1, LONGEST)
    records: Whole = Whole(1, 1 << 20)
    per_key: Whole = Whole(1, 1 << 20, 1)
    bound: Whole = Whole(1, 1 << 30, 1)
    cells: Whole = Whole(1, 1 << 16, 1)
    slots: Slots = Slots((4, 2, 1, 1))
    looks: OptionalWhole = OptionalWhole(1, MOST_LOOKS)
    drop_after: OptionalWhole = OptionalWhole(1, LONGEST)
    unit: Protects = Protects("user")

    def __post_init__(self) -> None:
        if self.per_key > self.records:
            raise BadInput(
                f"A user who has {self.records} records cannot have {self.per_key} on one key.",
                tip="per_key of at most records",
            )
        if self.looks is not None and self.looks > self.horizon:
            raise BadInput(
                f"{self.looks} looks do not fit into {self.horizon} steps.",
                why="keys are looked for at most once a step",
                tip="looks of at most the horizon",
            )
        if Unit.tagged(self.unit).kind == "event":
            raise BadInput(
                "Keys are discovered for users: the unit cannot be event.",
                why="what one user may add to all keys must be bounded",
                tip="unit='user'",
            )
        _ = self.selection, self.values  # refuses what does not fit into words

    @property
    def rho(self) -> Fraction:
        """The zCDP of both kinds of counters together."""
        return _allowed(self.epsilon, self.delta / 2)

    @property
    def used_slots(self) -> tuple[int, ...]:
        """The slots that a user can use: each needs a record."""
        return self.slots[: self.records]

    @property
    def look_count(self) -> int:
        """How often keys are looked for."""
        return min(self.horizon, DEFAULT_LOOKS) if self.looks is None else self.looks

    def look_at(self, step: int) -> int:
        """The look that is at this step, 0 if there is none."""
        look = step * self.look_count // self.horizon
        return look if look and self.step_of(look) == step else 0

    def step_of(self, look: int) -> int:
        """The step of a look."""
        return -(-look * self.horizon // self.look_count)

    def next_look(self, step: int) -> int:
        """The first look from this step on."""
        step = whole(step, "step", low=1, high=self.horizon)
        look = -(-step * self.look_count // self.horizon)
        while self.step_of(look) < step:
            look += 1
        return look

    def window_of(self, step: int) -> int:
        """Which of the unit's windows a step is in; users begin anew with each."""
        window = Unit.tagged(self.unit).window
        return 0 if window is None else (step - 1) // window

    @property
    def selection(self) -> SelectionLaw:
        """The noise of selection, and the thresholds."""
        return self.selection_on(None)

    def selection_on(self, bits: int | None) -> SelectionLaw:
        """The same on a grid that a run began with."""
        return SelectionLaw.of(
            self.used_slots, self.look_count, rho=self.rho / 2, delta=self.delta / 2, bits=bits
        )

    @property
    def values(self) -> EncodedNoise:
        """The noise of the values."""
        return self.values_on(Cascade.near(self.horizon, BUFFERS), None)

    def values_on(self, cascade: Cascade, bits: int | None) -> EncodedNoise:
        """The same with the rates and on the grid that a run began with."""
        change = self.bound * root_up(self.records * self.per_key)
        return EncodedNoise.of(
            cascade, self.horizon, change=change, touched=self.records, rho=self.rho / 2, bits=bits
        )

    @property
    def guarantee(self) -> Guarantee:
        """What all published keys and values reveal about one user."""
        return Guarantee(
            loss=Approx(self.epsilon, self.delta),
            unit=Unit.tagged(self.unit),
            neighbours=Neighbours.USER_PRESENCE,
            contribution=Contribution(steps=self.records, bound=self.bound, norm=Norm.L1),
            horizon=self.horizon,
            intrusions=Intrusions.NONE,
        )

    @property
    def error(self) -> KeyValueError:
        """That of the values of a key that is public from the first step on."""
        return self.value_error(1)

    def value_error(self, since: int) -> KeyValueError:
        """The error of the values of a key that is public from step ``since`` on."""
        return KeyValueError(self.values, whole(since, "since", low=1, high=self.horizon))

    def users_needed(self, step: int, probability: float = 0.5) -> int:
        """How many users a key needs so that the first look from ``step`` on finds it with this
        probability, if all of them gave it their first slot at the first look.

        Each look before may have found it, too: it is public by then with a higher probability.
        """
        check_beta(probability)
        look, law = self.next_look(step), self.selection
        height = math.ldexp(law.thresholds[look - 1], -law.noise.bits)
        height += NormalDist().inv_cdf(probability) * law.std(look)
        return max(1, math.ceil(height / law.settled(look) / self.slots[0]))

    def _run(self, state: State, noise: Noise) -> DiscoveryRun:
        return DiscoveryRun(self, state, noise)


@lru_cache(maxsize=256)
def _allowed(epsilon: Fraction, delta: Fraction) -> Fraction:
    return zcdp_rho(epsilon=epsilon, delta=delta)
