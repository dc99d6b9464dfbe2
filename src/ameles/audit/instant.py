"""When a state is seen, between any two calls of a run, and when this is announced to the run.

>>> print(Instant(2), Instant(2, added=True), Instant(2, between=True), sep="; ")
after step 2; with an input added to step 3; between two events of step 3
>>> print(Instant(0, announced=0), Instant(1, announced=2), sep="; ")
before step 1, then announced; after step 1, announced 2 steps later
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from typing import Any, Protocol, TypeAlias, runtime_checkable

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Guarantee, Intrusions
from ameles.core.parameters import refuse
from ameles.mechanisms.pan_private.intrusions import Announced
from ameles.mechanisms.run import LiveRun


@runtime_checkable
class Parted(Protocol):
    """A run whose steps have parts, whatever its class: an input is taken in when it comes."""

    def add(self, x: Any) -> None:
        """Takes an input into the state of the open step."""
        ...

    def release(self) -> Any:
        """Closes the step; returns what it publishes."""
        ...


class Phase(IntEnum):
    """Where within a step an instant is."""

    CLOSED = 0  # the step before is over, this one has not begun
    BETWEEN = 1  # an event has come that counts nothing; the step's input has not
    ADDED = 2  # the step's input has come


# After how many steps, and where within the next.
Place: TypeAlias = tuple[int, Phase]


@dataclass(frozen=True, slots=True)
class Instant:
    """When a state is seen: after ``step`` steps, or within the next one.

    ``added``: the input of that step has come, its release has not.  ``between``: an event that
    counts nothing has come, the input is the next one.  ``announced``: after how many more
    releases the run is told that its state was seen; 0 is at once, None never.
    """

    step: int
    added: bool = False
    between: bool = False
    announced: int | None = None

    def __post_init__(self) -> None:
        if self.added and self.between:
            raise BadInput("An instant is before its step's input or after it, not both.")
        if self.announced is not None and self.announced < 0:
            raise refuse("announced", "zero or more steps after the intrusion", self.announced)

    @property
    def place(self) -> Place:
        """Where in the stream of calls it is."""
        within = Phase.BETWEEN if self.between else Phase.CLOSED
        return self.step, Phase.ADDED if self.added else within

    def __str__(self) -> str:
        step, phase = self.place
        when = {
            Phase.CLOSED: f"after step {step}" if step else "before step 1",
            Phase.BETWEEN: f"between two events of step {step + 1}",
            Phase.ADDED: f"with an input added to step {step + 1}",
        }[phase]
        match self.announced:
            case None:
                return when
            case 0:
                return f"{when}, then announced"
            case 1:
                return f"{when}, announced 1 step later"
            case later:
                return f"{when}, announced {later} steps later"


View: TypeAlias = tuple[Instant, ...]


class Act(Enum):
    """What happens to a run besides its inputs."""

    SEEN = "seen"
    ANNOUNCED = "announced"


def acts_of(view: View) -> dict[Place, list[Act]]:
    """What happens at each place: first the announcements that are due, then the looks, in
    order."""
    acts: dict[Place, list[Act]] = {}
    for instant in view:
        if instant.announced:
            due = instant.step + instant.announced, Phase.CLOSED
            acts.setdefault(due, []).append(Act.ANNOUNCED)
    for instant in view:
        here = acts.setdefault(instant.place, [])
        here.append(Act.SEEN)
        if instant.announced == 0:
            here.append(Act.ANNOUNCED)
    return acts


def refuse_unseen(view: View, run: LiveRun, steps: int) -> None:
    """Refuses instants that never come, and instants for which this run has no calls."""
    for instant in view:
        last = steps if instant.place[1] is Phase.CLOSED else steps - 1
        if not 0 <= instant.step <= last:
            raise BadInput(f"In {steps} steps there is no instant {instant}.")
        if instant.place[1] is not Phase.CLOSED and not isinstance(run, Parted):
            raise BadInput(
                f"There is no instant {instant}.", why="the steps of this run have no parts"
            )
        if instant.announced is not None and not isinstance(run, Announced):
            raise BadInput(
                "Intrusions cannot be announced to this run.", why="it has no method 'announce'"
            )


def views_of(guarantee: Guarantee, run: LiveRun, steps: int) -> list[View]:
    """What the guarantee lets an adversary see beyond the outputs, each case in turn.

    There are too many sets of announced intrusions to try all.  These are tried: each one alone and
    never announced, each one announced with one more at the end, and all together, each announced
    at once.
    """
    between_steps = [Instant(t) for t in range(steps + 1)]
    calm = list(between_steps)  # with one event a step, as most streams have
    if isinstance(run, Parted):
        calm += [Instant(t, added=True) for t in range(steps)]
    busy = list(calm)
    if isinstance(run, Parted):
        busy += [Instant(t, between=True) for t in range(steps)]
    together = list(dict.fromkeys((_ordered(calm), _ordered(busy))))
    alone: list[View] = [(instant,) for instant in _ordered(busy)]
    match guarantee.intrusions:
        case Intrusions.NONE:
            return [()]
        case Intrusions.ONE:
            return alone
        case Intrusions.EVERY:
            return together
    twice: list[View] = [
        (replace(instant, announced=0), between_steps[-1]) for instant in between_steps[:-1]
    ]
    all_told = [tuple(replace(instant, announced=0) for instant in view) for view in together]
    return [*alone, *twice, *all_told]


def _ordered(instants: Sequence[Instant]) -> View:
    return tuple(sorted(instants, key=lambda instant: instant.place))
