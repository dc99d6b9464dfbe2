"""The packages on which the guarantee stands, their modules and their tests."""

from __future__ import annotations

from pathlib import Path

TREE = Path(__file__).parents[2]
PACKAGES = {
    "noise": "noise",
    "accounting": "accounting",
    "measures": "measures",
    "counters": "mechanisms/counters",
    "pan_private": "mechanisms/pan_private",
    "continual": "mechanisms/continual",
    "ledger": "ledger",
    "store": "store",
    "connectors": "connectors",
    "plan": "plan",
    "vault": "engine/sealed/vault",
    "engine": "engine",
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
    """The modules of a package, by name."""
    place = TREE / "src" / "ameles" / PACKAGES[package]
    files = [
        file for file in place.rglob("*.py") if package == "vault" or "vault" not in file.parts
    ]
    return {
        ".".join(file.relative_to(TREE / "src").with_suffix("").parts).removesuffix(".__init__"): (
            file
        )
        for file in sorted(files)
    }


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
