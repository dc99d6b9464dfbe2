"""Every key of a plan is documented, with its default; the plans on the pages are plans."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ameles.core.release import COLUMNS
from ameles.measures.catalogue import MEASURES
from ameles.measures.discovering import DiscoveringMeasure
from ameles.measures.measure import Measure
from ameles.plan.condition import check_expression
from ameles.plan.condition_functions import FUNCTIONS
from ameles.plan.plan import read_plan_text
from ameles.plan.sections import SINK_TABLE, PrivacySection, StoreSection, StreamSection

ROOT = Path(__file__).parents[1]
PLANS = (ROOT / "docs" / "plans.md").read_text(encoding="utf-8")
RELEASES = (ROOT / "docs" / "releases.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMON = Measure.model_fields
DISCOVERED = {
    name: field for name, field in DiscoveringMeasure.model_fields.items() if name not in COMMON
}
SECTIONS: dict[str, type[BaseModel]] = {
    "[stream]": StreamSection,
    "[privacy]": PrivacySection,
    "[store]": StoreSection,
    "[[sink]]": SINK_TABLE,
}


def section(head: str) -> str:
    """What stands under a heading, up to the next."""
    match = re.search(
        rf"^##+ `{re.escape(head)}`\n(.*?)(?=^##|\Z)", PLANS, re.MULTILINE | re.DOTALL
    )
    assert match, f"no heading {head}"
    return match[1]


def documented(text: str) -> dict[str, str]:
    """The keys of a table and their defaults."""
    return dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", text, re.MULTILINE))


def default(field: FieldInfo) -> str:
    value: Any = field.get_default(call_default_factory=True)
    if field.is_required():
        return "needed"
    if value is None or value in ({}, ()):
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if value == '"':
        return "`'\"'`"
    return f"`{value}`" if isinstance(value, Fraction | int) else f'`"{value}"`'


def keys(fields: dict[str, FieldInfo]) -> dict[str, str]:
    return {name: default(field) for name, field in fields.items()}


@pytest.mark.parametrize("head", SECTIONS)
def test_every_key_of_a_section_is_documented(head: str) -> None:
    assert documented(section(head)) == keys(SECTIONS[head].model_fields)


def test_every_key_of_all_releases_is_documented() -> None:
    assert documented(section("[[release]]")) == keys(COMMON)


@pytest.mark.parametrize("measure", MEASURES)
def test_every_key_of_a_measure_is_documented(measure: str) -> None:
    fields = MEASURES[measure].model_fields
    shared = {**COMMON, **DISCOVERED}
    own = {name: field for name, field in fields.items() if name not in shared}
    assert documented(section(measure)) == keys(own)


def test_every_key_about_discovered_keys_is_documented() -> None:
    text = PLANS.partition("\n## Discovered keys\n")[2].partition("\n## ")[0]
    assert documented(text) == keys(DISCOVERED)
    assert all(f"`{name}`" in text for name, kind in MEASURES.items() if kind.discovers)


def test_what_is_quoted_from_an_example_is_in_it() -> None:
    quotes = re.findall(r"From `(examples/\S+\.toml)`:\n\n```toml\n(.*?)```", PLANS, re.DOTALL)
    assert quotes
    for file, quote in quotes:
        assert f"\n{quote}\n" in (ROOT / file).read_text(encoding="utf-8")


def test_a_missing_key_would_be_noticed() -> None:
    lines = section("[stream]").replace("| `weight` |", "| `heaviness` |")
    assert documented(lines) != keys(StreamSection.model_fields)


def calls() -> list[str]:
    """The functions of conditions, as the page calls them."""
    table = PLANS.partition("| Function |")[2].partition("\n\n")[0]
    cells = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    return [call for cell in cells for call in re.findall(r"`([^`]+)`", cell)]


def test_every_function_of_a_condition_is_documented_once() -> None:
    named = sorted(call.partition("(")[0] for call in calls())
    assert named == sorted(
        name for name in FUNCTIONS if name.isidentifier() and "escape" not in name
    )


@pytest.mark.parametrize("call", calls())
def test_a_condition_may_call_a_function_as_the_page_does(call: str) -> None:
    kinds = dict.fromkeys("abnm", "integer") | {"t": "timestamp", "condition": "boolean"}
    check_expression(call, kinds | {"text": "text", "other": "text"})


def test_every_operator_of_arithmetic_is_documented() -> None:
    listed = re.search(r"arithmetic \((.*?)\)", PLANS)
    assert listed
    signs = [name for name in FUNCTIONS if not name.isidentifier() and "~" not in name]
    assert re.findall(r"`(.+?)`", listed[1]) == signs


def test_every_column_of_a_release_is_documented_in_its_order() -> None:
    table = RELEASES.partition("\n\n## ")[0].split("stable:")[1]
    assert tuple(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == COLUMNS


def test_every_measure_has_its_interval() -> None:
    table = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", RELEASES.partition("## Intervals")[2], re.M)
    assert sorted(re.findall(r"`(\w+)`", " ".join(table))) == sorted(MEASURES)


@pytest.mark.parametrize("page", [PLANS, README], ids=["plans", "readme"])
def test_the_plan_on_the_page_is_a_plan(page: str) -> None:
    text, *parts = re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    examples = [file.read_text(encoding="utf-8") for file in (ROOT / "examples").rglob("*.toml")]
    assert all(any(part in example for example in examples) for part in parts)
    plan = read_plan_text(text)
    assert plan.stream.name == "flu"
    assert plan.releases
