"""A plan is taken whole, or refused with all that is wrong with it; then nothing has happened."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ameles.core.exceptions import AmelesError, PlanError
from ameles.core.loss import Pure
from ameles.plan.forecast import forecasts, in_words
from ameles.plan.plan import check_plan, read_plan, read_plan_text
from ameles.plan.problems import BadPlan
from tests.engine.documents import DOCUMENTS, GOOD, changed, good, mutants
from tests.engine.neighbours import command
from tests.engine.worlds import COUNT, World


def test_a_good_plan() -> None:
    plan = check_plan(good())
    assert plan.stream.name == "s"
    assert [release.name for release in plan.releases][:2] == ["visits", "spent"]
    assert plan.releases[0].keys[:2] == ("north/true", "north/false")
    shares = {name: loss.epsilon for name, loss in plan.shares.items() if isinstance(loss, Pure)}
    assert sum(shares.values()) == 1
    assert shares["visits"] == Fraction(1, 10)
    assert check_plan(good()).to_json() == plan.to_json()
    assert len(forecasts(plan)) == 9


@pytest.mark.parametrize(("horizon", "steps"), [(1, (1, 1, 1)), (2, (1, 1, 2)), (9, (1, 4, 9))])
def test_a_forecast_is_of_the_first_step_a_middle_one_and_the_last(
    tmp_path: Path, horizon: int, steps: tuple[int, int, int]
) -> None:
    (forecast,) = forecasts(World(tmp_path, COUNT, horizon=horizon).plan)
    assert forecast.steps == steps


def test_shares_may_use_up_all_there_is() -> None:
    document = good()
    names = [release["name"] for release in document["release"]]
    for release in document["release"]:
        release["share"] = f"1/{len(names)}"
    shares = check_plan(document).shares
    assert shares == dict.fromkeys(names, Pure(Fraction(1, len(names))))


# What is wrong, the key that is named, and the sentence about it.
BAD: list[tuple[dict[str, Any], str, str]] = [
    (changed(stream__name=None), "stream.name", "It is missing."),
    (changed(stream__name="a b"), "stream.name", "A name has up to 64"),
    (changed(stream__sauce="x"), "stream.sauce", "There is no such key."),
    (changed(stream__time=None), "stream.time", "It is missing"),
    (changed(stream__time="who"), "stream", "must be declared as timestamp"),
    (changed(stream__weight="age"), "stream.weight", "unit event only"),
    (changed(stream__weight="amount"), "stream", "must be declared as integer"),
    (changed(stream__columns={}), "stream.columns", "It must not be empty."),
    (changed(stream__columns="text"), "stream.columns", "It must be a table."),
    (changed(stream__start="soon"), "stream.start", "a date or a time"),
    (changed(stream__start="1969-01-01"), "stream.start", "1970 and 9000"),
    (changed(stream__every="1 day"), "stream.every", "A duration is"),
    (changed(stream__every=86400), "stream.every", "in quotes"),
    (changed(stream__every="999999999w"), "stream.horizon", "beyond the year 9998"),
    (changed(stream__zone="Mars/Olympus"), "stream.zone", "There is no time zone"),
    (changed(stream__horizon=0), "stream.horizon", "at least 1"),
    (changed(stream__horizon=2**41), "stream.horizon", "at most"),
    (changed(stream__horizon=2**40), "stream.horizon", "beyond the year 9998"),
    (changed(stream__horizon=True), "stream.horizon", "It must be a whole number."),
    (changed(stream__late="never"), "stream.late", "It must be 'next' or 'drop'."),
    (changed(privacy__epsilon=None), "privacy.epsilon", "It is missing."),
    (changed(privacy__epsilon=0), "privacy.epsilon", "above 0 and at most 1000"),
    (changed(privacy__epsilon=-1), "privacy.epsilon", "above 0 and at most 1000"),
    (changed(privacy__epsilon="nan"), "privacy.epsilon", "a number"),
    (changed(privacy__epsilon=float("inf")), "privacy.epsilon", "a number"),
    (changed(privacy__epsilon=True), "privacy.epsilon", "It must be a number."),
    (changed(privacy__delta=1), "privacy.delta", "far below 1"),
    (changed(privacy__unit="person"), "privacy.unit", "It must be 'event', 'user'"),
    (changed(privacy__unit="event"), "privacy", "cannot be used with the unit event"),
    (changed(privacy__unit="user-window"), "privacy", "needs window"),
    (changed(privacy__max_steps=None), "privacy", "needs max_steps"),
    (changed(privacy__max_steps=9), "privacy.max_steps", "more than the 8 steps of the stream"),
    (changed(privacy__user="nobody"), "privacy.user", "is not declared"),
    (changed(privacy__window="4d"), "privacy", "goes with the unit user-window"),
    (changed(privacy__intrusions="one"), "privacy.intrusions", "raw events"),
    (changed(release_0__measure="counts"), "release 'visits'.measure", "There is no such measure"),
    (changed(release_0__by={"region": []}), "release 'visits'.by", "no declared keys"),
    (changed(release_0__by={"town": ["a"]}), "release 'visits'", "is not declared"),
    (changed(release_0__by={"amount": ["1"]}), "release 'visits'.by", "must be text"),
    (changed(release_0__where="fever AND"), "release 'visits'.where", "not SQL"),
    (changed(release_0__where="random() < 0.5"), "release 'visits'.where", "'random'"),
    (changed(release_0__where="town = 'x'"), "release 'visits'.where", "'town'"),
    (changed(release_0__over="fortnight"), "release 'visits'.over", "total"),
    (changed(release_0__over="36h"), "release 'visits'.over", "not a whole number of steps"),
    (changed(release_0__share=2), "release 'visits'.share", "above 0 and up to 1"),
    (changed(release_0__share=1), "release", "leave nothing"),
    (changed(release_1__share=0.95), "release", "more than there is"),
    (changed(release_1__name="visits"), "release 'visits'", "Two releases"),
    (changed(release_1__upper=None), "release 'spent'", "no upper"),
    (changed(release_1__lower=30), "release 'spent'", ""),
    (changed(release_1__column="who"), "release 'spent'.column", "must be integer or number"),
    (changed(release_1__granularity="0.000005"), "release 'spent'.granularity", "grid units"),
    (changed(release_3__edges=[3, 2]), "release 'ages'.edges", "above the one before"),
    (changed(release_5__q=1), "release 'median'.q", "below 1"),
    (changed(release_6__k=3), "release 'most'", "3 of 2 declared keys"),
    (changed(release_7__over="total"), "release 'alarm'.over", "step or a window"),
    (changed(release_8__over="3d"), "release 'people'.over", "total or step"),
    (changed(store__url=""), "store.url", "It must not be empty."),
    (changed(store__url="mysql://x/y"), "store.url", "cannot begin with 'mysql://'"),
    (changed(sink_0__jsonl="b"), "sink.1", "exactly one"),
    (good() | {"release": []}, "release", "Nothing is to be released."),
    (good() | {"releases": []}, "releases", "There is no such table."),
    (good() | {"stream": 1}, "stream", "It must be a table."),
    (good() | {"store": None}, "store", "It must be a table."),
    ({k: v for k, v in good().items() if k != "privacy"}, "privacy", "The table is missing."),
]


@pytest.mark.parametrize(
    ("document", "key", "what"), BAD, ids=lambda v: v if isinstance(v, str) else ""
)
def test_bad_plans(document: dict[str, Any], key: str, what: str) -> None:
    with pytest.raises(BadPlan) as refused:
        check_plan(document)
    # one mistake may make more than one release impossible
    (problem,) = (each for each in refused.value.problems if each.key == key)
    assert what in problem.what
    assert problem.what.endswith(".")
    assert problem.tip or problem.why
    assert f"error[plan]: {key}: " in str(refused.value)


def test_all_problems_at_once() -> None:
    document = changed(
        stream__name="a b",
        stream__every="often",
        privacy__epsilon=0,
        release_0__by={"region": []},
        release_1__upper=None,
        release_6__k=0,
        store__url="",
    )
    with pytest.raises(BadPlan) as refused:
        check_plan(document)
    assert [problem.key for problem in refused.value.problems] == [
        *("stream.name", "stream.every", "privacy.epsilon", "store.url"),
        *("release 'visits'.by", "release 'spent'", "release 'most'.k"),
    ]
    assert str(refused.value).count("error[plan]: ") == 7


def test_all_problems_between_sections_at_once() -> None:
    document = changed(
        privacy__user="nobody",
        privacy__max_steps=9,
        release_0__where="town = 1",
        release_7__over="total",
        release_8__over="36h",
    )
    with pytest.raises(BadPlan) as refused:
        check_plan(document)
    assert {problem.key for problem in refused.value.problems} == {
        *("privacy.user", "privacy.max_steps", "release 'visits'.where"),
        *("release 'alarm'.over", "release 'people'.over"),
    }


def checked(document: Any) -> None:
    """Takes a plan to everything that is computed before data is read, or sees it refused."""
    try:
        plan = check_plan(document)
    except BadPlan as refused:
        for problem in refused.problems:
            assert problem.key
            assert problem.what.endswith(".")
            assert "pydantic" not in str(problem)
        return
    assert in_words(plan)
    with suppress(AmelesError):  # such as noise beyond 64 bits
        assert plan.recipes
    plan.to_json()


@settings(max_examples=150)
@given(mutants())
def test_mutants_of_a_plan_are_taken_or_refused(document: dict[str, Any]) -> None:
    checked(document)


@settings(max_examples=100)
@given(DOCUMENTS)
def test_any_document_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(BadPlan):
        check_plan(document)


@settings(max_examples=100)
@given(
    st.text(max_size=60)
    | st.builds(lambda a, b: GOOD[:a] + b + GOOD[a:], st.integers(0, 900), st.text(max_size=3))
)
def test_any_text_is_taken_or_refused(text: str) -> None:
    with suppress(PlanError):
        assert read_plan_text(text).releases


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\xff\xfe", "is not a text in UTF-8"),
        (b"[stream\n", "The plan is not TOML"),
        (b"a = [" * 5000, "The plan is not TOML"),
        (b"#" * ((1 << 20) + 1), "too large"),
    ],
)
def test_files_that_are_no_plans(tmp_path: Path, content: bytes, what: str) -> None:
    file = tmp_path / "plan.toml"
    file.write_bytes(content)
    with pytest.raises(PlanError, match=what):
        read_plan(file)


@pytest.mark.parametrize("place", ["absent.toml", "."])
def test_what_cannot_be_read(tmp_path: Path, place: str) -> None:
    with pytest.raises(PlanError, match="cannot be read"):
        read_plan(tmp_path / place)


TEXTS = [
    "",
    "not toml",
    "[stream]\n",
    GOOD.replace("epsilon = 1\n", "epsilon = 1e999\n"),
    GOOD.replace("epsilon = 1\n", "epsilon = nan\n"),
    GOOD.replace("horizon = 8", "horizon = 1099511627776"),
    GOOD.replace("fever AND age >= 18", "(SELECT 1)"),
    GOOD.replace("columns = {", "columns = { at = 'text',"),
    GOOD.replace("[store]", "[[store]]"),
    GOOD.replace('"s.db"', '""'),
    GOOD + "[[sink]]\n",
]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_bad_plan_exits_with_2_and_writes_nothing(tmp_path: Path, text: str) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(text, encoding="utf-8")
    (tmp_path / "events.csv").write_text("at,who,region,age,amount,fever\n", encoding="utf-8")
    for name, *yes in (("plan",), ("run", "--yes")):
        code, out, err = command(name, str(file), *yes)
        assert (code, out) == (2, ""), err
        assert err.startswith("error[")
        assert "Traceback" not in err
        assert sorted(path.name for path in tmp_path.iterdir()) == ["events.csv", "plan.toml"]


@settings(max_examples=15)
@given(mutants())
def test_commands_take_or_refuse_mutants(
    tmp_path_factory: pytest.TempPathFactory, document: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("mutant")
    file = folder / "plan.toml"
    file.write_text(_toml(document), encoding="utf-8", errors="surrogatepass")
    code, out, err = command("plan", str(file))
    assert code in (0, 2), err
    assert (code == 0) == bool(out)
    assert [path.name for path in folder.iterdir()] == ["plan.toml"]


def _toml(value: Any) -> str:
    """Inline TOML, or something that is not: both must be taken well."""
    if isinstance(value, dict) and {"stream", "privacy"} & value.keys():
        return "".join(f"{_key(key)} = {_toml(inner)}\n" for key, inner in value.items())
    match value:
        case bool():
            return str(value).lower()
        case dict():
            return f"{{ {', '.join(f'{_key(k)} = {_toml(v)}' for k, v in value.items())} }}"
        case list():
            return f"[{', '.join(map(_toml, value))}]"
        case str():
            return _key(value)
    return str(value)


def _key(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
