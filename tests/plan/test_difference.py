"""The difference of two plans names every key that changed, and no other."""

from __future__ import annotations

import json

from ameles.plan.difference import difference


def test_releases_go_by_name() -> None:
    before = {"release": [{"name": "a", "over": "total"}, {"name": "b", "by": {"x": ["1", "2"]}}]}
    after = {"release": [{"name": "b", "by": {"x": ["1", "3"]}}, {"name": "c"}]}
    assert difference(json.dumps(before), json.dumps(after)) == [
        "release.a.name: was a, is absent",
        "release.a.over: was total, is absent",
        "release.b.by.x: was ['1', '2'], is ['1', '3']",
        "release.c.name: was absent, is c",
    ]


def test_equal_plans_do_not_differ() -> None:
    assert difference('{"a":{"b":1},"c":[1]}', '{"c":[1],"a":{"b":1}}') == []
