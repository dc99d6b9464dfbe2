"""A release whose keys are discovered, in words for the people in the data."""

from __future__ import annotations

from ameles.measures.discovering import DiscoveringMeasure
from ameles.measures.expected import expected
from ameles.mechanisms.discovery.key_discovery import KeyDiscovery
from ameles.plan.plan import Plan


def discovery_words(plan: Plan, release: DiscoveringMeasure) -> list[str]:
    """When a key is published, what one user may do for it, and when it is dropped."""
    recipe = expected(plan.recipes[release.name], KeyDiscovery)
    last = recipe.horizon
    steps = (1, max(1, last // 2), last)
    needed = needed_words(tuple(map(recipe.users_needed, steps)), steps)
    kept = "1 event counts" if recipe.records == 1 else f"{recipe.records:,} events count"
    of_these = (
        ""
        if recipe.per_key == recipe.records
        else f", and at most {recipe.per_key:,} of them on one key"
    )
    slots = len(recipe.used_slots)
    help_ = "1 key" if slots == 1 else f"{slots} keys"
    within = "" if plan.unit.window is None else " within a window"
    sentences = [
        f"Release '{release.name}' discovers the keys of '{release.discovered}': a key is "
        f"published once enough users have brought it, {needed}. Which keys are published, and how "
        "many, depends on the data through this mechanism alone.",
        f"Of each user{within}, at most {kept} on all keys of '{release.name}' together{of_these}; "
        f"a user helps at most {help_} to be found.",
    ]
    if release.drop_after is not None:
        sentences.append(
            f"A key of '{release.name}' whose published number has not grown by more than its "
            f"noise for {release.drop_after} is dropped; if it comes back, it is found anew."
        )
    return sentences


def needed_words(users: tuple[int, ...], steps: tuple[int, ...]) -> str:
    """How many users a key needs at some steps.

    >>> needed_words((64, 25, 21), (1, 50, 100))
    'about 64 users at step 1, 25 at step 50 and 21 at step 100'
    >>> needed_words((9, 9, 9), (1, 1, 1))
    'about 9 users at step 1'
    """
    first, *others = dict(zip(steps, users, strict=True)).items()
    told = [f"about {first[1]:,} users at step {first[0]}"]
    told += [f"{count:,} at step {step}" for step, count in others]
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"
