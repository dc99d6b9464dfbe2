"""``python -m ameles.simulate``: a season of made-up visits, written to a file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from ameles.core.exceptions import AmelesError, BadInput
from ameles.core.parameters import exact, refuse
from ameles.simulate.files import write_csv, write_hourly_csv, write_parquet
from ameles.simulate.visits import season

_WRITERS = {".csv": write_csv, ".parquet": write_parquet}

_EXAMPLES = """\
Examples:
  python -m ameles.simulate --events 20000 --out visits.csv
  python -m ameles.simulate --events 2e5 --seed 7 --out visits.parquet
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the file that the arguments describe; return the exit code."""
    given = _parser().parse_args(arguments)
    try:
        _write(given)
    except AmelesError as refusal:
        sys.stderr.write(f"{refusal}\n")
        return refusal.exit_code
    sys.stderr.write(f"Wrote {given.out}.\n")
    return 0


def _write(given: argparse.Namespace) -> None:
    write = _WRITERS.get(given.out.suffix.lower())
    if write is None:
        raise refuse("out", "a file that ends in .csv or .parquet", str(given.out))
    if given.hourly:
        if write is not write_csv:
            raise refuse("out", "a file that ends in .csv, with --hourly", str(given.out))
        write = write_hourly_csv
    if given.out.exists():
        raise BadInput(
            f"The file '{given.out}' exists already.",
            why="it may hold visits of real people",
            tip="another name, or remove it first",
        )
    write(
        given.out,
        season(
            days=_count(given.days, "days"),
            visitors=None if given.visitors is None else _count(given.visitors, "visitors"),
            events=None if given.events is None else _count(given.events, "events"),
            start=given.start,
            seed=_count(given.seed, "seed"),
            flaws=float(exact(given.flaws, "flaws")),
        ),
    )


def _count(text: str, name: str) -> int:
    """A whole number; 1e6 is one, too."""
    number: Fraction = exact(text, name)
    if number.denominator != 1:
        raise refuse(name, "a whole number", text)
    return int(number)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ameles.simulate",
        description="Write a season of made-up visits to an influenza self-assessment site.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="FILE", help="a new .csv or .parquet file")
    add("--events", metavar="COUNT", help="visits (100000, or three a visitor)")
    add("--visitors", metavar="COUNT", help="people who may come (a third of the visits)")
    add("--days", default="182", metavar="COUNT", help="length of the season (182)")
    add("--start", default="2025-10-01", metavar="DATE", help="its first day, UTC (2025-10-01)")
    add("--seed", default="0", metavar="NUMBER", help="the same seed gives the same visits (0)")
    add("--hourly", action="store_true", help="write only the number of visits in each hour")
    add(
        "--flaws",
        default="0",
        metavar="PART",
        help="share of visits with each flaw: late, duplicated, broken, incomplete, abroad (0)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
