"""The tutorial works: its commands run as they stand, its edits are made, its output is real."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.warm_processes import start

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


def commands(block: str) -> list[list[str]]:
    """The words of each command; there is nothing in it for which one needs a shell."""
    lines = block.replace("\\\n", " ").splitlines()
    assert not set("|&;<>*?$`~(){}[]!#") & set(block), "run it in a shell"
    return [shlex.split(line) for line in lines]


def started(words: list[str], **options: Any) -> subprocess.Popen[Any]:
    """A command as it stands; Ameles is started as ``python -m`` would start it."""
    options |= {"stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT}
    match words:
        case ["ameles", *rest]:
            return start("-m", "ameles", *rest, **options)
        case ["python", *rest]:
            return start(*rest, **options)
    return subprocess.Popen(words, text=True, **options)


def in_a_pipe(words: list[str], folder: Path) -> tuple[int, str]:
    with started(words, cwd=folder, stdout=subprocess.PIPE) as program:
        text, _ = program.communicate()
    return program.returncode, text


def on_terminal(words: list[str], folder: Path) -> tuple[int, str]:
    """What a person sees, without colours, on a wide terminal that cannot move its cursor."""
    watching, shown = pty.openpty()
    environment = os.environ | {"TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "200"}
    with started(words, cwd=folder, env=environment, stdout=shown) as program:
        os.close(shown)
        text = b""
        with contextlib.suppress(OSError):  # Linux says so when the other side has ended
            while piece := os.read(watching, 1 << 16):
                text += piece
        code = program.wait()
    os.close(watching)
    return code, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text.decode()).replace("\r\n", "\n")


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    """Follows the page from top to bottom; what each group of commands said."""
    folder = tmp_path_factory.mktemp("tutorial")
    said = []
    for kind, block in BLOCKS:
        match kind:
            case "sh":
                text = ""
                for words in commands(block):
                    tried = on_terminal if words[:2] == ["ameles", "check"] else in_a_pipe
                    code, more = tried(words, folder)
                    assert code == 0, f"{block}\n{more}"
                    text += more
                said.append((block, text))
            case "toml":
                edit(folder / "ameles.toml", block)
    return said


def test_it_can_be_followed(followed: list[tuple[str, str]]) -> None:
    assert len(followed) == 8
    whole = "".join(said for _, said in followed)
    assert "No new steps were released; the stream is at step 92 of 182." in whole
    assert "That is its last step." in whole


def plain(text: str) -> list[str]:
    """Words, with noisy numbers and the way lines are broken left out."""
    text = re.sub(r"\b\d{4}-\d\d-\d\d( \d\d:\d\d)?", "DATE", text)
    return re.sub(r"-?[\d,]*\d,\d{3}\b", "NOISY", text).split()


def test_the_output_on_the_page_is_what_one_sees(followed: list[tuple[str, str]]) -> None:
    shown = [block for kind, block in BLOCKS if kind == "text"]
    assert len(shown) == 6
    whole = " ".join(plain("".join(said for _, said in followed)))
    for block in shown:
        for piece in block.replace("...", "\0").split("\0"):  # what stands between omissions
            for line in re.split(r"\n(?=\w+ {2,}|─)", piece):
                assert " ".join(plain(line)) in whole, line
