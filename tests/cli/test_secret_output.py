"""What is exact goes to a terminal or to a new file of its owner's, and nowhere else."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from ameles.cli.secret_output import secret_output
from ameles.core.exceptions import BadInput


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    with secret_output(None) as out:
        out.write("7")
    assert terminal.getvalue() == "7"


def test_a_pipe_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr("sys.stdout", pipe)
    with pytest.raises(BadInput, match="not a terminal"), secret_output(None):
        pass
    assert pipe.getvalue() == ""


def test_a_new_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with secret_output(tmp_path / "facts.txt") as out:
            out.write("7")
    finally:
        os.umask(before)
    assert (tmp_path / "facts.txt").read_text() == "7"
    assert (tmp_path / "facts.txt").stat().st_mode & 0o777 == 0o600


def test_what_is_there_or_leads_elsewhere_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("mine")
    (tmp_path / "link.txt").symlink_to(tmp_path / "elsewhere.txt")
    for name in ("old.txt", "link.txt", "none/new.txt", "."):
        with pytest.raises(BadInput, match="cannot be made"), secret_output(tmp_path / name):
            pass
    assert (tmp_path / "old.txt").read_text() == "mine"
    assert not (tmp_path / "elsewhere.txt").exists()


def test_a_file_whose_writing_failed_is_gone(tmp_path: Path) -> None:
    with pytest.raises(KeyError), secret_output(tmp_path / "facts.txt"):
        raise KeyError
    with secret_output(tmp_path / "facts.txt") as out:
        out.write("7")
