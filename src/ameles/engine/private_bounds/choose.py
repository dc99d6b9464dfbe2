"""Chooses bounds of a plan privately: one payment, one reading of the source, one choice for each.

The score of a candidate is minus what it clips and minus the noise that it needs.  What all units
together clip is secret; the noise is public.  The exponential mechanism chooses, and only the
choices are published.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any

from ameles.connectors.files.identity import LOOKS, ChangedMeanwhile
from ameles.connectors.source import PassingSource, SeekableSource
from ameles.core.exceptions import PlanError
from ameles.core.guarantee import Neighbours
from ameles.core.parameters import Epsilon, Exact, exact, refuse, shown
from ameles.engine.gathering.moment import moment_at
from ameles.engine.private_bounds.candidates import CandidateBound, Grids, plan_bounds, with_bounds
from ameles.engine.private_bounds.clipped import clipped_amounts
from ameles.engine.private_bounds.noise_cost import SCALE, noise_costs
from ameles.engine.running.chosen_bounds import ASKED
from ameles.mechanisms.one_shot.choice_series import ChoiceSeries
from ameles.mechanisms.run import Run
from ameles.plan.plan import Plan
from ameles.plan.source import plan_source
from ameles.query.account import Account, PaidQuestion
from ameles.query.answer import Answer
from ameles.query.ending import AnswerRow

BETA = 0.05


@dataclass(frozen=True)
class BoundsQuestion:
    """The bounds to choose for a plan, at a public price; nothing was read yet."""

    plan: Plan
    widest: Plan  # the same with every bound at its widest candidate
    bounds: tuple[CandidateBound, ...]
    costs: tuple[tuple[int, ...], ...]  # of each bound and candidate: the noise, public
    idle: tuple[CandidateBound, ...]  # bounds that stay as they are, since no noise depends on them
    recipe: ChoiceSeries
    now: datetime

    @property
    def epsilon(self) -> Fraction:
        """What all choices cost together."""
        return sum(self.recipe.epsilons, Fraction(0))

    @property
    def share(self) -> Fraction:
        """What one choice costs."""
        return self.recipe.epsilons[0]

    def worse(self, bound: CandidateBound) -> Fraction:
        """By how much a choice may be worse than the best, with 95%, in the units of the bound."""
        step = self.bounds.index(bound) + 1
        return Fraction(int(self.recipe.error.bound(step, BETA)), SCALE) * bound.unit

    def scores(self) -> list[list[int]]:
        """The score of each candidate: exact and secret."""
        clipped = _clipped(self.widest, self.bounds, self.now)
        return [
            [-(amount + cost) for amount, cost in zip(amounts, costs, strict=True)]
            for amounts, costs in zip(clipped, self.costs, strict=True)
        ]

    def purchase(self, version: str | None) -> PaidQuestion:
        """What is bought; ``version`` is the owner's public label of the data."""
        asked = {
            "asked": ASKED,
            "plan": json.loads(self.plan.to_json()),
            "candidates": {one.label: [str(c) for c in one.candidates] for one in self.bounds},
            "epsilon": str(self.epsilon),
        }
        return PaidQuestion(
            question=json.dumps(asked, sort_keys=True, separators=(",", ":")),
            version=version,
            recipe=self.recipe,
            asked=ASKED,
            key_names=("bound",),
            value_name="chosen",
            on=f"{self.plan.stream.name}/bounds",
            why=f"bounds of the plan of stream '{self.plan.stream.name}'",
        )

    def answer(self, run: Run[Any, Any]) -> tuple[AnswerRow, ...]:
        """The choices of a run that was bought."""
        places = run.feed(self.scores())
        return tuple(
            AnswerRow(key=(bound.label,), value=str(bound.candidates[place]))
            for bound, place in zip(self.bounds, places, strict=True)
        )

    def ask(self, account: Account, version: str | None) -> Answer:
        """The chosen bounds: bought and computed now, or stored before."""
        return account.ask(self.purchase(version), self.answer)


def bounds_question(
    plan: Plan, *, epsilon: Exact, now: datetime, grids: Grids | None = None
) -> BoundsQuestion:
    """The bounds of a plan that can be chosen; refuses what cannot be, and reads no event."""
    _check_readable(plan)
    every = plan_bounds(plan, grids)
    widest = with_bounds(plan, {bound.label: bound.candidates[-1] for bound in every})
    steps = max(moment_at(plan, 0, now).target, 1)
    noise = {
        bound: noise_costs(plan, bound, every, steps)
        for bound in every
        if len(bound.candidates) > 1
    }
    costs = {bound: cost for bound, cost in noise.items() if cost is not None}
    chosen = tuple(costs)
    if not chosen:
        raise _nothing_to_choose(every)
    users = plan.privacy.user is not None
    recipe = ChoiceSeries(
        epsilons=[_share(epsilon, len(chosen))] * len(chosen),
        sensitivities=[SCALE * bound.reach for bound in chosen],
        candidates=[len(bound.candidates) for bound in chosen],
        neighbours=Neighbours.USER_PRESENCE if users else Neighbours.ADD_REMOVE,
        unit=plan.unit.tag,
        monotone=True,
    )
    return BoundsQuestion(
        plan=plan,
        widest=widest,
        bounds=chosen,
        costs=tuple(costs.values()),
        idle=tuple(bound for bound in noise if bound not in costs),
        recipe=recipe,
        now=now,
    )


def _share(epsilon: Exact, choices: int) -> Fraction:
    """What each choice gets; refused in the words of the person who gave the whole."""
    share = exact(epsilon, "epsilon") / choices
    each = Epsilon()
    if not each.low <= share <= each.high:
        span = f"from {shown(each.low * choices)} to {shown(each.high * choices)}"
        raise refuse("epsilon", f"{span} for these choices", epsilon)
    return share


def _clipped(plan: Plan, bounds: Sequence[CandidateBound], now: datetime) -> list[list[int]]:
    """What each candidate clips in the whole source; retried if a file changes meanwhile."""
    for again in reversed(range(LOOKS)):
        try:
            reading = _source(plan).reading(None)
            return clipped_amounts(plan, bounds, reading, moment_at(plan, 0, now))
        except ChangedMeanwhile:
            if not again:
                raise
    raise AssertionError("a look ends")


def _check_readable(plan: Plan) -> None:
    """Refuses plans whose events cannot be read, or must not be kept."""
    if plan.privacy.intrusions != "none":
        raise PlanError(
            "The bounds of a pan-private plan cannot be chosen from its events.",
            why="events are seen once, and no exact number about them may be kept",
            tip="bounds from what is publicly known",
        )
    _source(plan)


def _source(plan: Plan) -> SeekableSource[Any]:
    """The source; only the names of files and columns have been read."""
    source = plan_source(plan)
    if isinstance(source, PassingSource):
        named = plan.stream.source_kind.describe(plan.stream.source)
        raise PlanError(
            f"The source is {named}, which can be read once only.",
            why="choosing bounds would use up its events",
            tip="a file with earlier events as the source",
        )
    return source


def _nothing_to_choose(every: Sequence[CandidateBound]) -> PlanError:
    if not every:
        return PlanError(
            "The plan has no bounds to choose.",
            why="they are max_per_step and max_steps of users, and lower and upper of sums and "
            "means",
        )
    if all(len(bound.candidates) == 1 for bound in every):
        return PlanError(
            "There is nothing to choose: every bound has one candidate only.",
            why="the plan's own bound is the widest candidate, and it is the narrowest, too",
            tip=f"a wider bound in the plan, or --grid {every[0].label}=1,2,5,10",
        )
    return PlanError(
        "There is nothing to choose: the noise of no release depends on these bounds.",
        why="a wider bound would cost nothing, and clip less",
        tip="the widest bounds that the plan can have",
    )
