"""Plans for users whose state may be seized: what is refused, and what the plan says of itself."""

from __future__ import annotations

from pathlib import Path

from ameles.measures.table_choice import inner_of
from ameles.plan.forecast import forecasts, in_words
from tests.engine.people import DISTINCT, USER, WINDOW, People, problems
from tests.engine.worlds import World


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    count = '[[release]]\nname = "n"\nmeasure = "count"\n'
    bare = (
        '[[release]]\nname = "d"\nmeasure = "distinct"\nover = "step"\n'
        'by = { region = ["north", "south"] }\n'
    )
    unit = USER.replace('"one"', '"every"') + "\nmax_per_step = 1\nmax_steps = 2"
    told = problems(People(tmp_path, count + bare, unit, None))
    for text in (
        "Thm 4.3",
        "privacy.max_per_step",
        "privacy.max_steps",
        "stream.horizon",
        "Users whose state may be seized have no count.",
        "release 'd'.table",
        "release 'd'.over",
        "release 'd'.by",
    ):
        assert text in told


def test_a_user_has_a_column(tmp_path: Path) -> None:
    told = problems(People(tmp_path, unit='unit = "user"\nintrusions = "one"'))
    assert "needs user." in told


def test_tables_are_for_states_that_may_be_seized(tmp_path: Path) -> None:
    unit = 'unit = "user"\nuser = "who"\nmax_per_step = 1\nmax_steps = 1'
    assert "release 'people'.table" in problems(World(tmp_path, DISTINCT, unit=unit))


def test_the_plan_says_what_it_does(tmp_path: Path) -> None:
    plan = People(tmp_path, DISTINCT.replace("5000", "50000")).plan
    words = " ".join(in_words(plan))
    for text in ("however many", "whether a user came", "50,000 cells", "about 150,000 users"):
        assert text in words
    assert "wider than half" not in words
    (forecast,) = forecasts(plan)
    assert (forecast.mechanism, inner_of(plan.recipes["people"]).horizon) == ("Afresh", 8)
    assert "afresh at each of 8 steps" in forecast.why
    assert "compared with the table" in forecast.of
    windows = People(tmp_path, DISTINCT, WINDOW, None).plan
    assert "begins anew with every window" in forecasts(windows)[0].why
    assert "within 3d" in " ".join(in_words(windows))
    long = People(tmp_path, DISTINCT, horizon=5000).plan
    assert "changes at most" in forecasts(long)[0].why
    assert "'people' are wider than half of the table" in " ".join(in_words(long))


CROWDED = '[[release]]\nname = "seen"\nmeasure = "density"\ntable = 2\nusers = 1000\n'
ODD = '[[release]]\nname = "odd"\nmeasure = "modular"\nmodulus = 2\ntable = 90\nusers = 9\n'


def test_it_says_that_a_table_is_too_small(tmp_path: Path) -> None:
    words = " ".join(in_words(People(tmp_path, CROWDED).plan))
    assert "'seen' can count up to about 6 users: if more come, it is full" in words
    roomy = CROWDED.replace("table = 2", "table = 400")
    assert "can count" not in " ".join(in_words(People(tmp_path, roomy).plan))


def test_it_says_that_a_last_window_is_never_published(tmp_path: Path) -> None:
    said = "The last window of 'odd' is never published"
    for unit, horizon, unpublished in (
        (WINDOW, 8, True),
        (WINDOW, 9, False),
        (WINDOW, None, False),
        (USER, 8, False),
    ):
        words = " ".join(in_words(People(tmp_path, ODD, unit, horizon).plan))
        assert (said in words) == unpublished
    assert "never be published within 2 steps" in problems(People(tmp_path, ODD, WINDOW, 2))
    seen = CROWDED.replace("users = 1000", "users = 3")
    assert "never published" not in " ".join(in_words(People(tmp_path, seen, WINDOW, 8).plan))
