"""The packages on which the guarantee stands, their modules and their tests."""

from __future__ import annotations

from pathlib import Path

TREE = Path(__file__).parents[2]
PACKAGES = {
    "noise": ("noise", True),
    "accounting": ("accounting", True),
    "measures": ("measures", True),
    "counters": ("mechanisms/counters", True),
    "pan_private": ("mechanisms/pan_private", True),
    "continual": ("mechanisms/continual", True),
    "ledger": ("ledger", True),
    "store": ("store", True),
    "connectors": ("connectors", True),
    "vault": ("engine/vault", True),
    "engine": ("engine", False),  # its folders are by themselves
}
# Faults of real processes, documents and pictures: too slow, or about something else.
_LEFT_OUT = ("tests/mutation", "tests/testing", "tests/plot", "tests/simulate", "tests/test_")


def modules(package: str) -> dict[str, Path]:
    """The modules of a package, by name."""
    folder, deep = PACKAGES[package]
    place = TREE / "src" / "ameles" / folder
    files = place.rglob("*.py") if deep else place.glob("*.py")
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
