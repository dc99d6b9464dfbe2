"""Sources that can be read again, opened as a plan opens them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ameles.connectors.source import SeekableSource
from ameles.connectors.sources import open_source


def open_files(
    text: str, columns: Mapping[str, str], base: Path, **options: Any
) -> SeekableSource[Any]:
    """The files that a text names."""
    source = open_source(text, columns, base, **options)
    assert isinstance(source, SeekableSource)
    return source
