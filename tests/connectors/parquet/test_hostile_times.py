"""A value of a Parquet column that DuckDB cannot convert changes nothing but its own row."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ameles.connectors.parquet.footer import Footer, memory_path, without_types
from ameles.connectors.typed_columns import KINDS
from ameles.core.exceptions import PlanError
from ameles.measures.fields import identifier
from tests.connectors.opening import open_files
from tests.connectors.reading import rows_of

pa: Any = importlib.import_module("pyarrow")
pq: Any = importlib.import_module("pyarrow.parquet")

LEAST, MOST = -(1 << 63), (1 << 63) - 1
FIRST = -9_223_372_022_400_000_000  # DuckDB's first TIMESTAMP
LONG = (LEAST, LEAST + 1, LEAST + 2, FIRST - 1, FIRST, MOST - 1, MOST, -1, 0)
LONGER = (*LONG, 10**17, 9_223_372_036_854_776, -9_223_372_036_854_776, FIRST // 1000 - 1)
SHORT = (-(1 << 31), (1 << 31) - 1, -1, 0)
DAY = 86_400_000
TYPES: dict[str, tuple[pa.DataType, Sequence[int]]] = {
    **{
        f"timestamp {unit} {zone}": (pa.timestamp(unit, zone), LONGER)
        for unit in ("ms", "us", "ns")
        for zone in (None, "UTC")
    },
    "date32": (pa.date32(), SHORT),
    "date64": (pa.date64(), [DAY * some for some in (*SHORT[:2], -1)]),
    "duration": (pa.duration("us"), LONG),
    "decimal": (pa.decimal128(38, 2), (10**37, -(10**37), 0)),
    "half": (pa.float16(), (0, 0x7C00, 0x7E00, 0xFC00)),
    "double": (pa.float64(), (0, 0x7FF0 << 48, 0x7FF8 << 48, LEAST)),
    "uint64": (pa.uint64(), (0, -1, LEAST)),
    "time32": (pa.time32("ms"), SHORT),
    "time64 us": (pa.time64("us"), LONG),
    "time64 ns": (pa.time64("ns"), LONG),
}


def column(kind: pa.DataType, values: Sequence[int]) -> pa.Array:
    """A column with values of so many bits, whether or not they have a meaning."""
    if pa.types.is_decimal(kind):
        raw = b"".join(value.to_bytes(16, "little", signed=True) for value in values)
    else:
        size = kind.bit_width // 8
        mask = (1 << 8 * size) - 1
        raw = b"".join((value & mask).to_bytes(size, "little") for value in values)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(raw)])


def write(path: Path, values: pa.Array, **options: Any) -> None:
    table = pa.table({"n": pa.array(range(len(values))), "v": values, "w": values})
    pq.write_table(table, path, version="2.6", **options)


def read(folder: Path, columns: dict[str, str], zone: str, raw: bool = False) -> list[Any]:
    source = open_files("a.parquet", columns, folder, raw=raw)
    reading = source.reading(None)
    assert reading.problems == ()
    return sorted(rows_of(reading, columns, zone=zone), key=str)


def check_groups(
    folder: Path,
    name: str,
    declared: str | None,
    zone: str,
    groups: Sequence[Sequence[int]],
    **how: Any,
) -> None:
    """Reads a tame file, and then one for each group of hostile values behind the tame ones."""
    kind, _ = TYPES[name]
    tame, path = [0, 1, 2], folder / "a.parquet"
    columns = {"n": "integer"} | ({} if declared is None else {"v": declared})
    write(path, column(kind, tame), **how)
    try:
        open_files("a.parquet", columns, folder).names()
    except PlanError:  # by the schema alone
        return
    wanted = read(folder, columns, zone)
    for values in groups:
        write(path, column(kind, [*tame, *values]), **how)
        read_now = read(folder, columns, zone)
        assert [row for row in read_now if row[0] < len(tame)] == wanted, (declared, values)
        assert len(read_now) == len(tame) + len(values)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
@pytest.mark.parametrize("name", TYPES)
def test_a_hostile_value_moves_no_other(tmp_path: Path, name: str, zone: str) -> None:
    """All at once: one that cannot be read would fail the scan of all rows."""
    for declared in (None, *KINDS):
        groups = [TYPES[name][1]]
        check_groups(tmp_path, name, declared, zone, groups, write_statistics=False)


@pytest.mark.parametrize("name", TYPES)
def test_a_hostile_value_in_statistics_moves_no_other(tmp_path: Path, name: str) -> None:
    """One by one, since statistics have the least and the largest value only."""
    for declared in (None, "timestamp"):
        groups = [[value] for value in TYPES[name][1]]
        check_groups(tmp_path, name, declared, "Europe/Berlin", groups, write_statistics=True)


def test_milliseconds_mean_the_same_whether_or_not_one_is_hostile(tmp_path: Path) -> None:
    """Also in several row groups, with broken ids, and in both ways of the schema."""
    tame = [0, 1_774_699_200_123, -1, -62_135_596_800_000, 253_402_300_799_999, MOST]
    for zone in (None, "UTC"):
        for wide in ("UTC", "Europe/Berlin"):
            seen = []
            for hostile in ([], [10**17]):
                values = [*tame * 400, *hostile]
                table = pa.table(
                    {
                        "v": column(pa.timestamp("ms", zone), values),
                        "w": column(pa.timestamp("ms", zone), values),
                        "who": [f"u{n}?" for n in range(len(values))],
                    }
                )
                pq.write_table(table, tmp_path / "a.parquet", row_group_size=500)
                columns = {"v": "timestamp", "w": "text", "who": "text id"}
                seen.append(read(tmp_path, columns, wide))
            assert [row for row in seen[1] if row[2] != "u2400?"] == seen[0]
            assert len(seen[1]) == len(seen[0]) + 1
            assert "u2400?" in {row[2] for row in seen[1]}
            assert seen[0][0][1] is not None


@pytest.mark.parametrize("kind", [pa.list_(pa.timestamp("us")), pa.struct({"a": pa.time64("us")})])
def test_times_within_others_are_no_texts(tmp_path: Path, kind: pa.DataType) -> None:
    pq.write_table(pa.table({"v": pa.nulls(1, kind)}), tmp_path / "a.parquet")
    source = open_files("a.parquet", {"v": "text"}, tmp_path)
    with pytest.raises(PlanError, match="cannot be read as text") as caught:
        source.names()
    assert "10:15:00" in caught.value.tip


def test_a_part_of_a_file_with_a_hostile_value_is_cut_as_before(tmp_path: Path) -> None:
    values = column(pa.timestamp("ms"), [*range(3000), LEAST])
    columns = {"n": "integer", "v": "timestamp"}
    write(tmp_path / "a.parquet", values, row_group_size=1000)
    reading = open_files("a.parquet", columns, tmp_path).reading(None)
    cut = reading.cut(1)
    assert len(cut.pieces) == 4
    assert rows_of(cut, columns) == rows_of(reading, columns)
    assert not reading.single


def test_a_footer_without_types(tmp_path: Path) -> None:
    inner = pa.StructArray.from_arrays([column(pa.timestamp("ms"), [1, 2])], ["x"])
    table = pa.table(
        {
            "x": inner,
            "ms": column(pa.timestamp("ms", "UTC"), [1, 2]),
            "us": column(pa.timestamp("us"), [1, 2]),
            "odd name": column(pa.timestamp("ms"), [1, LEAST]),
            "l": pa.array([[1], []]),
        }
    )
    path = tmp_path / "a.parquet"
    pq.write_table(table, path)
    assert Footer(path).millis() == {"ms", "odd name"}
    footer, raw = Footer(path), tmp_path / "raw.parquet"
    raw.write_bytes(path.read_bytes()[: footer.start] + footer.ending(millis=True))
    columns = "typeof(x), typeof(ms), typeof(us), " + identifier("odd name")
    with duckdb.connect() as duck:
        found = duck.execute(f"SELECT {columns} FROM read_parquet('{raw}')").fetchall()
        times = ("STRUCT(x BIGINT)", "BIGINT", "TIMESTAMP")
        assert found == [(*times, 1), (*times, LEAST)]
        asked = "SELECT path_in_schema, total_compressed_size FROM parquet_metadata('{}')"
        with without_types(str(path), memory_path("x")) as bare:
            assert len(duck.execute(asked.format(bare)).fetchall()) == 5
    (tmp_path / "b.parquet").write_bytes(b"PAR1\xff\xff\xff\x09\0\0\0PAR1")
    with pytest.raises(ValueError, match="footer"):
        Footer(tmp_path / "b.parquet")
    with without_types(str(tmp_path / "b.parquet"), memory_path("x")) as same:
        assert same == str(tmp_path / "b.parquet")
