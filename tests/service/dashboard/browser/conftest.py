"""One browser and one service for all tests of the page that only look."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from functools import partial
from pathlib import Path
from typing import TypeAlias

import pytest
from playwright.sync_api import Browser, expect

from tests.service.dashboard.browser.chromium import MISSING, browsing, program
from tests.service.dashboard.browser.served import Served, one_stream, season
from tests.service.dashboard.browser.visitor import PATIENCE, Visitor, visiting

Visit: TypeAlias = Callable[..., AbstractContextManager[Visitor]]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Skips where Chromium is not installed."""
    if program() is None:
        pytest.skip(MISSING)
    expect.set_options(timeout=PATIENCE)
    with browsing() as made:
        yield made


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Public and private streams, not to be changed."""
    with closing(season(tmp_path_factory.mktemp("page"))) as made:
        yield made


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[Served]:
    """One public stream, 'open', with one released step, that a test drives."""
    with closing(one_stream(tmp_path)) as made:
        yield made


@pytest.fixture
def visit(browser: Browser, request: pytest.FixtureRequest) -> Visit:
    """Visitors of the service of a test."""
    name = "growing" if "growing" in request.fixturenames else "served"
    service: Served = request.getfixturevalue(name)
    return partial(visiting, browser, service.url)
