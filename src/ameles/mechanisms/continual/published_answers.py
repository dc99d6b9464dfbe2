"""The shared part of mechanisms that publish the answers of an estimator, step after step.

The loss is that of seizing the estimator's state once, and that of what is published.

A table that counts modulo a number is refused, however deep it is among an estimator's parameters:
its answers can change at every step, and Thm 5.3 rules out publishing them at every step at user
level (catalogue 18, 27).

>>> from ameles.mechanisms.pan_private.modular import ModularIncidence
>>> table = ModularIncidence(users=9, modulus=2, neighbours="user-presence", epsilon_state=1,
...                          epsilon_output=1)
>>> [type(part).__name__ for part in parts(table)]
['ModularIncidence']
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import NoReturn

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Guarantee, Intrusions
from ameles.core.loss import Approx, Pure
from ameles.core.parameters import Epsilon, Exact, Whole, exact, refuse
from ameles.core.recipe import Recipe
from ameles.mechanisms.continual.estimators.estimator import (
    Algorithm,
    Estimator,
    check_estimator,
)
from ameles.mechanisms.counters.lower_bounds import varying_bound
from ameles.mechanisms.mechanism import Mechanism, RunT
from ameles.mechanisms.pan_private.intrusions import PAPER
from ameles.mechanisms.pan_private.residue_table import ResidueRecipe


@dataclass(frozen=True, kw_only=True)
class PublishedAnswers(Mechanism[RunT]):
    """An estimator whose answers are published, in units of its grid."""

    algorithm: Algorithm = Algorithm()
    epsilon: Epsilon = Epsilon()
    horizon: Whole = Whole(1, 2**40)

    def __post_init__(self) -> None:
        check_varying(self.algorithm, steps=self.horizon, epsilon=self.published_loss.epsilon)
        check_estimator(self.algorithm)
        state = self.algorithm.state_guarantee
        if not isinstance(state.loss, Pure):
            raise BadInput(
                "The state of an algorithm whose answers are published must have a pure loss.",
                why=f"its loss is {state.loss}, and the loss of the answers is added to a pure one",
            )
        if state.horizon is not None and state.horizon < self.horizon:
            raise refuse("horizon", f"at most the algorithm's own, {state.horizon}", self.horizon)
        if 64 * self.widest >= 1 << 61:
            raise BadInput(
                "These parameters need noise that does not fit into 64 bits.",
                why="its scale grows with the sensitivity and the horizon, and falls with epsilon",
                tip="a larger epsilon, fewer steps or changes, or a coarser grid",
            )

    @property
    @abstractmethod
    def published_loss(self) -> Pure | Approx:
        """What all answers lose together."""

    @property
    @abstractmethod
    def widest(self) -> Fraction:
        """The largest scale, or variance, of a noise."""

    @property
    def intrusions(self) -> Intrusions:
        """One, if the algorithm's state may be seized at all."""
        return Intrusions.ONE if self.algorithm.seizable else Intrusions.NONE

    @property
    def guarantee(self) -> Guarantee:
        """The algorithm's promise about its state, with the cost of the answers added."""
        state = self.algorithm.state_guarantee
        # A secret state costs nothing: the sensitivity alone carries the proof.
        seized = state.loss.epsilon if isinstance(state.loss, Pure) else Fraction(0)
        answers = self.published_loss
        return Guarantee(
            loss=replace(answers, epsilon=seized + answers.epsilon),
            unit=state.unit,
            neighbours=state.neighbours,
            contribution=replace(
                state.contribution, steps=min(state.contribution.steps, self.horizon)
            ),
            horizon=self.horizon,
            intrusions=self.intrusions,
        )


def check_sensitivity(algorithm: Estimator, sensitivity: int) -> None:
    """Refuses noise for answers that are closer together than the algorithm says its own are."""
    own = algorithm.sensitivity
    if own is not None and sensitivity < own:
        raise refuse("sensitivity", f"at least the algorithm's own, {own}", sensitivity)


def parts(value: object) -> Iterator[Recipe]:
    """The recipe and all recipes among its parameters; nothing for other values."""
    if isinstance(value, tuple):
        for item in value:
            yield from parts(item)
    elif isinstance(value, Recipe):
        yield value
        for field in fields(value):
            yield from parts(getattr(value, field.name))


def check_varying(algorithm: object, *, steps: int, epsilon: Exact) -> None:
    """Refuses to publish residues at every step; ``epsilon`` is that of publishing."""
    for table in parts(algorithm):
        if isinstance(table, ResidueRecipe):
            total = table.seizure_loss + exact(epsilon, "epsilon")
            refuse_continual_modular(users=table.users, steps=steps, epsilon=total)


def refuse_continual_modular(*, users: int, steps: int, epsilon: Exact) -> NoReturn:
    """Refuses the fraction of users with a certain residue, published at every step.

    At each step all users may occur, as often as it takes to enter the residue or to leave it: a
    jump of 1, or none.
    """
    bound = varying_bound(
        changes=steps, jump=1, users=users, epsilon=exact(epsilon, "epsilon"), beta=0.5
    )
    raise BadInput(
        "Counts modulo a number cannot be published at every step at user level.",
        why=f"a residue comes back without end, so with {users} users and {steps} steps any such "
        f"algorithm is wrong by {bound:.3g} of all users at some step with probability 1/2 "
        f"({PAPER}, Thm 5.3, corrected)",
        tip="one release at the end, or few with 'releases', each paid for; events as the unit; or "
        "counts at a threshold, which only grow",
    )
