"""The metrics that Prometheus sees: all are gauges, because a noisy total may fall.

A release has a value and an interval for each key, and for some measures a state.  A stream has the
step that was released last and the time at which that step ended.
"""

from __future__ import annotations

from dataclasses import dataclass

from ameles.service.views import Column

WINNER, STATE = "winner", "state"  # labels whose values are published with the numbers
TOP = "top"
# Measures whose labels are always empty; every other one has a state.
STATELESS = frozenset({"count", "sum", "mean", "histogram", "quantile", "reports", TOP})

WITHOUT_INTERVAL = frozenset({"alert"})


@dataclass(frozen=True, slots=True)
class Family:
    """One metric: its name, what it is, and the column of releases that it shows."""

    name: str
    help: str
    column: Column | None = None  # None: about a stream
    unit: str = ""


VALUE = Family("ameles_release_value", "The published value of a release.", "value")
LOWER = Family(
    "ameles_release_lower",
    "The lower end of its 95% interval, which covers the privacy noise alone.",
    "low",
)
UPPER = Family(
    "ameles_release_upper",
    "The upper end of its 95% interval, which covers the privacy noise alone.",
    "high",
)
IN_STATE = Family("ameles_release_state", "1 for what was published beside the value.", "label")
STEP = Family("ameles_stream_step", "The step that was released last.")
STEP_END = Family(
    "ameles_stream_step_end_timestamp_seconds",
    "When the step that was released last ended.",
    unit="seconds",
)
FAMILIES = (VALUE, LOWER, UPPER, IN_STATE, STEP, STEP_END)


def split_label(family: Family, measure: str) -> str | None:
    """The label of a series that is published with its numbers, if it has one."""
    if family is IN_STATE:
        return STATE
    return WINNER if measure == TOP and family.column is not None else None


def shows(family: Family, measure: str) -> bool:
    """Whether a release of this measure has this metric; without a measure: a stream."""
    if family.column is None or not measure:
        return family.column is None and not measure
    if family is IN_STATE:
        return measure not in STATELESS
    return family is VALUE or measure not in WITHOUT_INTERVAL
