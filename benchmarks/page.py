"""The page: 100 series of 1,000 steps, from the address to the charts, in a real Chromium.

A plan has at most 64 releases, so these are 50 with two keys each, made by the real engine.
``first`` is the time until the numbers in view are drawn; ``all`` until the reader has scrolled
past every chart.  Needs the Debian package chromium.  The exit code is 1 if a chart is missing, or
if the first ones take a second or more.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.service.dashboard.browser.chromium import MISSING, browsing, program
from tests.service.dashboard.browser.served import Served, long_stream
from tests.service.dashboard.browser.visitor import visiting

LIMIT = 1.0
# In the page itself, so that the driver's time does not count.
DRAWN = """() => new Promise((done) => {
  const look = () => {
    const near = [...document.querySelectorAll("[data-release]")].filter((one) =>
      one.getBoundingClientRect().top < innerHeight);
    const ready = near.length && near.every((one) => one.querySelector("canvas"));
    if (ready) requestAnimationFrame(() => done(performance.now() / 1000));
    else setTimeout(look, 5);
  };
  look();
})"""
CHARTS = "document.querySelectorAll('[data-release] canvas').length"


def main() -> int:
    """Opens the page some times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=50)
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--visits", type=int, default=5)
    asked = parser.parse_args()
    if program() is None:
        sys.exit(MISSING)
    with tempfile.TemporaryDirectory() as name:
        begun = time.monotonic()
        with closing(long_stream(Path(name), asked.releases, asked.steps)) as served:
            print(f"released in {time.monotonic() - begun:.1f} s", flush=True)
            firsts, charts = visits(served, asked.releases, asked.visits)
    middle, low, high = statistics.median(firsts), min(firsts), max(firsts)
    print(f"first {middle:.2f} s (median of {len(firsts)}, from {low:.2f} to {high:.2f})")
    print(f"{charts} charts of {2 * asked.releases}")
    return 0 if middle < LIMIT and charts == 2 * asked.releases else 1


def visits(served: Served, releases: int, count: int) -> tuple[list[float], int]:
    """The seconds of each visit, and how many charts the last one saw."""
    firsts, charts = [], 0
    with browsing() as browser:
        for _ in range(count):
            with visiting(browser, served.url, viewport={"width": 1280, "height": 900}) as visitor:
                page = visitor.open("/streams/open")
                firsts.append(page.evaluate(DRAWN))
                begun = time.monotonic()
                for number in range(releases):
                    page.locator("[data-release]").nth(number).scroll_into_view_if_needed()
                page.wait_for_function(f"(all) => {CHARTS} === all", arg=2 * releases)
                charts = page.evaluate(CHARTS)
                print(f"  first {firsts[-1]:.2f} s, all {time.monotonic() - begun:.1f} s more")
    return firsts, charts


if __name__ == "__main__":
    sys.exit(main())
