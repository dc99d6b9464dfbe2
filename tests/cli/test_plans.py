"""What the commands share: tables, numbers, times, and progress that only a watcher sees."""

from __future__ import annotations

import io
import sys
import time

import pytest

from ameles.cli import plans


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("patience", [0.0, 60.0])
def test_progress_is_told_on_a_terminal_after_a_while(
    patience: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(plans, "QUIET_SECONDS", patience)
    monkeypatch.setattr(sys, "stderr", terminal)
    with plans.progress() as tell:
        deadline = time.monotonic() + 600
        while not patience and not terminal.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
        tell(3, 8)
    assert ("steps" in terminal.getvalue()) is not bool(patience)


def test_progress_is_not_told_to_a_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(plans, "QUIET_SECONDS", 0.0)
    with plans.progress() as tell:
        tell(3, 8)
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")


def test_an_error_ends_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(KeyboardInterrupt), plans.progress():
        raise KeyboardInterrupt


def test_cells_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    plans.table(("name", "value"), [("[bold]x[/bold]", "1")])
    assert "[bold]x[/bold]" in capsys.readouterr().out


@pytest.mark.parametrize("colourless", [True, False])
def test_no_color_is_honoured(
    colourless: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1" if colourless else "")
    plans.table(("name",), [("x",)])
    coloured = any(f"\x1b[3{digit}m" in capsys.readouterr().out for digit in range(8))
    assert not coloured  # tables have no colours at all, only a bold head
