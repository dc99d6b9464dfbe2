"""One release whose keys are discovered: from the records of users to published keys and values.

The mechanism must know, at each step, which keys are public and what each user has added before.
So a batch of steps goes through them one by one.  What is remembered about its users is read from
the store once, and written once, in the transaction that stores the releases.

What is published never tells the order in which keys were first seen: keys that are found at one
step come in the order of their texts, and so do the numbers of their series.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ameles.engine.gathering.key_records import KeyRecords
from ameles.engine.gathering.pending import Pending
from ameles.engine.releasing.key_history import KeyHistory
from ameles.measures.discovering import DiscoveringMeasure
from ameles.measures.measure import Published, Terms
from ameles.mechanisms.discovery.discovery_run import DiscoveryRun
from ameles.mechanisms.discovery.key_discovery import KeyDiscovery
from ameles.mechanisms.discovery.key_steps import KeyOutputs
from ameles.mechanisms.discovery.provisional_numbers import ProvisionalNumbers
from ameles.mechanisms.discovery.user_records import bounded
from ameles.mechanisms.discovery.user_states import UserStates
from ameles.noise.arrays import IntArray
from ameles.store import ReleaseState, StreamRecord, Transaction


@dataclass
class DiscoveredRun:
    """The run of key discovery of one release, and what its measure needs to publish."""

    measure: DiscoveringMeasure
    place: int  # of the release in the plan, from 1
    terms: Terms
    recipe: KeyDiscovery
    run: DiscoveryRun
    state: ReleaseState  # as it was last kept
    series: dict[str, int]  # by published key
    history: KeyHistory

    @property
    def width(self) -> int:
        """About how many numbers a step of it moves: those of keys that are public already."""
        return (1 + int(self.run.public.sum())) * self.recipe.cells

    def release(
        self,
        transaction: Transaction,
        stream: StreamRecord,
        pending: Pending,
        first: int,
        until: int,
    ) -> None:
        """Steps the mechanism from ``first`` to ``until`` and stores the results."""
        amounts = len(self.measure.question.amounts)
        waiting = pending.records.get(self.measure.name) or KeyRecords.none(amounts)
        records = waiting.between(first, until).in_order()
        users = _Users.of(self, transaction, stream, records, self.recipe.window_of(first))
        edges = np.searchsorted(records.step, np.arange(first, until + 2)).tolist()
        for step, (start, end) in enumerate(pairwise(edges), start=first):
            outputs = self._step(records, slice(start, end), users, step)
            self._publish(transaction, stream, outputs, step)
        users.keep(transaction, stream, self.place)
        if self.terms.unit.window is not None:
            window = self.recipe.window_of(until + 1)
            transaction.forget_user_records(stream, window, release=self.place)
        self.state = replace(
            self.state, snapshot=self.run.snapshot(), history=self.history.to_bytes()
        )
        transaction.set_state(stream, self.measure.name, self.state)

    def _step(self, records: KeyRecords, here: slice, users: _Users, step: int) -> KeyOutputs:
        """Bounds what users did in a step and steps the mechanism."""
        users.enter(self.recipe.window_of(step))
        words, of = np.unique(records.word[here], return_inverse=True)
        numbers = ProvisionalNumbers.of(self.run, records.words[words].tolist())
        (amount,) = records.amounts[here].T  # measures that discover keys have one
        inputs, states = bounded(
            self.recipe,
            numbers.public,
            user=users.number[here],
            number=numbers.number[of.reshape(-1)],
            cell=records.cell[here],
            amount=amount,
            earlier=users.states,
        )
        final = numbers.settled(inputs.number)
        users.states = states.renumbered(final)
        users.touched[users.number[here]] = True
        return self.run.step(replace(inputs, number=final[inputs.number]))

    def _publish(
        self, transaction: Transaction, stream: StreamRecord, outputs: KeyOutputs, step: int
    ) -> None:
        """Stores the values of public keys."""
        totals = self.history.spans(outputs.public, outputs.values)
        # a window must begin at the discovery or later: see DiscoveringMeasure.first_step
        known = self.measure.first_step(self.terms, outputs.since) <= step
        words = self.run.names(outputs.public[known])
        names = [name for word in words for name in self.measure.names_of(word)]
        published = self.measure.publish_keys(
            self.recipe, self.terms, totals[known], step, outputs.since[known], names
        )
        if self.measure.keys:  # ranks, which are there from the start
            self._add(transaction, stream, step, list(self.measure.keys), published)
        elif names:
            self._name(transaction, stream, names)
            self._add(transaction, stream, step, names, published)

    def _name(self, transaction: Transaction, stream: StreamRecord, names: list[str]) -> None:
        """Adds series of keys that are published for the first time.

        A key that comes back after it was dropped goes on with its series.
        """
        new = [name for name in names if name not in self.series]
        if new:
            first = transaction.add_series(
                stream, self.measure.name, new, self.state.mechanism, self.state.entry
            )
            self.series |= {name: first + place for place, name in enumerate(new)}

    def _add(
        self,
        transaction: Transaction,
        stream: StreamRecord,
        step: int,
        names: list[str],
        published: Published,
    ) -> None:
        """Stores the values of a step, by runs of series with neighbouring numbers."""
        numbers = np.array([self.series[name] for name in names], dtype=np.int64)
        order = np.argsort(numbers, kind="stable")
        for some in _neighbours(numbers[order]):
            chosen = order[some]
            transaction.add_releases(
                stream,
                step,
                int(numbers[order][some.start]),
                published.value[:, chosen],
                published.low[:, chosen],
                published.high[:, chosen],
                None if published.label is None else published.label[:, chosen],
            )


@dataclass
class _Users:
    """The users of a batch, what is remembered of them, and whose records this batch has."""

    hashes: NDArray[np.uint8]
    number: IntArray  # of each record's user
    states: UserStates
    touched: NDArray[np.bool_]
    window: int

    @classmethod
    def of(
        cls,
        release: DiscoveredRun,
        transaction: Transaction,
        stream: StreamRecord,
        records: KeyRecords,
        window: int,
    ) -> _Users:
        """The users of some records, as the store remembers them in a window."""
        hashes, number = records.users()
        known = transaction.user_records(stream, release.place, window, hashes)
        states = UserStates.from_bytes([known.get(user) for user in range(len(hashes))])
        states.check_known(release.run.public.size)
        return cls(hashes, number, states, np.zeros(len(hashes), dtype=bool), window)

    def enter(self, window: int) -> None:
        """Begins anew at the edge of a window: nobody has added anything in the new one."""
        if window != self.window:
            self.window = window
            self.states = UserStates.empty(len(self.hashes))
            self.touched[:] = False

    def keep(self, transaction: Transaction, stream: StreamRecord, place: int) -> None:
        """Stores what is remembered of the users whom the last window of the batch has seen."""
        here = np.flatnonzero(self.touched)
        pieces = self.states.to_bytes()
        some = [pieces[user] for user in here.tolist()]
        transaction.set_user_records(stream, place, self.window, self.hashes[here], some)


def _neighbours(numbers: IntArray) -> Iterator[slice]:
    """The places of runs of ascending numbers without a gap.

    >>> [(one.start, one.stop) for one in _neighbours(np.array([3, 4, 5, 9, 10, 12]))]
    [(0, 3), (3, 5), (5, 6)]
    """
    edges = np.flatnonzero(np.diff(numbers) != 1) + 1
    bounds = [0, *edges.tolist(), len(numbers)]
    for start, stop in pairwise(bounds):
        yield slice(start, stop)
