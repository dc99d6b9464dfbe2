"""A real Chromium for the tests of the page: the one of Debian, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

MISSING = "needs a browser (Debian package chromium-headless-shell)"
# The first is the same browser without what only windows need, at half the processor time.
PROGRAMS = ("chromium-headless-shell", "chromium")
# Nothing but the page: no updates, no lists of bad sites, no guesses about the network.
QUIET = (
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-gpu", "--disable-extensions", "--no-first-run", "--force-color-profile=srgb"),
)


def program() -> str | None:
    """Where Debian has Chromium."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


@contextmanager
def browsing() -> Iterator[Browser]:
    """A browser without windows, until the end of the block.

    Playwright has an event loop in the thread of its caller, so nothing else there can run one.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program(), args=list(QUIET))
        try:
            yield browser
        finally:
            browser.close()
