"""Access list: items ordered by how often they were asked for, from private counts.

Theorem      Dwork-Naor-Pitassi-Rothblum 2010 mention it (catalogue 22): one counter for each item;
             the list is ordered by noisy counts.  A request that is replaced by another moves two
             counts by one.  The order is post-processing, so the guarantee is the counters'
Neighbours   one request is replaced
Public       the order, before and after each request.  A request gives nothing back: its place in
             the order would name its item
Error        two items can be in the wrong order only while their counts differ by less than twice
             the error of the counts

>>> from ameles.noise import Zero
>>> items = AccessList(list_counter(epsilon=1, items=3, horizon=8).start(Zero()))
>>> for item in (2, 2, 1):
...     items.request(item)
>>> items.order
(2, 1, 0)
"""

from __future__ import annotations

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.core.parameters import Exact, whole
from ameles.mechanisms.clamped import whole_number
from ameles.mechanisms.counters.recipe import CounterRecipe, CounterRun
from ameles.mechanisms.pan_private.counter import PanPrivateCounter


def list_counter(*, epsilon: Exact, items: int, horizon: int) -> PanPrivateCounter:
    """The counters of the requests for each item.

    >>> list_counter(epsilon=1, items=3, horizon=8).bound
    2
    """
    width = whole(items, "items", low=1, high=1 << 20)
    return PanPrivateCounter(epsilon=epsilon, horizon=horizon, width=width, bound=2)


class AccessList:
    """A list that moves what is asked for often to its front; ``run`` is of ``list_counter``."""

    def __init__(self, run: CounterRun) -> None:
        recipe = run.started_from
        if not isinstance(recipe, CounterRecipe) or not recipe.width or recipe.bound < 2:
            raise BadInput(
                f"A list needs a run of list_counter. Got {run!r} instead.",
                why="a request that is replaced by another changes two counts",
            )
        self._run = run
        self._order = tuple(range(recipe.width))

    def __repr__(self) -> str:
        return f"<list over {self._run!r}>"

    @property
    def order(self) -> tuple[int, ...]:
        """The items as they stand, the first in front: public."""
        return self._order

    def request(self, item: object) -> None:
        """Counts one request, and orders the list anew.

        What is no item counts nowhere; it takes a step as any other request, since a refusal would
        tell.  Look up the item in ``order`` before, if you serve the request: its place is as
        secret as the request.
        """
        number = whole_number(item)
        change = np.zeros(len(self._order), dtype=np.int64)
        if number is not None and 0 <= number < len(self._order):
            change[number] = 1
        counts = np.asarray(self._run.step(change))
        self._order = tuple(np.argsort(-counts, kind="stable").tolist())
