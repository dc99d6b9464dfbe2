"""Numbers appear while the page is open, equal the store, and go on after the service was away."""

from __future__ import annotations

from functools import partial

from playwright.sync_api import Page, Route, expect

from tests.service.dashboard.browser.conftest import Visit
from tests.service.dashboard.browser.served import Served

NORTH = "[data-release=visits] figure[data-key=north]"


def table(page: Page, release: str) -> dict[int, list[str]]:
    """The published digits in the table of a release, by step, as the page has them."""
    rows = page.locator(f"[data-release={release}] tr[data-step]")
    found: list[tuple[str, list[str]]] = rows.evaluate_all(
        "rows => rows.map((row) => [row.dataset.step,"
        " [...row.querySelectorAll('data')].map((one) => one.value)])"
    )
    assert len({step for step, _ in found}) == len(found), "no step twice"
    return {int(step): values for step, values in found}


def stored(served: Served, release: str) -> dict[int, list[str]]:
    """The same from the store."""
    by_step: dict[int, list[str]] = {}
    for one in served.stored("open", release=release):
        alone = one.key == ""
        values = (one.value, one.low, one.high) if alone else (one.value,)
        shown = [written(value) for value in values if value is not None]
        by_step.setdefault(one.step, []).extend(shown)
    return by_step


def written(value: float) -> str:
    """A number as JavaScript writes it."""
    return str(int(value)) if float(value).is_integer() else repr(value)


def test_values_appear_live_and_equal_the_store(visit: Visit, growing: Served) -> None:
    with visit() as visitor:
        page = visitor.open("/streams/open")
        expect(page.locator("[data-connection=connected]")).to_be_visible()
        for step in (2, 3, 4):
            growing.release("open", step)
            last = growing.stored("open", release="visits", key="north")[-1]
            shown = page.locator(f"{NORTH} data.value")
            expect(shown).to_have_attribute("value", written(last.value))
            half = (last.high - last.low) / 2
            expect(page.locator(f"{NORTH} .margin")).to_have_text(f"± {half:,.0f}")
            expect(page.locator(".facts")).to_contain_text(f"Step {step} of 8")
        expect(page.locator("#announced")).to_contain_text("visits north: ")
        for release in ("visits", "ages"):
            page.locator(f"[data-release={release}]").get_by_role("button", name="Table").click()
            expect(page.locator(f"[data-release={release}] tr[data-step='4']")).to_be_visible()
            assert table(page, release) == stored(growing, release)
        growing.release("open", 5)  # also into tables
        expect(page.locator("[data-release=ages] tr[data-step='5']")).to_be_visible()
        assert table(page, "ages") == stored(growing, "ages")
        reads = [one for one in visitor.requests if one.url.endswith("/live?format=series")]
        assert len(reads) == 1, "one connection brought all of it"


def test_after_a_restart_of_the_service_it_goes_on_without_a_gap_or_a_double(
    visit: Visit, growing: Served
) -> None:
    with visit() as visitor:
        page = visitor.open("/streams/open?view=table")
        expect(page.locator("[data-connection=connected]")).to_be_visible()
        growing.release("open", 2)
        expect(page.locator("[data-release=visits] tr[data-step='2']")).to_be_visible()
        growing.end()
        expect(page.locator("[data-connection=disconnected]")).to_contain_text("Disconnected")
        growing.release("open", 4)
        growing.begin()
        # on a slow machine the page tries by itself before anybody can click
        page.evaluate(
            "() => [...document.querySelectorAll('button')]"
            ".find(one => one.textContent === 'Try now')?.click()"
        )
        expect(page.locator("[data-connection=connected]")).to_be_visible()
        growing.release("open", 5)
        for release in ("visits", "ages"):
            row = page.locator(f"[data-release={release}] tr[data-step='5']")
            expect(row).to_be_visible()
            assert table(page, release) == stored(growing, release)
        reads = [one.headers for one in visitor.requests if "/live?" in one.url]
        assert "last-event-id" not in reads[0]
        assert reads[-1]["last-event-id"].endswith(".3.0"), "it goes on after step 2"
        again = [one.url for one in visitor.requests if "/releases?" in one.url]
        assert len(again) == len(set(again)), "nothing was fetched anew"
        visitor.expect_failures(0)


def test_a_step_that_is_released_while_the_page_is_built_is_shown(
    visit: Visit, growing: Served
) -> None:
    with visit() as visitor:

        def before(route: Route) -> None:
            told = route.fetch().json()
            growing.release("open", 2)
            route.fulfill(json=told)

        visitor.page.route("**/v1/streams/open", before)
        page = visitor.open("/streams/open?view=table")
        for release in ("visits", "ages"):
            row = page.locator(f"[data-release={release}] tr[data-step='2']")
            expect(row).to_be_visible()
            assert table(page, release) == stored(growing, release)


def test_steps_between_the_first_numbers_and_the_connection_are_not_left_out(
    visit: Visit, growing: Served
) -> None:
    with visit() as visitor:
        page, held = visitor.page, dict[str, Route]()

        def hold(name: str, route: Route) -> None:
            if held.setdefault(name, route) is not route:
                route.continue_()

        page.route("**/live?*", partial(hold, "live"))
        page.route("**/releases?*release=visits*", partial(hold, "visits"))
        visitor.open("/streams/open?view=table")
        while len(held) < 2:
            page.wait_for_timeout(10)
        numbers = held["visits"].fetch()
        growing.release("open", 2)
        held["live"].continue_()
        expect(page.locator("[data-connection=connected]")).to_be_visible()
        growing.release("open", 3)
        expect(page.locator(".facts")).to_contain_text("Step 3 of 8")
        held["visits"].fulfill(response=numbers)
        for release in ("visits", "ages"):
            row = page.locator(f"[data-release={release}] tr[data-step='2']")
            expect(row).to_be_visible()
            assert table(page, release) == stored(growing, release)


def test_a_tab_that_was_in_the_background_gets_what_it_missed_by_one_request(
    visit: Visit, growing: Served
) -> None:
    hide = """(away) => {
      Object.defineProperty(document, "hidden", { get: () => away, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    with visit() as visitor:
        visitor.page.clock.install()
        page = visitor.open("/streams/open?view=table")
        growing.release("open", 2)
        expect(page.locator("[data-release=visits] tr[data-step='2']")).to_be_visible()
        page.evaluate(hide, True)
        page.clock.fast_forward(30_000)
        growing.release("open", 3)
        expect(page.locator("[data-release=visits] tr[data-step='3']")).to_be_visible()
        with page.expect_event("requestfailed", lambda one: "/live?" in one.url):
            page.clock.fast_forward(31_000)  # after a minute it lets go of its connection
        asked = len(visitor.requests)
        for step in range(4, 8):
            growing.release("open", step)
        page.clock.fast_forward(3_600_000)
        assert len(visitor.requests) == asked, "nothing is asked in the background"
        page.evaluate(hide, False)
        for release in ("visits", "ages"):
            row = page.locator(f"[data-release={release}] tr[data-step='7']")
            expect(row).to_be_visible()
            assert table(page, release) == stored(growing, release)
        assert ["/live?" in one.url for one in visitor.requests[asked:]] == [True]
        visitor.expect_failures(0)


def test_the_list_of_streams_looks_again_by_itself(visit: Visit, growing: Served) -> None:
    with visit() as visitor:
        visitor.page.clock.install()
        page = visitor.open("/")
        card = page.locator("[data-stream=open]")
        expect(card).to_contain_text("Step 1 of 8")
        growing.release("open", 3)
        page.clock.fast_forward(5_000)
        last = growing.stored("open", release="visits", key="north")[-1]
        expect(card).to_contain_text("Step 3 of 8")
        expect(card.locator("data.value").first).to_have_attribute("value", written(last.value))
