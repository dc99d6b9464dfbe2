"""A source of posted events, without a service."""

from __future__ import annotations

from pathlib import Path

import pytest

from ameles.connectors.http_source import HttpSource
from tests.service.ingest.answering_engine import source_in


@pytest.fixture
def source(tmp_path: Path) -> HttpSource:
    """The source of a plan whose events are posted."""
    return source_in(tmp_path)
