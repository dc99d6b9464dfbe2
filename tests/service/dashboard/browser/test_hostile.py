"""Names and keys that look like markup are text, whatever they say."""

from __future__ import annotations

from urllib.parse import quote

from playwright.sync_api import Dialog, expect

from tests.service.dashboard.browser.conftest import Visit
from tests.service.dashboard.browser.served import HOSTILE

ELEMENTS = (
    "body :is(img:not([src^='/static/']), script, iframe, object, [onerror], [onload],"
    " [href^='javascript:'])"
)


def test_hostile_keys_are_text(visit: Visit) -> None:
    with visit(viewport={"width": 360, "height": 800}) as visitor:
        asked: list[str] = []

        def dismiss(dialog: Dialog) -> None:
            asked.append(dialog.message)
            dialog.dismiss()

        visitor.page.on("dialog", dismiss)
        for view in ("chart", "table"):
            page = visitor.open(f"/streams/open?release=odd&view={view}")
            expect(page.locator("[data-release=odd][data-view]")).to_be_visible()
            told = page.locator("[data-release=odd]").evaluate("(one) => one.textContent")
            for key in HOSTILE:
                assert key.strip() in told
            assert page.locator(ELEMENTS).count() == 0
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= 360, "a long key does not push the page to the side"
        for key in HOSTILE:
            page = visitor.open(f"/streams/open?release=odd&key={quote(key, safe='')}")
            expect(page.locator("[data-release=odd] > header h2")).to_contain_text(key.strip())
            expect(page.locator("[data-release=odd] .uplot")).to_be_visible()
            assert page.locator(ELEMENTS).count() == 0
        assert asked == []


def test_an_address_that_nobody_gave_out_harms_nobody(visit: Visit) -> None:
    with visit() as visitor:
        for path in (
            f"/streams/{quote('<img src=x onerror=alert(1)>', safe='')}",
            "/streams/%E0%A4%A",
            f"/streams/open?release={quote('<b>', safe='')}&view=x:y,::&range=9-1&step=1e9",
            "/embed/x?release=../x&key=%22",
            "/streams/open?release=odd&key=%00",
        ):
            page = visitor.open(path)
            expect(page.locator("[data-notice], [data-release]").first).to_be_visible()
            assert page.locator(ELEMENTS).count() == 0
        visitor.expect_failures(404, 422)


def test_a_key_reorders_nothing_beside_it(visit: Visit) -> None:
    """In a sentence it stands apart; in an element of its own, the element does."""
    key = next(key for key in HOSTILE if "\u202e" in key)
    with visit() as visitor:
        page = visitor.open("/streams/open?release=odd&view=chart")
        expect(page.locator("[data-release=odd] .uplot").first).to_be_visible()
        texts: list[list[str]] = page.evaluate(
            """() => [...document.querySelectorAll("body *")].flatMap((one) => {
                const { unicodeBidi, display } = getComputedStyle(one);
                const inside = [...one.childNodes].filter((node) => node.nodeType === 3)
                    .map((node) => [node.data, unicodeBidi, display]);
                const named = ["aria-label", "title"].map((name) =>
                    [one.getAttribute(name) ?? "", "", ""]);
                return [...inside, ...named].filter(([text]) => text.includes("desrever"));
            })"""
        )
        assert texts
        for text, bidi, display in texts:
            alone = text.strip() == key
            assert alone or "\u2068desrever\u2069" in text, text
            assert not alone or bidi == "isolate" or display != "inline", text
