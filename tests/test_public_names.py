"""The front door: what ``from ameles import ...`` offers, and that it is documented."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

import ameles

NAMES_PAGE = Path(__file__).parents[1] / "docs" / "reference" / "names.md"


def test_names_are_sorted_and_unique() -> None:
    # Constants, then classes, then functions, each by name: the order that ruff keeps.
    expected = sorted(set(ameles.__all__), key=lambda name: (not name.isupper(), name))
    assert list(ameles.__all__) == expected
    assert expected


@pytest.mark.parametrize("name", ameles.__all__)
def test_every_name_is_there_and_in_the_reference(name: str) -> None:
    assert hasattr(ameles, name)
    assert f"| [`{name}`](" in NAMES_PAGE.read_text(encoding="utf-8")


def test_nothing_public_is_left_out() -> None:
    held = {name for name, value in vars(ameles).items() if not isinstance(value, ModuleType)}
    assert {name for name in held if not name.startswith("_")} <= {*ameles.__all__, "annotations"}
