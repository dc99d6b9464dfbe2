"""Settings for these tests: hypothesis as everywhere, decimals with 80 digits."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import localcontext

import pytest
from hypothesis import settings

from ameles.noise import kernels, system

from .truth import DIGITS

# The number of examples of another folder's profile would stay.
settings.load_profile("anywhere")


@pytest.fixture(autouse=True)
def many_digits() -> Iterator[None]:
    """Plain arithmetic on decimals is exact enough to be the truth."""
    with localcontext(DIGITS):
        yield


@pytest.fixture(params=["numpy", "compiled", "plain"])
def looks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which code takes the two looks, also at single draws."""
    if request.param == "numpy":
        monkeypatch.setattr(kernels, "available", lambda: False)
    if request.param == "plain":
        monkeypatch.setattr(kernels, "compiled", lambda loop: loop)
    monkeypatch.setattr(system, "WORTH_COMPILING", 0)
