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
PART = 256  # steps whose noise is in one text; engine/running/descriptions.py writes them

router = APIRouter(tags=["explanations"], dependencies=[Depends(BEARER)])


@router.get("/v1/streams/{name}/ledger", response_model=LedgerModel, responses=REFUSALS)
def ledger(stream: Described, source: Source) -> Any:
    """What a stream has cost, and what its population has left."""
    found = source.ledger(stream.name)
    if found is None:
        raise Refused(
            404,
            "The stream was not launched yet.",
            why="a stream is paid for at its launch",
            tip="try again when it runs",
        )
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
        raise Refused(
            404,
            "This step was not released yet.",
            why=f"{stream.released} steps are released",
            tip="a step up to 'released'",
        )
    wanted = Wanted(release=release, key=key, first=step, last=step)
    rows = source.page(stream.name, wanted, Place(step), SHOWN).rows
    texts = source.description(stream.name, f"release/{release}")
    if texts is None:
        raise Refused(404, "This release is not described yet.", why="its texts are being written")
    earlier = [text for after, text in texts["restarts"] if after < step]
    first = 1 if texts["window"] is None else max(1, step - texts["window"] + 1)
    return {
        **texts,
        "release": release,
        "step": step,
        "since": source.times(stream.name, first)[0],
        "until": source.times(stream.name, step)[1],
        "noise": _noise(source, stream.name, release, step, texts),
        "restart": earlier[-1] if earlier else None,
        "values": [dict(zip(COLUMNS, row, strict=True)) for row in rows],
    }


def _noise(source: Source, name: str, release: str, step: int, texts: dict[str, Any]) -> str:
    """The words about the noise at a step, or in general while those are not written yet."""
    number, place = divmod(step - 1, PART)
    part = source.description(name, f"noise/{release}/{number}") if texts["by_step"] else None
    return str(texts["noise"] if part is None else part["texts"][part["of"][place]])
