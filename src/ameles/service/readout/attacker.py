"""``/v1/streams/{name}/attacker``: what can be learned from everything that is published."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends

from ameles.service.dependencies import BEARER, REFUSALS, Described, Source
from ameles.service.readout.models import Attacker

router = APIRouter(tags=["explanations"], dependencies=[Depends(BEARER)])


@router.get("/v1/streams/{name}/attacker", response_model=Attacker, responses=REFUSALS)
def attacker(stream: Described, source: Source) -> Any:
    """What an attacker can believe at most, and at least, for each prior belief."""
    return {"stream": stream.name, **source.attacker(stream.name)}
