"""A plan file is read with little memory and in a short time, whatever is in it."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.core.exceptions import PlanError
from ameles.plan.plan import read_plan
from ameles.plan.text import LARGEST_FILE, MOST_PARTS, most_parts, read_toml
from tests.warm_processes import run

PARTS = ".".join("a" * 50_000)
DEEP = {
    "a key": f"{PARTS} = 1\n",
    "a table": f"[{PARTS}]\n",
    "one of several tables": f"[[{PARTS}]]\n",
    "an inline table": f"a = {{ b = 1, {PARTS} = 1 }}\n",
    "after texts": f"a = \"\"\"\"b\\\"\"\"\"\nc = '''''d'''''\n{PARTS} = 1\n",
    "quoted parts": "\"a.b\" . 'c' . " + PARTS + " = 1\n",
    "no TOML after it": f"{PARTS}\n",
}
# What 1 MiB of tables takes, beyond what a process has to begin with.
ADDRESSES = 800 << 20
READ = """
import resource, sys
from pathlib import Path
from ameles.core.exceptions import PlanError
from ameles.plan.text import read_toml
text = sys.stdin.read()
held = Path("/proc/self/statm")
pages = int(held.read_text().split()[0]) if held.exists() else 0
limit = max(1 << 30, pages * resource.getpagesize() + int(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    read_toml(text)
except PlanError as refusal:
    print(refusal.what)
"""


def read_small(text: str) -> str:
    """What is said of a text in a process that has little memory."""
    done = run("-c", READ, str(ADDRESSES), given=text)
    assert done.returncode == 0, done.stderr
    said: str = done.stdout
    return said


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_keys_of_many_parts_take_no_memory(text: str) -> None:
    assert "more than 8 parts" in read_small(text)


def test_the_largest_of_plans_fits() -> None:
    lines = (f"[{number:x}{'.a' * (MOST_PARTS - 1)}]\n" for number in range(1 << 16))
    text = "".join(lines)[:LARGEST_FILE].rpartition("\n")[0]
    assert read_small(text) == ""
    with pytest.raises(PlanError, match="too large for a plan"):
        read_toml(text + " " * LARGEST_FILE)


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 100_000, "a = {" * 100_000], ids=["lists", "tables"]
)
def test_nested_deep(text: str) -> None:
    with pytest.raises(PlanError, match="nested too deep"):
        read_toml(text)


# Pieces of which texts are made that look like ends of texts, keys and comments.
PIECES = st.lists(st.sampled_from(["a", ".", "..", "#", "=", "[", "{", ",", " ", "é"]), max_size=9)
INSIDE = PIECES.map("".join)
STRINGS = st.one_of(
    INSIDE.map(lambda text: f'"{text}\\"\\\\"'),
    INSIDE.map(lambda text: f"'{text}\"\\'"),
    INSIDE.map(lambda text: f'"""{text}"\n""\\"""\\\\{text}"""""'),
    INSIDE.map(lambda text: f"'''{text}\\'\n''\"\"\"{text}'''''"),
)
PART = st.one_of(
    st.sampled_from(["a", "b-c", "1", "_"]),
    INSIDE.map(lambda text: f'"{text}\\""'),
    INSIDE.map(lambda text: f"'{text}\"'"),
)
VALUES = st.one_of(STRINGS, st.sampled_from(["1", "true", "2026-01-01", "[1, 2]", "{ a = 1 }"]))


@given(st.lists(st.tuples(st.lists(PART, min_size=1, max_size=12), VALUES, INSIDE), max_size=5))
def test_parts_are_those_of_keys(lines: list[tuple[list[str], str, str]]) -> None:
    text = "".join(
        f"[t{number}]\n{' . '.join(parts)} = {value} # {comment}\n"
        for number, (parts, value, comment) in enumerate(lines)
    )
    assert most_parts(text) == max((len(parts) for parts, _, _ in lines), default=1)
    read: dict[str, Any] = tomllib.loads(text)  # it was TOML, so the two read the same texts
    assert len(read) == len(lines)


class TestOnlyFiles:
    def refused(self, file: Path) -> str:
        with pytest.raises(PlanError) as refusal:
            read_plan(file)
        return refusal.value.what

    @pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/urandom"])
    def test_devices(self, device: str) -> None:
        assert self.refused(Path(device)) == f"'{device}' is not a file with a plan in it."

    def test_a_pipe_without_a_writer(self, tmp_path: Path) -> None:
        pipe = tmp_path / "plan.toml"
        os.mkfifo(pipe)
        assert "not a file with a plan" in self.refused(pipe)

    def test_a_folder(self, tmp_path: Path) -> None:
        assert "Is a directory" in self.refused(tmp_path)

    def test_standard_input(self) -> None:
        ended = run("-m", "ameles", "plan", "/dev/stdin")
        assert ended.returncode == 2
        assert "not a file with a plan" in ended.stderr

    def test_large_and_broken_files(self, tmp_path: Path) -> None:
        file = tmp_path / "plan.toml"
        file.write_bytes(b"#" * (LARGEST_FILE + 1))
        assert "too large for a plan" in self.refused(file)
        file.write_bytes(b"a = '\xff'")
        assert "not a text in UTF-8" in self.refused(file)
        assert "No file can have" in self.refused(Path("a\0b"))
        assert "No such file" in self.refused(tmp_path / "absent.toml")
