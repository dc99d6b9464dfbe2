"""A plan's sinks are opened by kind, or refused with a sentence; standard output among them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ameles.connectors.records import FORMATS
from ameles.connectors.sinks import open_sink
from ameles.core.exceptions import AmelesError, PlanError
from tests.connectors.records import records


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_sink_has_a_name_that_stays(kind: str, tmp_path: Path) -> None:
    here = open_sink(kind, f"out.{kind}", tmp_path, stream="flu", identity="one")
    assert here.name == f"{kind}:out.{kind}"


@pytest.mark.parametrize(
    ("kind", "target", "said"),
    [
        ("csv", "missing/r.csv", "does not exist"),
        ("csv", "folder", "is a folder"),
        ("stdout", "xml", "no format 'xml'"),
        ("grafana", "x", "no sink of the kind 'grafana'"),
    ],
)
def test_what_cannot_be_a_sink_is_refused(
    kind: str, target: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(PlanError, match=said):
        open_sink(kind, target, tmp_path, stream="flu", identity="one")


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_standard_output_gets_what_the_store_has_not_sent(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = open_sink("stdout", kind, tmp_path, stream="flu", identity="one")
    assert (here.name, here.last()) == (f"stdout:{kind}", 0)
    assert here.first_needed(0) == 1
    here.write(records(1, 2), 2)
    assert capsys.readouterr().out == FORMATS[kind].header + FORMATS[kind].lines(records(1, 2))
    again = open_sink("stdout", kind, tmp_path, stream="flu", identity="one")
    assert again.first_needed(2) == 3
    again.write(records(3, 3), 3)
    assert capsys.readouterr().out == FORMATS[kind].lines(records(3, 3)), "without a header"
    again.write(records(3, 3), 3)
    assert capsys.readouterr().out == ""


def test_a_closed_standard_output_is_an_error_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Closed:
        def write(self, _: str) -> None:
            raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("sys.stdout", Closed())
    here = open_sink("stdout", "csv", tmp_path, stream="flu", identity="one")
    here.first_needed(0)
    with pytest.raises(AmelesError, match="Broken pipe"):
        here.write(records(1, 1), 1)
