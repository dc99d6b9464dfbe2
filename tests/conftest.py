"""A real Postgres for all tests that ask for one, started once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.postgres import MISSING, Server, programs, serving


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A server of the tests' own; skips where its programs are not installed."""
    if programs() is None:
        pytest.skip(MISSING)
    with serving() as server:
        yield server
