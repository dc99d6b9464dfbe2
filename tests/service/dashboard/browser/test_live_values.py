"""The page in a real browser: live numbers that equal the store, for everybody and everywhere."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.service.dashboard.browser.conftest import Visit
from tests.service.dashboard.browser.served import Served


def test_values_appear_live_and_equal_the_store(visit: Visit, growing: Served) -> None:
    with visit() as visitor:
        page = visitor.open("/streams/open")
        expect(page.locator("[data-connection=connected]")).to_be_visible()
        for step in (2, 3, 4):
            growing.release("open", step)
            value = growing.stored("open", release="visits", key="north")[-1].value
            shown = page.locator("[data-release=visits] [data-key=north] figcaption data")
            expect(shown).to_have_attribute("value", str(value))
            expect(page.locator(".progress")).to_contain_text(f"Step {step}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/", "/streams/open"])
def test_axe_finds_nothing(visit: Visit, path: str, scheme: str) -> None:
    with visit(color_scheme=scheme, viewport={"width": 1200, "height": 900}) as visitor:
        page = visitor.open(path)
        expect(page.locator("data.value").first).to_be_visible()
        assert visitor.accessibility() == []
