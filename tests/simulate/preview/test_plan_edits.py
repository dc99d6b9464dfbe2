"""One value of a plan's text is changed, and nothing else."""

from __future__ import annotations

import pytest

from ameles.plan.text import read_toml
from ameles.simulate.preview import plan_edits
from ameles.simulate.preview.plan_edits import Address, edited

TEXT = """# epsilon = 7
[stream]
epsilon = 3
[ privacy ]   # who
  epsilon  =  1.0\t# a year
window = '30d'
[[release]]
name = "a"
over = "7d"
[[release]]
name = "b"
over = "7d"  # "8d"
"""


@pytest.mark.parametrize(
    ("address", "value", "before", "after"),
    [
        (
            ("privacy", "epsilon"),
            "0.5",
            "  epsilon  =  1.0\t# a year",
            "  epsilon  =  0.5\t# a year",
        ),
        (("privacy", "window"), '"7d"', "window = '30d'", 'window = "7d"'),
        (("release", 1, "over"), '"14d"', 'over = "7d"  # "8d"', 'over = "14d"  # "8d"'),
    ],
)
def test_only_the_value_changes(address: Address, value: str, before: str, after: str) -> None:
    assert edited(TEXT, address, value) == TEXT.replace(before, after)
    windows = TEXT.replace("\n", "\r\n")
    assert edited(windows, address, value) == windows.replace(before, after)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("[privacy]\nunit = 'event'\n", ("privacy", "epsilon")),
        ("privacy = { epsilon = 1 }\n", ("privacy", "epsilon")),
        ("[privacy]\nepsilon = 1\n", ("release", 0, "over")),
        ("[[release]]\nby = { over = '1d' }\n", ("release", 0, "over")),
        ('[privacy]\nnote = """\nepsilon = 2\n"""\nepsilon = 1\n', ("privacy", "epsilon")),
        (
            '[a]\nnote = """\n[privacy]\nepsilon = 2\n"""\n[privacy]\nepsilon = 1\n',
            ("privacy", "epsilon"),
        ),
    ],
)
def test_what_is_not_in_a_line_of_its_own_is_left_alone(text: str, address: Address) -> None:
    assert edited(text, address, "0.5") is None


def test_a_change_in_the_wrong_place_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the second look, a line of a long text would be taken for the value."""
    text = '[privacy]\nnote = """\nepsilon = 2\n"""\nepsilon = 1\n'
    monkeypatch.setattr(plan_edits, "_only_this", lambda *given: True)
    wrong = edited(text, ("privacy", "epsilon"), "0.5")
    assert wrong is not None
    assert read_toml(wrong)["privacy"]["epsilon"] == 1
