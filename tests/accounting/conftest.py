"""Settings of hypothesis for these tests."""

from __future__ import annotations

from hypothesis import settings

# Exact arithmetic takes as long as its digits: no example is judged by the clock, and there
# are fewer of them than usual.
settings.register_profile("accounting", deadline=None, max_examples=40)
settings.load_profile("accounting")
