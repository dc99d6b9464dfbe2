"""The owner's look: facts are exact, and what it says is kept is what a run keeps."""

from __future__ import annotations

import gzip
import json
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from ameles.connectors.csv_lines import CsvLines
from ameles.connectors.format import Format
from ameles.connectors.json_lines import JsonLines
from ameles.connectors.line_blocks import handed_over
from ameles.connectors.lines import Tally
from ameles.connectors.time_format import check_time_format
from ameles.core.exceptions import BadInput, SourceUnreadable
from ameles.engine.owner_check import advice, user_bounds
from ameles.engine.owner_check import look as looking
from ameles.engine.owner_check.check import check
from ameles.engine.owner_check.column_facts import FORMATS, shape_sql
from ameles.engine.owner_check.facts import CheckFinding, Facts
from ameles.engine.owner_check.held_values import not_held
from ameles.measures.measure import Measure
from ameles.plan.plan import Plan, read_plan_text
from ameles.store import open_store
from tests.engine.documents import GOOD
from tests.engine.worlds import COUNT, USER, WINDOW, World, day, row

NOW = datetime(2026, 3, 1, tzinfo=UTC)
PLAIN = '[[release]]\nname = "visits"\nmeasure = "count"\n'


def checked(plan: Plan, **options: Any) -> Facts:
    with closing(open_store(str(plan.base / "s.db"))) as store:
        return check(plan, store, now=options.pop("now", NOW), **options)


def told(facts: Facts) -> list[str]:
    return [f"{finding.what} {finding.mend}" for finding in facts.findings]


def column(facts: Facts, name: str) -> tuple[int, int, int]:
    (found,) = [one for one in facts.columns if one.name == name]
    return found.read, found.missing, found.unfit


# columns


def test_columns_are_read_missing_or_of_another_kind(tmp_path: Path) -> None:
    rows = [row(1), row(1, age=""), row(1, age="old"), row(1, age=3.5), row(1, who="", region="")]
    facts = checked(World(tmp_path).write(rows).plan)
    assert column(facts, "age") == (4, 1, 2)
    assert column(facts, "who") == column(facts, "region") == (4, 1, 0)
    assert column(facts, "at") == (5, 0, 0)
    (age,) = [one for one in facts.columns if one.name == "age"]
    assert {(one.shape, one.count, one.example) for one in age.shapes} == {
        ("aaa", 1, None),
        ("9.9", 1, None),
    }
    assert 'columns = { age = "number", ... }' in "".join(told(facts))


def test_values_are_shown_only_to_who_asks(tmp_path: Path) -> None:
    plan = World(tmp_path).write([row(1, age="canary"), row(1, region="canary-west")]).plan
    assert "canary" not in json.dumps(checked(plan).to_dict(), default=str)
    shown = checked(plan, show=True)
    assert [one.example for one in shown.columns[3].shapes] == ["canary"]
    assert shown.releases[0].others == {"region": [("canary-west", 1)]}


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        ("22.01.2020", "99.99.9999"),
        ("Ünï7-日", "Aaa9-a"),
        ("x" * 500, "a..a"),
        ("1234567890123", "9..9"),
        ("A" * 9 + "b" * 8, "A..Aaaaaaaaa"),
        ("a.b." * 50, "a.a." * 10),
        ("\x1b[2J", "\x1b[9A"),
    ],
)
def test_shapes(value: str, shape: str) -> None:
    sql = f"SELECT {shape_sql('CAST(? AS VARCHAR)')}"
    assert duckdb.execute(sql, [value]).fetchall() == [(shape,)]


@pytest.mark.parametrize(
    ("pattern", "mend"),
    [
        ("%d.%m.%Y", 'time_format = "%d.%m.%Y"'),
        ("%m/%d/%Y", 'time_format = "%m/%d/%Y"'),
        ("%d/%m/%Y %H:%M", 'time_format = "%d/%m/%Y %H:%M"'),
        ("%b %d, %Y", 'time_format = "%b %d, %Y"'),
        ("%s000", 'time_format = "epoch-ms"'),
    ],
)
def test_a_format_of_times_is_found(tmp_path: Path, pattern: str, mend: str) -> None:
    times = [f'"{datetime(2026, 1, number, 12):{pattern}}"' for number in range(1, 31)]
    rows = [",".join([time, *row(1).split(",")[1:]]) for time in times]
    facts = checked(World(tmp_path).write(rows).plan)
    assert (facts.times.without, facts.times.counted) == (30, 0)
    assert facts.findings[0].mend == mend


def test_the_formats_that_are_proposed_are_ones_that_a_plan_takes() -> None:
    for name in FORMATS:
        check_time_format([name])


def test_times_of_two_formats_and_iso_under_a_pattern(tmp_path: Path) -> None:
    """A pattern takes the place of ISO 8601, so it is not proposed alone where some times are."""
    world = World(tmp_path)
    rows = [row(1), *(",".join(["30.01.2026", *row(1).split(",")[1:]]) for _ in range(3))]
    mend = checked(world.write(rows).plan).findings[0].mend
    assert mend == 'time_format = "%d.%m.%Y", in a list with a pattern for the other times'
    world.text = world.text.replace("[privacy]", 'time_format = "%d.%m.%Y"\n[privacy]')
    facts = checked(world.write([row(1)]).plan)
    assert facts.findings[0].mend == "leave time_format out: these times are in ISO 8601"


def mended(world: World, line: str) -> Facts:
    world.text = world.text.replace("[privacy]", f"{line}\n[privacy]", 1)
    return checked(world.plan)


def test_what_is_proposed_mends(tmp_path: Path) -> None:
    world = World(tmp_path).write(row(1, amount="1.5") for _ in range(9))
    text = world.file.read_text()
    dated = text.replace("2026-01-01T12:00:00Z", "31.01.2026").replace("1.5", "1,5")
    world.file.write_text(dated.replace(",", ";").replace("1;5", "1,5"))
    world.text = world.text.replace("horizon = 8", "horizon = 80")
    facts = checked(world.plan)
    mends: list[str] = []
    while facts.findings and len(mends) < 9:
        mends.append(facts.findings[0].mend)
        facts = mended(world, mends[-1])
        if facts.findings and "south" in facts.findings[0].what:
            break
    assert mends == ['delimiter = ";"', 'time_format = "%d.%m.%Y"', 'decimal = ","']
    assert facts.releases[0].keys == {"north": 9, "south": 0}


def test_a_delimiter_at_the_end_is_mended_by_one_more_name(tmp_path: Path) -> None:
    world = World(tmp_path).write(row(1) + "," for _ in range(9))
    assert checked(world.plan).findings[0].mend.startswith("header = [")
    names = ", ".join(f'"{name}"' for name in [*world.plan.stream.columns, "nothing"])
    assert mended(world, f"header = [{names}]").times.counted == 9


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_delimiter_at_the_end_of_some_lines_is_mended_in_the_file(
    tmp_path: Path, delimiter: str
) -> None:
    """One more name would break the lines that are whole."""
    world = World(tmp_path).write([*[row(1)] * 9, *[row(1) + ","] * 2])
    world.file.write_text(world.file.read_text().replace(",", delimiter))
    written = delimiter.replace("\t", "\\t")
    world.text = world.text.replace("[privacy]", f'delimiter = "{written}"\n[privacy]', 1)
    finding = checked(world.plan).findings[0]
    assert finding.what.startswith("2 lines have one delimiter too many at their end")
    assert "header" not in finding.mend
    assert f"sed 's/{written}$//'" in finding.mend


def test_lines_with_fewer_fields_than_header_are_told_the_header(tmp_path: Path) -> None:
    world = World(tmp_path).write([row(1)] * 9)
    names = ", ".join(f'"{name}"' for name in [*world.plan.stream.columns, "nothing"])
    facts = mended(world, f"header = [{names}]")
    assert "fewer fields than header has names" in facts.findings[0].what
    assert facts.findings[0].mend.startswith("header = [...], with as many names")


def test_nothing_is_proposed_that_the_plan_has(tmp_path: Path) -> None:
    world = World(tmp_path, stream='delimiter = ";"\nstrip = true\ntime_format = ["%d.%m.%Y"]')
    plan = world.plan

    def left(mend: str, release: Measure | None = None) -> str:
        return not_held(plan, CheckFinding("x", mend), release).mend

    assert left('delimiter = ";", or what separates them') == ""
    assert left('delimiter = "|"') == 'delimiter = "|"'
    assert left("strip = true, for spaces; or other keys") == "other keys"
    assert left('time_format = "%d.%m.%Y"') == ""
    assert left('encoding = "utf-8"') == "", "a default is a value too"
    assert left('encoding = "utf-16"; or encoding = "utf-8"') == 'encoding = "utf-16"'
    assert left("horizon = 8") == left('start = "2026-01-01"') == left("epsilon = 1") == ""
    assert left("horizon = 9") == "horizon = 9"
    assert left("other = true") == left("other = true", plan.releases[0]) == "other = true"
    world.text = world.text.replace("[[release]]", "[[release]]\nother = true")
    assert left("other = true", world.plan.releases[0]) == ""


@pytest.mark.parametrize(
    "stream", ['delimiter = ";"', 'encoding = "latin-1"', 'last_line = "take"', 'grace = "1h"']
)
def test_no_look_at_spoilt_lines_proposes_what_the_plan_has(tmp_path: Path, stream: str) -> None:
    world = World(tmp_path, stream=stream)
    rows = [row(1), row(1) + ",", row(1, who='"a'), "x", row(9), row(0), row(1, amount="1,5;;;")]
    for delimiter in ",;":
        world.write([*rows, row(1, who="f\xe9e").encode("latin-1")])
        world.file.write_bytes(world.file.read_bytes().replace(b",", delimiter.encode())[:-1])
        assert stream not in "".join(told(checked(world.plan)))


def test_two_formats_that_fit_alike_are_both_told(tmp_path: Path) -> None:
    rows = [",".join(["03/04/2026", *row(1).split(",")[1:]])]
    mend = checked(World(tmp_path).write(rows).plan).findings[0].mend
    assert mend == 'time_format = "%d/%m/%Y" or time_format = "%m/%d/%Y"'


def test_a_decimal_comma_is_found(tmp_path: Path) -> None:
    facts = checked(World(tmp_path).write([row(1, amount='"3,5"')]).plan)
    assert facts.findings[0].mend == 'decimal = ","'


# times


def test_times_before_after_and_without(tmp_path: Path) -> None:
    rows = [row(0), row(1), row(8), row(9), row(9), "," + row(1).partition(",")[2]]
    facts = checked(World(tmp_path).write(rows).plan)
    times = facts.times
    assert (times.without, times.before, times.after, times.counted) == (1, 1, 2, 2)
    assert (times.first, times.last) == (day(0), day(9))
    assert "horizon = 9" in "".join(told(facts))
    assert 'start = "2025-12-31"' in "".join(told(facts))


def test_a_start_is_proposed_in_the_zone_of_the_plan(tmp_path: Path) -> None:
    world = World(tmp_path, stream='zone = "Europe/Berlin"')
    world.write([row(-1, hour=23), row(1)])
    (finding,) = [one for one in checked(world.plan).findings if "before the start" in one.what]
    assert finding.mend.startswith('start = "2025-12-31"'), "23:00 UTC is the next day there"


def test_what_would_be_chosen_by_looking_is_marked(tmp_path: Path) -> None:
    bounded = "lower = 0\nupper = 2\ngranularity = 1\n"
    spent = f'[[release]]\nname = "spent"\nmeasure = "sum"\ncolumn = "amount"\n{bounded}'
    releases = COUNT + spent
    world = World(tmp_path, releases, unit=USER)
    rows = [*busy(), row(0), row(9), row(1, who="c", amount=9, region="moon", age="x")]
    facts = checked(world.write([*rows, *[row(1, who="d", amount=7, region="moon")] * 3]).plan)
    marked = {one.mend.split(" ")[0] for one in facts.findings if one.by_looking}
    assert marked == {"start", "horizon", "max_per_step", "other", "lower"}
    assert [one.by_looking for one in facts.findings if "columns" in one.mend] == []


def test_a_time_that_no_date_has_is_no_trouble(tmp_path: Path) -> None:
    rows = [row(1), ",".join(["20000-01-01", *row(1).split(",")[1:]])]
    facts = checked(World(tmp_path).write(rows).plan)
    assert (facts.times.after, facts.times.last) == (1, day(1))
    assert "horizon = " not in "".join(told(facts)), "a shorter one mends nothing"


def test_no_start_is_proposed_that_is_later_than_the_plans(tmp_path: Path) -> None:
    rows = [row(2), ",".join(["1965-01-01", *row(1).split(",")[1:]])]
    facts = checked(World(tmp_path).write(rows).plan)
    assert facts.times.before == 1
    assert "start = " not in "".join(told(facts))


def test_steps_to_come_wait_and_the_far_future_counts_nowhere(tmp_path: Path) -> None:
    world = World(tmp_path, horizon=None).write([row(1), row(3), row(3), row(20_000)])
    times = checked(world.plan, now=day(3, 0)).times
    assert (times.waiting, times.after, times.counted) == (2, 1, 3)


@pytest.mark.parametrize(("late", "counted"), [("next", 3), ("drop", 1)])
def test_of_a_launched_stream_what_is_new_may_be_late(
    tmp_path: Path, late: str, counted: int
) -> None:
    world = World(tmp_path, stream=f'late = "{late}"').write([row(1), row(2)])
    world.earnest(2)
    world.append([row(1), row(2), row(3)])
    facts = checked(world.plan)
    assert facts.released == 2
    assert (facts.lines.events, facts.times.late, facts.times.counted) == (3, 2, counted)
    everything = checked(world.plan, whole=True)
    assert (everything.lines.events, everything.times.late) == (5, 0)


def test_a_plan_that_changed_since_the_launch_is_told(tmp_path: Path) -> None:
    world = World(tmp_path, unit=USER).write([row(1), row(2)])
    world.earnest(2)
    world.text = world.text.replace("max_steps = 3", "max_steps = 2")
    facts = checked(world.plan)
    assert "has changed since its stream was launched" in facts.findings[0].what
    assert facts.lines.events == 2


def test_of_a_stream_that_has_ended_all_is_looked_at(tmp_path: Path) -> None:
    world = World(tmp_path).write([row(1), row(2)])
    world.earnest(8)
    facts = checked(world.plan)
    assert (facts.released, facts.times.counted) == (0, 2)
    assert "released its last step" in facts.findings[0].what


# lines


def test_broken_lines_by_what_is_broken(tmp_path: Path) -> None:
    lines: list[str | bytes] = [
        row(1),
        row(1, who='"a, b"'),
        row(1) + ",",
        row(1) + ",more",
        "2026-01-01,ada",
        row(1, who='"ada'),
        row(1, who='a"d"a'),
        row(1, who="a\0a"),
        row(1, who="a" * (1 << 20)),
        row(1, who="b" * (12 << 20)),  # longer than what is read at a time
        "",
        b"\xff" + row(1).encode(),
        row(1, who="f\xe9e").encode("latin-1"),
    ]
    facts = checked(World(tmp_path).write(lines).plan)
    assert dict(facts.lines.flaws) == {
        "trailing delimiter": 1,
        "too many fields": 1,
        "too few fields": 1,
        "open quote": 1,
        "bad quotes": 1,
        "NUL": 1,
        "too long": 2,
    }
    assert (facts.lines.events, facts.lines.replaced) == (4, 2)
    whole = "".join(told(facts))
    assert "1 line has one delimiter too many at its end" in whole
    assert "ameles convert FILE out.parquet" in whole
    assert 'encoding = "windows-1252"' in whole


CSV = ["a", ",", '"', '""', "\0", " ", "\r"]
OTHER_CSV = [piece.replace(",", ";").replace('"', "'") for piece in CSV]
JSON = ['{"a":1', "}", "{}", " ", "\t", "x", '"b":[', "1", ","]


@pytest.mark.parametrize(
    ("dialect", "pieces", "form"),
    [
        (CsvLines, CSV, Format()),
        (CsvLines, CSV, Format(strip=True)),
        (CsvLines, CSV, Format(quote="")),
        (CsvLines, OTHER_CSV, Format(delimiter=";", quote="'")),
        (JsonLines, JSON, Format()),
    ],
)
def test_a_line_is_an_event_or_has_a_flaw(
    dialect: type[Any], pieces: list[str], form: Format
) -> None:
    """All texts of up to five of these pieces: counted by the readers, and by what is said."""
    texts = [""]
    for _ in range(5):
        texts += {text + piece for text in texts for piece in pieces}
    lines = sorted(set(texts))
    reader = dialect({"a": "text", "b": "text"}, form)
    reader.tally = Tally()
    with duckdb.connect() as duck:
        blocks = ["".join(f"{line}\n" for line in lines).encode()]
        events = 0
        for relation in handed_over(duck, reader, ("a", "b"), blocks):
            ((count,),) = duck.execute(f"SELECT count(*) FROM {relation}").fetchall()
            events += count
    empty = sum(line.removesuffix("\r") == "" for line in lines)
    assert 0 < events < len(lines)
    assert events + sum(reader.tally.flaws.values()) == len(lines) - empty


def test_json_that_is_none_and_columns_that_never_occur(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.text = world.text.replace("events.csv", "events.jsonl")
    good = {"at": "2026-01-01", "who": "ada", "region": "north", "age": 7, "amount": 1}
    lines = [json.dumps(good), "[1]", "7", '{"at": ', json.dumps({**good, "age": "x"})]
    (tmp_path / "events.jsonl").write_text("\n".join(lines) + "\n")
    facts = checked(world.plan)
    assert dict(facts.lines.flaws) == {"no object": 2, "no JSON": 1}
    assert column(facts, "age") == (2, 0, 1)
    assert column(facts, "fever") == (0, 2, 0)
    assert any("'fever' never has a value" in one and "user.id" in one for one in told(facts))


def test_parquet_has_facts_too(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.text = world.text.replace("events.csv", "events.parquet")
    world.write([row(1), row(2, age=""), row(9, region="moon")])
    duckdb.execute(f"COPY (SELECT * FROM read_csv('{world.file}')) TO '{tmp_path}/events.parquet'")
    facts = checked(world.plan)
    assert facts.lines.events == 3
    assert column(facts, "age") == (2, 1, 0)
    assert (facts.times.after, facts.times.counted) == (1, 2)
    assert facts.releases[0].keys == {"north": 2, "south": 0}


# files


def test_an_empty_file_and_one_with_a_first_line_alone(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.file.write_bytes(b"")
    facts = checked(world.plan)
    assert told(facts) == [
        "The file 'events.csv' is empty. wait for what writes it",
        "The source has no events. ",
    ]
    assert told(checked(world.write([]).plan)) == ["The source has no events. "]


def test_an_empty_compressed_file_is_said_to_be_so_once(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.text = world.text.replace("events.csv", "events.csv.gz")
    (tmp_path / "events.csv.gz").touch()
    assert told(checked(world.plan)) == [
        "The file 'events.csv.gz' is empty. wait for what writes it",
        "The source has no events. ",
    ]
    (tmp_path / "events.csv.gz").write_bytes(b"\x1f\x8b")
    assert "The file 'events.csv.gz' is not complete" in told(checked(world.plan))[0]


def test_a_last_line_without_its_newline_waits_or_is_taken(tmp_path: Path) -> None:
    world = World(tmp_path).write([row(1), row(2)])
    world.file.write_bytes(world.file.read_bytes().rstrip(b"\n"))
    facts = checked(world.plan)
    assert facts.lines.events == 1
    assert [one.mend for one in facts.findings if "newline" in one.what] == ['last_line = "take"']
    world.text = world.text.replace("[privacy]", 'last_line = "take"\n[privacy]')
    facts = checked(world.plan)
    assert facts.lines.events == 2
    assert not [one for one in facts.findings if "newline" in one.what]


def spoilt(world: World, how: str) -> bytes:
    text = world.write([row(1), row(2)]).file.read_text()
    match how:
        case "semicolons":
            return text.replace(",", ";").encode()
        case "tabs":
            return text.replace(",", "\t").encode()
        case "utf-16":
            return text.encode("utf-16")
        case "utf-16-be":
            return text.encode("utf-16-be")
        case "headerless":
            return text.partition("\n")[2].encode()
        case "capitals":
            return text.replace("region", "Region").encode()
    return gzip.compress(text.encode())


@pytest.mark.parametrize(
    ("how", "mend"),
    [
        ("semicolons", 'delimiter = ";"'),
        ("tabs", 'delimiter = "\\t"'),
        ("utf-16", 'encoding = "utf-16"'),
        ("utf-16-be", 'encoding = "utf-16-be"'),
        ("headerless", "header = [...], with the names of its 6 fields"),
        ("capitals", 'columns = { "Region" = ...'),
        ("compressed", "mv events.csv events.csv.gz"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_mend(tmp_path: Path, how: str, mend: str) -> None:
    world = World(tmp_path)
    world.file.write_bytes(spoilt(world, how))
    facts = checked(world.plan)
    assert facts.unreadable or not facts.lines.events
    assert facts.findings[0].mend.startswith(mend)
    assert "2026-01" not in json.dumps(facts.to_dict()), (
        "a first line that is an event is not shown"
    )


def test_without_a_store_it_is_as_with_an_empty_one(tmp_path: Path) -> None:
    world = World(tmp_path, unit=USER).write(busy())
    assert check(world.plan, None, now=NOW) == checked(world.plan)


def test_a_source_of_which_nothing_can_be_opened(tmp_path: Path) -> None:
    world = World(tmp_path)
    with pytest.raises(SourceUnreadable, match="No file matches") as refusal:
        checked(world.plan)
    assert refusal.value.exit_code == 1


def test_one_file_of_several_that_cannot_be_read_is_named_with_its_mend(tmp_path: Path) -> None:
    world = World(tmp_path).write([row(1), row(2)])
    world.text = world.text.replace("events.csv", "*.csv")
    (tmp_path / "more.csv").write_text(world.file.read_text().replace(",", ";"))
    facts = checked(world.plan)
    assert (facts.lines.events, facts.unreadable) == (2, "")
    assert [one.name for one in facts.files] == ["events.csv", "more.csv"]
    whole = "".join(told(facts))
    assert "The file 'more.csv' has no column 'at' in its first line." in whole
    assert 'delimiter = ";"' in whole


def test_standard_input_is_looked_at_in_a_sample(tmp_path: Path) -> None:
    world = World(tmp_path, unit=USER)
    world.write([row(1, who="bob"), row(1), row(1), row(1, age="x")])
    plain = checked(world.plan)
    world.text = world.text.replace('"events.csv"', '"-"')
    with pytest.raises(BadInput, match="standard input"):
        checked(world.plan)
    facts = checked(world.plan, sample=world.file)
    facts.source = plain.source
    for file in (*facts.files, *plain.files):
        file.name = ""
    assert facts == plain
    world.text = world.text.replace('time = "at"\n', "")
    users = checked(world.plan, sample=world.file).users
    assert users is not None
    assert users.kept == 3, "as if all of them came in one step"


def test_a_sample_is_for_standard_input_alone_and_must_be_there(tmp_path: Path) -> None:
    world = World(tmp_path).write([])
    with pytest.raises(BadInput, match="--sample is for standard input"):
        checked(world.plan, sample=world.file)
    world.text = world.text.replace('"events.csv"', '"-"')
    with pytest.raises(SourceUnreadable):
        checked(world.plan, sample=tmp_path / "none.csv")


# releases


def test_keys_that_are_declared_nearly_declared_and_not(tmp_path: Path) -> None:
    regions = ["north", "north", "North", " south", "east", ""]
    facts = checked(World(tmp_path).write([row(1, region=one) for one in regions]).plan)
    (release,) = facts.releases
    assert (release.matched, release.counted) == (6, 2)
    assert release.keys == {"north": 2, "south": 0}
    assert (release.undeclared, release.nearly) == ({"region": 4}, {"region": 2})
    whole = "".join(told(facts))
    assert "2 events of release 'visits' would have a key of 'region' if capitals" in whole
    assert "1 key of release 'visits' has no event: south." in whole


def test_keys_that_count_as_other_are_no_trouble(tmp_path: Path) -> None:
    world = World(tmp_path, COUNT + "other = true\n")
    facts = checked(world.write([row(1, region=one) for one in ("north", "south", "east")]).plan)
    assert facts.releases[0].keys == {"north": 1, "south": 1, "other": 1}
    assert told(facts) == []


def test_what_is_proposed_for_a_release_is_not_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(advice, "_release", lambda *_: iter([CheckFinding("x", "other = true")]))
    world = World(tmp_path).write([row(1)])
    assert told(checked(world.plan)) == ["x other = true"]
    world.text = world.text.replace("[[release]]", "[[release]]\nother = true")
    assert told(checked(world.plan)) == ["x "]


def test_values_beyond_the_edges_that_count_as_other_are_no_trouble(tmp_path: Path) -> None:
    ages = '[[release]]\nname = "ages"\nmeasure = "histogram"\ncolumn = "age"\nedges = [0, 50]\n'
    world = World(tmp_path, ages + "other = true\n")
    facts = checked(world.write([row(1, age=7), row(1, age=70), row(1, age="")]).plan)
    assert facts.releases[0].keys == {"[0,50]": 1, "other": 2}
    assert told(facts) == []


def test_conditions_values_bounds_and_edges(tmp_path: Path) -> None:
    plan = read_plan_text(GOOD, base=tmp_path)
    rows = [
        row(1, who="a", amount=-6, age=17),
        row(1, who="b", amount=-5, age=-1),
        row(1, who="c", amount=20, age=65),
        row(1, who="d", amount=20.5, age=66),
        row(1, who="e", amount="", age="", fever="false"),
    ]
    World(tmp_path).write(rows)
    found = {one.name: one for one in checked(plan).releases}
    assert (found["visits"].matched, found["visits"].counted) == (2, 2)
    assert found["visits"].keys["north/true"] == 2
    for name in ("spent", "average"):
        one = found[name]
        assert (one.matched, one.counted, one.valueless) == (5, 4, 1)
        assert (one.below, one.above) == (1, 1)
    for name, counted in (("ages", 2), ("median", 4)):
        one = found[name]
        assert (one.counted, one.valueless, one.below, one.above) == (counted, 1, 1, 1)
    assert found["ages"].keys == {"[0,18)": 1, "[18,65]": 1}
    assert found["median"].keys == {"": 4}
    assert found["kinds"].undeclared == {"region": 5}


def test_weights(tmp_path: Path) -> None:
    world = World(tmp_path, PLAIN, stream='weight = "age"')
    weights = [3, -1, 0, "", 1 << 50, 2.5]
    facts = checked(world.write([row(1, age=one) for one in weights]).plan)
    found = facts.weights
    assert found is not None
    assert (found.missing, found.negative, found.zero, found.clamped) == (2, 1, 1, 1)
    assert found.total == facts.releases[0].keys[""] == 3 - 1 + (1 << 40)
    assert facts.times.counted == 4


# users and bounds


def busy() -> list[str]:
    """ada: 5 events in step 1, 1 in steps 2 to 6; bob: 1; one without an id."""
    many = [row(1, hour=hour) for hour in range(5)] + [row(step) for step in range(2, 7)]
    return [*many, row(4, who="bob"), row(4, who="")]


def test_users_and_what_bounds_leave_of_them(tmp_path: Path) -> None:
    users = checked(World(tmp_path, unit=USER).write(busy()).plan).users
    assert users is not None
    assert (users.without, users.users, users.events) == (1, 2, 11)
    assert (users.most_in_a_step, users.most_steps) == (5, 6)
    assert (users.kept, users.bounded) == (2 + 1 + 1 + 1, 1)
    table = {(one.max_per_step, one.max_steps): one.kept for one in users.choices}
    assert table[1, 1] == 2
    assert table[2, 3] == users.kept
    assert table[5, 5] == 10
    assert {a for a, _ in table} == {1, 2, 3, 5}
    assert {b for _, b in table} == {1, 2, 3, 5}, "at most the horizon"


@pytest.mark.parametrize(("without", "mended"), [(2, False), (3, True)])
def test_a_few_events_without_an_id_are_no_fault_of_the_plan(
    tmp_path: Path, without: int, mended: bool
) -> None:
    rows = [row(1)] * (200 - without) + [row(1, who="")] * without
    facts = checked(World(tmp_path, unit=USER).write(rows).plan)
    (found,) = [one for one in facts.findings if "without an id" in one.what]
    assert found.mend.startswith("user = ") is mended  # from a hundredth of the events on


def test_the_noise_beside_bounds_is_that_of_a_plan_with_them(tmp_path: Path) -> None:
    world = World(tmp_path, unit=USER).write(busy())
    users = checked(world.plan).users
    assert users is not None
    (choice,) = [one for one in users.choices if (one.max_per_step, one.max_steps) == (5, 2)]
    world.text = world.text.replace(USER, USER.replace("= 2", "= 5").replace("= 3", "= 2"))
    plan = world.plan
    release = plan.releases[0]
    recipe, terms = plan.recipes[release.name], plan.terms(release)
    assert choice.half_widths == {
        "visits": float(release.half_widths(recipe, terms, np.array([8]))[0])
    }


@pytest.mark.parametrize("unit", [USER, WINDOW])
@pytest.mark.parametrize(("per_step", "max_steps"), [(1, 1), (1, 3), (2, 2), (3, 4)])
def test_what_is_said_to_be_kept_is_what_a_run_keeps(
    tmp_path: Path, unit: str, per_step: int, max_steps: int
) -> None:
    bounds = f"max_per_step = {per_step}\nmax_steps = {max_steps}"
    given = "max_per_step = 2\nmax_steps = " + ("2" if unit == WINDOW else "3")
    world = World(tmp_path, PLAIN, unit=unit.replace(given, bounds))
    people = [(step * 7 + n) % 5 for step in range(1, 9) for n in range(step)]
    rows = [row(1 + n % 8, who=f"u{who}", hour=n % 24) for n, who in enumerate(people)]
    world.write([*rows, *busy(), row(0), row(9), row(2, who=""), "broken"])
    users = checked(world.plan).users
    world.run(8)
    assert users is not None
    assert users.kept == world.values(key="")[-1]
    assert 0 < users.kept < users.events


def test_what_is_said_to_be_counted_by_key_is_what_a_run_counts(tmp_path: Path) -> None:
    world = World(tmp_path, COUNT + 'where = "age > 17"\nother = true\n')
    regions = ["north", "south", "moon", ""]
    world.write(row(n % 10, region=regions[n % 4], age=n) for n in range(60))
    (release,) = checked(world.plan).releases
    world.run(8)
    assert sum(release.keys.values()) == release.counted > 0
    for key, count in release.keys.items():
        assert world.values(key=key)[-1] == count


@pytest.mark.parametrize("unit", [USER, WINDOW])
def test_shares_of_users_and_of_the_source_change_nothing(
    tmp_path: Path, unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [row(1 + n % 8, who=f"u{n % 13}", hour=n % 24) for n in range(400)]
    plan = World(tmp_path, unit=unit).write([*rows, *busy()]).plan
    whole = checked(plan)
    monkeypatch.setattr(user_bounds, "_ROWS", 7)
    monkeypatch.setattr(looking, "_BYTES_A_PASS", 5000)
    assert checked(plan) == whole


def test_users_whose_state_may_be_seized_have_no_bounds(tmp_path: Path) -> None:
    seized = 'unit = "user"\nuser = "who"\nintrusions = "one"'
    distinct = '[[release]]\nname = "people"\nmeasure = "distinct"\ntable = 100\n'
    world = World(tmp_path, distinct, unit=seized)
    world.text = world.text.replace('"events.csv"', '"-"').replace('time = "at"\n', "")
    users = checked(world.plan, sample=world.write(busy()).file).users
    assert users is not None
    assert (users.users, users.events, users.choices) == (2, 11, [])


def test_nothing_of_it_prints_itself(tmp_path: Path) -> None:
    facts = checked(World(tmp_path, unit=USER).write([row(1)] * 4217).plan)
    assert facts.lines.events == 4217
    parts = [facts, facts.lines, facts.times, facts.users, *facts.columns, *facts.releases]
    assert "421" not in "".join(map(repr, parts))
