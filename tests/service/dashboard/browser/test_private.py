"""Who may not read sees nothing; a token is a header and nothing else; charts on other sites."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import expect

from tests.service.dashboard.browser.conftest import Visit
from tests.service.dashboard.browser.served import Served
from tests.service.dashboard.browser.visitor import Visitor


def test_a_private_stream_is_not_shown(visit: Visit) -> None:
    with visit() as visitor:
        page = visitor.open("/")
        expect(page.locator("[data-stream=open]")).to_be_visible()
        assert "closed" not in page.content()
        answers = []
        for name in ("closed", "absent"):
            page = visitor.open(f"/streams/{name}")
            expect(page.locator("[data-notice=refused-404]")).to_be_visible()
            answers.append(page.locator("main").inner_text().replace(name, ""))
            assert page.locator("data.value").count() == 0
        assert answers[0] == answers[1], "the page says which of them exists"
        visitor.expect_failures(404)


def use(visitor: Visitor, token: str) -> None:
    """Types a token in."""
    page = visitor.page
    page.get_by_role("button", name="Use a token").first.click()
    page.locator("#token-text").fill(token)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def test_a_token_is_sent_as_a_header_and_never_in_an_address(visit: Visit, served: Served) -> None:
    token = served.token("read", "closed")
    with visit() as visitor:
        page = visitor.open("/streams/closed")
        use(visitor, token)
        expect(page.locator("[data-release=visits] data.value").first).to_be_visible()
        assert page.get_by_role("button", name="Embed").count() == 0
        page.get_by_role("button", name="Table").first.click()
        page.locator("[data-release=visits] details.menu summary").click()
        with page.expect_download():
            page.get_by_role("button", name="CSV").first.click()
        sent = [one for one in visitor.requests if "/v1/streams/closed" in one.url]
        assert {one.headers.get("authorization") for one in sent} == {None, f"Bearer {token}"}
        assert all(token not in one.url for one in visitor.requests)
        assert all(
            "authorization" not in one.headers for one in visitor.requests if "/v1/" not in one.url
        )
        assert token not in page.url
        assert token not in page.content()
        assert page.evaluate("Object.values(localStorage).join()") == ""
        assert visitor.context.cookies() == []
        assert page.evaluate("Object.values(sessionStorage)") == [token]
        other = visitor.context.new_page()  # another tab has none
        other.goto(page.url)
        expect(other.locator("[data-notice=refused-404]")).to_be_visible()
        page.get_by_role("button", name="Token in use").click()
        with page.expect_navigation():
            page.get_by_role("button", name="Forget it").click()
        expect(page.locator("[data-notice=refused-404]")).to_be_visible()
        visitor.expect_failures(404)


def test_a_token_that_is_refused_or_of_another_scope(visit: Visit, served: Served) -> None:
    with visit() as visitor:
        page = visitor.open("/streams/closed")
        use(visitor, f"ameles_{'0' * 64}")
        expect(page.locator("[data-notice=refused-401]")).to_be_visible()
        page.get_by_role("button", name="Forget the token").click()
        expect(page.locator("[data-notice=refused-404]")).to_be_visible()
        use(visitor, served.token("admin", "closed"))
        expect(page.locator("[data-notice=not-readable]")).to_be_visible()
        expect(page.locator("#operation")).to_contain_text("due and not released")
        expect(page.locator("#budget")).to_be_visible()
        assert page.locator("[data-release]").count() == 0
        visitor.expect_failures(401, 403, 404)


@contextmanager
def foreign_page(*frames: str) -> Iterator[str]:
    """Another site, which holds charts."""
    held = "".join(
        f'<iframe src="{one}" title="a" width="700" height="450"></iframe>' for one in frames
    )

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/" else 204)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            if self.path == "/":
                self.wfile.write(f"<!doctype html><title>a</title>{held}".encode())

        def log_message(self, *given: object) -> None:
            """Nothing."""

    with http.server.ThreadingHTTPServer(("localhost", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://localhost:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def test_other_sites_may_hold_a_chart_of_a_public_stream_and_no_more(
    visit: Visit, served: Served
) -> None:
    token = served.token("read", "closed")
    paths = (
        "/embed/open?release=visits&key=north",
        "/embed/closed?release=visits",
        "/streams/open",
    )
    with foreign_page(*(served.url + path for path in paths)) as url, visit() as visitor:
        visitor.open("/streams/closed")
        use(visitor, token)  # a frame must not use it
        page = visitor.page
        page.goto(url)
        chart = page.frame_locator("iframe >> nth=0")
        expect(chart.locator(".uplot")).to_be_visible()
        last = served.stored("open", release="visits", key="north")[-1]
        expect(chart.locator("data.value")).to_have_attribute("value", str(int(last.value)))
        expect(chart.get_by_role("link", name="open")).to_have_attribute("target", "_blank")
        private = page.frame_locator("iframe >> nth=1")
        expect(private.locator("[data-notice=refused-404]")).to_be_visible()
        assert private.locator("data, .uplot, [data-release]").count() == 0
        whole = page.frames[3]
        assert whole.locator("main").count() == 0, "the page itself lets nobody hold it"
        asked = [one for one in visitor.requests if "/embed/closed" in (one.frame.url or "")]
        assert asked
        assert all("authorization" not in one.headers for one in asked)
        visitor.problems = [one for one in visitor.problems if "frame-ancestors" not in one]
        visitor.expect_failures(404)
        visitor.url = url
        assert {one.split("/")[2] for one in visitor.foreign} == {served.url.split("/")[2]}
        visitor.requests.clear()
