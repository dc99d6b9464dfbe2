"""A Parquet column that can never have a value of its kind is refused by its schema alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import duckdb
import pytest

from ameles.connectors import duck
from ameles.connectors.format import Format
from ameles.core.exceptions import PlanError
from tests.connectors.opening import open_files
from tests.connectors.reading import rows

VALUES = {
    "BOOLEAN": "true",
    "TINYINT": "1",
    "BIGINT": "1",
    "UBIGINT": "1",
    "FLOAT": "1.5",
    "DOUBLE": "1.5",
    "DECIMAL(9, 2)": "1.5",
    "VARCHAR": "'1'",
    "TIMESTAMP": "'2026-01-01'",
    "TIMESTAMPTZ": "'2026-01-01'",
    "TIMESTAMP_NS": "'2026-01-01'",
    "DATE": "'2026-01-01'",
    "TIME": "'10:15'",
    "INTERVAL": "'1 day'",
    "BLOB": "'a'",
    "UUID": "'00000000-0000-0000-0000-000000000000'",
    "BIGINT[]": "[1]",
    "VARCHAR[]": "['1']",
    "TIMESTAMP[]": "['2026-01-01']",
    "STRUCT(a BIGINT)": "{'a': 1}",
    "MAP(VARCHAR, BIGINT)": "MAP {'a': 1}",
}
NUMBERS = {"TINYINT", "BIGINT", "UBIGINT", "FLOAT", "DOUBLE", "DECIMAL(9, 2)", "VARCHAR"}
WHOLE = {"TINYINT", "BIGINT", "UBIGINT"}
TIMES = {"TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_NS", "DATE", "VARCHAR"}
CASES = {
    "text": ((), set(VALUES) - {"TIME", "TIMESTAMP[]"}),
    "integer": ((), NUMBERS),
    "number": ((), NUMBERS),
    "weight": ((), NUMBERS),
    "boolean": ((), {"BOOLEAN", "VARCHAR"} | WHOLE),
    "timestamp": ((), TIMES),
    "timestamp as a pattern": (("%Y%m%d",), TIMES | WHOLE),
    "timestamp since 1970": (("epoch-ms",), TIMES | NUMBERS),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a column of each type."""
    folder = tmp_path_factory.mktemp("types")
    for number, (name, value) in enumerate(VALUES.items()):
        duckdb.execute(f"COPY (SELECT CAST({value} AS {name}) AS v) TO '{folder}/{number}.parquet'")
    return folder


@pytest.fixture(scope="module", autouse=True)
def one_database_a_file() -> Iterator[None]:
    """The files do not change, so that a database which may open one can open it again."""
    kept = cache(duck.locked_database)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(duck, "locked_database", lambda *given: kept(*given).cursor())
        yield


@pytest.mark.parametrize("case", CASES)
def test_types_that_can_be_a_kind(folder: Path, case: str) -> None:
    formats, allowed = CASES[case]
    kind = case.split()[0]
    for number, name in enumerate(VALUES):
        source = open_files(
            f"{number}.parquet", {"v": kind}, folder, form=Format(time_format=formats)
        )
        if name in allowed:
            assert source.names() == ("v",), name
            continue
        with pytest.raises(PlanError, match="cannot be read as") as caught:
            source.names()
        assert caught.value.tip
        assert ("time_format" in caught.value.tip) == (kind == "timestamp" and name in NUMBERS)
        (problem,) = source.reading(None).problems  # which stops no other file
        assert "cannot be read as" in str(problem)


def test_a_launched_stream_goes_on_with_a_column_of_nothing(folder: Path) -> None:
    form = Format(rules=1)
    source = open_files("0.parquet", {"v": "timestamp"}, folder, form=form)
    assert source.names() == ("v",)
    assert rows(source, {"v": "timestamp"}) == [(None,)]


def test_a_missing_column_is_named_with_those_that_there_are(folder: Path) -> None:
    source = open_files("0.parquet", {"at": "timestamp"}, folder)
    with pytest.raises(PlanError, match="has no column 'at'") as caught:
        source.names()
    assert caught.value.tip.endswith("it has v")
