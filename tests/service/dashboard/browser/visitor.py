"""A visitor: a fresh browser that remembers what it asked for and everything that went wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request

PATIENCE = 120_000.0  # milliseconds after which a page has failed, on any machine
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
NOTE_VIOLATIONS = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (one) =>
  window.violations.push(`${one.effectiveDirective} ${one.blockedURI}`));
"""
AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")


class Visitor:
    """One browser context with one page, at a service."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.url = url
        self.context = context
        self.requests: list[Request] = []
        self.problems: list[str] = []
        context.set_default_timeout(PATIENCE)
        context.add_init_script(NOTE_VIOLATIONS)
        context.on("request", lambda request: self.requests.append(request))
        context.on("console", self._console)
        context.on("weberror", lambda error: self.problems.append(str(error.error)))
        self.page: Page = context.new_page()

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(f"{message.type}: {message.text}")

    def open(self, path: str) -> Page:
        """Opens an address of the service."""
        self.page.goto(self.url + path)
        return self.page

    def expect_failures(self, *statuses: int) -> None:
        """Forgets that the browser has noted refused requests, with these statuses only.

        A request that was not answered at all is noted as ``net::``; its status is 0.
        """
        words = [f"status of {status} " if status else "net::" for status in statuses]
        self.problems = [one for one in self.problems if not any(word in one for word in words)]

    @property
    def foreign(self) -> list[str]:
        """The requests to anywhere else."""
        here = urlsplit(self.url).netloc
        urls = [urlsplit(request.url) for request in self.requests]
        return [one.geturl() for one in urls if one.netloc != here and one.scheme != "blob"]

    @property
    def violations(self) -> list[str]:
        """What the content security policy has stopped."""
        found: list[str] = self.page.evaluate("window.violations")
        return found

    def check(self) -> None:
        """Nothing went wrong, and nobody else was asked."""
        assert self.problems == []
        assert self.foreign == []
        assert self.violations == []

    def accessibility(self) -> list[str]:
        """What axe-core finds wrong with the page as it is now, in light and in dark colours."""
        self.page.evaluate(AXE)
        everything = {"runOnly": {"type": "tag", "values": RULES}}
        contrast = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
        self.page.emulate_media(color_scheme="light")
        light = self._violations(everything)
        self.page.emulate_media(color_scheme="dark")
        return [f"light: {one}" for one in light] + [
            f"dark: {one}" for one in self._violations(contrast)
        ]

    def _violations(self, options: dict[str, Any]) -> list[str]:
        told = self.page.evaluate(
            "(options) => axe.run({ ...options, resultTypes: ['violations'] })", options
        )
        return [
            f"{one['id']}: {one['help']}: {node['html'][:200]} {node['failureSummary'][:300]}"
            for one in told["violations"]
            for node in one["nodes"]
        ]


@contextmanager
def visiting(browser: Browser, url: str, **options: Any) -> Iterator[Visitor]:
    """A visitor who must not meet any problem."""
    given = {"locale": "en-GB", "timezone_id": "Europe/Berlin", "reduced_motion": "reduce"}
    context = browser.new_context(**{**given, **options})
    try:
        visitor = Visitor(context, url)
        yield visitor
        visitor.check()
    finally:
        context.close()
