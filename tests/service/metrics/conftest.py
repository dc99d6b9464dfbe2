"""One motley service for all tests that only read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.metrics.motley import motley_service
from tests.service.small_service import Small


@pytest.fixture(scope="session")
def motley(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Small]:
    """The streams 'motley' and 'other', of which neither is public; not to be changed."""
    with motley_service(tmp_path_factory.mktemp("motley")) as made:
        yield made
