"""Every state of a stream and of the connection is drawn, and left when it is over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect

from ameles.service.views import State
from tests.service.dashboard.browser.conftest import Visit
from tests.service.dashboard.browser.served import Served, one_stream
from tests.service.dashboard.browser.visitor import visiting
from tests.service.small_service import NOW, described, released


def test_the_states_of_a_stream(visit: Visit, growing: Served) -> None:
    """The page follows them without a reload."""
    with visit() as visitor:
        page = visitor.open("/streams/open")
        badge = page.locator("h1 ~ .state .badge, .title .badge")
        expect(badge).to_have_attribute("data-state", "running")
        for state in (State.STARTING, State.FAILED, State.STOPPED, State.HALTED):
            growing.become("open", state)
            expect(badge).to_have_attribute("data-state", state.value)
            expect(page.locator(f"[data-notice={state.value}]")).to_be_visible()
        with growing.store.writing() as transaction:
            stream = transaction.stream("open")
            assert stream is not None
            transaction.add_epoch(stream, at=datetime.now(UTC), why="lost", base=b"")
        growing.become("open", State.RUNNING)
        expect(page.locator("[data-notice=restarted]")).to_contain_text("lost once")
        growing.release("open", 8)
        expect(page.locator("[data-notice=ended]")).to_be_visible()
        expect(page.locator(".facts")).to_contain_text("Step 8 of 8")
        expect(page.locator("[data-connection]")).to_be_hidden()
        with growing.store.writing() as transaction:
            transaction.retire(stream, at=NOW, why="over")
        page = visitor.open("/streams/open")
        expect(page.locator("[data-notice=retired]")).to_be_visible()
        expect(page.locator("[data-release=visits] data.value").first).to_be_visible()
        expect(visitor.open("/").locator("[data-state=retired]")).to_be_visible()


@pytest.fixture
def unlaunched(tmp_path: Path) -> Iterator[Served]:
    with closing(one_stream(tmp_path, until=0)) as made:
        yield made


def test_a_stream_that_has_published_nothing(browser: Browser, unlaunched: Served) -> None:
    """Before the first step there is a word; its numbers then appear without a reload."""
    with visiting(browser, unlaunched.url) as visitor:
        page = visitor.open("/streams/open")
        expect(page.locator("[data-notice=running]")).to_contain_text("first")
        expect(page.locator("[data-connection=connected]")).to_be_visible()
        unlaunched.release("open", 1)
        value = unlaunched.stored("open", release="visits", key="north")[-1].value
        shown = page.locator("[data-key=north] data.value")
        expect(shown).to_have_attribute("value", str(int(value)))


def test_texts_that_come_after_the_page_are_shown(browser: Browser, unlaunched: Served) -> None:
    """Without them nobody knows how long a step is: days must not be claimed."""
    shown = released(unlaunched.worlds["open"], unlaunched.store, 1)
    with visiting(browser, unlaunched.url) as visitor:
        page = visitor.open("/streams/open")
        expect(page.locator("[data-key=north] data.value")).to_be_visible()
        expect(page.locator(".facts")).not_to_contain_text("Days of")
        described(shown)  # nothing is published, and no state changes
        expect(page.locator(".facts")).to_contain_text("Every day")
        expect(page.locator(".facts")).to_contain_text("Days of UTC")
        expect(page.locator("[data-key=north] data.value")).to_be_visible()
        expect(page.locator("[data-release=visits]")).to_have_count(1)


def test_loading_refusals_and_nothing_at_all(visit: Visit) -> None:
    with visit() as visitor:
        page, held = visitor.page, list[Route]()
        page.route("**/v1/streams/open", lambda route: held.append(route))
        visitor.open("/streams/open")
        expect(page.locator(".loading")).to_be_visible()
        again = {"Retry-After": "1"}
        for status, kind in ((503, "refused-503"), (429, "refused-429")):
            held.pop().fulfill(status=status, headers=again, body="<html>of a proxy")
            expect(page.locator(f"[data-notice={kind}]")).to_be_visible()
            while not held:
                page.wait_for_timeout(10)  # it asks again by itself
        held.pop().abort()
        expect(page.locator("[data-notice=refused-0]")).to_be_visible()
        page.unroute("**/v1/streams/open")
        page.reload()
        expect(page.locator("[data-release=visits] data.value").first).to_be_visible()
        page.route("**/v1/streams", lambda route: route.fulfill(json={"streams": []}))
        visitor.open("/")
        expect(page.locator("[data-notice=no-streams]")).to_be_visible()
        visitor.expect_failures(0, 429, 503)
