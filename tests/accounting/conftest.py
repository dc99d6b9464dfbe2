"""Settings of hypothesis for these tests."""

from __future__ import annotations

from hypothesis import settings

# Exact arithmetic takes as long as its digits: there are fewer examples than usual.
settings.register_profile("accounting", settings.get_profile("anywhere"), max_examples=40)
settings.load_profile("accounting")
