"""What readers may see of the streams of a service, from their stores.

It reads releases, ledger entries and stored texts, and never a state, a position or a salt.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from ameles.core.exceptions import StoreRefused
from ameles.core.loss import loss_to_dict
from ameles.core.release import COLUMNS
from ameles.engine.running.attacker import attacker
from ameles.ledger.ledger import Ledger
from ameles.ledger.report import rate_of, report
from ameles.plan.clock import instant, microseconds
from ameles.plan.plan import Plan
from ameles.plan.sections import PrivacySection
from ameles.service.stream_failure import AWAY
from ameles.service.views import (
    Page,
    Place,
    Row,
    SeriesView,
    State,
    StreamView,
    UserBounds,
    Wanted,
)
from ameles.store import Store, StreamRecord, Transaction

HALTED = "halted"
_LABEL, _STEP = COLUMNS.index("label"), COLUMNS.index("step")


@dataclass(frozen=True, slots=True)
class Shown:
    """A plan that the service runs, and its store."""

    plan: Plan
    store: Store


class StorePublished:
    """The published values of some plans; ``doing`` says what the thread of a stream does, and
    ``reason`` why it does not run."""

    def __init__(
        self,
        shown: Sequence[Shown],
        doing: Callable[[str], State],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        reason: Callable[[str], str | None] = lambda name: None,
    ) -> None:
        self._shown: Mapping[str, Shown] = {one.plan.stream.name: one for one in shown}
        self._doing = doing
        self._now = now
        self._reason = reason
        self._lock = threading.Lock()
        self._seen: dict[str, StreamView] = {}  # each stream as its store last had it
        self._halted: dict[str, tuple[int, bool]] = {}  # by stream: at which step, and whether

    @property
    def names(self) -> tuple[str, ...]:
        """The streams of this service, by name."""
        return tuple(self._shown)

    def away(self, name: str) -> bool:
        """Whether the store of a stream cannot be used now."""
        return self._shown[name].store.away

    def stream(self, name: str) -> StreamView:
        """How a stream of this service is doing; as it was last seen while its store is away."""
        try:
            view = self._seen[name] = self._view(name)
        except StoreRefused:
            if not self.away(name):
                raise
            seen = self._seen.get(name) or _unseen(self._shown[name].plan)
            return replace(seen, state=State.FAILED, reason=AWAY)
        return view

    def _view(self, name: str) -> StreamView:
        """A stream as its store has it now."""
        plan, doing = self._shown[name].plan, self._doing(name)
        horizon, grace, clock = plan.stream.horizon, plan.stream.grace_us, plan.clock
        with self._shown[name].store.reading() as transaction:
            stream = transaction.stream(name)
            released = 0 if stream is None else stream.released
            over = released == horizon
            restarts = 0 if stream is None else len(transaction.epochs(stream))
            retired = stream is not None and transaction.retirement(stream) is not None
            halted = stream is not None and self._all_halted(transaction, stream)
        state = _state(doing, retired=retired, over=over, halted=halted, restarts=restarts)
        return StreamView(
            name=name,
            public=plan.serve.public,
            state=state,
            reason=self._reason(name) if state is State.FAILED else None,
            identity=None if stream is None else str(stream.identity),
            launched=None if stream is None else stream.launched,
            released=released,
            horizon=horizon,
            last_release=instant(clock.end_of(released)) if released else None,
            next_release=None if over or retired else instant(clock.end_of(released + 1) + grace),
            ends=None if horizon is None else instant(clock.end_of(horizon)),
            restarts=restarts,
            starts=instant(clock.start_of(1)),
        )

    def _all_halted(self, transaction: Transaction, stream: StreamRecord) -> bool:
        """Whether every number of the last step says that it is the last; looked up once a step."""
        if not stream.released:
            return False
        with self._lock:
            step, halted = self._halted.get(stream.name, (0, False))
        if step != stream.released:
            last = transaction.release_rows(stream, first=stream.released, last=stream.released)
            labels = {row[_LABEL] for row in last}
            halted = labels == {HALTED}  # there is none before the first key is discovered
            with self._lock:
                self._halted[stream.name] = stream.released, halted
        return halted

    def user_bounds(self, name: str) -> UserBounds | None:
        """How much of each user a stream counts; None: everything.

        A launched stream has the bounds of its launch, whatever its file says now.
        """
        privacy = self._privacy(name)
        if privacy.max_per_step is None or privacy.max_steps is None:
            return None
        within = None if privacy.window is None else str(privacy.window)
        return UserBounds(events=privacy.max_per_step, steps=privacy.max_steps, within=within)

    def _privacy(self, name: str) -> PrivacySection:
        one = self._shown[name]
        if one.store.away:
            return one.plan.privacy
        with one.store.reading() as transaction:
            stream = transaction.stream(name)
        if stream is None:
            return one.plan.privacy
        return PrivacySection.model_validate(json.loads(stream.plan)["privacy"])

    def series(self, name: str) -> tuple[SeriesView, ...]:
        """The series of a stream, in the order of its rows."""
        with self._shown[name].store.reading() as transaction:
            stream = transaction.stream(name)
            lines = () if stream is None else transaction.series(stream)
        measures = {measure.name: measure for measure in self._shown[name].plan.releases}
        return tuple(
            SeriesView(
                line.release,
                line.key,
                line.mechanism,
                measures[line.release].measure,
                _columns(measures[line.release].key_columns, line.key),
            )
            for line in lines
        )

    def page(self, name: str, wanted: Wanted, start: Place, limit: int) -> Page:
        """Up to ``limit`` releases from a place on."""
        plan = self._shown[name].plan
        first, last = _steps(plan, wanted)
        begin = start if start.step >= first else Place(first)
        with self._shown[name].store.reading() as transaction:
            stream = transaction.stream(name)
            if stream is None:
                return Page(rows=(), after=begin, more=False, closed=False)
            rows = transaction.release_rows(
                stream,
                release=wanted.release,
                key=wanted.key,
                first=begin.step,
                last=stream.released if last is None else min(last, stream.released),
            )
            some = list(islice(rows, begin.rows, begin.rows + limit + 1))
        more = len(some) > limit
        horizon = plan.stream.horizon
        ends = [end for end in (last, horizon) if end is not None]
        return Page(
            rows=some[:limit],
            after=_after(begin, some[:limit], more=more),
            more=more,
            closed=more or (bool(ends) and stream.released >= min(ends)),
        )

    def times(self, name: str, step: int) -> tuple[datetime, datetime]:
        """When a step begins and ends."""
        clock = self._shown[name].plan.clock
        return instant(clock.start_of(step)), instant(clock.end_of(step))

    def description(self, name: str, topic: str) -> Any:
        """A stored text as plain data; None if there is none."""
        with self._shown[name].store.reading() as transaction:
            stream = transaction.stream(name)
            text = None if stream is None else transaction.description(stream, topic)
        return None if text is None else json.loads(text)

    def attacker(self, name: str) -> dict[str, Any]:
        """What can be learned from this stream, and from everything that its population paid for.

        The second changes with every purchase, so it is not stored: an old table would say too
        little.  A launched stream has the terms of its launch, whatever its file says now.
        """
        one = self._shown[name]
        with one.store.reading() as transaction:
            stream = transaction.stream(name)
            book = None if stream is None else transaction.ledger(stream.population)
        if stream is None or book is None:
            return attacker(one.plan.privacy)
        launched = PrivacySection.model_validate(json.loads(stream.plan)["privacy"])
        return attacker(launched, book.spent, book.unit)

    def ledger(self, name: str) -> dict[str, Any] | None:
        """What a stream has cost, and what its population has left; None before the launch.

        The entries of other streams and questions are in the sums, but are not listed: who may read
        one stream need not know of the others.
        """
        with self._shown[name].store.reading() as transaction:
            stream = transaction.stream(name)
            book = None if stream is None else transaction.ledger(stream.population)
        if book is None:
            return None
        standing = report(book, now=self._now())
        return {
            "population": book.name,
            "unit": book.unit.tag,
            "neighbours": book.neighbours.value,
            "cap": loss_to_dict(book.cap),
            "spent": loss_to_dict(book.spent),
            "left": loss_to_dict(book.left),
            "renewed": loss_to_dict(standing.renewed),
            "rate": rate_of(standing),
            "recent": loss_to_dict(standing.recent),
            "window_days": standing.window / timedelta(days=1),
            "per_day": None if standing.per_day is None else loss_to_dict(standing.per_day),
            "used_up": standing.used_up,
            "budget": _budget(book, self._shown[name].plan.privacy.budget),
            "entries": [
                {
                    "number": entry.number,
                    "at": entry.at,
                    "on": entry.on,
                    "why": entry.why,
                    "paid": loss_to_dict(entry.paid),
                    "mechanism": str(json.loads(entry.recipe)["recipe"]),
                }
                for entry in book.entries
                if entry.stream == name
            ],
            "renewals": [
                {"at": one.at, "why": one.why, "added": loss_to_dict(one.added)}
                for one in book.renewals
            ],
        }


def _unseen(plan: Plan) -> StreamView:
    """A stream whose store was away from the beginning: what its plan alone says."""
    clock, horizon = plan.clock, plan.stream.horizon
    return StreamView(
        name=plan.stream.name,
        public=plan.serve.public,
        state=State.FAILED,
        identity=None,
        launched=None,
        released=0,
        horizon=horizon,
        last_release=None,
        next_release=None,
        ends=None if horizon is None else instant(clock.end_of(horizon)),
        restarts=0,
        starts=instant(clock.start_of(1)),
    )


def _budget(book: Ledger, name: str | None) -> dict[str, Any] | None:
    """The named budget of a population that a plan is paid from."""
    for child in book.children:
        if child.name == name:
            return {
                "name": child.name,
                "cap": None if child.cap is None else loss_to_dict(child.cap),
                "spent": loss_to_dict(child.spent),
                "left": None if child.left is None else loss_to_dict(child.left),
            }
    return None


def _columns(names: tuple[str, ...], key: str) -> tuple[tuple[str, str], ...]:
    """The columns that a key is made of, with their values."""
    parts = [key] if len(names) == 1 else key.split("/")
    return tuple(zip(names, parts, strict=True)) if len(names) == len(parts) else ()


def _state(doing: State, *, retired: bool, over: bool, halted: bool, restarts: int) -> State:
    """One word for a stream: what is final comes first."""
    if retired:
        return State.RETIRED
    if over:
        return State.ENDED
    if doing is not State.RUNNING:
        return doing
    if halted:
        return State.HALTED
    return State.RESTARTED if restarts else State.RUNNING


def _steps(plan: Plan, wanted: Wanted) -> tuple[int, int | None]:
    """The first and the last step that somebody asks for; None: without end."""
    clock, first, last = plan.clock, wanted.first, wanted.last
    if wanted.since is not None:
        us = microseconds(wanted.since)
        ended = clock.ended(us)
        begins = ended + 1 if us <= clock.start_of(ended + 1) else ended + 2
        first = max(first, begins)
    if wanted.until is not None:
        ended = clock.ended(microseconds(wanted.until))
        last = ended if last is None else min(last, ended)
    return first, last


def _after(begin: Place, rows: Sequence[Row], *, more: bool) -> Place:
    """The place after some rows: within the step of the last one, or after it if it is whole."""
    if not rows:
        return begin
    step = rows[-1][_STEP]
    if not more:
        return Place(step + 1)
    of_step = sum(row[_STEP] == step for row in rows)
    return Place(step, of_step + (begin.rows if step == begin.step else 0))
