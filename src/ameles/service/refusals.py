"""Refusals over HTTP: what, why and a tip, and never the text of an exception or a value.

>>> Refused(404, "There is no such stream.", tip="GET /v1/streams").what
'There is no such stream.'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from ameles.core.exceptions import AmelesError
from ameles.service.views import Right

TOKEN_REFUSED = (401, 403)


class Problem(BaseModel):
    """Why a request was refused, and what to try."""

    what: str
    why: str = ""
    tip: str = ""


class Refused(Exception):
    """A request that is refused, with its status code."""

    def __init__(
        self,
        status: int,
        what: str,
        *,
        why: str = "",
        tip: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(what)
        self.status = status
        self.what = what
        self.why = why
        self.tip = tip
        self.headers = dict(headers or {})
        self.more: dict[str, Any] = {}  # further fields of the answer
        self.holder: Right | None = None  # whose request it was, if that is known


def unknown_stream() -> Refused:
    """The same answer for a stream that does not exist and for one that is nobody's business."""
    return Refused(
        404,
        "There is no such stream, or you may not read it.",
        why="both get this answer, so that it tells nobody which streams exist",
        tip="GET /v1/streams lists the streams that you may see; send a token as "
        "'Authorization: Bearer ...'",
    )


def busy() -> Refused:
    """The refusal of a batch that would have to wait too long."""
    return Refused(
        429,
        "Too many batches are waiting.",
        why="what waits is bounded",
        tip="send the same batch again after the time in Retry-After",
        headers={"Retry-After": "1"},
    )


WORDS = {
    404: (
        "There is no such address.",
        "this service has only those of /openapi.json, and its pages",
        "GET /openapi.json lists all",
    ),
    405: (
        "This address does not take this method.",
        "it takes those that the header Allow has",
        "GET /openapi.json lists all",
    ),
}


def problem(
    status: int,
    what: str,
    why: str = "",
    tip: str = "",
    headers: Mapping[str, str] | None = None,
    more: Mapping[str, Any] | None = None,
) -> JSONResponse:
    """The answer that says why a request was refused."""
    content = {**Problem(what=what, why=why, tip=tip).model_dump(), **(more or {})}
    kept = {"Cache-Control": "no-store", **(headers or {})}
    return JSONResponse(content, status_code=status, headers=kept)


def refusal_of(refusal: Refused) -> JSONResponse:
    """The answer to a request that is refused."""
    words = refusal.what, refusal.why, refusal.tip
    return problem(refusal.status, *words, refusal.headers, refusal.more)


def failure() -> Refused:
    """The refusal of a request that has met what nobody expected."""
    return Refused(500, "The service failed.", why="its log says where")


def store_refused() -> Refused:
    """The refusal of a request when the store refuses; the log has its reason."""
    return Refused(
        503,
        "The store cannot be read now.",
        why="its refusal is in the log of the service",
        tip="try again",
        headers={"Retry-After": "1"},
    )


async def _refused(request: Request, refusal: Exception) -> JSONResponse:
    if isinstance(refusal, RequestValidationError):
        refusal = bad_parameters(refusal)
    if isinstance(refusal, Refused):
        return refusal_of(refusal)
    status = refusal.status_code if isinstance(refusal, HTTPException) else 500
    what, why, tip = WORDS.get(status, ("This request was refused.", "", ""))
    headers = {"Allow": _allowed(request)} if status == HTTPStatus.METHOD_NOT_ALLOWED else None
    return problem(status, what, why, tip, headers)


def _allowed(request: Request) -> str:
    """All methods that an address takes; its routes have one each, and a HEAD is asked as a GET."""
    methods = set[str]()
    for route in request.app.state.routes:
        if route.path_regex.match(request.scope["path"]):
            methods |= route.methods
    return ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))


def bad_parameters(refusal: RequestValidationError) -> Refused:
    """The refusal of parameters that are missing or not as declared: by their declared names and
    bounds, and never by what was sent."""
    declared = [error for error in refusal.errors() if _declared(error)]
    missing = [error for error in declared if error["type"] == "missing"]
    wrong = [error for error in declared if error["type"] != "missing"]
    what = [f"{_names(missing)} missing."] if missing else []
    if wrong or not declared:
        what.append(f"{_names(wrong, verb=False)} cannot be used as given.")
    reasons = ["this address needs what is missing"] if missing else []
    reasons += [f"'{error['loc'][1]}' must be {must}" for error in wrong if (must := _must(error))]
    why, tip = "; ".join(dict.fromkeys(reasons)), "/openapi.json describes the parameters"
    return Refused(422, " ".join(what), why=why, tip=tip)


def _names(errors: Sequence[Mapping[str, Any]], *, verb: bool = True) -> str:
    """Some parameters as the subject of a sentence."""
    if not errors:
        return "The request"
    kind = "header" if {error["loc"][0] for error in errors} == {"header"} else "parameter"
    names = sorted({f"'{error['loc'][1]}'" for error in errors})
    many, is_are = ("s", "are") if len(names) > 1 else ("", "is")
    return f"The {kind}{many} {' and '.join(names)}{f' {is_are}' if verb else ''}"


MUST = {
    "int_parsing": "a whole number",
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
    "string_too_short": "at least {min_length} characters long",
    "string_too_long": "at most {max_length} characters long",
    "enum": "{expected}",
}


def _must(error: Mapping[str, Any]) -> str:
    """What a parameter must be; the context of these errors has declared bounds alone."""
    if error["type"].startswith("datetime_"):
        return "a time such as 2026-01-01T00:00:00Z"
    return MUST.get(error["type"], "").format_map(error.get("ctx", {}))


def _declared(error: Mapping[str, Any]) -> bool:
    place = error["loc"]
    return len(place) == 2 and place[0] in ("path", "query", "header")


def add_handlers(app: FastAPI, failed: Callable[[Exception], None]) -> None:
    """Makes every refusal of an application a ``Problem``; ``failed`` is told if the store
    refuses."""

    async def refused_by_store(request: Request, refusal: Exception) -> JSONResponse:
        failed(refusal)
        return refusal_of(store_refused())

    for kind in (Refused, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _refused)
    app.add_exception_handler(AmelesError, refused_by_store)
