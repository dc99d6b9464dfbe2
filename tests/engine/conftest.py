"""Settings of hypothesis for these tests."""

from __future__ import annotations

from hypothesis import settings

# The number of examples of another folder's profile would stay.
settings.load_profile("anywhere")
