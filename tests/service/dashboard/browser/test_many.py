"""Many charts: each is drawn when its reader comes to it, and the others cost nothing before.

A hundred series of a thousand steps: ``./run bench service page``.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from playwright.sync_api import Browser, Route, expect

from tests.service.dashboard.browser.conftest import Visit
from tests.service.dashboard.browser.served import long_stream
from tests.service.dashboard.browser.visitor import visiting

RELEASES, STEPS = 12, 40


def test_every_chart_is_drawn_when_it_is_seen(browser: Browser, tmp_path: Path) -> None:
    with (
        closing(long_stream(tmp_path, RELEASES, STEPS)) as served,
        visiting(browser, served.url) as visitor,
    ):
        page = visitor.open("/streams/open")
        charts = page.locator("[data-release] figure canvas")
        expect(page.locator("[data-release=r0] canvas")).to_have_count(2)
        assert charts.count() < 2 * RELEASES
        assert not any(f"release=r{RELEASES - 1}&" in one.url for one in visitor.requests)
        for number in range(RELEASES):
            page.locator("[data-release]").nth(number).scroll_into_view_if_needed()
        expect(charts).to_have_count(2 * RELEASES)


def test_numbers_are_asked_for_before_the_program_that_draws_is_there(visit: Visit) -> None:
    with visit() as visitor:
        page, held = visitor.page, list[Route]()
        page.route("**/uPlot.iife.min.js", lambda route: held.append(route))
        with page.expect_response("**/releases?*"):
            page.goto(f"{visitor.url}/streams/open?release=ages", wait_until="commit")
        assert page.locator(".uplot").count() == 0
        held.pop().continue_()
        expect(page.locator(".uplot canvas")).to_be_visible()
