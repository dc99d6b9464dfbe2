"""Keys of the data, in the words that plans and questions about tables share.

A key that nobody declared is *discovered*, and then *published*.  Both layers refuse and explain
with these sentences, so that a person who knows one of them can read the other.
"""

from __future__ import annotations

from collections.abc import Mapping

# Why keys are declared.
REVEALING = "a key that appears only when data arrives reveals who is in the data"
# Why keys that are not declared need a delta.
ONE_PERSON = (
    "a key that only one person has would reveal that person; delta is the probability of that"
)
# A delta that makes sense.
SMALL_DELTA = "far below one over the number of users"
# What may be learned from the list of keys.
BY_DATA_ALONE = (
    "Which keys are published, and how many, depends on the data through this mechanism alone."
)
# Why pairs are not discovered.
PAIRS = "a user can help a few keys to be found, and each pair of them would need that"


def not_discovered(column: str, reason: str) -> str:
    """A refusal; the reason follows ``for`` or ``with``.

    >>> not_discovered("tag", "for mean")
    "The keys of 'tag' cannot be discovered for mean."
    """
    return f"The keys of '{column[:64]}' cannot be discovered {reason}."


def own_crowd(events: str) -> str:
    """Why the unit should be a user.

    >>> own_crowd("rows")
    'one person with many rows could publish a key that nobody else has'
    """
    return f"one person with many {events} could publish a key that nobody else has"


def needs_more(what: str) -> str:
    """Why keys cannot be discovered for a statistic.

    >>> needs_more("mean")
    'a discovered key comes with counters of its own, and mean needs more than these'
    """
    return f"a discovered key comes with counters of its own, and {what} needs more than these"


def published_once(needed: str, units: str = "users") -> str:
    """When a key is published; ``needed`` says how many units that takes.

    >>> published_once("about 26 rows", "rows")
    'a key is published once enough rows have brought it, about 26 rows'
    """
    return f"a key is published once enough {units} have brought it, {needed}"


def needed_words(needed: Mapping[int, int]) -> str:
    """How many users a key needs at some steps.

    >>> needed_words({1: 64, 50: 25, 100: 21})
    'about 64 users at step 1, 25 at step 50 and 21 at step 100'
    >>> needed_words({1: 9})
    'about 9 users at step 1'
    """
    first, *others = needed.items()
    told = [f"about {first[1]:,} users at step {first[0]}"]
    told += [f"{count:,} at step {step}" for step, count in others]
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"


def not_published(column: str) -> str:
    """That a question or a step has no key.

    >>> not_published("tag")
    "no key of 'tag' is published"
    """
    return f"no key of '{column}' is published"
