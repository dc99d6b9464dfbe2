"""Makes the screenshots of the page again, from the season of the demo, in the Chromium of Debian.

    python docs/page.py             into docs/page/
    python docs/page.py --into X    into another folder

The noise is drawn anew each time, so the pictures differ a little.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import closing
from importlib import resources
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from PIL import Image
from playwright.sync_api import expect
from tests.service.dashboard.browser.chromium import browsing
from tests.service.dashboard.browser.served import Served
from tests.service.dashboard.browser.visitor import visiting
from tests.service.small_service import described

from ameles.engine.engine import Engine
from ameles.plan.clock import instant
from ameles.plan.plan import read_plan
from ameles.service.published import Shown
from ameles.simulate.files import write_csv
from ameles.simulate.visits import season

EVENTS, DAY = 200_000, 120
COLOURS = 64  # of a picture, so that it is small
SHOTS: dict[str, tuple[str, dict[str, Any]]] = {
    "light": ("/streams/flu", {"viewport": {"width": 1100, "height": 1080}}),
    "dark": ("/streams/flu", {"viewport": {"width": 1100, "height": 1080}, "color_scheme": "dark"}),
    "phone": ("/streams/flu", {"viewport": {"width": 390, "height": 844}}),
}


def served_season(folder: Path) -> Served:
    """The stream of the demo, some months after its launch."""
    text = resources.files("ameles.cli").joinpath("demo.toml").read_text(encoding="utf-8")
    (folder / "ameles.toml").write_text(f"{text}\n[serve]\npublic = true\n", encoding="utf-8")
    write_csv(folder / "visits.csv", season(events=EVENTS, visitors=5 * EVENTS))
    plan, made = read_plan(folder / "ameles.toml"), Served(folder)
    Engine(plan, made.store).run(instant(plan.clock.end_of(DAY)))
    made.show(described(Shown(plan, made.store)))
    made.begin()
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=Path(__file__).with_name("page"))
    into: Path = parser.parse_args().into
    into.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(served_season(Path(folder))) as served,
        browsing() as browser,
    ):
        for name, (path, options) in SHOTS.items():
            with visiting(browser, served.url, **options) as visitor:
                page = visitor.open(path)
                expect(page.locator("[data-release=visits] canvas").last).to_be_visible()
                expect(page.locator("[data-connection=connected]")).to_be_visible()
                file = into / f"{name}.png"
                page.screenshot(path=file)
            with Image.open(file) as picture:
                picture.convert("RGB").quantize(COLOURS).save(file, optimize=True)


if __name__ == "__main__":
    main()
