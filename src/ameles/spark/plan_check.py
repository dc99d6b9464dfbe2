"""Which plans can run on Spark: their tasks must be able to open the source themselves."""

from __future__ import annotations

from ameles.core.exceptions import BadInput
from ameles.plan.plan import Plan


def check_plan(plan: Plan) -> None:
    """Refuses a plan whose events would have to pass through Spark, or must not be kept at all."""
    if plan.privacy.intrusions != "none":
        raise BadInput(
            f"The stream '{plan.stream.name}' cannot run on Spark.",
            why=f'its plan has intrusions = "{plan.privacy.intrusions}", and exact rows of users '
            "would pass through other machines and their disks",
            tip='intrusions = "none", or --engine embedded',
        )
    found = next((one for one in plan.releases if one.discovered is not None), None)
    if found is not None:
        raise BadInput(
            f"The stream '{plan.stream.name}' cannot run on Spark.",
            why=f"the keys of release '{found.name}' are discovered, step by step, from the single "
            "records of all users",
            tip="declared keys, or --engine embedded",
        )
    kind = plan.stream.source_kind
    if not kind.seekable:
        raise BadInput(
            f"Spark cannot read {kind.describe(plan.stream.source)}.",
            why="each task opens its part of the source itself, and this source is read only once",
            tip="files, or a broker that keeps events; or --engine embedded",
        )
