"""One small service for all tests that only read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.small_service import Small, three_streams


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Small]:
    """Streams 'open' (public), 'closed' and, in a store of its own, 'apart'; not to be changed."""
    with three_streams(tmp_path_factory.mktemp("service")) as made:
        yield made
