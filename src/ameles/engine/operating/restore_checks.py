"""Refuses a backup that is behind what its streams have published, before anything is restored.

The sinks and the vault of a stream are outside of its store.  They show how far the stream had
come, whatever became of the store.
"""

from __future__ import annotations

from collections.abc import Sequence

from ameles.core.exceptions import StoreRefused
from ameles.engine.running.stream_sinks import StreamSinks
from ameles.engine.sealed.stream_vault import sealed_step
from ameles.plan.plan import Plan
from ameles.store import Backup, StreamRecord


def check_behind(plans: Sequence[Plan], backup: Backup) -> tuple[str, ...]:
    """Refuses a backup that is behind a sink or a vault of one of these plans.

    Returns what could not be compared, in words.
    """
    unseen = []
    by_name = {plan.stream.name: plan for plan in plans}
    for stream in backup.streams:
        plan = by_name.pop(stream.name, None)
        if plan is None:
            unseen.append(f"stream '{stream.name}': its plan was not given")
            continue
        _check_vault(plan, stream)
        sinks = StreamSinks(plan, stream.identity).check_fence(backup.store, stream)
        unseen += [f"stream '{stream.name}': the sink {sink.name} is not there" for sink in sinks]
    if by_name:
        name = next(iter(by_name))
        raise StoreRefused(
            f"The backup has no stream '{name}'.",
            why="it was made before the launch of that stream, or is of another store",
            tip="another backup, or the plans of its streams alone",
        )
    return tuple(unseen)


def _check_vault(plan: Plan, stream: StreamRecord) -> None:
    step = None if plan.privacy.intrusions == "none" else sealed_step(plan, stream.identity)
    if step is not None and step > stream.released + 1:
        raise StoreRefused(
            f"The vault of stream '{stream.name}' is at step {step}; the backup has released "
            f"{stream.released}.",
            why="the backup is older than what was published, and steps between them are lost",
            tip="a newer backup",
        )
