"""The page about pan-privacy is true: its code runs, and its picture is that of its table."""

from __future__ import annotations

import doctest
import importlib.util
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.pan_private.counter import PanPrivateCounter
from ameles.mechanisms.pan_private.place_counter import PanPrivatePlaceCounter
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter
from ameles.plot.table import PlotTable
from tests.mechanisms.pan_private.test_place_error import mean_std as place_std
from tests.mechanisms.pan_private.test_tree_counter import mean_std

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "pan_privacy.md").read_text(encoding="utf-8")


def test_the_code_of_the_page_gives_what_it_says() -> None:
    blocks = re.findall(r"^```pycon\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 6
    test = doctest.DocTestParser().get_doctest("\n\n".join(blocks), {}, "pan_privacy", None, 0)
    said: list[str] = []
    ended = doctest.DocTestRunner().run(test, out=said.append)
    assert ended.failed == 0, "".join(said)


def test_the_deviations_of_the_page() -> None:
    lengths = (2**10, 2**16, 2**20)
    deviations = [PanPrivateCounter(epsilon=1, horizon=T).error.std(T) for T in lengths]
    assert " / ".join(f"{std:.1f}" for std in deviations) in PAGE
    trees = [PanPrivateTreeCounter(epsilon=1, horizon=T) for T in lengths]
    assert " / ".join(f"{mean_std(tree):.1f}" for tree in trees) in PAGE
    places = [PanPrivatePlaceCounter(epsilon=1, horizon=T) for T in lengths]
    assert " / ".join(f"{place_std(counter):.1f}" for counter in places) in PAGE
    walk = SimpleTwoCounter(epsilon=1).error
    assert f"{walk.std(2**10):.1f} / {walk.std(2**16):.0f} / {walk.std(2**20):.0f}" in PAGE


def script(name: str) -> ModuleType:
    """A program of the docs, as a module: a process of its own would load all packages again."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def draw(patched: pytest.MonkeyPatch, folder: Path, *options: str) -> None:
    patched.setattr(sys, "argv", ["seized.py", "--into", str(folder), *options])
    assert script("seized").main() == 0


def test_the_picture_is_that_of_its_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(DOCS / "seized.csv", tmp_path)
    draw(monkeypatch, tmp_path, "--redraw")
    assert (tmp_path / "seized.svg").read_bytes() == (DOCS / "seized.svg").read_bytes()


@pytest.mark.parametrize("new", [False, True], ids=["committed", "new"])
def test_the_intruder_is_always_right_about_one_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new: bool
) -> None:
    if new:
        draw(monkeypatch, tmp_path)
    table = PlotTable.read((tmp_path if new else DOCS) / "seized.csv")
    assert table.column("TreeCounter") == table.column("truth")
    # 44 noises of deviation 20 and more: all zero with a probability below 1e-60
    assert table.column("PanPrivateCounter") != table.column("truth")


def test_the_picture_of_users_is_that_of_the_code(tmp_path: Path) -> None:
    """Its numbers are computed, and those for one crowd are computed again."""
    users = script("seized_users")
    table = PlotTable.read(DOCS / "seized_users.csv")
    assert tuple(table.values("users")) == users.CROWDS
    assert table.where(users=3000).rows == users.compute((3000,)).rows
    users.draw(table, tmp_path / "users.svg")
    assert (tmp_path / "users.svg").read_bytes() == (DOCS / "seized_users.svg").read_bytes()
