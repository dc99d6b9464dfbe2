"""The words about keys of the data: one sentence each, in plans and in questions about tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ameles.core.exceptions import AmelesError, BadInput, PlanError
from ameles.core.guarantee import EVENT, USER
from ameles.core.loss import Approx
from ameles.measures import key_words
from ameles.plan.forecast import in_words
from ameles.plan.plan import Plan, read_plan_text
from ameles.query import Query
from tests.engine.tags import Tags
from tests.query.tables import ledger, table

LOSS: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
DISCOVERED: Any = {"region": "discovered"}  # as in a plan; a question has lists
MEAN = 'name = "m"\nmeasure = "mean"\ncolumn = "amount"\nlower = 0\nupper = 9\ngranularity = 1\n'


def plan(folder: Path, change: Callable[[str], str] = str) -> Plan:
    return read_plan_text(change(Tags(folder).text), base=folder)


def asked(unit: Any = USER) -> Query:
    account = ledger(cap=Approx(10, "1e-3"), unit=unit)
    if unit == USER:
        return table(account=account, user="id", max_rows=2)
    return table(account=account)


def refused(act: Callable[[], object]) -> AmelesError:
    with pytest.raises((BadInput, PlanError)) as caught:
        act()
    return caught.value


def test_needed_words_tell_each_step_once() -> None:
    assert key_words.needed_words({1: 1200}) == "about 1,200 users at step 1"
    two = key_words.needed_words({1: 1200, 9: 1000})
    assert two == "about 1,200 users at step 1 and 1,000 at step 9"


def test_a_refusal_names_a_long_column_in_short() -> None:
    told = key_words.not_discovered("x" * 99, "with delta = 0")
    assert told == f"The keys of '{'x' * 64}' cannot be discovered with delta = 0."


def test_both_refuse_a_pure_loss_alike(tmp_path: Path) -> None:
    def pure(text: str) -> str:
        return text.replace("delta = 0.01", "delta = 0")

    streamed = refused(lambda: plan(tmp_path, pure))
    for one in (
        refused(lambda: asked().private_keys("region", epsilon=1, delta=0)),
        refused(lambda: asked().private_partition("region").noisy_count(epsilon=1)),
    ):
        assert one.what.replace("'region'", "'tag'") in str(streamed)
        assert one.why == key_words.ONE_PERSON
        assert (one.why in str(streamed), one.tip in str(streamed)) == (True, True)


def test_both_refuse_other_statistics_alike(tmp_path: Path) -> None:
    def mean(text: str) -> str:
        return text.replace('name = "tags"\nmeasure = "count"\n', MEAN)

    streamed = str(refused(lambda: plan(tmp_path, mean)))
    assert key_words.not_discovered("tag", "for mean") in streamed
    assert key_words.needs_more("mean") in streamed
    query = asked()
    for end, ask in {
        "top_k": lambda: query.top_k(1, by=DISCOVERED, **LOSS),
        "noisy_sum": lambda: query.private_partition("region").noisy_sum(
            "age", lower=0, upper=9, epsilon=1
        ),
    }.items():
        one = refused(ask)
        assert one.what == key_words.not_discovered("region", f"for {end}")
        assert one.why == key_words.needs_more(end)
    assert query.account.left == Approx(10, "1e-3")  # refused before anything is paid


def test_both_explain_alike_how_many_a_key_needs(tmp_path: Path) -> None:
    once = re.escape(key_words.published_once("about ", "users"))
    (told,) = [one for one in in_words(plan(tmp_path)) if "discovers the keys" in one]
    assert re.search(once + r"\d+ users at step 1", told)
    assert told.endswith(key_words.BY_DATA_ALONE)
    keys = asked().explain("private_keys", column="region", **LOSS)
    assert re.search(once + rf"\d+ users\. {re.escape(key_words.BY_DATA_ALONE)}", keys)
    assert "published has at most" in keys
    counts = asked().private_partition("region").explain("noisy_count", **LOSS)
    rows = re.escape(key_words.published_once("about ", "rows"))
    assert re.search(rows + rf"\d+ rows\. {re.escape(key_words.BY_DATA_ALONE)}", counts)


def test_both_say_what_a_unit_of_one_event_cannot_hide(tmp_path: Path) -> None:
    def events(text: str) -> str:
        before, _, after = text.partition('unit = "user"')
        return f'{before}unit = "event"\n{after[after.index("epsilon") :]}'

    assert key_words.own_crowd("events") in str(refused(lambda: plan(tmp_path, events)))
    rows = key_words.own_crowd("rows")
    ends: dict[str, dict[str, Any]] = {"private_keys": {"column": "region"}, "noisy_count": {}}
    for end, fields in ends.items():
        for unit, there in ((EVENT, True), (USER, False)):
            query = asked(unit)
            of = query if fields else query.private_partition("region")
            assert (rows in of.explain(end, **fields, **LOSS)) == there


def test_both_say_that_no_key_is_published() -> None:
    query = asked()
    keys = query.private_keys("region", epsilon="0.1", delta="1e-9")
    one = refused(lambda: query.partition(region=keys))
    assert key_words.not_published("region") in one.what
