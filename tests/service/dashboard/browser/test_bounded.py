"""A page of numbers that count only a part of each user's events: it says so beside them."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.engine.worlds import USER, WINDOW, World, row
from tests.service.dashboard.browser.served import Served
from tests.service.dashboard.browser.visitor import visiting

RELEASES = """
[[release]]
name = "daily"
measure = "count"
over = "step"
[[release]]
name = "since"
measure = "count"
over = "total"
"""
STEPS = RELEASES.replace("total", "2d")


@pytest.mark.parametrize(
    ("unit", "releases", "words"),
    [
        (USER, RELEASES, "Of each user, at most 2 events a step counts, in at most 3 steps."),
        (
            WINDOW,
            STEPS,
            "Of each user, at most 2 events a step counts, in at most 2 steps within 4 days.",
        ),
    ],
)
def test_a_number_says_how_much_of_a_user_counts(
    browser: Browser, tmp_path: Path, unit: str, releases: str, words: str
) -> None:
    rest = "[serve]\npublic = true\n"
    made = World(tmp_path, releases, unit=unit, epsilon="2", rest=rest)
    made.text = made.text.replace('name = "s"', 'name = "open"', 1)
    made.write(row(n % 5 + 1, f"user{n % 7}") for n in range(100))
    with closing(Served(tmp_path)) as served:
        served.add(made, "open", until=5)
        served.begin()
        with visiting(browser, served.url) as visitor:
            page = visitor.open("/streams/open")
            for name in ("daily", "since"):
                expect(page.locator(f"[data-release={name}] .bounds")).to_have_text(words)
            expect(page.locator("[data-release=daily] .when")).to_have_text("5 Jan 2026")
            last = page.locator("[data-release=since] .when")
            since = r"^1\s–\s" if "total" in releases else "^"
            expect(last).to_have_text(re.compile(f"{since}5 Jan 2026$"))
            page.locator("[data-release=since] .scrubber input").press("ArrowLeft")
            expect(last).to_have_text(re.compile(f"{since}4 Jan 2026$"))
            assert visitor.accessibility() == []


def test_a_number_of_all_events_says_nothing_about_users(browser: Browser, tmp_path: Path) -> None:
    made = World(tmp_path, RELEASES, epsilon="2", rest="[serve]\npublic = true\n")
    made.text = made.text.replace('name = "s"', 'name = "open"', 1)
    made.write(row(n % 5 + 1) for n in range(10))
    with closing(Served(tmp_path)) as served:
        served.add(made, "open", until=5)
        served.begin()
        with visiting(browser, served.url) as visitor:
            page = visitor.open("/")
            expect(page.locator(".lead")).to_contain_text("± is the 95% interval of that noise.")
            page = visitor.open("/streams/open")
            expect(page.locator("[data-release=since] .value")).to_be_visible()
            expect(page.locator(".bounds")).to_have_count(0)
