"""``/healthz`` and ``/readyz``, for whoever watches the process.

``/readyz`` names the streams that have failed, and no other.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from ameles.service.dependencies import health
from ameles.service.readout.models import Alive, Ready

router = APIRouter(tags=["health"])


@router.get("/healthz", response_model=Alive)
async def healthz() -> Any:
    """Whether the process answers."""
    return {"alive": True}


@router.get(
    "/readyz",
    response_model=Ready,
    responses={503: {"model": Ready, "description": "A stream failed or has not begun."}},
)
async def readyz(request: Request, response: Response) -> Any:
    """Whether all streams have begun and none has failed; which have, and why in a few words."""
    state = health(request)
    failed, starting = state.failed, state.starting
    ready = not (failed or starting)
    response.status_code = 200 if ready else 503
    streams = [{"name": name, "reason": reason} for name, reason in failed.items()]
    return {"ready": ready, "starting": starting, "failed": len(failed), "streams": streams}
