"""Settings of hypothesis for these tests."""

from __future__ import annotations

from hypothesis import settings

# A busy machine makes single examples slow, and a time limit on each would then lie.
# Where time matters (numbers with a billion digits) a test measures it itself.
settings.register_profile("core", deadline=None)
settings.load_profile("core")
