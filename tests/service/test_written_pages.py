"""Pages that are kept as they were sent: asked for once, of bounded size, the latest."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from ameles.service.published import StorePublished
from ameles.service.readout import written_pages
from ameles.service.readout.written_pages import WrittenPage, WrittenPages
from ameles.service.refusals import Refused
from ameles.service.views import Page
from tests.service.small_service import Small


def page(size: int) -> WrittenPage:
    return WrittenPage(b"x" * size, following="", more=False, closed=True)


def test_the_pages_that_were_used_last_are_kept() -> None:
    pages, written = WrittenPages(most=10), list[str]()

    def get(name: str, size: int) -> None:
        def write() -> WrittenPage:
            written.append(name)
            return page(size)

        assert len(pages.get(name, write).body) == size

    for name in ("a", "b", "a", "c", "a", "b"):  # c takes the place of b
        get(name, 5)
    assert written == ["a", "b", "c", "b"]
    get("too large", 11)
    get("too large", 11)
    assert written[4:] == ["too large"] * 2
    assert (pages._bytes, len(pages._pages)) == (0, 0)


@pytest.mark.parametrize("fails", [False, True])
def test_who_asks_meanwhile_gets_the_same(fails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    pages, begun, go, waits = (WrittenPages(), *(threading.Event() for _ in range(3)))

    class Noticed(Future[WrittenPage]):
        def result(self, timeout: float | None = None) -> WrittenPage:
            waits.set()
            return super().result(timeout)

    monkeypatch.setattr(written_pages, "Future", Noticed)
    refusal = Refused(406, "It cannot be written.")

    def write() -> WrittenPage:
        begun.set()
        assert go.wait(600)
        if fails:
            raise refusal
        return page(3)

    def never() -> WrittenPage:
        raise AssertionError("it is written once")

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(pages.get, "a", write)
        assert begun.wait(600)
        second = threads.submit(pages.get, "a", never)
        assert waits.wait(600)
        go.set()
        if fails:
            assert first.exception(600) is second.exception(600) is refusal
            assert pages.get("a", lambda: page(4)).body == b"xxxx", "the next one tries again"
        else:
            assert first.result(600) is second.result(600)


def test_a_page_is_read_once_and_again_after_a_release(
    service: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    app: Any = service.client.app
    published: StorePublished = app.state.published
    asked, read = list[object](), published.page

    def counted(*given: Any) -> Page:
        asked.append(given)
        return read(*given)

    monkeypatch.setattr(published, "page", counted)
    path = "/v1/streams/open/releases?limit=3&last=4"
    first = service.client.get(path)
    again = service.client.get(path)
    assert (first.status, first) == (200, again)
    assert len(asked) == 1
    same = service.client.get(path, headers={"If-None-Match": first.headers["etag"]})
    assert (same.status, same.body, len(asked)) == (304, b"", 1)
    for other in ("limit=2&last=4", "limit=3&last=3", "limit=3&last=4&format=csv"):
        service.client.get(f"/v1/streams/open/releases?{other}")
    assert len(asked) == 4
    view = published.stream("open")
    later = replace(view, released=view.released + 1)
    monkeypatch.setattr(published, "stream", lambda name: later)
    service.client.get(path)
    assert len(asked) == 5, "there may be more now"
