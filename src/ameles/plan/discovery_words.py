"""A release whose keys are discovered, in words for the people in the data."""

from __future__ import annotations

from ameles.measures.discovering import DiscoveringMeasure
from ameles.measures.expected import expected
from ameles.measures.key_words import BY_DATA_ALONE, needed_words, published_once
from ameles.mechanisms.discovery.key_discovery import KeyDiscovery
from ameles.plan.plan import Plan


def discovery_words(plan: Plan, release: DiscoveringMeasure) -> list[str]:
    """When a key is published, what one user may do for it, and when it is dropped."""
    recipe = expected(plan.recipes[release.name], KeyDiscovery)
    last = recipe.horizon
    steps = (1, max(1, last // 2), last)
    needed = needed_words(
        {recipe.step_of(recipe.next_look(step)): recipe.users_needed(step) for step in steps}
    )
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
        f"Release '{release.name}' discovers the keys of '{release.discovered}': "
        f"{published_once(needed)}. {BY_DATA_ALONE}",
        f"Of each user{within}, at most {kept} on all keys of '{release.name}' together{of_these}; "
        f"a user helps at most {help_} to be found.",
    ]
    if release.drop_after is not None:
        sentences.append(
            f"A key of '{release.name}' whose published number has not grown by more than its "
            f"noise for {release.drop_after} is dropped; if it comes back, it is found anew."
        )
    return sentences
