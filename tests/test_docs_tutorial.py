"""The tutorial works: its commands run as they stand, its edits are made, its output is real."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[1] / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def edit(plan: Path, block: str) -> None:
    """Makes the change that a piece of TOML stands for."""
    text = plan.read_text(encoding="utf-8")
    if block.startswith("[[release]]"):
        changed = text.replace("[store]", f"{block}\n[store]")
    else:
        key = block.partition(" ")[0]
        changed = re.sub(rf"^{key} = .*\n", block, text, flags=re.MULTILINE)
    assert changed != text
    plan.write_text(changed, encoding="utf-8")


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    """Follows the page from top to bottom; what each group of commands said."""
    folder = tmp_path_factory.mktemp("tutorial")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    said = []
    for kind, block in BLOCKS:
        match kind:
            case "sh":
                ended = subprocess.run(
                    ["/bin/sh", "-e", "-c", f"exec 2>&1\n{block}"],
                    cwd=folder,
                    env={**os.environ, "PATH": path},
                    capture_output=True,
                    text=True,
                    check=False,
                )
                assert ended.returncode == 0, f"{block}\n{ended.stdout}"
                said.append((block, ended.stdout))
            case "toml":
                edit(folder / "ameles.toml", block)
    return said


def test_it_can_be_followed(followed: list[tuple[str, str]]) -> None:
    assert len(followed) == 7
    whole = "".join(said for _, said in followed)
    assert "No new steps were released; the stream is at step 92 of 182." in whole
    assert "That is its last step." in whole


def plain(text: str) -> list[str]:
    """Words, with noisy numbers and the way lines are broken left out."""
    text = re.sub(r"\b\d{4}-\d\d-\d\d( \d\d:\d\d)?", "DATE", text)
    return re.sub(r"-?[\d,]*\d,\d{3}\b", "NOISY", text).split()


def test_the_output_on_the_page_is_what_one_sees(followed: list[tuple[str, str]]) -> None:
    shown = [block for kind, block in BLOCKS if kind == "text"]
    assert len(shown) == 5
    whole = " ".join(plain("".join(said for _, said in followed)))
    for block in shown:
        for piece in block.replace("...", "\0").split("\0"):  # what stands between omissions
            for line in re.split(r"\n(?=\w+ {2,}|─)", piece):
                assert " ".join(plain(line)) in whole, line
