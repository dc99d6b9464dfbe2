"""Advice is tried on the source before it is given: it gains, and nothing means something else."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import duckdb
import pytest

from ameles.connectors.files.named_files import NamedFile
from ameles.engine.owner_check import trial as trying
from ameles.engine.owner_check.trial import Change, Trial, document_of
from ameles.plan.plan import check_plan, read_plan
from tests.engine.owner_check.looks import NOW, checked, mended, told
from tests.engine.worlds import EVENT, USER, World, row

PLANS = Path(__file__).parents[3] / "examples" / "plans"


def dated(world: World, times: Iterable[str]) -> World:
    return world.write(f'"{time}",' + row(1).partition(",")[2] for time in times)


def amounts(world: World, values: Iterable[str]) -> World:
    return world.write(row(1, amount=f'"{value}"') for value in values)


def about(world: World, name: str) -> str:
    """What is said about a column."""
    return " ".join(one for one in told(checked(world.plan)) if f"'{name}'" in one)


@pytest.mark.parametrize("file", sorted(PLANS.glob("*.toml")), ids=lambda file: file.stem)
def test_a_plan_is_the_one_that_its_document_says(file: Path) -> None:
    plan = read_plan(file)
    assert check_plan(document_of(plan), base=plan.base).to_json() == plan.to_json()


@pytest.mark.parametrize(
    "values",
    [
        [" 1,137 ", "950", "2,050"],  # 1,137 would become 1.137, and nothing would look wrong
        ["1,137,000", "950"],
        ["1,137.50", "12.5", "7"],
        ["1'137", "950"],
        ["1\u202f137", "950"],
    ],
)
def test_a_mark_between_thousands_is_not_taken_for_a_comma(
    tmp_path: Path, values: list[str]
) -> None:
    said = about(amounts(World(tmp_path), values), "amount")
    assert "a mark between thousands" in said
    assert "a plan cannot name such a mark yet" in said
    assert "decimal" not in said


def test_a_mark_between_thousands_of_integers_is_not_a_fraction(tmp_path: Path) -> None:
    world = World(tmp_path).write(row(1, age=value) for value in ("1.137", "950"))
    said = about(world, "age")
    assert "number" not in said.partition("values")[2].partition(".")[0]
    assert 'age = "number"' not in said
    assert "a plan cannot name such a mark yet" in said


@pytest.mark.parametrize("values", [["1,137", "3,5"], ["0,137", "1,137"], ["1234,567"]])
def test_a_decimal_comma_that_can_be_nothing_else_is_advised(
    tmp_path: Path, values: list[str]
) -> None:
    world = amounts(World(tmp_path), values)
    assert 'decimal = ","' in about(world, "amount")
    assert checked(world.plan).findings[0].mend == 'decimal = ","'
    assert "amount" not in "".join(told(mended(world, 'decimal = ","')))


def test_a_comma_is_not_advised_where_dots_would_stop_to_fit(tmp_path: Path) -> None:
    said = about(amounts(World(tmp_path), ["1.5", "2.5", "3,5"]), "amount")
    assert "decimal" not in said


def test_dots_that_may_stand_between_thousands_are_said_although_all_fit(tmp_path: Path) -> None:
    assert "a thousand times too small" in about(
        amounts(World(tmp_path), ["1.137", "950"]), "amount"
    )
    for sound in (["1.137", "0.950"], ["1.137", "950.25"], ["1.137", "2.500"]):
        assert "thousand" not in about(amounts(World(tmp_path), sound), "amount")


US = [f"{month:02}/{day:02}/2026" for month in (1, 2) for day in range(1, 29)]


def test_of_days_that_one_pattern_fits_no_list_is_advised(tmp_path: Path) -> None:
    """With a list of both patterns, the first twelve days of each month would be other days."""
    world = dated(World(tmp_path, stream='time_format = "%d/%m/%Y"'), US)
    finding = checked(world.plan).findings[0]
    assert finding.mend == 'time_format = "%m/%d/%Y"'
    assert "gives those that fit today another meaning" in finding.what
    world.text = world.text.replace('time_format = "%d/%m/%Y"', finding.mend)
    world.text = world.text.replace("horizon = 8", "horizon = 59")
    facts = checked(world.plan)
    assert (facts.times.without, facts.times.counted) == (0, len(US))
    assert "pattern" not in "".join(told(facts))


def test_a_list_that_mixes_days_and_months_is_told_with_the_pattern_that_is_right(
    tmp_path: Path,
) -> None:
    both = 'time_format = ["%d/%m/%Y", "%m/%d/%Y"]'
    finding = checked(dated(World(tmp_path, stream=both), US).plan).findings[0]
    assert "give different days" in finding.what
    assert finding.mend == 'time_format = "%m/%d/%Y"'


def test_times_that_no_pattern_fits_alone_get_a_list_without_contradictions(
    tmp_path: Path,
) -> None:
    times = ["2026-01-03", "04.01.2026", "05.01.2026 10:00", "2026-01-06"]
    world = dated(World(tmp_path), times)
    mend = checked(world.plan).findings[0].mend
    assert mend.startswith('time_format = ["%Y-%m-%d", ')
    facts = mended(world, mend)
    assert (facts.times.without, facts.times.counted) == (0, 4)
    mixed = dated(World(tmp_path / "mixed"), ["03/04/2026", "13/04/2026", "04/13/2026"])
    finding = checked(mixed.plan).findings[0]
    assert "time_format = [" not in finding.mend
    assert "the values alone cannot tell" in finding.what


def test_days_up_to_twelve_are_ambiguous_and_this_is_said(tmp_path: Path) -> None:
    times = ["03/04/2026", "05/06/2026"]
    finding = checked(dated(World(tmp_path), times).plan).findings[0]
    assert finding.mend == 'time_format = "%d/%m/%Y" or time_format = "%m/%d/%Y"'
    assert "the data alone cannot tell which one is right" in finding.what
    world = dated(World(tmp_path / "named", stream='time_format = "%d/%m/%Y"'), times)
    assert "no day is above 12, so the data alone cannot tell" in about(world, "at")
    assert "no day is above" not in about(dated(world, [*times, "13/04/2026"]), "at")


def test_days_inside_the_stream_do_not_decide_between_patterns(tmp_path: Path) -> None:
    """The first of each month, with the day first: month first, all would be in January."""
    times = [f"01/{month:02}/2026" for month in range(1, 13)]
    for horizon in (8, 200, 400):
        world = dated(World(tmp_path / str(horizon)), times)
        world.text = world.text.replace("horizon = 8", f"horizon = {horizon}")
        finding = checked(world.plan).findings[0]
        assert finding.mend == 'time_format = "%d/%m/%Y" or time_format = "%m/%d/%Y"'
        assert "the data alone cannot tell which one is right" in finding.what


@pytest.mark.parametrize("mark", [".", "-", "/"])
@pytest.mark.parametrize("clock", ["", " 10:15"])
def test_both_orders_of_day_and_month_are_named_in_every_form(
    tmp_path: Path, mark: str, clock: str
) -> None:
    world = dated(World(tmp_path), [f"03{mark}04{mark}2026{clock}", f"05{mark}06{mark}2026{clock}"])
    finding = checked(world.plan).findings[0]
    for order in (("%d", "%m", "%Y"), ("%m", "%d", "%Y")):
        assert f'time_format = "{mark.join(order)}{clock and " %H:%M"}"' in finding.mend
    assert "2 changes fit the sample" in finding.what


def test_two_digits_are_not_taken_for_a_whole_year(tmp_path: Path) -> None:
    """%Y reads 26 as the year 26; that these days are outside of the stream is not what decides."""
    world = dated(World(tmp_path), ["01.01.26", "25.01.26"])
    assert checked(world.plan).findings[0].mend == 'time_format = "%d.%m.%y"'
    mixed = dated(World(tmp_path / "mixed"), ["2026-01-03", "25.01.26"])
    assert "%d.%m.%Y" not in "".join(told(checked(mixed.plan)))
    assert '"%d.%m.%y"' in checked(mixed.plan).findings[0].mend


@pytest.mark.parametrize("mark", ["/", "-"])
@pytest.mark.parametrize("clock", ["", " 10:15"])
def test_years_of_two_digits_that_a_cast_accepts_get_their_pattern(
    tmp_path: Path, mark: str, clock: str
) -> None:
    """DuckDB reads 10/03/25 as the 25th of March of the year 10."""
    world = dated(World(tmp_path), (f"{day}{mark}03{mark}25{clock}" for day in range(10, 29)))
    finding = checked(world.plan).findings[0]
    assert "before the year 100" in finding.what
    day_first, year_first = (
        f'time_format = "{mark.join(order)}{" %H:%M" if clock else ""}"'
        for order in (("%d", "%m", "%y"), ("%y", "%m", "%d"))
    )
    assert finding.mend == f"{day_first} or {year_first}"
    assert "the data alone cannot tell" in finding.what
    assert "before the year 100" not in "".join(told(mended(world, day_first)))
    either = dated(World(tmp_path / "either"), [f"03{mark}05{mark}04{clock}"])
    for order in (("%d", "%m", "%y"), ("%m", "%d", "%y")):
        assert mark.join(order) in checked(either.plan).findings[0].mend


def test_years_of_two_digits_are_told_whatever_else_is_wrong(tmp_path: Path) -> None:
    month_first = dated(World(tmp_path), ["03/10/25", "03/28/25"])  # a cast reads the first one
    findings = [one for one in told(checked(month_first.plan)) if "time_format" in one]
    assert len(findings) == 1
    assert findings[0].endswith('time_format = "%m/%d/%y"')
    other = dated(World(tmp_path / "x"), [*["28/03/25"] * 200, "x"])
    assert "before the year 100" in about(other, "at")
    whole = World(tmp_path / "whole", stream='time_format = "%d/%m/%Y"')
    said = about(dated(whole, ["28/03/25"]), "at")
    assert "before the year 100" in said
    assert 'time_format = "%d/%m/%y"' in said
    assert "before the year 100" not in about(dated(World(tmp_path / "iso"), ["0100-01-01"]), "at")


def test_a_last_line_is_not_taken_where_a_launch_refuses_that(tmp_path: Path) -> None:
    for unit, mend in ((EVENT, 'last_line = "take"'), (USER, "a newline after it")):
        world = World(tmp_path, unit=unit).write([row(1), row(2)])
        world.file.write_bytes(world.file.read_bytes().rstrip(b"\n"))
        (finding,) = [one for one in checked(world.plan).findings if "newline" in one.what]
        assert finding.mend.startswith(mend)


def test_a_kind_that_a_condition_needs_is_not_changed(tmp_path: Path) -> None:
    world = World(tmp_path).write([row(1, fever="ja"), row(1, fever="nein")])
    assert 'fever = "text"' in about(world, "fever")
    world.text = world.text.replace("[[release]]", '[[release]]\nwhere = "fever"')
    said = about(world, "fever")
    assert 'fever = "text"' not in said
    assert "a boolean is true, false, t, f, yes, no, 1 or 0" in said
    assert "no change of the plan reads them" not in said
    assert "Other words need the kind text, and where = \"fever = 'Y'\"" in said
    world.text = world.text.replace('fever = "boolean"', 'fever = "text"')
    world.text = world.text.replace('where = "fever"', "where = \"fever = 'ja'\"")
    assert checked(world.plan).releases[0].counted == 1, "what was said reads them"


def test_values_of_another_kind_are_not_counted_together(tmp_path: Path) -> None:
    """Their texts may be keys; other = true would count all of them as one."""
    world = World(tmp_path).write([row(1, fever="ja"), row(1, fever="nein")] * 9)
    world.text = world.text.replace('region = ["north", "south"]', 'fever = ["true", "false"]')
    (finding,) = [one for one in checked(world.plan).findings if "declared key" in one.what]
    assert finding.what.endswith("of 'fever', because values of 'fever' are no boolean.")
    assert "other = true" not in finding.mend
    assert finding.mend.startswith("first another kind of 'fever'")
    world.write([row(1, fever="ja"), *[row(1, fever="true")] * 99])
    world.text = world.text.replace('"true", "false"', '"false"')
    (finding,) = [one for one in checked(world.plan).findings if "declared key" in one.what]
    assert finding.mend.startswith("other = true"), "of these, the values do fit"


def test_quotes_are_ordinary_only_if_no_quoted_value_changes(tmp_path: Path) -> None:
    inches = [row(1, who='a"d"a'), row(1)]
    (first, *_) = checked(World(tmp_path).write(inches).plan).findings
    assert first.mend.startswith('quote = ""')
    (first, *_) = checked(World(tmp_path).write([*inches, row(1, who='"a, b"')]).plan).findings
    assert "quote = " not in first.mend


def test_titles_above_the_names_are_told_with_the_line_of_the_names(tmp_path: Path) -> None:
    world = World(tmp_path).write([row(1), row(2)])
    text = world.file.read_text()
    world.file.write_text(f"Visits of 2026;;\n\nmade on 3 January\n{text}")
    finding = checked(world.plan).findings[0]
    assert "are named in line 4" in finding.what
    assert finding.mend == "tail -n +4 'events.csv' > NEW, and then read NEW"
    assert "header" not in finding.mend
    world.file.write_text("no names\nanywhere\n")
    assert checked(world.plan).findings[0].mend.startswith("a first line that names the columns")


def test_a_header_is_advised_only_if_most_values_fit_it(tmp_path: Path) -> None:
    world = World(tmp_path).write([])
    world.file.write_text("\n".join(",".join(reversed(row(1).split(","))) for _ in range(9)) + "\n")
    assert "header = [...]" in checked(world.plan).findings[0].mend


def test_first_lines_that_come_again_are_said_to_be_that(tmp_path: Path) -> None:
    world = World(tmp_path).write([row(1), row(2)])
    world.file.write_text(world.file.read_text() * 3)
    said = about(world, "at")
    assert "2 values of 'at' are the name of the column" in said
    assert "time_format" not in said
    assert "text" not in about(world, "age")


NAMED = 'header = ["at", "who", "region", "age", "amount", "fever"]'


@pytest.mark.parametrize("unit", [EVENT, USER])
def test_names_in_the_file_and_in_the_plan_are_told_once(tmp_path: Path, unit: str) -> None:
    world = World(tmp_path, stream=NAMED, unit=unit).write([row(1), row(2)])
    findings = checked(world.plan).findings
    assert findings[0].what == (
        "The first line of 'events.csv' names the columns. Because the plan has header, this line "
        "is read as an event."
    )
    assert findings[0].mend == "leave header out"
    assert not any("comes again" in one.what for one in findings)
    world.text = world.text.replace(NAMED, "")
    assert checked(world.plan).lines.events == 2
    assert "names the columns" not in "".join(told(checked(world.plan)))


def test_header_stays_if_the_events_of_a_file_need_it(tmp_path: Path) -> None:
    world = World(tmp_path, stream=NAMED).write([row(1), row(2)])
    world.text = world.text.replace('"events.csv"', '"*.csv"')
    (tmp_path / "other.csv").write_text(row(3) + "\n")
    finding = checked(world.plan).findings[0]
    assert "The first line of 'events.csv' names the columns" in finding.what
    assert finding.mend == "take this line out of the file"
    swapped = NAMED.replace('"who", "region"', '"region", "who"')
    other = World(tmp_path / "order", stream=swapped).write([row(1), row(2)])
    assert checked(other.plan).findings[0].mend.startswith("compare this line with header")


def test_a_first_line_that_comes_again_under_a_header_is_counted_without_the_first(
    tmp_path: Path,
) -> None:
    world = World(tmp_path, stream=NAMED).write([row(1), row(2)])
    world.file.write_text(world.file.read_text() * 3)
    assert "2 values of 'at' are the name of the column" in about(world, "at")


def test_the_first_line_is_not_held_against_a_header_that_was_advised(tmp_path: Path) -> None:
    world = World(tmp_path).write([row(1) + ","] * 9)
    facts = mended(world, checked(world.plan).findings[0].mend)
    assert facts.times.counted == 9
    assert "fewer fields" not in "".join(told(facts))
    world.write([*[row(1) + ","] * 9, row(1)])
    assert "1 line has fewer fields than header has names" in "".join(told(checked(world.plan)))


def test_a_delimiter_at_the_end_is_tried_with_the_names_of_the_file(tmp_path: Path) -> None:
    world = World(tmp_path).write([row(1) + ","] * 5)
    mend = checked(world.plan).findings[0].mend
    assert mend == 'header = ["at", "who", "region", "age", "amount", "fever", "nothing"]'
    assert mended(world, mend).times.counted == 5


@pytest.mark.parametrize(
    ("encoding", "name", "mend"),
    [
        ("utf-16", "who", 'encoding = "utf-16" and delimiter = "\\t"'),
        ("latin-1", "n\xe9", 'encoding = "windows-1252" and delimiter = "\\t"'),
    ],
)
def test_an_encoding_and_a_delimiter_are_tried_together(
    tmp_path: Path, encoding: str, name: str, mend: str
) -> None:
    world = World(tmp_path).write([row(1), row(2)])
    world.text = world.text.replace("who =", f'"{name}" =')
    text = world.file.read_text().replace("who", name).replace(",", "\t")
    world.file.write_bytes(text.encode(encoding))
    assert checked(world.plan).findings[0].mend == mend
    assert mended(world, mend.replace(" and ", "\n")).times.counted == 2


def test_what_many_files_have_is_said_once_and_tried_once(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.text = world.text.replace("events.csv", "in/*.csv")
    (tmp_path / "in").mkdir()
    lines = world.write([row(1)]).file.read_text().replace(",", ";")
    for number in range(140):
        (tmp_path / "in" / f"{number:03}.csv").write_text(lines)
    facts = checked(world.plan)
    assert len(facts.files) == 140
    (one,) = [one for one in facts.findings if "separated" in one.what]
    assert "'in/000.csv'" in one.what
    assert one.what.endswith("and 134 more.")
    assert one.mend == 'delimiter = ";"'
    assert mended(world, one.mend).times.counted == 140


def test_parquet_is_tried_too(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.text = world.text.replace("events.csv", "events.parquet")
    dated(world, ["30.01.2026", "02.01.2026"])
    duckdb.execute(
        f"COPY (SELECT * FROM read_csv('{world.file}', all_varchar=true)) "
        f"TO '{tmp_path}/events.parquet'"
    )
    assert checked(world.plan).findings[0].mend == 'time_format = "%d.%m.%Y"'


def test_a_change_that_refuses_to_be_a_plan_does_not_pass(tmp_path: Path) -> None:
    world = amounts(World(tmp_path), ["3,5"])
    files = ()
    trial = Trial(world.plan, NOW, 0, files, "csv")
    assert trial.passing([Change("d", {"delimiter": "ab"})]) == []
    assert [one.words for one in trial.passing([Change("c", {"decimal": ","})])] == ["c"]


def test_a_sample_of_a_large_file_has_its_middle_and_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Days above 12 come only in the middle: the beginning alone would fit both orders."""
    monkeypatch.setattr(trying, "_SIZE", 32 << 10)
    monkeypatch.setattr(trying, "_WINDOW", 4 << 10)
    early = ["03/04/2026"] * 2000
    world = dated(
        World(tmp_path, stream='time_format = "%m/%d/%Y"'),
        [*early, *["04/25/2026"] * 800, *early],
    )
    assert "no day is above 12" not in about(world, "at")
    monkeypatch.setattr(trying, "_parts", lambda file, most: first_part(file, most))
    assert "no day is above 12" in about(world, "at"), "the broken version"


def first_part(file: NamedFile, most: int) -> list[trying.SamplePart]:
    return [trying.SamplePart(0, file.path.read_bytes()[:most], False)]


@pytest.mark.parametrize("broken", ["meaning", "gain", "launch"])
def test_a_trial_without_one_of_its_rules_would_advise_what_corrupts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """The broken versions that the tests above must catch."""
    if broken == "meaning":
        monkeypatch.setattr(trying, "_contained", lambda *_: True)
        quotes = World(tmp_path).write([row(1, who='a"d"a'), row(1, who='"a"')])
        assert "quote = " in checked(quotes.plan).findings[0].mend
    elif broken == "gain":
        monkeypatch.setattr(trying, "gains", lambda *_: ["0,5"])
        world = amounts(World(tmp_path), ["1,137", "950"])
        assert 'decimal = ","' in about(world, "amount")
    else:
        monkeypatch.setattr(trying, "check_launch", lambda _: None)
        world = World(tmp_path, unit=USER).write([row(1), row(2)])
        world.file.write_bytes(world.file.read_bytes().rstrip(b"\n"))
        assert 'last_line = "take"' in "".join(told(checked(world.plan)))
