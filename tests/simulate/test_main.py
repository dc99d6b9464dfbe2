"""The command writes what it is asked for, and refuses in finished sentences."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from ameles.simulate.__main__ import main


def test_the_examples_of_the_help_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    start = "  python -m ameles.simulate "
    examples = [
        line.removeprefix(start)
        for line in capsys.readouterr().out.splitlines()
        if line.startswith(start)
    ]
    assert len(examples) == 2
    for example in examples:
        assert main(shlex.split(example)) == 0
    counts = "SELECT (SELECT count(*) FROM 'visits.csv'), (SELECT count(*) FROM 'visits.parquet')"
    with duckdb.connect() as reader:
        assert reader.execute(counts).fetchall() == [(20_000, 200_000)]


def test_it_is_a_program(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-m", "ameles.simulate"]
    ended = subprocess.run(
        [*command, "--visitors", "10", "--out", "visits.csv"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "Wrote visits.csv.\n")
    assert len((tmp_path / "visits.csv").read_text(encoding="utf-8").splitlines()) == 31


def test_hourly_counts_have_their_own_columns(tmp_path: Path) -> None:
    assert main(["--visitors", "10", "--hourly", "--out", str(tmp_path / "hourly.csv")]) == 0
    first, *_ = (tmp_path / "hourly.csv").read_text(encoding="utf-8").splitlines()
    assert first == "reported_at,region,fever,n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--out", "visits.txt"], "'out'"),
        (["--out", "visits.parquet", "--hourly"], "'out'"),
        (["--out", "visits.csv", "--events", "1.5"], "'events'"),
        (["--out", "visits.csv", "--events", "many"], "'events'"),
        (["--out", "visits.csv", "--start", "soon"], "'start'"),
        (["--out", "visits.csv", "--flaws", "2"], "from 0 to 1"),
        (["--out", "visits.parquet", "--flaws", "0.1"], "'unparsable'"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert says in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_file_that_exists_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "visits.csv"
    file.write_text("somebody's data\n", encoding="utf-8")
    assert main(["--visitors", "10", "--out", str(file)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert file.read_text(encoding="utf-8") == "somebody's data\n"
