"""The panels of an owner and of a sceptic, and a plan before its launch, in a real browser."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Route, expect

from ameles.engine.running.attacker import attacker
from ameles.service.log import Log
from ameles.service.preview_service import PreviewService
from ameles.service.server import listening, url_of
from ameles.service.stream_failure import StreamFailure
from ameles.simulate.preview.preview import Preview
from tests.service.dashboard.browser.conftest import Visit
from tests.service.dashboard.browser.served import LIMIT, Served
from tests.service.dashboard.browser.visitor import Visitor, visiting
from tests.service.small_service import NOW, plan_of, world

STREAM = "/streams/open"
PHONE = {"width": 360, "height": 740}


def with_token(visitor: Visitor, token: str) -> Visitor:
    visitor.context.add_init_script(f"sessionStorage.setItem('ameles-token', '{token}')")
    return visitor


def test_the_slider_of_an_attacker_shows_the_tables(visit: Visit, served: Served) -> None:
    told = attacker(served.small.shown["open"].plan.privacy)["losses"][0]
    with visit() as visitor:
        page = visitor.open(STREAM)  # what is at most is rounded up, what is at least down
        slider, answer = page.locator("#prior"), page.locator("#posterior")
        expect(answer).to_have_text("From 50% to between 11.9% and 88.1%.")  # epsilon 2
        slider.press("Home")
        for _ in range(13):
            slider.press("ArrowRight")
        expect(answer).to_have_text("From 10% to between 1.4% and 45.1%.")
        page.get_by_label("The question").select_option(label=told["subjects"][1]["text"])
        expect(answer).to_have_text("From 10% to between 0.2% and 85.9%.")  # twice the epsilon
        expect(slider).to_have_attribute("aria-valuetext", "10%")
        page.get_by_label("From", exact=True).select_option(index=1)
        expect(page.locator("#attacker")).to_contain_text("The loss is epsilon 2.")
        expect(page.locator("#attacker")).to_contain_text("not one person")


def test_a_number_is_explained_by_keyboard(visit: Visit, served: Served) -> None:
    with visit() as visitor:
        page = visitor.open(STREAM)
        button = page.locator("[data-release=visits] .tools .explain")
        button.focus()
        button.press("Enter")
        dialog = page.get_by_role("dialog", name="visits · step 5")
        expect(dialog.locator("[data-part=noise]")).to_contain_text("discrete")
        expect(dialog.locator("[data-part=ledger]")).to_contain_text("entry 1 of population")
        expect(dialog).to_contain_text("north")
        assert visitor.accessibility() == []
        page.keyboard.press("Escape")
        expect(dialog).to_be_hidden()
        expect(button).to_be_focused()
        page = visitor.open(f"{STREAM}?view=table&release=visits&key=north")
        page.locator("tr[data-step='2'] .explain").click()
        dialog = page.get_by_role("dialog", name="visits · north · step 2")
        (value,) = (
            one.value
            for one in served.stored("open", release="visits", key="north")
            if one.step == 2
        )
        expect(dialog.locator("strong")).to_have_text(f"{value:,}")


def test_a_number_is_explained_before_the_rest_of_the_page_is_there(visit: Visit) -> None:
    """The panels come when the releases are drawn, and this needs none of them."""
    with visit() as visitor:
        page = visitor.context.new_page()
        page.route("**/v1/streams/open/releases**", lambda route: None)  # never answered
        page.goto(f"{visitor.url}{STREAM}")
        page.locator("[data-release=visits] .tools .explain").click()
        dialog = page.get_by_role("dialog", name="visits · step 5")
        expect(dialog.locator("[data-part=noise]")).to_contain_text("discrete")


def test_an_owner_sees_plan_budget_and_ledger(visit: Visit, served: Served) -> None:
    with visit() as visitor:
        page = visitor.open(STREAM)
        expect(page.locator("#plan li").first).to_contain_text("Stream 'open' publishes")
        expect(page.locator("#budget")).to_contain_text("has spent ε 2 of ε 2; ε 0 is left")
        page.locator("#budget summary").press("Enter")
        expect(page.locator("#ledger tbody tr")).to_have_count(6)
        expect(page.locator("#operation")).to_have_count(0)


def test_who_runs_a_stream_sees_how_it_is_run(visit: Visit, served: Served) -> None:
    with visit() as visitor:
        page = with_token(visitor, served.token("admin", "closed")).open("/streams/closed")
        expect(page.locator("#operation")).to_contain_text("3 steps are due and not released")
        expect(page.locator("#operation")).to_contain_text("None was announced.")
        expect(page.locator("#budget")).to_be_visible()
        visitor.expect_failures(403)  # an admin may not read the numbers
        failures = served.small.refused
        try:
            failures["closed"] = StreamFailure("The disk is full.", "no space", "space", NOW)
            visitor.open("/streams/closed")
            expect(page.locator("#operation [role=alert]")).to_contain_text("It is tried again")
            failures["closed"] = StreamFailure("The plan is wrong.", "", "", None)
            visitor.open("/streams/closed")
            expect(page.locator("#operation [role=alert]")).to_contain_text("It is not tried again")
            visitor.expect_failures(403)
        finally:
            failures.clear()


def test_words_fit_a_stream_that_is_over_and_a_budget_that_was_renewed(visit: Visit) -> None:
    def change(route: Route) -> None:
        told = route.fetch().json()
        if "cap" in told:
            told["cap"] = {"epsilon": "9"}
            told["renewed"] = {"epsilon": "4"}
            told["renewals"] = renewals
            told["used_up"] = None
        else:
            told["state"] = "ended"
        route.fulfill(json=told)

    renewals = [{"at": "2026-01-01T00:00:00Z", "why": "a new year", "added": {"epsilon": "4"}}]
    with visit() as visitor:
        visitor.page.route("**/v1/streams/open/ledger", change)
        page = visitor.open(STREAM)
        expect(page.locator("#budget")).to_contain_text("once, by ε 4")
        expect(page.locator("#budget")).to_contain_text("not in sight, at this rate")
        visitor.page.route("**/v1/streams/open", change)
        renewals.append(renewals[0])
        page = visitor.open(STREAM)
        expect(page.locator("#budget")).to_contain_text("2 times, by ε 4 in all")
        expect(page.locator("#budget")).to_contain_text("not by this stream: it is over")


def test_a_table_that_is_too_wide_shows_that_it_scrolls(visit: Visit) -> None:
    with visit(viewport=PHONE) as visitor:
        page = visitor.open(STREAM)
        table = page.locator("#plan .scroll")
        assert table.evaluate("(one) => one.scrollWidth > one.clientWidth")
        shadows = "(one) => getComputedStyle(one).backgroundAttachment"
        assert table.evaluate(shadows) == "local, local, scroll, scroll"


def test_panels_fit_a_phone_and_everybody(visit: Visit) -> None:
    with visit(viewport=PHONE) as visitor:
        page = visitor.open(STREAM)
        for panel in ("#plan", "#attacker", "#budget"):
            expect(page.locator(panel)).to_be_visible()
        page.locator("#attacker summary").click()
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        assert visitor.accessibility() == []


@contextmanager
def previewing(folder: Path) -> Iterator[tuple[str, Preview]]:
    made = world(folder / "next", "next")
    preview = Preview(plan_of(made), made.text)
    service, stop = PreviewService(preview, [], Log(io.StringIO())), threading.Event()
    with closing(listening("127.0.0.1:0")) as opened:
        thread = threading.Thread(target=service.run, args=(opened, stop))
        thread.start()
        try:
            yield url_of(opened), preview
        finally:
            stop.set()
            thread.join(LIMIT)


def test_a_plan_is_tried_before_its_launch(browser: Browser, tmp_path: Path) -> None:
    with (
        previewing(tmp_path) as (url, preview),
        visiting(browser, url, viewport=PHONE) as visitor,
    ):
        page = visitor.open("/preview")
        own = preview.at((3, 3))
        expect(page.locator("#plan-text")).to_have_text(own["text"])
        expect(page.locator("[data-release=visits] canvas").first).to_be_visible()
        slider = page.get_by_label("epsilon", exact=True)
        slider.press("ArrowLeft")
        less = preview.at((2, 3))
        expect(page.locator("#plan-text")).to_have_text(less["text"])
        half = less["releases"][0]["half_widths"][2]
        expect(page.locator("[data-release=visits] .expected")).to_contain_text(f"± {half:.0f}")
        assert page.url.endswith("/preview?at=2.3&season=made-up&size=2")
        expect(page.get_by_role("contentinfo")).to_contain_text("Nothing here was published")
        page.reload()
        expect(page.locator("#plan-text")).to_have_text(less["text"])
        visitor.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=url)
        page.locator("#copy-plan").click()
        expect(page.get_by_text("Copied.")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == less["text"]
        page.locator("#reset").click()
        expect(page.locator("#plan-text")).to_have_text(own["text"])
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        assert visitor.accessibility() == []


def test_a_service_without_a_preview_names_the_command(visit: Visit) -> None:
    with visit() as visitor:
        page = visitor.open("/preview")
        expect(page.locator("[data-notice=no-preview]")).to_contain_text("ameles preview PLAN")
        visitor.expect_failures(404)
