"""Numbers of keys while it is open on which of them a record counts.

The rule of ``user_records`` needs a number for each key.  A key on which no record counts can never
be published, so it gets no number that stays: the state would otherwise grow with every text that
somebody writes beyond the bounds.  New keys get provisional numbers here.  Those on which a record
counts are then numbered by the run, in the same order.

>>> from ameles.mechanisms.discovery.key_discovery import KeyDiscovery
>>> from ameles.noise import Zero
>>> run = KeyDiscovery(epsilon=6, delta=1e-9, horizon=4, records=1).start(Zero())
>>> step = ProvisionalNumbers.of(run, ["ants", "bees", "cats"])
>>> step.number.tolist(), step.public.tolist()
([0, 1, 2], [False, False, False])
>>> step.settled(np.array([0, 2])).tolist(), run.known(["cats", "bees"]).tolist()
([0, -1, 1], [1, -1])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ameles.mechanisms.discovery.discovery_run import DiscoveryRun
from ameles.noise.arrays import BoolArray, IntArray


@dataclass(frozen=True, eq=False)
class ProvisionalNumbers:
    """The numbers of the keys of one step; ``public`` tells of each number whether it is."""

    run: DiscoveryRun
    new: Sequence[str]  # keys without a number, each once
    number: IntArray  # of each given key
    public: BoolArray

    def __repr__(self) -> str:
        return "<provisional numbers>"

    @classmethod
    def of(cls, run: DiscoveryRun, keys: Sequence[str]) -> ProvisionalNumbers:
        """For these keys, in their order; a key may be there more than once."""
        number, public = run.known(keys), run.public
        new: dict[str, int] = {}
        for place in np.flatnonzero(number < 0).tolist():
            number[place] = new.setdefault(keys[place], public.size + len(new))
        known = np.concatenate([public, np.zeros(len(new), dtype=np.bool_)])
        return cls(run, list(new), number, known)

    def settled(self, counted: IntArray) -> IntArray:
        """The final number of each provisional one, -1 for none; the run numbers those that count.

        Their order stays the same.
        """
        before = self.public.size - len(self.new)
        counts = np.zeros(self.public.size, dtype=np.bool_)
        counts[counted] = True
        chosen = np.flatnonzero(counts[before:])
        final = np.full(self.public.size, -1, dtype=np.int64)
        final[:before] = np.arange(before)
        final[before + chosen] = self.run.numbers([self.new[place] for place in chosen.tolist()])
        return final
