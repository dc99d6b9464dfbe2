from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults import Victims, missing_compiler


@pytest.fixture(scope="session")
def victims() -> Iterator[Victims]:
    if missing_compiler():
        pytest.skip(missing_compiler())
    with Victims() as server:
        yield server
