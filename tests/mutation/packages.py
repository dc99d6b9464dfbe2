"""The packages on which the guarantee stands, their modules and their tests."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

TREE = Path(__file__).parents[2]
PACKAGES = {
    "noise": "noise",
    "accounting": "accounting",
    "measures": "measures",
    "counters": "mechanisms/counters",
    "pan_private": "mechanisms/pan_private",
    "continual": "mechanisms/continual",
    "discovery": "mechanisms/discovery",
    "one_shot": "mechanisms/one_shot",
    "interactive": "mechanisms/interactive",
    "local": "mechanisms/local",
    "ledger": "ledger",
    "store": "store",
    "connectors": "connectors",
    "plan": "plan",
    "query": "query",
    "vault": "engine/sealed/vault",
    "gathering": "engine/gathering",
    "engine": "engine",
    "service": "service",
    "ingest": "service/ingest",
    "metrics": "service/metrics",
    "readout": "service/readout",
}
# Faults of real processes, documents and pictures: too slow, or about something else.
_LEFT_OUT = (
    "tests/mutation",
    "tests/faults",
    "tests/testing",
    "tests/plot",
    "tests/simulate",
    "tests/test_",
)


def modules(package: str) -> dict[str, Path]:
    """The modules of a package, by name, without those of packages inside it; what ``ameles check``
    shows is outside the guarantee."""
    folder, root = PACKAGES[package], TREE / "src" / "ameles"
    inside = [root / one for one in PACKAGES.values() if one.startswith(f"{folder}/")]
    files = [
        file
        for file in (root / folder).rglob("*.py")
        if "owner_check" not in file.parts and not any(map(file.is_relative_to, inside))
    ]
    return {
        ".".join(file.relative_to(TREE / "src").with_suffix("").parts).removesuffix(".__init__"): (
            file
        )
        for file in sorted(files)
    }


def file_of(module: str) -> Path:
    """The file of a module."""
    place = (TREE / "src").joinpath(*module.split("."))
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


def files_of_tests() -> list[str]:
    """All files whose tests are tried, by their path in the tree: modules have examples, too."""
    tests = [str(file.relative_to(TREE)) for file in sorted((TREE / "tests").rglob("test_*.py"))]
    examples = [
        str(file.relative_to(TREE))
        for package in PACKAGES
        for file in modules(package).values()
        if ">>>" in file.read_text(encoding="utf-8")
    ]
    return [file for file in tests if not file.startswith(_LEFT_OUT)] + examples


def mirrors(test: str, module: str) -> bool:
    """Whether a test is about a module, by its name."""
    file, name = test.partition("::")[0], module.rpartition(".")[2]
    return Path(file).stem.removeprefix("test_").startswith(name)


def imports(test: str, module: str) -> bool:
    """Whether the file of a test names a module in an import."""
    package, _, name = module.rpartition(".")
    text = _text(test.partition("::")[0])
    return bool(
        re.search(rf"^from {re.escape(module)} import", text, re.MULTILINE)
        or re.search(rf"^from {re.escape(package)} import[^\n(]*\b{name}\b", text, re.MULTILINE)
        or re.search(rf"^from {re.escape(package)} import \([^)]*\b{name}\b", text, re.MULTILINE)
    )


def mentions(test: str, place: str) -> bool:
    """Whether a test has the name of a function, or of a class around it, in its text or its own
    name, where parameters are."""
    names = {name.strip("_") for name in place.split(".")} - {"init", "post_init", ""}
    words = words_of(test.partition("::")[0]).get(test.rpartition("::")[2].partition("[")[0], set())
    return any(name in word for name in names for word in {test.partition("::")[2], *words})


@cache
def words_of(file: str) -> dict[str, set[str]]:
    """The words of each test of a file, those of its name among them."""
    return {
        node.name: {node.name, *re.findall(r"\w+", ast.unparse(node))}
        for node in ast.walk(ast.parse(_text(file)))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


@cache
def _text(file: str) -> str:
    return (TREE / file).read_text(encoding="utf-8")
