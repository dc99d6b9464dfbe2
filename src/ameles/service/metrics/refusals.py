"""Refusals in the form of Prometheus; they repeat nothing of what was asked."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from fastapi import Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

Kind: TypeAlias = Literal["bad_data", "execution"]
STATUS: dict[Kind, int] = {"bad_data": 400, "execution": 422}


class QueryProblem(BaseModel):
    """Why a query was refused."""

    status: Literal["error"] = "error"
    error_type: Kind = Field(serialization_alias="errorType")
    error: str


class QueryRefused(Exception):
    """A query that is refused: it cannot be read, or asks for too much."""

    def __init__(self, what: str, kind: Kind = "bad_data") -> None:
        super().__init__(what)
        self.what = what
        self.kind: Kind = kind


def refused(request: Request, problem: Exception) -> JSONResponse:
    """The answer to a refused query."""
    if not isinstance(problem, QueryRefused):
        raise problem  # it is registered for nothing else
    content: dict[str, Any] = {
        "status": "error",
        "errorType": problem.kind,
        "error": problem.what,
    }
    return JSONResponse(content, status_code=STATUS[problem.kind])
