"""Every public name has a docstring, a signature and an example in the reference."""

from __future__ import annotations

import doctest
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import ameles
from ameles.mechanisms.catalogue import MECHANISMS

DOCS = Path(__file__).parents[1] / "docs"
REFERENCE = {page.name: page.read_text(encoding="utf-8") for page in (DOCS / "reference").iterdir()}


@pytest.fixture(scope="module")
def api() -> Iterator[ModuleType]:
    """The program that writes the pages; it stands beside them, outside of any package."""
    sys.path.insert(0, str(DOCS))
    yield importlib.import_module("api")
    sys.path.remove(str(DOCS))


def test_every_public_name_is_described(api: ModuleType) -> None:
    names = list(api.public_names())
    assert ("ameles", "Ledger") in names
    assert ("ameles.accounting", "compose") in names
    for module, name in names:
        page = REFERENCE[api.page_of(module, name)]
        assert f"\n## {name}\n" in page, f"{module}.{name}"


def test_all_public_modules_are_said_in_one_place(api: ModuleType) -> None:
    for module in api.PUBLIC:
        assert f"[`{module}`]" in REFERENCE["names.md"]
        assert importlib.import_module(module).__all__


def test_every_refusal_is_listed_wherever_it_is_in_the_code() -> None:
    classes = re.compile(r"^class (\w+)\((\w+)", re.MULTILINE)
    parents = {
        name: parent
        for file in (DOCS.parent / "src").rglob("*.py")
        for name, parent in classes.findall(file.read_text(encoding="utf-8"))
    }
    refusals = {"AmelesError"}
    while more := {name for name, parent in parents.items() if parent in refusals} - refusals:
        refusals |= more
    assert {"BadPlan", "NotLaunched", "VaultMissing"} < refusals
    listed = re.findall(r"^\|\s*`(\w+)` \| `error", REFERENCE["exceptions.md"], re.MULTILINE)
    assert sorted(listed) == sorted(refusals)


def test_every_method_of_a_ledger_has_an_example() -> None:
    for method in re.split(r"^### ", REFERENCE["ledger.md"], flags=re.MULTILINE)[1:]:
        if method.startswith("Ledger."):
            assert "\n>>> " in method, method.partition("\n")[0]


def undocumented(name: str, docstring: str, example: str) -> type:
    """A class as a careless author would add it, in a module of its own."""
    home = ModuleType(f"home_of_{name.lower()}", example)
    sys.modules[home.__name__] = home
    return type(name, (), {"__module__": home.__name__, "__doc__": docstring or None})


@pytest.mark.parametrize(
    ("docstring", "example", "message"),
    [
        ("", ">>> Thing()", "no docstring"),
        ("A thing.", "", "no example"),
        ("A thing.", ">>> Something_else()", "no example"),
        ("A thing.", "Thing without a doctest", "no example"),
    ],
)
def test_a_name_without_docstring_or_example_is_refused(
    api: ModuleType, monkeypatch: pytest.MonkeyPatch, docstring: str, example: str, message: str
) -> None:
    monkeypatch.setattr(ameles, "Thing", undocumented("Thing", docstring, example), raising=False)
    with pytest.raises(api.Undocumented, match=message):
        list(api.Entry("ameles", "Thing").text())


def test_a_member_without_docstring_is_refused(
    api: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    thing = undocumented("Thing", "A thing.\n\n>>> Thing()", "")
    monkeypatch.setattr(thing, "__module__", "ameles.core.loss")
    monkeypatch.setattr(thing, "silent", lambda self: None, raising=False)
    monkeypatch.setattr(ameles, "Thing", thing, raising=False)
    with pytest.raises(api.Undocumented, match=r"Thing\.silent has no docstring"):
        list(api.Entry("ameles", "Thing").text())


def test_a_mechanism_without_a_section_is_refused(
    api: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    thing = undocumented("Thing", "A thing.\n\n>>> Thing()", "")
    monkeypatch.setattr(ameles, "Thing", thing, raising=False)
    monkeypatch.setattr(api, "MECHANISMS", (thing,))
    with pytest.raises(SystemExit, match="lacks: Theorem, Neighbours, Noise, Error, Memory"):
        list(api.Entry("ameles", "Thing").text())


def test_sections_of_a_docstring(api: ModuleType) -> None:
    docstring = """A counter.

    Theorem      Somebody 2010, Thm 1
    Noise        discrete Laplace,
                 scale 1 / epsilon

    >>> 1 + 1
    2
    """
    assert api.sections(docstring) == {
        "Theorem": "Somebody 2010, Thm 1",
        "Noise": "discrete Laplace, scale 1 / epsilon",
    }


def test_a_docstring_becomes_markdown(api: ModuleType) -> None:
    docstring = "At most a * b and ``a * b``.\n\n>>> 1 + 1\n2"
    assert list(api.markdown(docstring)) == [
        r"At most a \* b and `a * b`.",
        "```pycon\n>>> 1 + 1\n2\n```",
    ]


def test_signatures_have_the_types_that_a_caller_may_give() -> None:
    page = REFERENCE["mechanisms.md"]
    counter = re.search(r"^## BinaryCounter\n.*?^## ", page, re.MULTILINE | re.DOTALL)
    assert counter
    assert "    epsilon: int | float | str | Fraction | Decimal,\n" in counter[0]
    assert '    unit: Unit | str = "event",\n' in counter[0]
    assert "start(recipe: Mechanism[RunT], *, on: str, why: str) -> RunT" in REFERENCE["ledger.md"]


def test_every_parameter_has_its_meaning_and_no_meaning_is_left_over(api: ModuleType) -> None:
    signatures = importlib.import_module("signatures")
    used = {name for recipe in MECHANISMS for name, _, _ in signatures.parameters_of(recipe)}
    own = {f"{recipe.__name__}.{name}" for recipe in MECHANISMS for name in used}
    texts = set(api.TEXTS["parameters"])
    assert used <= texts
    assert texts <= used | own
    with pytest.raises(api.Undocumented, match=r"no meaning of BinaryCounter\.colour"):
        api.meaning("colour", "BinaryCounter")


def test_the_examples_of_recipes_runs_and_errors_are_true(api: ModuleType) -> None:
    text = "\n".join(api.TEXTS["examples"].values())
    test = doctest.DocTestParser().get_doctest(text, {}, "texts.toml", None, 0)
    assert len(test.examples) > 10
    said: list[str] = []
    assert doctest.DocTestRunner().run(test, out=said.append).failed == 0, "".join(said)
