"""What one reader sees, another can open, download and read as a table."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.service.dashboard.browser.conftest import Visit
from tests.service.dashboard.browser.served import Served
from tests.service.dashboard.browser.test_live_values import stored, table


def test_tables_have_what_the_store_has(visit: Visit, served: Served) -> None:
    with visit() as visitor:
        page = visitor.open("/streams/open?view=table")
        for release in ("visits", "ages", "bins"):
            page.locator(f"[data-release={release}]").scroll_into_view_if_needed()
            expect(page.locator(f"[data-release={release}] tr[data-step='5']")).to_be_visible()
            assert table(page, release) == stored(served, release)


def downloaded(page: Page, words: str) -> bytes:
    menu = page.locator("[data-release=visits] details.menu")
    if menu.get_attribute("open") is None:
        menu.locator("summary").click()
    with page.expect_download() as waiting:
        menu.get_by_role("button", name=words).click()
    return Path(waiting.value.path()).read_bytes()


def test_downloads_have_what_the_store_has(visit: Visit, served: Served) -> None:
    with visit() as visitor:
        page = visitor.open("/streams/open?release=visits")
        expect(page.locator("[data-release=visits][data-view]")).to_be_visible()
        kept = [one.to_dict() for one in served.stored("open", release="visits")]
        assert json.loads(downloaded(page, "JSON"))["releases"] == kept
        lines = list(csv.DictReader(io.StringIO(downloaded(page, "CSV").decode())))
        assert [line["value"] for line in lines] == [str(one["value"]) for one in kept]
        assert downloaded(page, "Parquet").startswith(b"PAR1")
        page.goto(f"{served.url}/streams/open?release=visits&key=north&range=2-3")
        expect(page.locator("[data-release=visits][data-view]")).to_be_visible()
        part = json.loads(downloaded(page, "JSON"))["releases"]
        assert part == [one for one in kept if one["key"] == "north" and one["step"] in (2, 3)]


def test_all_releases_are_printed(visit: Visit) -> None:
    """Browsers leave out what is far from the window, and would print an empty card for it."""
    with visit() as visitor:
        page = visitor.open("/streams/open")
        last = page.locator(".release").last
        expect(last).to_be_attached()
        shown = "one => getComputedStyle(one).contentVisibility"
        assert last.evaluate(shown) == "auto"
        page.emulate_media(media="print")
        assert last.evaluate(shown) == "visible"


QUERIES = (
    *("?release=visits&key=north", "?release=bins&view=lines", "?range=2-3&step=2"),
    "?view=visits%3Atable%2Cages%3Atable",
)


def test_an_address_shows_the_same_to_others(visit: Visit) -> None:
    """Also what is not shown by default, in another browser."""
    seen: list[list[str]] = []
    for _ in range(2):
        seen.append([])
        with visit(viewport={"width": 1000, "height": 6000}) as visitor:
            for query in QUERIES:
                page = visitor.open(f"/streams/open{query}")
                drawn(page)
                seen[-1].append(page.locator(".releases").inner_text())
                assert page.url.endswith(query), "and it stays in the address"
    assert seen[0] == seen[1]
    assert len({*seen[0]}) == len(QUERIES)


def drawn(page: Page) -> None:
    """Waits until all releases are drawn: tables at once, lines and figures when they are seen."""
    expect(page.locator("[data-release][data-view]").first).to_be_visible()
    page.wait_for_function(
        """() => [...document.querySelectorAll('[data-release] .drawing')].every((one) =>
          one.querySelector('table, .uplot, svg')
          && [...one.querySelectorAll('.plot, .bars')]
            .every((each) => each.querySelector('.uplot, svg')))"""
    )


def test_what_is_chosen_by_hand_is_in_the_address(visit: Visit) -> None:
    with visit() as visitor:
        visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = visitor.open("/streams/open?release=visits")
        expect(page.locator("[data-release=visits][data-view]")).to_be_visible()
        page.get_by_role("button", name="Zoom in").click()
        page.get_by_role("slider", name="Step of visits").press("ArrowLeft")
        page.get_by_role("button", name="Table").click()
        rows = page.locator("tr[data-step]").count()
        assert rows < 5
        page.get_by_role("button", name="Copy link").click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        link = page.evaluate("navigator.clipboard.readText()")
        for part in ("release=visits", "range=", "view=table", "step="):
            assert part in link
        told = page.locator(".releases").inner_text()
    with visit() as other:
        page = other.open(link.removeprefix(other.url))
        expect(page.locator("tr[data-step]")).to_have_count(rows)
        assert page.locator(".releases").inner_text() == told


def test_numbers_and_days_are_written_as_the_reader_does(visit: Visit, served: Served) -> None:
    last = served.stored("open", release="ages")[-1]
    with visit(locale="de-DE", timezone_id="America/Los_Angeles") as visitor:
        page = visitor.open("/streams/open?release=ages&view=table")
        row = page.locator("tr[data-step='5']")
        expect(row.get_by_role("rowheader")).to_have_text("5. Jan. 2026")  # in the stream's zone
        shown = row.locator("data").first.inner_text()
        assert "." not in shown
        assert float(shown.replace(",", ".")) == pytest.approx(last.value, abs=0.51)


HUGE = -1234567890123456
# Where the parts of a number begin and end, inside of its card.
PLACES = """() => {
  const box = (one) => one.getBoundingClientRect();
  const [value, margin] = document.querySelectorAll(".readout .value, .readout .margin");
  const words = document.createRange();
  words.selectNodeContents(value);
  const [sign] = margin.firstChild.data.matchAll("±");
  const at = document.createRange();
  at.setStart(margin.firstChild, sign.index);
  at.setEnd(margin.firstChild, sign.index + 1);
  return {
    card: box(document.querySelector(".release")).right, value: box(words).right,
    sign: box(at).left, margin: box(margin).left, width: box(margin).width,
  };
}"""


@pytest.mark.parametrize("locale", ["en-GB", "ar-EG"])
def test_a_number_is_never_shown_in_part_or_in_another_order(visit: Visit, locale: str) -> None:
    """A number that ends at the edge of its card is read as another one."""

    def enlarge(route: Route) -> None:
        told = route.fetch().json()
        for line in told["series"]:
            steps = len(line["step"])
            line.update(value=[HUGE] * steps, low=[HUGE - 9] * steps, high=[HUGE + 9] * steps)
        route.fulfill(json=told)

    with visit(locale=locale, viewport={"width": 360, "height": 740}) as visitor:
        visitor.page.route("**/releases?*", enlarge)
        page = visitor.open("/streams/open?release=ages")
        expect(page.locator(".readout .margin")).to_be_visible()
        places = page.evaluate(PLACES)
        assert places["value"] <= places["card"]
        assert places["sign"] < places["margin"] + places["width"] / 2, "± stands before its number"


def test_lengths_of_time_have_one_number(visit: Visit) -> None:
    """Also if digits are not those of English."""
    words = """async () => {
      const main = document.querySelector("script[type=module]").src;
      const { presets } = await import(main.replace("main.js", "range.js"));
      return presets("1s", 1000).map(([, words]) => words);
    }"""
    with visit(locale="ar-EG") as visitor:
        page = visitor.open("/")
        assert page.evaluate(words) == ["١ minute", "١٠ minutes", "All"]
