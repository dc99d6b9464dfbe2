"""What a plan needs if keys are discovered while its stream runs."""

from __future__ import annotations

from collections.abc import Iterator

from ameles.measures.key_words import ONE_PERSON, SMALL_DELTA, not_discovered, own_crowd
from ameles.measures.measure import Measure
from ameles.plan.problems import Problem
from ameles.plan.sections import PrivacySection, StreamSection


def discovered_keys(
    release: Measure, stream: StreamSection, privacy: PrivacySection
) -> Iterator[Problem]:
    """All problems of a release with a discovered column, apart from its own keys."""
    column = release.discovered
    if column is None:
        return
    place = f"release '{release.name}'.by"
    if privacy.unit == "event":
        yield Problem(
            place,
            not_discovered(column, "with the unit event"),
            why=f"nothing says which events belong to one user, and {own_crowd('events')}",
            tip='unit = "user" with its bounds, or declared keys',
        )
    if privacy.intrusions != "none":
        yield Problem(
            place,
            not_discovered(column, f'with intrusions = "{privacy.intrusions}"'),
            why="until a key is public, the state has its text and who brought it",
            tip='intrusions = "none", or declared keys',
        )
    if not privacy.delta:
        yield Problem(
            place,
            not_discovered(column, "with delta = 0"),
            why=ONE_PERSON,
            tip=f"delta = 1e-9, {SMALL_DELTA}; or declared keys",
        )
    if stream.horizon is None:
        yield Problem(
            place,
            not_discovered(column, "without a horizon"),
            why="each look for keys is a chance that one user's key appears, and all of them "
            "together are paid for at launch",
            tip="horizon = 365, or declared keys",
        )
