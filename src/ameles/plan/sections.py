"""The tables of a plan file, except its releases: each key with its kind and its bounds."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    create_model,
    field_validator,
    model_validator,
)

from ameles.connectors.sinks import SINKS
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import EVENT, USER, Unit, user_window
from ameles.core.loss import Approx, EpsilonLoss, Pure
from ameles.measures.fields import Column, ExactNumber, Name, Place, Section, problem, public
from ameles.plan.clock import Clock
from ameles.plan.durations import Duration
from ameles.plan.format_fields import FormatFields, Kind
from ameles.store.opening import address_refusal

MOST_STEPS = 1 << 40
MOST_RESTARTS = 100


def _instant(value: Any) -> datetime:
    """A date or time, as a TOML value or as text."""
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            raise problem("It must be a date or a time.", tip='start = "2026-01-01"') from None
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    raise problem("It must be a date or a time.", tip='start = "2026-01-01"')


def _duration(value: Any) -> Duration:
    if not isinstance(value, str):
        raise problem("It must be a duration in quotes.", tip='"1d"')
    try:
        return Duration.read(value)
    except BadInput as refusal:
        raise problem(refusal.what, tip=refusal.tip) from None


def _patterns(value: Any) -> Any:
    """One pattern or several."""
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list) or not all(isinstance(one, str) and one for one in given):
        raise problem(
            "It must be a pattern of files, or a list of them.", tip='rotated = "events.csv.*.gz"'
        )
    return tuple(public(one) for one in given)


Instant = Annotated[datetime, BeforeValidator(_instant)]
Length = Annotated[Duration, BeforeValidator(_duration), PlainSerializer(str)]


class StreamSection(FormatFields):
    """``[stream]``: where the events are, how they are written, and the public clock."""

    name: Name
    last_line: Literal["wait", "take"] = "wait"
    rotated: Annotated[tuple[str, ...], BeforeValidator(_patterns)] = ()
    connection: Place | None = Field(default=None, min_length=1)
    time: Column | None = None
    weight: Column | None = None
    start: Instant
    every: Length
    zone: str = "UTC"
    horizon: int | None = Field(default=None, ge=1, le=MOST_STEPS)
    late: Literal["next", "drop"] = "next"
    grace: Length | None = None

    @field_validator("zone")
    @classmethod
    def _known_zone(cls, zone: str) -> str:
        try:
            ZoneInfo(zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise problem(
                f"There is no time zone {zone[:60]!r}.", tip='zone = "Europe/Rome", or "UTC"'
            ) from None
        return zone

    @field_validator("start")
    @classmethod
    def _reachable(cls, start: datetime) -> datetime:
        if not 1970 <= start.year <= 9000:
            raise problem(
                "A stream starts between the years 1970 and 9000.", tip='start = "2026-01-01"'
            )
        return start

    @model_validator(mode="after")
    def _declared(self) -> StreamSection:
        wanted: dict[str, tuple[str | None, Kind]] = {
            "time": (self.time, "timestamp"),
            "weight": (self.weight, "integer"),
        }
        for key, (column, kind) in wanted.items():
            if column is not None and self.columns.get(column) != kind:
                raise problem(
                    f"{key} names the column '{column}', which must be declared as {kind}.",
                    tip=f'columns = {{ {column} = "{kind}", ... }}',
                )
        if self.rotated and self.encoding.startswith("utf-16"):
            raise problem(
                "rotated cannot be used with UTF-16.",
                why="copies are compared with their log byte by byte, also at newlines",
                tip="logs in UTF-8",
            )
        return self

    @property
    def grace_us(self) -> int:
        """How long after its end a step stays open, in microseconds."""
        return 0 if self.grace is None else self.grace.microseconds

    @property
    def clock(self) -> Clock:
        """Where the steps begin and end."""
        return Clock(start=self.start, every=self.every, zone=self.zone)


class PrivacySection(Section):
    """``[privacy]``: whose budget this is, who is protected, and how much may be lost."""

    population: Name
    cap: ExactNumber | None = None
    budget: Name | None = None
    unit: Literal["event", "user", "user-window"]
    user: Column | None = None
    window: Length | None = None
    max_per_step: int | None = Field(default=None, ge=1, le=1 << 20)
    max_steps: int | None = Field(default=None, ge=1, le=1 << 30)
    epsilon: ExactNumber
    delta: ExactNumber = Fraction(0)
    intrusions: Literal["none", "one", "announced", "every"] = "none"
    restarts: int = Field(default=0, ge=0, le=MOST_RESTARTS)

    @field_validator("epsilon", "cap")
    @classmethod
    def _spendable(cls, value: Any) -> Any:
        if value is not None and not 0 < value <= 1000:
            raise problem("It must be above 0 and at most 1000.", tip="epsilon = 1.0")
        return value

    @field_validator("delta")
    @classmethod
    def _small(cls, delta: Any) -> Any:
        if not 0 <= delta < 1:
            raise problem("It must be zero or more, and far below 1.", tip="delta = 1e-6")
        return delta

    @model_validator(mode="after")
    def _whole(self) -> PrivacySection:
        bounds = {"user": self.user, "max_per_step": self.max_per_step, "max_steps": self.max_steps}
        if self.unit == "event":
            given = [name for name, value in {**bounds, "window": self.window}.items() if value]
            if given:
                raise problem(
                    f"{', '.join(given)} cannot be used with the unit event.",
                    why="removing one event of a bounded user would let another one in",
                    tip='unit = "user", or leave it out',
                )
            return self
        needed = bounds if self.intrusions == "none" else {"user": self.user}
        missing = [name for name, value in needed.items() if value is None]
        if self.unit == "user-window" and self.window is None:
            missing.append("window")
        if missing:
            raise problem(
                f"The unit {self.unit} needs {', '.join(missing)}.",
                why="without a bound one user could change everything"
                if len(needed) > 1
                else "where an event counts depends on its user",
                tip='user = "device_id", max_per_step = 3, max_steps = 20'
                if len(needed) > 1
                else 'user = "device_id", and window = "1d" for the unit user-window',
            )
        if self.unit == "user" and self.window is not None:
            raise problem(
                "window goes with the unit user-window.",
                tip='unit = "user-window", or leave it out',
            )
        return self

    @property
    def loss(self) -> EpsilonLoss:
        """How much may be lost."""
        return Approx(self.epsilon, self.delta) if self.delta else Pure(self.epsilon)

    @property
    def epochs_paid(self) -> int:
        """How many epochs are paid for at launch.

        An event is in one epoch only, so all epochs together cost as much as one; a user may come
        in each of them.
        """
        return 1 if self.unit == "event" else 1 + self.restarts

    def unit_of(self, every: Duration, zone: str) -> Unit:
        """Who is protected, with a window in steps."""
        if self.unit == "event":
            return EVENT
        if self.window is None:
            return USER
        return user_window(self.window.steps(every, zone=zone))


class StoreSection(Section):
    """``[store]``: where the state, the ledger and the releases are kept.

    ``vault`` is the place of a pan-private stream's key: "memory", or a folder outside the folder
    of the plan; by default one in the user's home folder.
    """

    url: str = Field(min_length=1, repr=False)  # of Postgres, it may have a password
    vault: Place | None = Field(default=None, min_length=1)

    @field_validator("url")
    @classmethod
    def _known_kind(cls, url: str) -> str:
        if refusal := address_refusal(url):
            raise problem(refusal.what, why=refusal.why, tip=refusal.tip)
        return url


class ServeSection(Section):
    """``[serve]``: who may read the stream where ``ameles serve`` shows it."""

    public: bool = False


class SinkSection(Section):
    """``[[sink]]``: where releases go; exactly one key for the kind of sink, and the settings of
    that kind (``SINK_TABLE``)."""

    @model_validator(mode="after")
    def _one(self) -> SinkSection:
        if len(self.given) != 1:
            *first, last = SINKS
            raise problem(
                f"A sink has exactly one of {', '.join(first)} and {last}.",
                tip='csv = "releases.csv"',
            )
        ((kind, target),) = self.given.items()
        foreign = [name for name in self.settings if name not in SINKS[kind].settings]
        if foreign:
            raise problem(f"{', '.join(foreign)} cannot be used with {kind}.", tip="leave it out")
        refusal = SINKS[kind].refusal(target, self.settings)
        if refusal is not None:
            raise problem(refusal.what, why=refusal.why, tip=refusal.tip)
        for place in (target, *self.settings.values()):
            public(place)
        return self

    @property
    def given(self) -> dict[str, str]:
        """The kind of sink and where it is."""
        return {kind: target for kind, target in self if target and kind in SINKS}

    @property
    def settings(self) -> dict[str, str]:
        """The other keys."""
        return {name: value for name, value in self if value and name not in SINKS}


_KEYS = {
    **{kind: sink.targets for kind, sink in SINKS.items()},
    **{name: value for sink in SINKS.values() for name, value in sink.settings.items()},
}
_OPTIONAL: dict[str, Any] = {name: (value | None, None) for name, value in _KEYS.items()}
# The section with a key for each kind of sink, and the settings of all kinds.
SINK_TABLE: type[SinkSection] = create_model("SinkTable", __base__=SinkSection, **_OPTIONAL)
