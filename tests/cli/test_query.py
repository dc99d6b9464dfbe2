"""``ameles query``: a question in SQL, from the command line to the ledger."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ameles.core.guarantee import EVENT
from ameles.core.loss import Approx, Pure
from ameles.query import open_account
from tests.cli.conftest import Program

VISITS = "id,region,age,fever\n" + "".join(
    f"{i % 300},{'north' if i % 3 else 'south'},{i % 90},{'true' if i % 2 else 'false'}\n"
    for i in range(900)
)
STAYS = "id,nights\n" + "".join(f"{i},{i % 7}\n" for i in range(200))
PAID = ["--population", "people", "--store", "people.db", "--cap", "100"]
SQL = "SELECT region, COUNT(*), AVG(age) AS mean FROM t WHERE fever GROUP BY region"
ROWS = ["--unit", "row", "--bounds", "age=0:120", "--keys", "region=north,south", *PAID]


@pytest.fixture
def visits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("visits.csv").write_text(VISITS)
    Path("stays.csv").write_text(STAYS)
    return tmp_path


def left(folder: Path, population: str = "people") -> Pure:
    with open_account(str(folder / "people.db"), population, unit=EVENT) as account:
        loss = account.left
    assert isinstance(loss, Pure)
    return loss


def test_a_question_is_answered_and_paid(ameles: Program, visits: Path) -> None:
    shown = ameles("query", "visits.csv", SQL, *ROWS, "--epsilon", "20")
    assert shown.code == 0
    heads, _, north, south = shown.out.splitlines()[:4]
    assert heads.split()[:2] == ["region", "count"]
    assert north.split()[0] == "north"
    assert abs(int(north.split()[1]) - 300) < 20
    assert abs(float(south.split()[5]) - 44) < 15
    assert "epsilon 10 (entry 1), epsilon 10 (entry 2); epsilon 80 left" in shown.err
    assert left(visits) == Pure(80)


def test_json_has_every_answer(ameles: Program, visits: Path) -> None:
    shown = ameles("query", "visits.csv", SQL, *ROWS, "--epsilon", "20", "--json")
    first, second = json.loads(shown.out)
    assert (first["asked"], second["asked"]) == ("noisy_count", "noisy_average")
    assert [row["key"] for row in first["rows"]] == [["north"], ["south"]]
    assert first["entry"] == 1


def test_a_dry_run_pays_and_makes_nothing(ameles: Program, visits: Path) -> None:
    shown = ameles("query", "visits.csv", SQL, *ROWS, "--epsilon", "0.2", "--dry-run")
    assert shown.code == 0
    assert "charged      epsilon 0.1, of epsilon 100 left" in shown.out
    assert not Path("people.db").exists()


def test_a_dry_run_tells_that_the_budget_would_refuse(ameles: Program, visits: Path) -> None:
    sql = "SELECT region, COUNT(*) FROM t GROUP BY region"
    asked = ["query", "visits.csv", sql, "--unit", "row", *PAID, "--private-keys", "region",
             "--epsilon", "2", "--delta", "1e-5", "--version"]  # fmt: skip
    assert ameles(*asked, "first").code == 0  # spends all of the delta
    another = ameles(*asked, "second", "--dry-run")
    assert another.code == 0
    assert another.err == (
        "Asking it would be refused: 'the query' needs epsilon 2, delta 1e-05; population 'people' "
        "has epsilon 98, delta 0 left of epsilon 100, delta 1e-05.\n"
    )
    assert ameles(*asked, "second").code == 3
    assert ameles(*asked, "first", "--dry-run").err == "", "its answer is stored"
    with open_account(str(visits / "people.db"), "people", unit=EVENT) as account:
        assert account.left == Approx(98, 0)


def test_users_and_a_join(ameles: Program, visits: Path) -> None:
    given = ["--unit", "user", "--user", "id", "--max-rows", "3", "--epsilon", "100", *PAID]
    sql = "SELECT COUNT(*), COUNT(DISTINCT id) AS people, SUM(nights) AS n FROM v JOIN s USING (id)"
    shown = ameles(
        "query", "visits.csv", sql, *given, "--also", "s=stays.csv", "--bounds", "nights=0:7",
        "--json",
    )  # fmt: skip
    count, people, nights = (answer["rows"][0]["value"] for answer in json.loads(shown.out))
    assert abs(count - 600) < 20
    assert people == 200
    assert abs(nights - 3 * sum(i % 7 for i in range(200))) < 60


def test_a_table_of_which_no_column_is_read(ameles: Program, visits: Path) -> None:
    shown = ameles("query", "visits.csv", "SELECT COUNT(*) FROM t", "--unit", "row", *PAID,
                    "--epsilon", "50", "--json")  # fmt: skip
    assert abs(json.loads(shown.out)[0]["rows"][0]["value"] - 900) < 5


def test_the_same_version_is_free(ameles: Program, visits: Path) -> None:
    asked = ["query", "visits.csv", SQL, *ROWS, "--epsilon", "2", "--version", "2026-01", "--json"]
    first, again = ameles(*asked), ameles(*asked)
    values = [[answer["rows"] for answer in json.loads(shown.out)] for shown in (first, again)]
    assert values[0] == values[1]
    assert left(visits) == Pure(98)
    # also when there is too little left to ask anew
    dear = [*asked[:3], *ROWS, "--epsilon", "60", "--version", "2026-01", "--json"]
    once, twice = ameles(*dear), ameles(*dear)
    assert (once.code, twice.code) == (0, 0)
    assert left(visits) == Pure(38)
    assert ameles(*dear[:-3], "--json").code == 3  # without the label it is another question


def test_a_query_that_is_too_expensive_pays_for_none_of_its_parts(
    ameles: Program, visits: Path
) -> None:
    new = ameles("query", "visits.csv", SQL, *ROWS, "--epsilon", "150")
    assert new.code == 3
    assert not Path("people.db").exists()
    with open_account(str(visits / "people.db"), "people", unit=EVENT, cap=Pure(100)):
        pass
    shown = ameles("query", "visits.csv", SQL, *ROWS[:-2], "--epsilon", "150")
    assert shown.code == 3
    assert "'the query' needs epsilon 150; population 'people' has 100 left of 100" in shown.err
    assert left(visits) == Pure(100)


def test_keys_are_chosen_privately(ameles: Program, visits: Path) -> None:
    sql = "SELECT region, COUNT(*) FROM t GROUP BY region"
    asked = ["query", "visits.csv", sql, "--unit", "row", *PAID, "--private-keys", "region",
             "--epsilon", "2", "--delta", "1e-5"]  # fmt: skip
    dry = ameles(*asked, "--dry-run")
    assert "count: noisy_count of people" in dry.out
    assert "mechanism    KeyCounts" in dry.out
    assert "private_keys" not in dry.out  # one noise for both
    shown = ameles(*asked, "--json")
    (counts,) = json.loads(shown.out)
    assert [row["key"] for row in counts["rows"]] == [["north"], ["south"]]
    with open_account(str(visits / "people.db"), "people", unit=EVENT) as account:
        assert account.left == Approx(98, 0)


def test_other_questions_are_asked_of_the_keys_that_the_count_names(
    ameles: Program, visits: Path
) -> None:
    sql = "SELECT region, AVG(age), COUNT(*) FROM t GROUP BY region"
    asked = ["query", "visits.csv", sql, *ROWS[:4], *PAID, "--private-keys", "region"]
    asked += ["--epsilon", "3", "--delta", "1e-5", "--json"]
    ages, counts = json.loads(ameles(*asked).out)
    assert [row["key"] for row in ages["rows"]] == [row["key"] for row in counts["rows"]]
    assert (ages["asked"], counts["asked"]) == ("noisy_average", "noisy_count")
    with open_account(str(visits / "people.db"), "people", unit=EVENT) as account:
        assert account.left == Approx(97, "5e-6")  # half of epsilon each; the mean needs no delta
    two = "SELECT region, fever, COUNT(*) FROM t GROUP BY region, fever"
    more = ["--private-keys", "region", "--private-keys", "fever", "--epsilon", "3", "--delta"]
    dry = ameles("query", "visits.csv", two, *ROWS[:2], *PAID, *more, "1e-5", "--dry-run")
    assert "region: private_keys of people" in dry.out
    assert "fever: private_keys of people" in dry.out


def test_private_keys_of_users_and_without_a_delta(ameles: Program, visits: Path) -> None:
    sql = "SELECT region, COUNT(*) FROM t GROUP BY region"
    users = ["--unit", "user", "--user", "id", "--max-rows", "3", "--max-groups", "1", *PAID]
    asked = ["query", "visits.csv", sql, *users, "--private-keys", "region", "--epsilon", "2"]
    refused = ameles(*asked)
    assert refused.code == 2
    assert "cannot be discovered with delta = 0" in refused.err
    assert not Path("people.db").exists()  # nothing was made for a question that is refused
    other = ameles("query", "visits.csv", "SELECT COUNT(*) FROM t", *users, "--epsilon", "1",
                   "--private-keys", "region", "--delta", "1e-5")  # fmt: skip
    assert "The column 'region' is not in GROUP BY" in other.err


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ([], "It needs --epsilon and --unit and --population and --store."),
        ([*ROWS], "It needs --epsilon."),
        (["--unit", "person", *PAID, "--epsilon", "1"], "The --unit must be row or user."),
        (["--unit", "user", *PAID, "--epsilon", "1"], "needs the column that names the user"),
        ([*ROWS[:4], *PAID, "--epsilon", "1"], "The keys of 'region' in GROUP BY"),
        ([*ROWS[:2], *ROWS[4:], "--epsilon", "1"], "The bounds of age must be declared"),
        (["--bounds", "age", *ROWS, "--epsilon", "1"], "--bounds cannot be 'age'"),
        (["--bounds", "age=1", *ROWS, "--epsilon", "1"], "--bounds cannot be 'age=1'"),
        (["--bounds", "age=1:2", *ROWS, "--epsilon", "1"], "--bounds names 'age' twice"),
        (["--keys", "region=", *ROWS, "--epsilon", "1"], "--keys cannot be 'region='"),
        (["--columns", "fever=text", *ROWS, "--epsilon", "1"], "a condition must be true or false"),
        (["--columns", "age=real", *ROWS, "--epsilon", "1"], "declared as 'real'"),
        (["--also", "u", *ROWS, "--epsilon", "1"], "--also cannot be 'u'"),
        (["--budget", "study", *ROWS, "--epsilon", "1"], "has no budget 'study'"),
    ],
)
def test_what_is_missing_is_refused(
    ameles: Program, visits: Path, more: list[str], what: str
) -> None:
    shown = ameles("query", "visits.csv", SQL, *more)
    assert shown.code == 2
    assert what in shown.err


def test_a_missing_file_is_refused_before_it_costs(ameles: Program, visits: Path) -> None:
    shown = ameles("query", "visit.csv", SQL, *ROWS, "--epsilon", "1")
    assert shown.code != 0
    assert "visit.csv" in shown.err


COUNT = "SELECT COUNT(*) FROM t"
PLAIN = ["query", "visits.csv", COUNT, "--unit", "row", *PAID]


def test_a_cap_that_is_repeated_says_what_is_left(ameles: Program, visits: Path) -> None:
    assert ameles(*PLAIN, "--epsilon", "8").code == 0
    for asked in ("95", "150"):
        refused = ameles(*PLAIN, "--epsilon", asked)
        assert refused.code == 3
        assert f"needs epsilon {asked}; population 'people' has 92 left of 100" in refused.err
        dry = ameles(*PLAIN, "--epsilon", asked, "--dry-run")
        assert "92 left of 100" in dry.err
    assert left(visits) == Pure(92)
    other = ameles(*PLAIN[:-1], "101", "--epsilon", "8")
    assert other.code == 4
    assert "opened with a cap of epsilon 100" in other.err


def test_a_delta_under_a_cap_without_one_is_what_the_refusal_is_about(
    ameles: Program, visits: Path
) -> None:
    assert ameles(*PLAIN, "--epsilon", "8").code == 0
    sql = "SELECT region, COUNT(*) FROM t GROUP BY region"
    asked = ["--private-keys", "region", "--epsilon", "1", "--delta", "1e-6"]
    for paid in (PAID, PAID[:-2]):
        refused = ameles("query", "visits.csv", sql, "--unit", "row", *paid, *asked)
        assert refused.code == 2
        assert (
            "A loss of epsilon 1, delta 1e-06 has no place under a cap of epsilon 100"
            in refused.err
        )
        assert "a cap that was opened without a delta stays without" in refused.err
        assert "a population of its own" in refused.err
    # the cap is the same, whatever the delta of a question is
    assert ameles(*PLAIN, "--epsilon", "1", "--delta", "1e-6").code == 0
    assert left(visits) == Pure(91)


@pytest.mark.parametrize(
    ("sql", "more", "what"),
    [
        (
            COUNT,
            ["--keys", "region=north,south"],
            "--keys names 'region', which is not in GROUP BY",
        ),
        (COUNT, ["--keys", "nothing=1"], "--keys names 'nothing', which is not in GROUP BY"),
        (
            "SELECT region, COUNT(*) FROM t GROUP BY region",
            ["--keys", "region=north", "--private-keys", "region", "--delta", "1e-6"],
            "The keys of 'region' are both declared and discovered",
        ),
    ],
)
def test_keys_that_nothing_would_read_are_refused(
    ameles: Program, visits: Path, sql: str, more: list[str], what: str
) -> None:
    refused = ameles("query", "visits.csv", sql, "--unit", "row", *PAID, "--epsilon", "1", *more)
    assert refused.code == 2
    assert what in refused.err
    assert "try:" in refused.err
    assert not Path("people.db").exists()
