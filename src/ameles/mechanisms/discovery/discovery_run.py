"""A run of key discovery: what users added goes in, public keys and their values come out.

A key is first *seen*: it has a number, and its exact amounts are buffered.  When somebody's slot
names it, it gets a selection counter.  When a look finds it, it is *public*: a counter for each
cell begins at that step, with the buffered amounts as its first input.  A key that is dropped is
forgotten; if it comes back it gets a new number and begins again.

The state is secret.  Numbers are in the order of first sight and are secret too.

>>> from ameles.mechanisms.discovery.key_discovery import KeyDiscovery
>>> from ameles.noise import Zero
>>> run = KeyDiscovery(epsilon=6, delta=1e-9, horizon=4, records=8).start(Zero())
>>> isinstance(run, DiscoveryRun), run.numbers(["cats", "dogs"]).tolist()
(True, [0, 1])
>>> out = run.step(KeyInputs.of(number=[0, 1], selected=[160, 4], amounts=[[40], [1]]))
>>> isinstance(out, KeyOutputs), run.names(out.discovered), run.public.tolist()
(True, ['cats'], [True, False])
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.mechanisms.counters.gaussian.cascade import Cascade
from ameles.mechanisms.counters.gaussian.encoded import rounded
from ameles.mechanisms.discovery.key_names import KeyNames
from ameles.mechanisms.discovery.key_steps import KeyInputs, KeyOutputs
from ameles.mechanisms.discovery.noise_table import NoiseTable, advance
from ameles.mechanisms.discovery.selection_counters import SelectionCounters
from ameles.mechanisms.discovery.value_error import KeyValueError
from ameles.mechanisms.discovery.word_arrays import narrowed, widened
from ameles.mechanisms.run import Turn
from ameles.mechanisms.snapshot import State
from ameles.mechanisms.stepped import SteppedRun, integer
from ameles.noise.arrays import BoolArray, IntArray

if TYPE_CHECKING:
    from ameles.mechanisms.discovery.key_discovery import KeyDiscovery

# What a number is: seen only, named since the last look, with a selection counter, public, dropped.
SEEN, FRESH, LIVE, PUBLIC, DROPPED = range(5)
# A key is dropped if its increment is within this interval around zero.
QUIET = 0.05

Named: TypeAlias = Mapping[str, Sequence[int]]


class DiscoveryRun(SteppedRun["KeyInputs | Named", KeyOutputs]):
    """Takes what users added to keys in a step; see ``user_records``.

    A step also takes a mapping from a key to its selection weight and its amounts.
    """

    def __init__(self, recipe: KeyDiscovery, state: State, noise: Noise) -> None:
        super().__init__(recipe, state)
        self._recipe = recipe
        self._noise = noise
        self._names = KeyNames()
        none = np.empty(0, dtype=np.int64)
        self._status, self._weights = none.astype(np.int8), none
        self._amounts = np.empty((0, recipe.cells), dtype=np.int64)
        self._public_numbers, self._since, self._leaving = none, none, none
        self._marks = np.empty((0, recipe.cells), dtype=np.int64)
        if state.parts:
            self._restore(state.parts)
        else:
            self._selection = SelectionCounters(recipe.selection)
            self._values = NoiseTable(recipe.values)

    @property
    def public(self) -> BoolArray:
        """Which numbers were public at the end of the last step."""
        known: BoolArray = self._status[: len(self._names)] == PUBLIC
        return known

    def numbers(self, keys: Sequence[str]) -> IntArray:
        """The numbers of these keys, in order of first sight: secret.  New ones are numbered."""
        self._names.check(keys)
        with Turn(self):
            return self._numbers(keys)

    def known(self, keys: Sequence[str]) -> IntArray:
        """The numbers of these keys, -1 for those that have none: secret."""
        self._names.check(keys)
        self.check_live()
        return self._names.known(keys)

    def names(self, numbers: Iterable[int] | IntArray) -> list[str]:
        """The keys of these numbers; that of a dropped one until the next step."""
        self.check_live()
        return self._names.texts(numbers)

    def _numbers(self, keys: Sequence[str]) -> IntArray:
        numbers = self._names.numbers(keys)
        missing = len(self._names) - self._status.size
        if missing > 0:
            room = max(missing, self._status.size, 64)
            self._status = np.concatenate([self._status, np.zeros(room, dtype=np.int8)])
            self._weights = np.concatenate([self._weights, np.zeros(room, dtype=np.int64)])
            fresh = np.zeros((room, self._recipe.cells), dtype=np.int64)
            self._amounts = np.concatenate([self._amounts, fresh])
        return numbers

    # A step ------------------------------------------------------------------------------------

    def _checked(self, x: KeyInputs | Named) -> KeyInputs | tuple[list[str], KeyInputs]:
        if isinstance(x, KeyInputs):
            inputs = _whole(x, self._recipe.cells)
            if inputs.number.size:
                if not 0 <= inputs.number.min() <= inputs.number.max() < len(self._names):
                    raise BadInput("A number is not that of a key.", tip="run.numbers(keys)")
                marked = np.zeros(len(self._names), dtype=np.bool_)  # quicker than sorting
                marked[inputs.number] = True
                if np.count_nonzero(marked) < inputs.number.size:
                    raise BadInput("Each number may occur once in a step.")
                if (self._status[inputs.number] == DROPPED).any():
                    raise BadInput(
                        "A number is of a key that was dropped.",
                        tip="run.numbers(keys), which gives it a new one",
                    )
            return inputs
        if not isinstance(x, Mapping):
            raise BadInput(
                f"A step takes what users added to keys. Got a {type(x).__name__} instead.",
                tip="KeyInputs, or a mapping from a key to its weight and its amounts",
            )
        keys = list(x)
        self._names.check(keys)
        rows = [_row(x[key], self._recipe.cells) for key in keys]
        table = np.array(rows, dtype=np.int64).reshape(len(rows), 1 + self._recipe.cells)
        number = np.zeros(len(rows), dtype=np.int64)
        return keys, _whole(KeyInputs(number, table[:, 0], table[:, 1:]), self._recipe.cells)

    def _step(self, x: KeyInputs | tuple[list[str], KeyInputs]) -> KeyOutputs:
        if isinstance(x, tuple):
            keys, x = x
            x = KeyInputs(self._numbers(keys), x.selected, x.amounts)
        self._names.forget(self._leaving)
        self._leaving = np.empty(0, dtype=np.int64)
        self._t += 1
        self._take(x)
        found = self._look()
        values = self._value_step()
        outputs = KeyOutputs(found, self._quiet(values), self._public_numbers, self._since, values)
        self._drop(outputs.dropped)
        return outputs

    def _take(self, x: KeyInputs) -> None:
        """Adds up what users did; a public key has no selection any more."""
        self._amounts[x.number] += x.amounts
        named = (x.selected > 0) & (self._status[x.number] < PUBLIC)
        numbers = x.number[named]
        self._weights[numbers] += x.selected[named]
        self._status[numbers[self._status[numbers] == SEEN]] = FRESH

    def _look(self) -> IntArray:
        """The keys that are found at this step, by name: the order of numbers is secret."""
        look = self._recipe.look_at(self._t)
        if not look:
            return np.empty(0, dtype=np.int64)
        born = np.flatnonzero(self._status[: len(self._names)] == FRESH)
        self._status[born] = LIVE
        found = self._selection.look(look, born, self._weights, self._noise)
        texts = np.array(self._names.texts(found), dtype=object)
        found = found[np.argsort(texts, kind="stable")]
        self._status[found] = PUBLIC
        self._weights[found] = 0
        self._values.join(found.size * self._recipe.cells)
        self._public_numbers = np.concatenate([self._public_numbers, found])
        self._since = np.concatenate([self._since, np.full(found.size, self._t)])
        blank = np.zeros((found.size, self._recipe.cells), dtype=np.int64)
        self._marks = np.concatenate([self._marks, blank])
        return found

    def _value_step(self) -> IntArray:
        """The exact sums of public keys and the noise of this step, rounded to whole counts."""
        law = self._values.law
        noise = rounded(advance(law, self._noise, self._values.state, self._t), law.bits)
        values: IntArray = self._amounts[self._public_numbers]
        values += noise.reshape(values.shape)
        return values

    def _quiet(self, values: IntArray) -> IntArray:
        """The keys that hardly changed since the last mark, judged by what was published."""
        period = self._recipe.drop_after
        none = np.empty(0, dtype=np.int64)
        if period is None or self._t % period:
            return none
        before = self._t - period
        marked = self._since <= before
        quiet = np.zeros(marked.size, dtype=np.bool_)
        for since in np.unique(self._since[marked]).tolist():
            law = KeyValueError(self._values.law, since).between(before, self._t)
            group = self._since == since
            grown = values[group] - self._marks[group]
            quiet[group] = (np.abs(grown) < law.quantile(QUIET)).all(axis=1)
        self._marks = values.copy()
        return self._public_numbers[quiet]

    def _drop(self, numbers: IntArray) -> None:
        if not numbers.size:
            return
        self._status[numbers] = DROPPED
        self._amounts[numbers] = 0
        self._names.retire(numbers)
        self._leaving = numbers
        kept = self._status[self._public_numbers] == PUBLIC
        self._values.keep(np.repeat(kept, self._recipe.cells))
        self._public_numbers = self._public_numbers[kept]
        self._since = self._since[kept]
        self._marks = self._marks[kept]

    # The state ---------------------------------------------------------------------------------

    def _parts(self) -> tuple[IntArray, ...]:
        count = len(self._names)
        selection, values = self._selection, self._values
        grids = [selection.law.noise.bits, values.law.bits, *values.law.cascade.numbers]
        return (
            np.array(grids),
            *map(narrowed, self._names.parts()),
            narrowed(self._status[:count].astype(np.int64)),
            narrowed(self._weights[:count]),
            narrowed(self._amounts[:count]),
            narrowed(selection.numbers),
            *map(narrowed, selection.state),
            narrowed(self._public_numbers),
            narrowed(self._since),
            narrowed(self._marks),
            narrowed(self._leaving),
            *map(narrowed, values.state),
        )

    def _restore(self, parts: tuple[IntArray, ...]) -> None:
        recipe, cells = self._recipe, self._recipe.cells
        left = iter(parts)
        selection_bits, value_bits, *numbers = next(left).tolist()
        self._selection = SelectionCounters(recipe.selection_on(selection_bits))
        self._values = NoiseTable(recipe.values_on(Cascade.read(numbers), value_bits))

        def take() -> IntArray:
            return widened(next(left))

        lengths, words = take(), take()
        self._status = take().astype(np.int8)
        self._weights = take()
        self._amounts = take().reshape(-1, cells)
        live = take()
        self._selection.restore(live, np.array([take() for _ in self._selection.state]))
        self._public_numbers, self._since = take(), take()
        self._marks = take().reshape(-1, cells)
        self._leaving = take()
        self._values.restore(np.array([take() for _ in self._values.state]))
        self._names = KeyNames.read(lengths, words, self._leaving)


def _whole(x: KeyInputs, cells: int) -> KeyInputs:
    """The same with checked shapes and 64-bit integers."""
    given = [np.asarray(part) for part in (x.number, x.selected, x.amounts)]
    if any(part.dtype.kind not in "iu" for part in given):
        raise BadInput("The inputs of a step are arrays of whole numbers.")
    number, selected, amounts = (part.astype(np.int64, copy=False) for part in given)
    if number.ndim != 1 or selected.shape != number.shape or amounts.shape != (number.size, cells):
        raise BadInput(
            f"The inputs of a step are n numbers, n weights and n times {cells} amounts."
        )
    if (selected < 0).any():
        raise BadInput("The weights of a step are zero or more.")
    return KeyInputs(number, selected, amounts)


def _row(given: object, cells: int) -> list[int]:
    if not isinstance(given, tuple | list) or len(given) != 1 + cells:
        raise BadInput(f"A key has a weight and {cells} amounts.")
    row = [integer(each, "weight or amount") for each in given]
    if any(abs(each) >= 1 << 62 for each in row):
        raise BadInput("A weight or an amount does not fit into 64 bits.")
    return row
