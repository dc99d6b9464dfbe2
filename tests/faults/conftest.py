from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults import Victims, missing_compiler


@pytest.fixture(scope="session")
def server_of_victims() -> Iterator[Victims]:
    if missing_compiler():
        pytest.skip(missing_compiler())
    with Victims() as server:
        yield server


@pytest.fixture
def victims(server_of_victims: Victims) -> Iterator[Victims]:
    """No victim outlives its test: one that follows a clock would look at it all the time."""
    yield server_of_victims
    server_of_victims.kill_all()
