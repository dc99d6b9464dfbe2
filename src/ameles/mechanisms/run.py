"""The base of all runs: one payment is one run, in one process.

A run is *spent* when a ledger resumes it from a snapshot: the resumed run goes on, and the old one
refuses every call, together with the runs inside it.  A forked child refuses all runs of its
parent.  Runs are never copied or pickled.

Every public method of a run calls ``check_live`` first, and again when it has its ``Turn``.  This
asks the operating system which process this is.  A step that only uses noise drawn before need
not: a fork and a resumption empty the queue of that noise.  A fork that Python does not
notice could at most repeat a release there, never draw for it again.

Threads: step a run from one thread at a time.  Two at once may lose or misplace each other's
inputs.  Whatever they do, every step has one draw of noise, every draw goes to one release, and no
step is released both by a run and by the one that a ledger resumed from a snapshot of it.

>>> from ameles.core.exceptions import RunSpent
>>> from ameles.mechanisms.counters.simple_one import SimpleOneCounter
>>> from ameles.noise import Zero
>>> run = SimpleOneCounter(epsilon=1, horizon=8).start(Zero())
>>> [one is run for one in live_runs(run.id)]
[True]
>>> run.spend()
>>> run.step(1)
Traceback (most recent call last):
ameles.core.exceptions.RunSpent: error[spent]: This run was resumed from a snapshot and is spent.
  why: two runs of one payment would draw different noise for the same steps
  try: the run that ledger.resume returned
"""

from __future__ import annotations

import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Generic, TypeVar

from ameles.core.exceptions import AmelesError, HorizonReached, RunSpent
from ameles.core.guarantee import steps_in_words
from ameles.core.unique import Unique
from ameles.mechanisms.progress import Progress
from ameles.mechanisms.snapshot import VERSION, State, pack
from ameles.noise.arrays import IntArray

if TYPE_CHECKING:
    from ameles.mechanisms.mechanism import Startable

In = TypeVar("In", contravariant=True)
Out = TypeVar("Out", covariant=True)


class LiveRun(Unique, ABC):
    """A started recipe: it knows its identity, its step, and whether it may continue."""

    noun = "run"
    elsewhere = "start or resume the run in the process that steps it"
    _version = VERSION  # of its snapshots
    _recovers = False  # whether a step that fails leaves a state to go on from

    def __init__(self, recipe: Startable[LiveRun], state: State) -> None:
        super().__init__()
        self._started_from = recipe
        self._id = state.run
        self._progress = Progress(state.step)
        weakref.finalize(self, self._progress.forget_noise).atexit = False
        with _lock:
            _runs.add(self)

    def __repr__(self) -> str:
        return f"<run of {type(self._started_from).__name__} at step {self.t}>"

    @property
    def id(self) -> str:
        """The identity of this run."""
        return self._id.hex()

    @property
    def started_from(self) -> Startable[LiveRun]:
        """Its recipe."""
        return self._started_from

    @property
    def t(self) -> int:
        """How many steps were taken."""
        return self._progress.step

    def snapshot(self) -> bytes:
        """The complete state; secret, unless the guarantee covers intrusions."""
        with Look(self), self._progress.still():
            state = State(self._id, self.t, self._parts())
            return pack(state, self._started_from.state_fingerprint, self._version)

    def check_live(self) -> None:
        """Raises if this run is spent or belongs to another process."""
        self.check_process()
        if self._progress.cut_short:
            raise RunSpent(
                "This run was interrupted within a step, and is spent.",
                why="noise that was drawn in part, or is already released, would be used again",
                tip="ledger.resume with a snapshot of its last step, or a new run",
            )
        if not self._progress.live:
            raise RunSpent(
                "This run was resumed from a snapshot and is spent.",
                why="two runs of one payment would draw different noise for the same steps",
                tip="the run that ledger.resume returned",
            )

    @property
    def progress(self) -> Progress:
        """What the run shares with the ledger that sold it."""
        return self._progress

    def spend(self) -> None:
        """Makes this run, and every run inside it, refuse all further calls."""
        with self._progress.turn:
            self._progress.close()
            for held in vars(self).values():
                if isinstance(held, LiveRun):
                    held.spend()

    # For runs that draw nothing ahead: the steps taken.
    @property
    def _t(self) -> int:
        return self._progress.end

    @_t.setter
    def _t(self, step: int) -> None:
        self._progress.end = step

    @abstractmethod
    def _parts(self) -> tuple[IntArray, ...]:
        """The state as integers."""


class Run(LiveRun, Generic[In, Out]):
    """A started mechanism: it takes steps, each with an input and a release.

    A step is a tick of a stream, a query, or the one look at a data set.
    """

    def __init__(self, recipe: Startable[LiveRun], state: State) -> None:
        super().__init__(recipe, state)
        self._horizon = recipe.steps

    @abstractmethod
    def step(self, x: In) -> Out:
        """One step: takes an input, gives a release."""

    @abstractmethod
    def feed(self, xs: Iterable[In]) -> Iterable[Out]:
        """Many steps at once: the same releases as that many calls of ``step``."""

    def check_room(self, count: int) -> None:
        """Refuses steps past the horizon, before anything is drawn."""
        if self._horizon is not None and self.t + count > self._horizon:
            raise HorizonReached(
                f"This run has {steps_in_words(self._horizon)} and has taken {self.t}; {count} "
                f"more {'does' if count == 1 else 'do'} not fit.",
                why="its noise was calibrated for its horizon",
                tip="a new run, with its own budget",
            )


class Look:
    """A lock under which no other thread draws noise or counts steps."""

    __slots__ = ("_run",)

    def __init__(self, run: LiveRun) -> None:
        self._run = run

    def __enter__(self) -> None:
        run = self._run
        run.check_live()  # in a forked child the turn may never be given back
        run._progress.turn.acquire()
        if not run._progress.live:  # it was resumed or spent meanwhile
            run._progress.turn.release()
            run.check_live()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._run._progress.turn.release()


class Turn(Look):
    """The same for what draws noise and counts steps.

    If a signal or a lack of memory cuts it short, the run ends: its state is between two steps
    then, and going on could release a noise twice.  Our own refusals come before anything has
    changed.

    Convert a caller's input before taking it: converting may call anything, even ``ledger.resume``.
    """

    __slots__ = ()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        run = self._run
        if kind is not None and not run._recovers and not issubclass(kind, AmelesError):
            run._progress.cut_short = True
            run.spend()
        run._progress.turn.release()


def live_runs(run: str) -> list[LiveRun]:
    """The runs of this identity that may go on in this process."""
    with _lock:
        return [one for one in _runs if one._progress.live and one.id == run]


_lock = threading.Lock()
_runs: weakref.WeakSet[LiveRun] = weakref.WeakSet()


def _forked() -> None:
    """In a forked child: all runs are the parent's, and another thread may have held the lock."""
    global _lock
    _lock = threading.Lock()
    for run in list(_runs):
        run._progress.close_in_fork()


os.register_at_fork(after_in_child=_forked)
