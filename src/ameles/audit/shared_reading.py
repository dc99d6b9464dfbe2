"""One reading for many views: the looks of all of them in the same runs.

A look at a state should change nothing, so a run with looks at all instants shows what each view
shows.  That is a guess, and ``matrices_of`` checks it in runs of each view alone: a mechanism that
notices a look, or draws its noise when an event comes that counts nothing, is read again.
"""

from __future__ import annotations

from collections.abc import Sequence

from ameles.audit.instant import View
from ameles.audit.observation import Effects, NotLinear, Observer, effects_of
from ameles.audit.wide_reading import wide_effects
from ameles.mechanisms.mechanism import AnyMechanism

# Fewer views are read faster one by one than together and then checked one by one.
WORTH_SHARING = 3


class SharedReading:
    """The effects of draws and inputs on all that some of these views see."""

    def __init__(self, recipe: AnyMechanism, steps: int, views: Sequence[View]) -> None:
        looks = [view for view in views if _only_looks(view)]
        together = tuple(dict.fromkeys(instant for view in looks for instant in view))
        self._effects: Effects | None = None
        if len(looks) >= WORTH_SHARING:
            observer = Observer(recipe, steps, together)
            try:
                still = observer.see((), [0] * steps)
                self._effects = wide_effects(observer) or effects_of(observer, still)
            except NotLinear:  # then each view is read alone, and raises if it is not linear
                return
            self._places = observer.places

    def of(self, view: View) -> Effects | None:
        """What the view should show; None if nothing is known about it."""
        if self._effects is None or not _only_looks(view):
            return None
        places = {instant.place for instant in view}
        seen = [i for i, place in enumerate(self._places) if place is None or place in places]
        return self._effects.at(seen)


def _only_looks(view: View) -> bool:
    """Whether a view looks, once at each of its places, and tells the run nothing."""
    places = {instant.place for instant in view}
    return len(places) == len(view) > 0 and all(one.announced is None for one in view)
