"""What a plan promises, before any data is read: its guarantee in words, the mechanism of each
release, and the half-width of its interval at the first, middle and last step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ameles.core.loss import Loss, Pure, shown
from ameles.core.recipe import Recipe
from ameles.measures.discovering import DiscoveringMeasure
from ameles.measures.measure import Measure
from ameles.plan.clock import instant
from ameles.plan.discovery_words import discovery_words
from ameles.plan.durations import Duration
from ameles.plan.plan import Plan
from ameles.plan.shared_cells import shared_cells

# Without a horizon, the forecast looks at these steps.
LOOKED_AHEAD = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """One release: what it spends, and how far from the truth it will be."""

    release: str
    measure: str
    over: str
    keys: int
    loss: Loss
    mechanism: str
    recipe: str
    steps: tuple[int, int, int]
    half_widths: tuple[float, float, float]  # of the 95% interval, for one key
    of: str  # the quantity that the half-widths are about
    why: str  # the reason for this mechanism
    discovered: str | None = None  # the column whose keys are discovered
    users_needed: tuple[int, int, int] | None = None  # that a key needs, to be found by each step
    looked_for: tuple[int, int, int] | None = None  # the step of the first look from each step on


def forecasts(plan: Plan) -> list[Forecast]:
    """Every release of the plan; reads no data and spends nothing."""
    last = plan.stream.horizon or LOOKED_AHEAD
    steps = (1, max(1, last // 2), last)
    return [_forecast(plan, release, steps) for release in plan.releases]


def _forecast(plan: Plan, release: Measure, steps: tuple[int, int, int]) -> Forecast:
    recipe: Recipe = plan.recipes[release.name]
    needed = looked_for = None
    if isinstance(release, DiscoveringMeasure):
        needed, looked_for = release.users_needed(recipe, steps), release.looked_for(recipe, steps)
    half = release.half_widths(recipe, plan.terms(release), np.array(steps)).tolist()
    return Forecast(
        release=release.name,
        measure=release.measure,
        over=release.over,
        keys=len(release.keys),
        loss=plan.shares[release.name],
        mechanism=type(recipe).__name__,
        recipe=recipe.to_json(),
        steps=steps,
        half_widths=(half[0], half[1], half[2]),
        of=release.forecast_of(plan.terms(release)),
        why=release.why(recipe, plan.terms(release)),
        discovered=release.discovered,
        users_needed=needed,
        looked_for=looked_for,
    )


def in_words(plan: Plan) -> list[str]:
    """The guarantee of a plan, as sentences for the people in the data."""
    stream, privacy = plan.stream, plan.privacy
    ends = (
        "for as long as it runs"
        if stream.horizon is None
        else f"for {_counted(stream.horizon, 'step')}, until {_day(plan, stream.horizon)}"
    )
    sentences = [
        f"Stream '{stream.name}' publishes {_numbers(plan)} every {often(stream.every)} from "
        f"{_day(plan, 0)} on, {ends}.",
        _protected(plan),
        f"It spends {plan.loss} of {payer_words(plan)}, once, when it is launched. "
        "Steps cost nothing more, and running it again is free.",
    ]
    for release in plan.releases:
        if isinstance(release, DiscoveringMeasure) and release.discovered is not None:
            sentences += discovery_words(plan, release)
    sentences += _learned(plan)
    if privacy.intrusions != "none":
        sentences.append(_seized(plan))
        if privacy.intrusions == "every":
            sentences.append(_batches())
        if privacy.unit != "event":
            sentences += shared_cells(plan)
        if privacy.restarts:
            sentences.append(_restarts(plan))
    late = "counted in the next open step" if stream.late == "next" else "dropped"
    sentences.append(f"Events that come after their step was released are {late}.")
    return sentences


def payer_words(plan: Plan) -> str:
    """Who pays for a plan: its population, or a budget of it."""
    named, population = plan.privacy.budget, f"population '{plan.privacy.population}'"
    return population if named is None else f"budget '{named}' of {population}"


def _protected(plan: Plan) -> str:
    privacy = plan.privacy
    whole = "Everything published, taken together, hardly changes"
    if privacy.unit == "event":
        return f"{whole} if one event is added or removed: one event, not one person."
    if privacy.intrusions != "none":
        within = "" if privacy.window is None else f" within {privacy.window}"
        alone = (
            ""
            if privacy.window is None
            else " The loss is per window: over several windows it adds up."
        )
        return f"{whole} if one user's events{within} are added or removed, however many.{alone}"
    kept = (
        f"it counts at most {_counted(privacy.max_per_step or 1, 'event')} in a step, in at most "
        f"{_counted(privacy.max_steps or 1, 'step')}, and drops all others"
    )
    if privacy.window is None:
        return f"{whole} if one user with all events is added or removed. Of each user, {kept}."
    return (
        f"{whole} if one user's events within {privacy.window} are added or removed. Of each "
        f"user, within that time, {kept}. The loss is per window: over several windows it adds up."
    )


def _seized(plan: Plan) -> str:
    """What may be seized, how often, and what that reveals."""
    often = {
        "one": "once, at any moment, whether anybody notices or not",
        "announced": "again and again, if each time is announced before the next",
        "every": "at every step, whether anybody notices or not",
    }[plan.privacy.intrusions]
    events = plan.privacy.unit == "event"
    if not events and plan.privacy.intrusions == "announced":
        times = 1 + plan.privacy.restarts
        often = f"{times} times, if each time is announced before the next"
    what = "what an event was" if events else "whether a user came"
    arrived = "an event arrived" if events else "events arrived"
    return (
        f"What it keeps may be seized {often}: together with everything published, it reveals "
        f"no more than this about {what}. It may reveal that {arrived}, and when."
    )


def _batches() -> str:
    """The part of the noise that is known only when the events have come."""
    return (
        "The noise that is forecast is that of one batch of events a step. Events are counted in "
        "batches, about one in each second in which some arrive, and each further batch adds a "
        "noise: n batches make the noise about the square root of n times as large. Every number "
        "is published with the interval for the batches that there were."
    )


def _restarts(plan: Plan) -> str:
    """How often the stream may restart, and at what price."""
    privacy = plan.privacy
    often = "once" if privacy.restarts == 1 else f"{privacy.restarts} times"
    if privacy.unit == "event":
        price = (
            "this costs nothing more, because an event is in only one of the parts. Totals go on, "
            "and each restart adds one noise to them"
        )
    else:
        price = (
            f"epsilon is divided among the {privacy.epochs_paid} parts, because a user may come "
            "in each. Users are then counted anew"
        )
    seen = privacy.intrusions == "announced" and privacy.unit != "event"
    lost = "is lost" if not seen else "is lost or an intrusion announced"
    return f"If its state {lost}, it can begin anew {often}: {price}."


def _learned(plan: Plan) -> list[str]:
    """What an attacker with a prior of one half can learn; a warning if that is everything."""
    epsilon = plan.privacy.epsilon
    grown = float(np.exp(min(float(epsilon), 700.0)))
    posterior = grown / (1 + grown)
    who = {"event": "an event", "user": "a user"}.get(plan.privacy.unit, "a user's window")
    thinks = f"Somebody who gives even odds that {who} is in the data can become"
    sure = f"{posterior:.0%}"
    if sure == "100%":
        hidden = f"Warning: at this epsilon the noise hides nobody. {thinks} as good as certain"
        return [f"{hidden} (epsilon {shown(epsilon)})."]
    if not isinstance(plan.loss, Pure):
        return []  # the bound is for pure losses
    return [f"{thinks} at most {sure} sure (epsilon {shown(epsilon)})."]


def _numbers(plan: Plan) -> str:
    fixed = sum(len(release.keys) for release in plan.releases)
    found = [release for release in plan.releases if release.discovered is not None]
    found = [release for release in found if not release.keys]
    if not found:
        return _counted(fixed, "number")
    keys = "numbers for each key that is discovered"
    return f"{_counted(fixed, 'number')} and {keys}" if fixed else keys


def often(every: Duration) -> str:
    """A duration after the word "every".

    >>> often(Duration.read("1d")), often(Duration.read("10m"))
    ('day', '10 minutes')
    """
    word = {"s": "second", "m": "minute", "h": "hour", "d": "day", "w": "week"}[every.unit]
    return word if every.count == 1 else f"{every.count} {word}s"


def _counted(count: int, word: str) -> str:
    return f"1 {word}" if count == 1 else f"{count:,} {word}s"


def _day(plan: Plan, step: int) -> str:
    return f"{instant(plan.clock.end_of(step) if step else plan.clock.first):%Y-%m-%d %H:%M} UTC"
