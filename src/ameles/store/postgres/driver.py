"""psycopg, loaded when a store in Postgres is opened (the ``postgres`` extra)."""

from __future__ import annotations

import importlib
from typing import Any

from ameles.core.exceptions import MissingExtra


def driver() -> Any:
    """The module psycopg; if it is missing, the refusal says how to install it."""
    try:
        return importlib.import_module("psycopg")
    except ImportError:  # also if it is installed without the library that it needs
        raise MissingExtra(
            "Postgres needs psycopg, which is not installed.",
            tip="pip install '.[postgres]' in the clone of Ameles",
        ) from None
