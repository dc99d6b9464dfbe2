"""``/v1/streams/{name}/ledger`` and ``/explain``: what was paid, and where a number comes from."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query

from ameles.core.release import COLUMNS
from ameles.service.dependencies import BEARER, REFUSALS, Described, Readable, Source
from ameles.service.readout.models import Explanation, LedgerModel
from ameles.service.readout.releases import MOST_STEPS, Key, check_names
from ameles.service.refusals import Refused
from ameles.service.views import Place, Wanted

SHOWN = 1_000  # values of an explanation
CHUNK = 256  # steps whose noise is described in one text; the engine's side writes them

router = APIRouter(tags=["explanations"], dependencies=[Depends(BEARER)])


@router.get("/v1/streams/{name}/ledger", response_model=LedgerModel, responses=REFUSALS)
def ledger(stream: Described, source: Source) -> Any:
    """What a stream has cost, and what its population has left."""
    found = source.ledger(stream.name)
    if found is None:
        raise Refused(404, "The stream was not launched yet.", tip="try again when it runs")
    return found


@router.get("/v1/streams/{name}/explain", response_model=Explanation, responses=REFUSALS)
def explain(
    stream: Readable,
    source: Source,
    release: Annotated[str, Query(max_length=64)],
    step: Annotated[int, Query(ge=1, le=MOST_STEPS)],
    key: Key = None,
) -> Any:
    """Where the numbers of one release and step come from."""
    check_names(source, stream, release, key)
    if step > stream.released:
        raise Refused(404, "This step was not released yet.", tip="a step up to 'released'")
    wanted = Wanted(release=release, key=key, first=step, last=step)
    rows = source.page(stream.name, wanted, Place(step), SHOWN).rows
    texts = source.description(stream.name, f"release/{release}")
    if texts is None:
        raise Refused(404, "This release is not described yet.", why="its texts are being written")
    noises = source.description(stream.name, f"noise/{release}/{(step - 1) // CHUNK}")
    noise = texts["noise"] if noises is None else noises["texts"][noises["of"][(step - 1) % CHUNK]]
    return {
        **texts,
        "release": release,
        "step": step,
        "noise": noise,
        "values": [dict(zip(COLUMNS, row, strict=True)) for row in rows],
    }
