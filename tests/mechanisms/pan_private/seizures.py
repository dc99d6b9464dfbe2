"""Ways in which a state is seized, for the audit.

The audit places intrusions before a step, between ``add`` and ``release``, and after it.  Here
a step's event may also come after the intrusion, and intrusions may be announced.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ameles.audit import Instant
from ameles.audit.observation import Auditable
from ameles.core.guarantee import Guarantee
from ameles.core.mechanism import Noise


def after(*steps: int) -> tuple[Instant, ...]:
    return tuple(Instant(step) for step in steps)


def between_steps(steps: int) -> list[tuple[Instant, ...]]:
    return [after(step) for step in range(steps + 1)]


def within_steps(steps: int) -> list[tuple[Instant, ...]]:
    return [(Instant(step, added=True),) for step in range(steps)]


@dataclass(frozen=True)
class Seized:
    """A recipe whose runs are seized in another way; audited in its place."""

    recipe: Auditable
    run: Any

    @property
    def guarantee(self) -> Guarantee:
        return self.recipe.guarantee

    @property
    def fingerprint(self) -> bytes:
        return self.recipe.fingerprint

    def start(self, noise: Noise) -> Any:
        return self.run(self.recipe.start(noise))


class LateEvents:
    """Each step has a first event that counts nothing; the intruder comes before the second."""

    def __init__(self, run: Any) -> None:
        self.run = run
        self.waiting = 0

    def add(self, x: int) -> None:
        self.run.add(0)
        self.waiting = x

    def release(self) -> Any:
        self.run.add(self.waiting)
        return self.run.release()

    def step(self, x: int) -> Any:
        self.add(x)
        return self.release()

    def feed(self, xs: list[int]) -> Any:
        return [self.step(x) for x in xs]

    def snapshot(self) -> bytes:
        snapshot: bytes = self.run.snapshot()
        return snapshot


class Announced(LateEvents):
    """Whoever has seen the state is announced at once."""

    def add(self, x: int) -> None:
        self.run.add(x)

    def release(self) -> Any:
        return self.run.release()

    def snapshot(self) -> bytes:
        seen: bytes = self.run.snapshot()
        self.run.announce()
        return seen


class AnnouncedLate(Announced):
    """Whoever has seen the state is announced two steps later."""

    def __init__(self, run: Any) -> None:
        super().__init__(run)
        self.left = 0

    def release(self) -> Any:
        release = self.run.release()
        self.left -= 1
        if self.left == 0:
            self.run.announce()
        return release

    def snapshot(self) -> bytes:
        self.left = 2
        seen: bytes = self.run.snapshot()
        return seen
