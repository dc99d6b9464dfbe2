"""One salt for all streams of this folder, so that the same events of each user count."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest


@pytest.fixture(scope="module", autouse=True)
def one_salt() -> Iterator[None]:
    made = SimpleNamespace(urandom=lambda count: b"s" * count)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("ameles.engine.running.launch.os", made)
        yield
