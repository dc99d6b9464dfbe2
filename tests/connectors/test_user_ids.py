"""One user has one id, whatever the format; what could be several users has none."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ameles.connectors.typed_columns import HEAVIEST, IDS, WEIGHT
from ameles.core.exceptions import PlanError
from tests.connectors.opening import open_files
from tests.connectors.reading import rows, rows_in

TEXT, INTEGER = IDS["text"], IDS["integer"]
BIG = str(2**53 - 1)


def ids_of_json(folder: Path, kind: str, *values: str) -> list[Any]:
    lines = "".join(f'{{"n":{n},"who":{value}}}\n' for n, value in enumerate(values))
    events = rows_in(folder / "a.jsonl", lines.encode(), {"n": "integer", "who": kind})
    return [who for _, who in sorted(events)]


def write_parquet(folder: Path, *values: str) -> None:
    """A file with a column whose values are written in SQL."""
    listed = ", ".join(f"({n}, {value})" for n, value in enumerate(values))
    with closing(duckdb.cursor()) as duck:
        duck.execute(
            f"COPY (SELECT * FROM (VALUES {listed}) AS _ (n, who)) TO '{folder / 'a.parquet'}'"
        )


def ids_of_parquet(folder: Path, kind: str, *values: str) -> list[Any]:
    """Of a column whose values are written in SQL."""
    write_parquet(folder, *values)
    columns = {"n": "integer", "who": kind}
    events = rows(open_files("a.parquet", columns, folder), columns)
    return [who for _, who in sorted(events)]


@pytest.mark.parametrize(
    ("value", "who"),
    [
        ("7", "7"),
        ("7.0", "7"),
        ("0.7e1", "7"),
        ('"7"', "7"),
        ("-7.0", "-7"),
        ("-0", "0"),
        ("-0.0", "0"),
        ('"7.0"', "7.0"),  # a text is as it is
        ('"true"', "true"),
        ("9007199254740991.0", "9007199254740991"),
        ("9007199254740993", "9007199254740993"),
        ("18446744073709551617", "18446744073709551617"),
        ("9007199254740993.0", None),  # as a float it is also its neighbour
        ("1e300", None),
        ("1e400", None),
        ("7.5", None),
        ("true", None),
        ("false", None),
        ("null", None),
        ('""', None),
        ("{}", None),
        ('{"id":7}', None),
        ("[7]", None),
        ('"\\ufffd"', None),
    ],
)
def test_an_id_in_json(value: str, who: str | None, tmp_path: Path) -> None:
    assert ids_of_json(tmp_path, TEXT, value) == [who]


def test_integers_in_json(tmp_path: Path) -> None:
    values = ["7", "7.0", '"7"', '"007"', '" 7 "', "9007199254740993", "9007199254740993.0"]
    assert ids_of_json(tmp_path, INTEGER, *values) == [7] * 5 + [2**53 + 1, None]
    assert ids_of_json(tmp_path, INTEGER, "true", '""', "7.5", "9223372036854775808") == [None] * 4


def test_ids_whose_characters_are_broken_are_not_one_user(tmp_path: Path) -> None:
    columns = {"who": TEXT}
    lines = b"who\nz\xff\nz\xfe\n\xc3\nz\n"
    ids = rows_in(tmp_path / "a.csv", lines, columns)
    assert sorted(ids, key=repr) == sorted([("z",), (None,), (None,), (None,)], key=repr)
    lines = b'{"who":"z\xff"}\n{"who":"z"}\n'
    assert rows_in(tmp_path / "a.jsonl", lines, columns) == [("z",), (None,)]


@pytest.mark.parametrize(
    ("values", "ids"),
    [
        (["7::TINYINT"], ["7"]),
        (["7::UBIGINT"], ["7"]),
        (["18446744073709551615::UBIGINT"], [str(2**64 - 1)]),
        (
            ["7::DOUBLE", "7.5", "9007199254740991", "9007199254740992", "'nan'", "'-inf'"],
            ["7", None, BIG, None, None, None],
        ),
        (["7::FLOAT", "16777215", "16777216"], ["7", "16777215", None]),
        (["7.00::DECIMAL(10, 2)", "7.50"], ["7", None]),
        (["encode('\u00e9')", "'\\xC3'::BLOB", "'\\xC3\\xA9'::BLOB"], ["\u00e9", None, "\u00e9"]),
        (["'7'", "''", "'z\ufffd'", "NULL"], ["7", None, None, None]),
        (
            ["'6f1cba5e-0f2f-4b2f-9d39-3c0a0f6a2a11'::UUID"],
            ["6f1cba5e-0f2f-4b2f-9d39-3c0a0f6a2a11"],
        ),
    ],
)
def test_an_id_in_parquet(values: list[str], ids: list[str | None], tmp_path: Path) -> None:
    assert ids_of_parquet(tmp_path, TEXT, *values) == ids
    whole = [
        None if who is None or not who.isdecimal() or int(who) >= 2**63 else int(who) for who in ids
    ]
    assert ids_of_parquet(tmp_path, INTEGER, *values) == whole


NO_IDS = (
    "true",
    "DATE '2026-01-01'",
    "now()",
    "[7]",
    "['a']",
    "[7.5]",
    "{'id': 7}",
    "TIME '10:00'",
)


@pytest.mark.parametrize("value", NO_IDS)
@pytest.mark.parametrize("kind", [TEXT, INTEGER])
def test_a_type_that_has_no_ids_is_refused(value: str, kind: str, tmp_path: Path) -> None:
    write_parquet(tmp_path, value)
    source = open_files("a.parquet", {"n": "integer", "who": kind}, tmp_path)
    with pytest.raises(PlanError, match="cannot be a user id"):
        source.names()


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("3", 3),
        ("3.0", 3),
        ("-3", -3),
        (str(HEAVIEST), HEAVIEST),
        (str(HEAVIEST + 1), HEAVIEST),
        (f"-{HEAVIEST + 1}", -HEAVIEST),
        (str(2**63 - 1), HEAVIEST),
        (str(2**63), HEAVIEST),
        (str(-(2**63) - 1), -HEAVIEST),
        ("9" * 400, HEAVIEST),
        ("-" + "9" * 300, -HEAVIEST),
        ("1e+17", HEAVIEST),
        ("-1e30", -HEAVIEST),
        ("1e3", 1000),
        ("1E+05", 100_000),
        ("1.5e3", 1500),
        ("1.5e0", None),
        ("1e-3", None),
        ("1e999", None),
        ("3.5", None),
        ("inf", None),
        ("nan", None),
        ("", None),
        ("many", None),
    ],
)
def test_a_weight_is_clamped(text: str, weight: int | None, tmp_path: Path) -> None:
    columns = {"n": WEIGHT, "x": "text"}
    assert rows_in(tmp_path / "a.csv", f"n,x\n{text},y\n".encode(), columns) == [(weight, "y")]
    in_json = f'{{"n":"{text}","x":"y"}}\n'.encode()
    assert rows_in(tmp_path / "a.jsonl", in_json, columns) == [(weight, "y")]


def test_large_weights_of_every_type(tmp_path: Path) -> None:
    digits = ["100000000000000016", "1e17", "123456789012345678901234567890.0", "-1e25"]
    assert ids_of_json(tmp_path, WEIGHT, *digits) == [HEAVIEST] * 3 + [-HEAVIEST]
    for values, weights in (
        (["3::UTINYINT"], [3]),
        (["18446744073709551615::UBIGINT", "3"], [HEAVIEST, 3]),
        (["-170141183460469231731687303715884105727::HUGEINT"], [-HEAVIEST]),
        (["340282366920938463463374607431768211455::UHUGEINT", "3"], [HEAVIEST, 3]),
        (
            ["1e300::DOUBLE", "-1e300", "3", "3.5", "'inf'", "'nan'"],
            [HEAVIEST, -HEAVIEST, 3, None, None, None],
        ),
        (
            ["99999999999999999999999999999999999.00::DECIMAL(38, 2)", "3", "3.5"],
            [HEAVIEST, 3, None],
        ),
    ):
        assert ids_of_parquet(tmp_path, WEIGHT, *values) == weights, values
