"""The addresses of the page.

    /                all streams
    /streams/NAME    one stream
    /embed/NAME      one chart of a public stream, for pages of other sites
    /preview         a plan before its launch
    /static/...      scripts and styles

A page is the same bytes for everybody, and no name in its address is looked at: it tells nothing.
What it shows comes from ``/v1``, with the rights of the reader.
"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from ameles.service.dashboard.files import File, Files
from ameles.service.headers import same_tag
from ameles.service.refusals import Refused

FOREVER = "public, max-age=31536000, immutable"
CHECKED = "no-cache"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'; frame-ancestors {}"
)
ALONE = {"Content-Security-Policy": _POLICY.format("'none'")}
INSIDE_OTHERS = {
    "Content-Security-Policy": _POLICY.format("*"),
    "Cross-Origin-Resource-Policy": "cross-origin",
}

router = APIRouter(include_in_schema=False)
_FILES = Files()


@router.get("/")
@router.get("/preview")
def page(request: Request) -> Response:
    """The page, which finds out from its address what to show."""
    return _answer(request, _FILES.pages["index.html"], CHECKED, ALONE)


@router.get("/streams/{name}")
def stream_page(request: Request, name: str) -> Response:
    """The same page; the name is not looked at."""
    return page(request)


@router.get("/embed/{name}")
def embedded(request: Request, name: str) -> Response:
    """One chart, without a place for a token; the name is not looked at."""
    return _answer(request, _FILES.pages["embed.html"], CHECKED, INSIDE_OTHERS)


@router.get("/static/{version}/{path:path}")
def static(request: Request, version: str, path: str) -> Response:
    """A file that a page loads."""
    file = _FILES.loaded.get(path)
    if file is None or version != _FILES.version:
        raise Refused(
            404,
            "There is no such address.",
            why="the files of the page are others now",
            tip="reload the page",
        )
    return _answer(request, file, FOREVER, {})


def _answer(request: Request, file: File, kept: str, policy: dict[str, str]) -> Response:
    packed = "gzip" in request.headers.get("Accept-Encoding", "")
    tag = file.packed_tag if packed else file.tag
    headers = {"ETag": tag, "Cache-Control": kept, "Vary": "Accept-Encoding", **policy}
    if same_tag(request.headers.get("If-None-Match", ""), tag):
        return Response(status_code=304, headers=headers)
    if packed:
        headers["Content-Encoding"] = "gzip"
    return Response(file.packed if packed else file.content, media_type=file.media, headers=headers)
