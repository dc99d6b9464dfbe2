"""Settings of hypothesis for these tests."""

from __future__ import annotations

from hypothesis import settings

# Every example asks DuckDB or SQLite something: none of them is judged by the clock.
settings.register_profile("engine", deadline=None)
settings.load_profile("engine")
