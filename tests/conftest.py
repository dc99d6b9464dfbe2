"""A real Postgres for all tests that ask for one, started once.

With ``AMELES_TEST_STORE=postgres`` in the environment, tests that open a store at a path get one in
Postgres instead, whatever they think: ``AMELES_TEST_STORE=postgres ./run test tests/engine``.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ameles.store.postgres import PostgresStore
from tests.postgres import MISSING, Server, programs, serving


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A server of the tests' own; skips where its programs are not installed."""
    if programs() is None:
        pytest.skip(MISSING)
    with serving() as server:
        yield server


@pytest.fixture(autouse=os.environ.get("AMELES_TEST_STORE") == "postgres")
def in_postgres(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every path means a schema of the server, in this process."""

    def opened(path: Path, *, create: bool = True, patience: float = 10.0) -> PostgresStore:
        name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:16]
        return PostgresStore(postgres.url(schema=f"p{name}"), create=create, patience=patience)

    monkeypatch.setattr("ameles.store.opening.SqliteStore", opened)
