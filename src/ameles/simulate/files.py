"""A season written to a file: CSV like the log of a site, or Parquet with types.

DuckDB formats and writes, block by block, so memory does not grow with the number of visits.
A file appears whole or not at all: it gets its name when it is finished.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from ameles.core.exceptions import BadInput
from ameles.simulate.visits import Season, Visits
from ameles.simulate.wave import OFFSET, REGIONS

COLUMNS = ("reported_at", "device", "region", "age", "fever", "cough", "temperature")

_DEVICE = "printf('%08x', device)"
_REGION = f"{[*REGIONS, 'abroad']}[region + 1]"
# With the site's offset, as ISO 8601 has it.
_LOCAL = f"strftime(reported_at + INTERVAL {OFFSET} HOUR, '%Y-%m-%dT%H:%M:%S+{OFFSET:02}:00')"


def write_csv(path: str | Path, season: Season) -> None:
    """The season as CSV with a header; times carry the site's offset from UTC."""
    line = _line() if season.flaws.unparsable == 0 else _CASES
    with (
        _finished(Path(path)) as (part, _),
        _duckdb() as reader,
        # The line feed is the same everywhere, so that a seed gives the same bytes.
        part.open("w", encoding="utf-8", newline="\n") as file,
    ):
        file.write(",".join(COLUMNS) + "\n")
        for visits in season:
            reader.register("block", _columns(visits))
            lines = reader.execute(f"SELECT {line} AS line FROM block").fetchnumpy()["line"]
            file.write("\n".join(lines) + "\n")


def write_hourly_csv(path: str | Path, season: Season) -> None:
    """The file of a site that keeps no visits: how many there were, by hour, region and fever."""
    tally = (
        "SELECT date_trunc('hour', reported_at) AS reported_at, region, fever, {0} AS n "
        "FROM {1} GROUP BY ALL"
    )
    with _finished(Path(path)) as (part, _), _duckdb() as writer:
        for number, visits in enumerate(season):
            writer.register("block", _columns(visits))
            verb = "INSERT INTO hours" if number else "CREATE TABLE hours AS"
            writer.execute(f"{verb} {tally.format('count(*)', 'block')}")
        writer.execute(
            f"COPY (SELECT {_LOCAL} AS reported_at, {_REGION} AS region, fever, n "
            # An hour may have begun in one block and ended in the next.
            f"FROM ({tally.format('sum(n)::BIGINT', 'hours')}) AS hours "
            f"ORDER BY hours.reported_at, hours.region, fever) TO {_text(part)} "
            "(FORMAT csv, HEADER)"
        )


def write_parquet(path: str | Path, season: Season) -> None:
    """The season as one Parquet file."""
    if season.flaws.unparsable:
        raise BadInput(
            "The 'unparsable' flaw cannot be written to Parquet.",
            why="its columns have types, so every value in it parses",
            tip="a .csv file, or Flaws(...) without unparsable",
        )
    with (
        _finished(Path(path)) as (part, folder),
        # A Parquet file is written by one statement, so the blocks wait on disk.
        _duckdb(folder / "visits.db") as writer,
    ):
        for number, visits in enumerate(season):
            writer.register("block", _columns(visits))
            verb = "INSERT INTO visits" if number else "CREATE TABLE visits AS"
            writer.execute(f"{verb} SELECT * FROM block")
        writer.execute(
            f"COPY (SELECT to_timestamp(epoch(reported_at)) AS reported_at, {_DEVICE} AS device, "
            f"{_REGION} AS region, age::INTEGER AS age, fever, cough, temperature FROM visits) "
            f"TO {_text(part)} (FORMAT parquet, COMPRESSION zstd)"
        )


def _line(**instead: str) -> str:
    """SQL: a visit as a line of CSV, with some of its fields replaced."""
    written = {name: name for name in COLUMNS}
    written |= {"reported_at": _LOCAL, "device": _DEVICE, "region": _REGION} | instead
    # A missing value is an empty field; concat_ws alone would leave out its comma as well.
    texts = [f"coalesce(({value})::VARCHAR, '')" for value in written.values()]
    return f"concat_ws(',', {', '.join(texts)})"


# How a line is broken, for each number in Visits.damage from 1 to DAMAGES.
_BROKEN = (
    _line(reported_at="'yesterday'"),
    _line(age="'forty'"),
    _line(region=f"'\"' || {_REGION}"),  # a quote that is never closed
    _line(temperature="'37,2'"),  # one comma too many
    f"left({_line()}, 30)",  # cut within the device
)
_WHEN = " ".join(f"WHEN {number} THEN {line}" for number, line in enumerate(_BROKEN, start=1))
_CASES = f"CASE damage {_WHEN} ELSE {_line()} END"


@contextmanager
def _duckdb(file: Path | str = ":memory:") -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(file, config={"memory_limit": "1GB"}) as connection:
        # DuckDB would draw it on standard output, which is for results.
        connection.execute("SET enable_progress_bar = false")
        yield connection


def _columns(visits: Visits) -> dict[str, object]:
    return {field.name: getattr(visits, field.name) for field in fields(visits)}


def _text(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


@contextmanager
def _finished(path: Path) -> Iterator[tuple[Path, Path]]:
    """A file to write and a folder beside it; the file gets its name if all went well."""
    try:
        with TemporaryDirectory(dir=path.parent, prefix=".simulate-") as folder:
            part = Path(folder) / "part"
            yield part, Path(folder)
            part.replace(path)
    except (OSError, duckdb.IOException) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "the disk refused"
        raise BadInput(
            f"The file '{path}' cannot be written: {reason}.",
            tip="a folder that exists, that you may write to, on a disk with room",
        ) from problem
