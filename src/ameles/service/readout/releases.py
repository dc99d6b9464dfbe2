"""``/v1/streams/{name}/releases``: what was published, page by page.

Released steps never change.  A page that cannot get another row may be kept for ever; every page
has an ``ETag`` that is the digest of its bytes.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request, Response

from ameles.service.dependencies import BEARER, REFUSALS, Readable, Source
from ameles.service.headers import same_tag
from ameles.service.readout.cursors import cursor_of, place_of
from ameles.service.readout.formats import WRITTEN, Format, negotiated
from ameles.service.readout.models import ReleasesPage, SeriesPage
from ameles.service.readout.written_pages import WrittenPage, WrittenPages
from ameles.service.refusals import Problem, Refused
from ameles.service.views import Page, Place, StreamView, Wanted

AT_ONCE, AT_MOST = 1_000, 100_000  # rows of a page: by default, and at most
MOST_STEPS = 1 << 40
FOREVER = "max-age=31536000, immutable"

router = APIRouter(tags=["releases"], dependencies=[Depends(BEARER)])

Step = Annotated[int | None, Query(ge=1, le=MOST_STEPS)]
Name = Annotated[str | None, Query(max_length=64, description="Only this release.")]
Key = Annotated[str | None, Query(max_length=1000, description="Only this key.")]
Time = Annotated[datetime | None, Query()]


@router.get(
    "/v1/streams/{name}/releases",
    response_model=ReleasesPage | SeriesPage,
    responses={
        **REFUSALS,
        200: {
            "description": "A page of releases, by step and series. 'Link' has the next page.",
            "content": {written.media.partition(";")[0]: {} for written in WRITTEN.values()},
        },
        304: {"description": "The page is as 'If-None-Match' has it."},
        406: {"model": Problem, "description": "No accepted format can be written."},
        409: {"model": Problem, "description": "The cursor is of another stream."},
    },
)
def releases(
    request: Request,
    stream: Readable,
    source: Source,
    release: Name = None,
    key: Key = None,
    first: Step = None,
    last: Step = None,
    since: Time = None,
    until: Time = None,
    limit: Annotated[int, Query(ge=1, le=AT_MOST)] = AT_ONCE,
    cursor: Annotated[str | None, Query(max_length=40)] = None,
    form: Annotated[
        Format | None, Query(alias="format", description="By default as 'Accept' says.")
    ] = None,
) -> Response:
    """What a stream has published, by release, key, step or time."""
    form = form or negotiated(request.headers.get("Accept", ""))
    check_names(source, stream, release, key)
    wanted = Wanted(
        release=release,
        key=key,
        first=first or 1,
        last=last,
        since=_zoned(since),
        until=_zoned(until),
    )
    start = Place(1) if cursor is None else place_of(cursor, stream.identity)
    pages: WrittenPages = request.app.state.pages
    page = pages.get(
        (stream.name, stream.identity, stream.released, wanted, start, limit, form),
        lambda: _written(stream, source.page(stream.name, wanted, start, limit), form),
    )
    return _answer(request, stream, page, WRITTEN[form].media)


def check_names(
    source: Source, stream: StreamView, release: str | None, key: str | None = None
) -> None:
    """Refuses a release or a key that the stream does not publish."""
    if release is None and key is None:
        return
    lines = source.series(stream.name)
    told = source.description(stream.name, "plan") or {}  # a release may wait for its first key
    planned = [one["name"] for one in told.get("releases", [])]
    names = list(dict.fromkeys([*(line.release for line in lines), *planned]))
    others = "the stream publishes others" if lines else "the stream publishes nothing yet"
    if release is not None and release not in names:
        raise Refused(
            404,
            "There is no such release.",
            why=others,
            tip=f"one of {', '.join(names)}"[:500] if names else "try again when it runs",
        )
    if key is not None and all(
        line.key != key for line in lines if release in (None, line.release)
    ):
        raise Refused(
            404,
            "There is no such key.",
            why=others,
            tip=f"GET /v1/streams/{stream.name} lists the keys",
        )


def _zoned(time: datetime | None) -> datetime | None:
    """A time without a zone is in UTC."""
    return time.replace(tzinfo=UTC) if time is not None and time.tzinfo is None else time


def _written(stream: StreamView, page: Page, form: Format) -> WrittenPage:
    following = cursor_of(page.after, stream.identity)
    about = {"stream": stream.name, "next": following, "more": page.more}
    body = WRITTEN[form].write(page.rows, about)
    return WrittenPage(body, following=following, more=page.more, closed=page.closed)


def _answer(request: Request, stream: StreamView, page: WrittenPage, media: str) -> Response:
    kept = FOREVER if page.closed else "no-cache"
    headers = {
        "ETag": page.tag,
        "Cache-Control": f"{'public' if stream.public else 'private'}, {kept}",
        "Vary": "Accept, Authorization",
        "Link": f'<{request.url.path}?{_with_cursor(request, page.following)}>; rel="next"',
        "Ameles-More": "true" if page.more else "false",
    }
    if same_tag(request.headers.get("If-None-Match", ""), page.tag):
        return Response(status_code=304, headers=headers)
    return Response(page.body, media_type=media, headers=headers)


def _with_cursor(request: Request, cursor: str) -> str:
    others = [(name, value) for name, value in request.query_params.multi_items()]
    return urlencode([pair for pair in others if pair[0] != "cursor"] + [("cursor", cursor)])
