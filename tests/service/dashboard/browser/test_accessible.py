"""For everybody: axe-core finds nothing in any view, in light and dark, on a phone, by keyboard."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.each import each
from tests.service.dashboard.browser.conftest import Visit
from tests.service.dashboard.browser.served import Served
from tests.service.dashboard.browser.visitor import Visitor

ALL = ("visits", "ages", "odd", "bins", "first", "alarm")


def drawn(page: Page) -> None:
    """Waits until every release and every panel is there."""
    for release in ALL:
        page.locator(f"[data-release={release}]").scroll_into_view_if_needed()
        expect(page.locator(f"[data-release={release}][data-view]")).to_be_visible()
    for panel in ("plan", "attacker", "budget"):
        expect(page.locator(f"#{panel}")).to_be_visible()


def streams(visitor: Visitor) -> None:
    expect(visitor.open("/").locator("data.value").first).to_be_visible()


def one_stream(visitor: Visitor) -> None:
    drawn(visitor.open("/streams/open"))


def tables(visitor: Visitor) -> None:
    page = visitor.open("/streams/open?view=table")
    drawn(page)
    for summary in page.locator(".panel summary").all():
        summary.click()


def over_time(visitor: Visitor) -> None:
    page = visitor.open("/streams/open?release=bins&view=lines")
    expect(page.locator("[data-release=bins] .uplot").first).to_be_visible()


def one_key(visitor: Visitor) -> None:
    page = visitor.open("/streams/open?release=visits&key=north&range=2-4&step=3")
    expect(page.locator("[data-release=visits] .uplot")).to_be_visible()


def embedded(visitor: Visitor) -> None:
    page = visitor.open("/embed/open?release=visits")
    expect(page.locator(".uplot").first).to_be_visible()


def token_dialog(visitor: Visitor) -> None:
    page = visitor.open("/")
    page.get_by_role("button", name="Use a token").click()
    page.locator("#token-text").fill("something else")
    page.keyboard.press("Enter")
    expect(page.locator("#token-problem")).to_contain_text("not a token")


def explanation(visitor: Visitor) -> None:
    page = visitor.open("/streams/open?release=visits")
    page.get_by_role("button", name="Explain").first.click()
    expect(page.locator("#explain [data-part=noise]")).to_be_visible()


def embed_dialog(visitor: Visitor) -> None:
    page = visitor.open("/streams/open?release=visits")
    page.get_by_role("button", name="Embed").click()
    expect(page.locator("dialog[open] textarea")).to_be_visible()


def refused(visitor: Visitor) -> None:
    page = visitor.open("/streams/closed")
    expect(page.locator("[data-notice=refused-404]")).to_be_visible()
    visitor.expect_failures(404)


VIEWS: tuple[Callable[[Visitor], None], ...] = (
    *(streams, one_stream, tables, over_time, one_key, embedded),
    *(token_dialog, explanation, embed_dialog, refused),
)


def test_every_view_is_for_everybody(visit: Visit) -> None:
    """No violation in light and dark, and no scrolling to the side on the narrowest phone.

    One visitor sees all views: a new browser would load and compile axe-core again for each.
    """
    with visit(color_scheme="light") as visitor:
        each((view.__name__, look, (visitor, view)) for view in VIEWS)


def look(visitor: Visitor, view: Callable[[Visitor], None]) -> None:
    visitor.page.emulate_media(color_scheme="light")
    visitor.page.set_viewport_size({"width": 1200, "height": 900})
    view(visitor)
    assert visitor.accessibility() == []
    visitor.page.set_viewport_size({"width": 360, "height": 740})
    assert too_wide(visitor.page) == []
    visitor.check()


def too_wide(page: Page) -> list[str]:
    """What reaches beyond the right edge, unless it scrolls by itself."""
    found: list[str] = page.evaluate(
        """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
          const wide = document.documentElement.clientWidth;
          if (document.documentElement.scrollWidth <= wide) return done([]);
          const out = [...document.querySelectorAll("body *")].filter((one) =>
            one.getBoundingClientRect().right > wide + 0.5 && !one.closest(".scroll, .unseen"));
          done(out.map((one) => `${one.tagName}.${one.className} ${one.textContent.slice(0, 60)}`));
        })))"""
    )
    return found


def test_dark_is_dark_and_charts_are_drawn_again(visit: Visit) -> None:
    with visit(color_scheme="light") as visitor:
        page = visitor.open("/streams/open?release=ages")
        chart = page.locator("[data-release=ages] .uplot canvas")
        expect(chart).to_be_visible()
        light = background(page), chart.evaluate("(one) => one.toDataURL()")
        page.emulate_media(color_scheme="dark")
        page.wait_for_function(
            "(before) => document.querySelector('canvas')?.toDataURL() !== before", arg=light[1]
        )
        assert max(background(page)) < 60 < 200 < min(light[0])


def background(page: Page) -> list[int]:
    colour: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return [int(part) for part in colour.strip("rgb()").split(",")]


def test_the_keyboard_alone_reaches_everything(visit: Visit, served: Served) -> None:
    with visit() as visitor:
        page = visitor.open("/")
        expect(page.locator("[data-stream=open] data.value").first).to_be_visible()
        focus(page, "link", "Skip to the numbers", first=True)
        focus(page, "link", "open")
        page.keyboard.press("Enter")
        drawn(page)
        page.keyboard.press("Home")
        for role, name in (
            *(("link", "Ameles"), ("button", "Use a token"), ("button", "Zoom in")),
            *(("button", "Copy link"), ("link", "visits"), ("slider", "Step of visits")),
        ):
            focus(page, role, name)
        page.keyboard.press("ArrowLeft")
        expect(page.locator("[data-release=visits] .when")).to_have_text(
            re.compile(r"^1\s–\s4 Jan 2026$")
        )
        page.keyboard.press("+")
        expect(page).to_have_url(re.compile("range="))
        page.keyboard.press("0")
        expect(page).not_to_have_url(re.compile("range="))
        focus(page, "button", "Table")
        page.keyboard.press("Enter")
        expect(page.locator("[data-release=ages] table")).to_be_visible()
        expect(page).to_have_url(re.compile("view=ages%3Atable"))
        focus(page, "button", "1 Jan 2026")
        page.keyboard.press("Enter")
        expect(page.locator("#explain [data-part=noise]")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("#explain")).to_be_hidden()
        focus(page, "slider", "Before")
        before = page.locator("#posterior").inner_text()
        page.keyboard.press("ArrowRight")
        expect(page.locator("#posterior")).not_to_have_text(before)


def focus(page: Page, role: str, name: str, *, first: bool = False) -> None:
    """Presses the tabulator until something has the focus, and checks that one can see it."""
    for _ in range(1 if first else 120):
        page.keyboard.press("Tab")
        held = page.evaluate(
            """() => {
              const one = document.activeElement;
              const roles = { A: "link", BUTTON: "button", SUMMARY: "button", SELECT: "combobox" };
              const role = one.type === "range" ? "slider" : roles[one.tagName] ?? "";
              const label = one.ariaLabel ?? one.labels?.[0]?.textContent ?? one.textContent;
              const look = getComputedStyle(one);
              const box = one.getBoundingClientRect();
              return { role, name: label.trim(), outline: look.outlineStyle, width: box.width,
                       left: box.left };
            }"""
        )
        if (held["role"], held["name"]) == (role, name):
            assert held["outline"] != "none", "one cannot see where the focus is"
            assert held["left"] >= 0
            assert held["width"] > 0
            return
    raise AssertionError(f"the tabulator does not reach the {role} {name}")
