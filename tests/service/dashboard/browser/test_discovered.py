"""Keys that are discovered while the page is open appear on it, as text, without a reload."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Browser, expect

from tests.engine.worlds import World, row
from tests.service.dashboard.browser.served import Served
from tests.service.dashboard.browser.visitor import visiting

HOSTILE = "<img src=x onerror=alert(1)>"
RELEASES = """
[[release]]
name = "tags"
measure = "count"
by = { region = "discovered" }
[[release]]
name = "first"
measure = "top"
k = 2
by = { region = "discovered" }
"""
UNIT = 'unit = "user"\nuser = "who"\nmax_per_step = 2\nmax_steps = 3'


def test_keys_appear_when_they_are_found(tmp_path: Path, browser: Browser) -> None:
    made = World(
        tmp_path / "tags",
        RELEASES,
        unit=UNIT,
        epsilon="300\ndelta = 0.01",
        rest="[serve]\npublic = true\n",
    )
    rows = [row(2, f"a{n}", region="sea") for n in range(20)]
    made.write(rows + [row(3, f"b{n}", region=HOSTILE) for n in range(20)])
    with closing(Served(tmp_path)) as served:
        served.add(made, "s", until=1)
        served.begin()
        with visiting(browser, served.url) as visitor:
            page = visitor.open("/streams/s")
            expect(page.locator("[data-connection=connected]")).to_be_visible()
            section = page.locator("[data-release=tags]")
            expect(section).to_be_visible()
            assert section.locator("data.value").count() == 0
            served.release("s", 2)
            last = served.stored("s", release="tags", key="sea")[-1]
            shown = section.locator("data.value").first
            expect(shown).to_have_attribute("value", str(last.value))
            served.release("s", 3)
            expect(section).to_contain_text(HOSTILE)
            expect(page.locator("[data-release=first]")).to_contain_text("sea")
            assert page.locator("img[onerror]").count() == 0
            page = visitor.open(f"/streams/s?release=tags&key={quote(HOSTILE, safe='')}")
            expect(page.locator("[data-release=tags] > header h2")).to_contain_text(HOSTILE)
            assert page.locator("[data-notice=no-release]").count() == 0
