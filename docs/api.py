"""The pages of the reference about public names: signature, meaning, members and an example.

All of it comes from the code: from signatures, from docstrings, and from the doctests in them.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import tomllib
from collections.abc import Iterator
from enum import Enum
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import signatures
from docstrings import code, examples, markdown, prose, sections, table

from ameles import PanPrivateCounter
from ameles.core.exceptions import AmelesError
from ameles.mechanisms.catalogue import MECHANISMS
from ameles.noise import System, Zero

TEXTS = tomllib.loads((Path(__file__).parent / "texts.toml").read_text(encoding="utf-8"))
# Each public module with what it is for; ``ameles`` has several pages, the others one each.
PUBLIC: dict[str, str] = TEXTS["modules"]
SECTIONS = ("Theorem", "Neighbours", "Noise", "Error", "Memory")


class Undocumented(Exception):
    """A public name without a docstring or an example."""


@cache
def public_names() -> tuple[tuple[str, str], ...]:
    """Every public name, with the module that it is imported from."""
    return tuple(
        (module, name) for module in PUBLIC for name in importlib.import_module(module).__all__
    )


@cache
def page_of(module: str, name: str) -> str:
    """The page that a public name is described on."""
    if module != "ameles":
        return module.removeprefix("ameles.") + ".md"
    value = getattr(importlib.import_module(module), name)
    home = value.__module__ if hasattr(value, "__module__") else type(value).__module__
    if inspect.isclass(value) and issubclass(value, AmelesError):
        return "exceptions.md"
    for part in ("ledger", "mechanisms"):
        if home.startswith(f"ameles.{part}"):
            return f"{part}.md"
    return "promises.md"


def address(module: str, name: str) -> str:
    """Where a name is described: headings that differ in capitals alone are numbered."""
    page = page_of(module, name)
    there = [other for home, other in public_names() if page_of(home, other) == page]
    before = [other for other in there[: there.index(name)] if other.lower() == name.lower()]
    return f"{page}#{name.lower()}{f'-{len(before)}' if before else ''}"


def entries(page: str) -> list[str]:
    """The descriptions of all public names of a page."""
    return [
        part
        for module, name in public_names()
        if page_of(module, name) == page
        for part in Entry(module, name).text()
    ]


class Entry:
    """What the reference says about one public name."""

    def __init__(self, module: str, name: str) -> None:
        self.name = name
        self.value: Any = getattr(importlib.import_module(module), name)
        self.described = inspect.isclass(self.value) or inspect.isroutine(self.value)
        source = self.value if self.described else type(self.value)
        self.module = sys.modules[source.__module__]
        self.docstring = inspect.getdoc(source) or ""

    @cached_property
    def summary(self) -> str:
        """Its first sentence, for tables."""
        if self.described:
            return prose(self.docstring.partition("\n\n")[0].replace("\n", " "))
        kind = type(self.value).__name__
        first = self.docstring.partition("\n\n")[0].replace("\n", " ")
        said = first.rstrip(".") if str(self.value).startswith(kind) else str(self.value)
        return f"a `{kind}`: {said}"

    @cached_property
    def example(self) -> str | None:
        """The doctest that shows the name at work: its own, a member's, or its module's."""
        if shown := examples(self.docstring):
            return shown if self.described or self.name in shown else self._elsewhere()
        return self._elsewhere()

    def _elsewhere(self) -> str | None:
        own = members(self.value) if inspect.isclass(self.value) else ()
        for text in (self.module.__doc__ or "", *(each.docstring for each in own)):
            shown = examples(text)
            if shown and re.search(rf"\b{self.name}\b", shown):
                return shown
        return None

    def text(self) -> Iterator[str]:
        """Its description, part by part; raises ``Undocumented`` where something is missing."""
        if self.described and not self.docstring:
            raise Undocumented(f"{self.name} has no docstring")
        if self.example is None:
            raise Undocumented(
                f"{self.name} has no example: its docstring, or that of {self.module.__name__}, "
                "needs a doctest that uses it"
            )
        yield f"## {self.name}"
        if not self.described:
            yield f"{prose(self.summary)}."
        elif self.value in MECHANISMS:
            yield from self._mechanism()
        elif inspect.isclass(self.value) and issubclass(self.value, Enum):
            yield from markdown(self.docstring)
            yield table(("Member", "Value", ""), choices(self.value))
        else:
            yield code("python", signatures.signature(self.value, self.name))
            yield from markdown(self.docstring)
        if not self.described or self.example not in examples(self.docstring):
            yield code("pycon", self.example)
        if inspect.isclass(self.value) and self.value not in MECHANISMS:
            yield from self._members()

    def _mechanism(self) -> Iterator[str]:
        said = sections(self.module.__doc__ or "")
        if missing := [name for name in SECTIONS if name not in said]:
            sys.exit(f"The docstring of {self.module.__name__} lacks: {', '.join(missing)}.")
        yield prose((self.module.__doc__ or "").partition("\n")[0])
        yield code("python", signatures.signature(self.value, self.name))
        yield from markdown(self.docstring)
        rows = [
            (f"`{name}`", f"`{kind}`", f"`{default}`" if default else "", meaning(name, self.name))
            for name, kind, default in signatures.parameters_of(self.value)
        ]
        yield table(("Parameter", "Type", "Default", "Meaning"), rows)
        yield table(("", ""), [(name, prose(said[name])) for name in SECTIONS])

    def _members(self) -> Iterator[str]:
        if issubclass(self.value, AmelesError | Enum):
            return
        listed = list(members(self.value))
        for member in listed:
            if not member.docstring:
                raise Undocumented(f"{self.name}.{member.name} has no docstring")
        rows = [
            (f"`{each.name}`", f"`{each.kind}`", prose(" ".join(each.docstring.split())))
            for each in listed
            if not each.signature
        ]
        if rows:
            yield table(("Property", "Type", "Meaning"), rows)
        for member in listed:
            if member.signature:
                yield f"### {self.name}.{member.name}"
                yield code("python", member.signature)
                yield from markdown(member.docstring)


class Member(NamedTuple):
    """A public method with its signature, or a property with its type."""

    name: str
    docstring: str
    signature: str = ""
    kind: str = ""


def members(value: type) -> Iterator[Member]:
    """The public members of a class, in the order in which they stand in the code."""
    seen: set[str] = set()
    for owner in value.__mro__:
        if not owner.__module__.startswith("ameles."):
            continue
        for name, held in vars(owner).items():
            called = getattr(held, "__func__", held)
            method, kind = inspect.isfunction(called), computed(held)
            if name.startswith("_") or name in seen or not (method or kind):
                continue
            seen.add(name)
            docstring = inspect.getdoc(getattr(value, name) if method else held)
            # Sources of noise have the same methods, and one of them says what they do.
            docstring = docstring or inspect.getdoc(getattr(System, name, None)) or ""
            spelled = signatures.signature(called, name) if method else ""
            yield Member(name, docstring, spelled, kind)


def computed(held: object) -> str:
    """The type of a property; nothing for what is no property."""
    function = held.fget if isinstance(held, property) else getattr(held, "func", None)
    if not isinstance(held, property | cached_property) or function is None:
        return ""
    return signatures.plain(inspect.signature(function).return_annotation)


def choices(enum: type[Enum]) -> Iterator[tuple[str, str, str]]:
    """The members of an enum, with the comments that stand beside them in the code."""
    source = inspect.getsource(enum)
    for each in enum:
        comment = re.search(rf"^    {each.name} = .*?  # (.*)$", source, re.MULTILINE)
        yield f"`{enum.__name__}.{each.name}`", f"`{each.value!r}`", comment[1] if comment else ""


def meaning(parameter: str, recipe: str) -> str:
    """What a parameter of a mechanism means: one sentence for each name in ``texts.toml``."""
    texts: dict[str, str] = TEXTS["parameters"]
    try:
        return texts.get(f"{recipe}.{parameter}") or texts[parameter]
    except KeyError:
        raise Undocumented(f"docs/texts.toml has no meaning of {recipe}.{parameter}") from None


def shared() -> Iterator[str]:
    """What every recipe, run and error has: signatures from real ones, words of ``texts.toml``."""
    recipe = PanPrivateCounter(epsilon=1, horizon=8)
    owners = {"recipe": recipe, "run": recipe.start(Zero()), "error": recipe.error}
    for noun, owner in owners.items():
        yield f"## Every {noun}"
        yield TEXTS[noun]["is"]
        for name, text in TEXTS[noun].items():
            if name != "is":
                member = inspect.getattr_static(type(owner), name)
                yield f"### {noun}.{name}"
                if inspect.isfunction(member):
                    yield code("python", signatures.signature(member, name))
                yield text
        yield code("pycon", TEXTS["examples"][noun].strip())


def names() -> Iterator[str]:
    """The public modules, and a table of the names of each."""
    yield TEXTS["public"]["is"]
    modules = [(f"[`{name}`](#{name.replace('.', '')})", text) for name, text in PUBLIC.items()]
    yield table(("Module", "What it is for"), modules)
    for module in PUBLIC:
        yield f"## {module}"
        rows = [
            (f"[`{name}`]({address(module, name)})", Entry(module, name).summary)
            for name in importlib.import_module(module).__all__
        ]
        yield table(("Name", "What it is"), rows)
