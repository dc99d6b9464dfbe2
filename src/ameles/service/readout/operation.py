"""``/v1/streams/{name}/operation``: how the service runs a stream, for those who run it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, Request

from ameles.service.dependencies import BEARER, REFUSALS, Administered, operations
from ameles.service.readout.models import Operation
from ameles.service.readout.streams import summary

router = APIRouter(tags=["operation"], dependencies=[Depends(BEARER)])


@router.get("/v1/streams/{name}/operation", response_model=Operation, responses=REFUSALS)
def operation(request: Request, stream: Administered) -> Any:
    """The lag, sinks, intrusions and restarts of a stream, and why it failed if it did."""
    return {**summary(stream), **operations(request).operation(stream.name)}
