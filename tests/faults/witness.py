"""A witness notes what anybody could see, over all restarts, and says at the end what is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ameles.core.exceptions import AmelesError
from tests.faults.removable_noise import MILLION
from tests.faults.sink_values import Cell, Unreadable, Values
from tests.faults.worlds import World


class Witness:
    """Of one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.seen: Values = {}
        self.wrong: list[str] = []

    def look(self, *, torn: bool = False) -> Witness:
        """Everything that store and sinks show now, which a power cut may have ``torn``."""
        self.note("the store", self.world.stored())
        for sink in self.world.sinks:
            self.note(sink, self._sent(sink, torn=torn))
        return self

    def _sent(self, sink: str, *, torn: bool = False) -> Values:
        try:
            return self.world.sink_values(sink, torn=torn)
        except Unreadable:
            self._say(f"I1: {sink} cannot be read")
            return {}

    def note(self, where: str, values: Mapping[Cell, Any]) -> None:
        """Note what somebody saw in one place."""
        for cell, value in values.items():
            if self.seen.setdefault(cell, value) != value:
                self._say(f"I1: {where} shows two values for {cell}")

    def verdict(
        self, truth: Mapping[Cell, int] | None = None, totals: Mapping[str, int] | None = None
    ) -> list[str]:
        """What is violated, once the program has come to its end.

        ``truth`` has the true value of every cell; ``totals`` that of each key of ``visits`` at
        the last step, where lateness decides the rest.
        """
        self.look()
        stored = self.world.stored()
        expected = self.world.widths * self.world.horizon
        if expected and len(stored) != expected:
            self._say(f"I3: {len(stored)} of {expected} values are in the store")
        if set(self.seen) - set(stored):
            self._say("I4: something published is not in the store")
        for sink in self.world.sinks:
            if self._sent(sink) != stored:
                self._say(f"I1: {sink} is not what the store has")
        for cell, value in (truth or {}).items():
            if cell not in stored or stored[cell] % MILLION != value % MILLION:
                self._say(f"I3: {cell} is not the truth")
        for key, value in (totals or {}).items():
            last = stored.get(("visits", key, self.world.horizon))
            if last is None or last % MILLION != value % MILLION:
                self._say(f"I3: not every event was counted once in {key}")
        if totals is not None:
            daily = sum(value % MILLION for cell, value in stored.items() if cell[0] == "daily")
            if daily != sum(totals.values()):
                self._say("I3: the steps do not add up to the events")
        self._ledger(self.world.text.count("[[release]]"))
        return self.wrong

    def _ledger(self, entries: int) -> None:
        try:
            paid, within = self.world.spent()
            self.world.check()
        except AmelesError as problem:
            self._say(f"I13: {problem.what}")
            return
        if not within or paid != entries:
            self._say("I2: the budget was not spent once")

    def _say(self, what: str) -> None:
        if what not in self.wrong:
            self.wrong.append(what)
