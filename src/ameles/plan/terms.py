"""The public terms of a release that decide its noise, from the sections of its plan."""

from __future__ import annotations

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Intrusions, Unit
from ameles.measures.discovering import DiscoveringMeasure
from ameles.measures.measure import Measure, Terms
from ameles.plan.durations import Duration
from ameles.plan.sections import PrivacySection, StreamSection


def terms_of(stream: StreamSection, privacy: PrivacySection, unit: Unit, release: Measure) -> Terms:
    """The terms of one release."""
    return Terms(
        unit=unit,
        per_step=privacy.max_per_step or 1,
        max_steps=privacy.max_steps or 1,
        horizon=stream.horizon,
        window=window_of(release.over, stream),
        drop_after=quiet_steps(release, stream),
        intrusions=Intrusions(privacy.intrusions),
    )


def quiet_steps(release: Measure, stream: StreamSection) -> int | None:
    """The number of quiet steps after which a discovered key is dropped; None: it stays."""
    if not isinstance(release, DiscoveringMeasure) or release.drop_after is None:
        return None
    return Duration.read(release.drop_after).steps(stream.every, zone=stream.zone)


def window_of(over: str, stream: StreamSection) -> int | None:
    """The number of steps that a release covers; None means all so far."""
    if over == "total":
        return None
    if over == "step":
        return 1
    try:
        duration = Duration.read(over)
    except BadInput:
        raise BadInput(
            'It must be "total", "step" or a window.', tip='over = "7d" for the last seven days'
        ) from None
    return duration.steps(stream.every, zone=stream.zone)
