"""What a plan says about the format of its source is checked before anything is read."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from ameles.connectors.format import DEFAULT, Format
from ameles.core.exceptions import PlanError
from ameles.plan.plan import check_plan
from tests.engine.documents import good


def plan_of(**keys: Any) -> Any:
    document = copy.deepcopy(good())
    document["stream"].update(keys)
    return check_plan(document)


def test_without_keys_it_is_as_it_was() -> None:
    plan = plan_of()
    assert plan.form == DEFAULT
    assert not {"delimiter", "quote", "decimal", "header", "strip", "time_format"} & set(
        json.loads(plan.to_json())["stream"]
    )


def test_all_keys() -> None:
    names = ["x", *plan_of().stream.columns]
    plan = plan_of(
        time_format="%d.%m.%Y", delimiter=";", quote="'", decimal=",", header=names, strip=True
    )
    assert plan.form == Format(
        time_format=("%d.%m.%Y",),
        delimiter=";",
        quote="'",
        decimal=",",
        header=tuple(names),
        strip=True,
    )
    assert json.loads(plan.to_json())["stream"]["time_format"] == ["%d.%m.%Y"]
    assert plan_of(time_format=["%d.%m.%Y", "%Y%m%d"]).form.time_format[1] == "%Y%m%d"
    assert plan_of(delimiter="\t").form.delimiter == "\t"
    assert plan_of(quote="").form.quote == ""
    assert plan_of(encoding="latin-1").form.encoding == "latin-1"


def test_the_rules_of_a_stream_are_those_of_its_format() -> None:
    plan = plan_of()
    assert plan.stream.form(1).rules == 1


@pytest.mark.parametrize(
    ("keys", "key", "said"),
    [
        ({"time_format": 3}, "time_format", "pattern in quotes"),
        ({"time_format": [3]}, "time_format", "pattern in quotes"),
        ({"time_format": []}, "time_format", "1 to 20"),
        ({"time_format": "%H:%M"}, "time_format", "has no year"),
        ({"time_format": ["%d.%m.%Y", "%x"]}, "time_format", "locale"),
        ({"delimiter": ""}, "delimiter", "one character"),
        ({"delimiter": ";;"}, "delimiter", "one character"),
        ({"delimiter": "a"}, "delimiter", "one character"),
        ({"delimiter": "7"}, "delimiter", "one character"),
        ({"delimiter": "\n"}, "delimiter", "one character"),
        ({"delimiter": "§"}, "delimiter", "one character"),
        ({"delimiter": '"'}, "stream", "the same"),
        ({"quote": "''"}, "quote", "one character"),
        ({"quote": "\0"}, "quote", "one character"),
        ({"quote": "\r"}, "quote", "one character"),
        ({"source": "kafka://me:word@h/visits"}, "source", "a user or a password"),
        ({"source": "redis://:word@h/0?stream=a"}, "source", "a user or a password"),
        ({"source": "redis://:word@h/0?stream=a", "decimal": ";"}, "source", "a user or a passwor"),
        ({"source": "postgres://me:word@h/d?table=a"}, "source", "contains a password"),
        ({"source": "postgres://me@h/d?table=a&password=word"}, "source", "contains a password"),
        ({"source": "kafka://h"}, "source", "one topic"),
        ({"source": "redis://h/0"}, "source", "one stream"),
        ({"decimal": ";"}, "decimal", "','"),
        ({"encoding": "ascii"}, "encoding", "'utf-8'"),
        ({"source": "a.parquet", "encoding": "latin-1"}, "stream", "encoding of its own"),
        ({"encoding": "utf-16", "rotated": "a.csv.*"}, "stream", "cannot be used with UTF-16"),
        ({"header": []}, "header", ""),
        ({"header": ["at", "at"]}, "header", "twice"),
        ({"header": ["at"]}, "stream", "header has no column"),
        ({"header": ["at", ""]}, "header", "name of a column"),
        ({"strip": 1}, "strip", ""),
        ({"source": "a.jsonl", "delimiter": ";"}, "stream", "CSV alone"),
        ({"source": "a.parquet", "header": ["at"]}, "stream", "CSV alone"),
        ({"source": "a.jsonl.gz", "strip": True, "quote": ""}, "stream", "quote, strip go with"),
    ],
)
def test_what_cannot_be_is_a_problem_with_its_key(
    keys: dict[str, Any], key: str, said: str
) -> None:
    with pytest.raises(PlanError) as caught:
        plan_of(**keys)
    assert said in str(caught.value)
    assert key in str(caught.value)
    assert "word@" not in str(caught.value)
    assert "=word" not in str(caught.value)


def test_a_format_of_times_needs_times() -> None:
    document = copy.deepcopy(good())
    stream = document["stream"]
    stream |= {"source": "-", "time_format": "epoch", "columns": {"who": "text", "age": "integer"}}
    del stream["time"]
    document["release"] = [{"name": "n", "measure": "count"}]
    with pytest.raises(PlanError, match="there is none"):
        check_plan(document)
