"""What a plan for users needs if its state may be seized: tables, each seized once."""

from __future__ import annotations

from collections.abc import Iterator

from ameles.mechanisms.pan_private.intrusions import SEEN_TWICE
from ameles.plan.problems import Problem
from ameles.plan.sections import PrivacySection, StreamSection


def seized_users(stream: StreamSection, privacy: PrivacySection) -> Iterator[Problem]:
    """All problems of a plan for users with intrusions."""
    if privacy.intrusions == "every":
        yield Problem(
            "privacy.intrusions",
            "The state of users may be seized once, or as often as is announced.",
            why=SEEN_TWICE,
            tip='intrusions = "one" or "announced", or unit = "event"',
        )
    if privacy.intrusions == "announced" and not privacy.restarts:
        yield Problem(
            "privacy.restarts",
            "After an announced intrusion users are counted anew, and that is a restart.",
            why="a user who comes again is also in the table that follows, and each look at one "
            "costs as much again: how many there may be is paid for at launch",
            tip="restarts = 2",
        )
    for name in ("max_per_step", "max_steps"):
        if getattr(privacy, name) is not None:
            yield Problem(
                f"privacy.{name}",
                "A state that may be seized does not record how often a user came.",
                why="it needs no bound: a user has one noisy entry, however often it is redrawn",
                tip="leave it out",
            )
    if stream.horizon is None and privacy.unit == "user":
        yield Problem(
            "stream.horizon",
            "Users whose state may be seized are counted over a number of steps.",
            why="a user may come in every step, and what each step publishes has to be paid for",
            tip='horizon = 30, or unit = "user-window", which begins anew with every window',
        )
