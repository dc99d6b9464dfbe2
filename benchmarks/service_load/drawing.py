"""How long the page takes until everything in view is drawn, in a real Chromium."""

from __future__ import annotations

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


def seconds_to_draw(browser: Browser, url: str) -> tuple[float, int]:
    """Seconds from the click until all charts in view are drawn, and how many those are."""
    context = browser.new_context(viewport=SIZE)
    try:
        page = context.new_page()
        page.goto(url, wait_until="commit")
        drawn = page.wait_for_function(DRAWN, polling="raf", timeout=60_000)
        took: float = drawn.json_value()
        return took / 1000, page.locator("figure canvas, figure svg").count()
    finally:
        context.close()
