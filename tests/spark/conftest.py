"""The Spark session that the tests of this folder share."""

from __future__ import annotations

from tests.spark.session import session

__all__ = ["session"]
