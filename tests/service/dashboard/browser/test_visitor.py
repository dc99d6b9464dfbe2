"""The visitor of these tests notices what must not happen."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser

from tests.service.dashboard.browser.served import Served
from tests.service.dashboard.browser.visitor import Visitor, visiting

LOOSE = "<!doctype html><html lang=en><title>a</title><main><h1>a</h1>{}</main>"


def shown(browser: Browser, served: Served, html: str, then: Callable[[Visitor], None]) -> None:
    """A visit to a page of this service that has something else in it."""
    with visiting(browser, served.url) as visitor:
        policy = {"Content-Security-Policy": "default-src 'self'"}
        page = LOOSE.format(html)
        visitor.page.route(
            served.url + "/",
            lambda route: route.fulfill(headers=policy, content_type="text/html", body=page),
        )
        visitor.open("/")
        then(visitor)


@pytest.mark.parametrize(
    ("html", "script"),
    [
        ("<script>1</script>", "1"),  # the policy stops it
        ("", "console.error('x')"),
        ("", "setTimeout(() => { throw Error('x') })"),
        ("", "location.hash = 'x', new Image().src = 'http://localhost:9/x'"),
    ],
)
def test_problems_are_noticed(browser: Browser, served: Served, html: str, script: str) -> None:
    def run(visitor: Visitor) -> None:
        visitor.page.evaluate(script)
        while not visitor.problems:
            visitor.page.wait_for_timeout(10)

    with pytest.raises(AssertionError):
        shown(browser, served, html, run)


def test_foreign_requests_are_listed(browser: Browser, served: Served) -> None:
    def look(visitor: Visitor) -> None:
        with visitor.page.expect_request("http://localhost:9/**"):
            visitor.page.evaluate("fetch('http://localhost:9/x').catch(() => {})")
        assert visitor.foreign == ["http://localhost:9/x"]
        visitor.requests.clear()
        visitor.problems.clear()
        visitor.page.evaluate("window.violations.length = 0")

    with visiting(browser, served.url) as visitor:
        visitor.page.route(
            served.url + "/", lambda route: route.fulfill(content_type="text/html", body="a")
        )
        visitor.open("/")
        look(visitor)


def test_what_not_everybody_can_use_is_noticed(browser: Browser, served: Served) -> None:
    found: list[str] = []
    grey = '<p style="color: #777; background: #888">grey</p><img src="/static/x">'

    def look(visitor: Visitor) -> None:
        found.extend(visitor.accessibility())
        visitor.problems.clear()
        visitor.page.evaluate("window.violations.length = 0")

    shown(browser, served, grey, look)
    assert any("image-alt" in one for one in found)
