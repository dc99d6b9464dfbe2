"""Conditions are read over one connection: to connect takes longer than to read one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ameles.connectors.duck import connect
from ameles.plan import condition, condition_sql


class Kept:
    """A connection that stays open."""

    def __init__(self) -> None:
        self._duck = connect(zone="UTC", memory=condition_sql.MEMORY)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._duck, name)

    def close(self) -> None:
        """Not yet."""


@pytest.fixture(scope="module", autouse=True)
def one_connection() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        kept = Kept()
        for module in (condition, condition_sql):
            patched.setattr(module, "connect", lambda **limits: kept)
        yield
