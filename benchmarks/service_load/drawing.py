"""How long the page takes until everything in view is drawn, in a real Chromium."""

from __future__ import annotations

from dataclasses import dataclass

from playwright.sync_api import Browser

SIZE = {"width": 1400, "height": 1000}
# All charts that a reader sees are there when none in view lacks its picture.
DRAWN = """() => {
  const seen = (one) => {
    const { top, bottom, height } = one.getBoundingClientRect();
    return height > 0 && bottom > 0 && top < innerHeight;
  };
  const charts = [...document.querySelectorAll("section.release")].filter(seen);
  const figures = [...document.querySelectorAll("figure")].filter(seen);
  const there = figures.length > 0 && charts.every((one) => one.dataset.view)
    && figures.every((one) => one.querySelector("canvas, svg"));
  return there ? performance.now() : false;
}"""
# Long series are drawn from their last steps on; a legend says while earlier ones are fetched.
WHOLE = """() => !document.querySelector(".legend [role=status]") && performance.now()"""


@dataclass(frozen=True)
class Drawn:
    """Seconds from the click until charts are drawn."""

    in_view: float  # all that a reader sees
    whole: float  # with all of their steps
    charts: int


def seconds_to_draw(browser: Browser, url: str) -> Drawn:
    """Opens the page in a new profile, so that nothing is kept from before."""
    context = browser.new_context(viewport=SIZE)
    try:
        page = context.new_page()
        page.goto(url, wait_until="commit")
        in_view, whole = (
            page.wait_for_function(shows, polling="raf", timeout=60_000).json_value() / 1000
            for shows in (DRAWN, WHOLE)
        )
        return Drawn(in_view, whole, page.locator("figure canvas, figure svg").count())
    finally:
        context.close()
