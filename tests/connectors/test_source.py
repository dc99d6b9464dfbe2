"""A plan's text names a source, or is refused with a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from ameles.connectors.files.named_files import find_files
from ameles.connectors.sources import open_source
from ameles.core.exceptions import PlanError
from tests.connectors.opening import open_files


@pytest.mark.parametrize("text", ["a.csv", "*.jsonl", "folder/*.ndjson", "a.parquet", "**/*.csv"])
def test_a_source_without_a_file_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="No file matches the source") as caught:
        open_files(text, {"a": "text"}, tmp_path)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("text", ["a.txt", "a.csv.xz", "folder/*"])
def test_a_source_of_no_known_kind_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="not of a kind that Ameles can read"):
        open_files(text, {"a": "text"}, tmp_path)


@pytest.mark.parametrize("text", ["hdfs://l/*.csv", "gopher://host/a.parquet", "ftp://b"])
def test_files_at_an_address_are_refused_also_if_they_may_be_missing(
    text: str, tmp_path: Path
) -> None:
    """A followed stream would wait for them forever."""
    for waiting in (False, True):
        with pytest.raises(PlanError, match="cannot read files at an address") as caught:
            open_source(text, {"a": "text"}, tmp_path, waiting=waiting)
    assert "mount the server" in caught.value.tip
    assert "key" not in str(caught.value)
    with pytest.raises(PlanError, match="cannot read files") as caught:
        open_source("file:///tmp/a.csv", {"a": "text"}, tmp_path)
    assert caught.value.tip == "source = '/tmp/a.csv'"


def test_a_column_of_no_known_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n")
    with pytest.raises(PlanError, match="declared as 'date'"):
        open_files("a.csv", {"a": "date"}, tmp_path)


def test_files_are_found_by_name(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv", ".hidden.csv", "[1].csv", "deep/c.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert [file.name for file in find_files("*.csv", tmp_path)] == ["[1].csv", "a.csv", "b.csv"]
    assert [file.name for file in find_files("[1].csv", tmp_path)] == ["[1].csv"]
    deep = [file.name for file in find_files("**/*.csv", tmp_path)]
    assert deep == ["[1].csv", "a.csv", "b.csv", "deep/c.csv"]
    whole = str(tmp_path / "a.csv")
    assert [file.name for file in find_files(whole, tmp_path)] == [whole]


def test_the_names_of_json_lines_are_those_of_the_plan(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"b": 1}\n')
    source = open_files("a.jsonl", {"a": "text"}, tmp_path)
    assert source.names() == ("a",)
    assert source.reading(None).paths == ()
