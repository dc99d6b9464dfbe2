"""Makes the tables of ``docs/reference`` from the code.

    python docs/generate.py            writes the pages
    python docs/generate.py --check    fails if a page differs from what would be written
    python docs/generate.py --into X   writes them into another folder

The code is the only place where a mechanism, a refusal, an extra, a command or a public
name is described; these pages show it and are committed, so that a change to them is seen.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from pkgutil import walk_packages

import api
import typer.main
from docstrings import markdown, table
from typer.core import TyperGroup
from typer.testing import CliRunner

import ameles
from ameles.cli.commands import app
from ameles.cli.extras import extras
from ameles.core.exceptions import AmelesError
from ameles.mechanisms.counters.choose import compare
from ameles.mechanisms.counters.comparison import Row
from ameles.mechanisms.counters.gaussian.error import gaussian_lower_bound
from ameles.mechanisms.counters.lower_bounds import packing_bound

REFERENCE = Path(__file__).parent / "reference"


def main() -> int:
    parser = argparse.ArgumentParser(description="Makes docs/reference from the code.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if stale")
    parser.add_argument("--into", type=Path, default=REFERENCE, help="the folder to write into")
    options = parser.parse_args()
    made = pages()
    if not options.check:
        options.into.mkdir(parents=True, exist_ok=True)
        for name, text in made.items():
            (options.into / name).write_text(text, encoding="utf-8")
        return 0
    stale = [name for name, text in made.items() if current(options.into / name) != text]
    stale += [file.name for file in options.into.glob("*.md") if file.name not in made]
    if stale:
        sys.stderr.write(f"docs/reference is stale: {', '.join(sorted(stale))}\n")
        sys.stderr.write("  try: .venv/bin/python docs/generate.py\n")
    return 1 if stale else 0


def current(file: Path) -> str | None:
    return file.read_text(encoding="utf-8") if file.exists() else None


def pages() -> dict[str, str]:
    """Every page of the reference by file name."""
    made = {
        "names.md": page("Public names", *api.names()),
        "ledger.md": page(
            "Ledger, recipes, runs, errors", *api.entries("ledger.md"), *api.shared()
        ),
        "promises.md": page("Promises and losses", *api.entries("promises.md")),
        "mechanisms.md": page("Mechanisms", *api.entries("mechanisms.md")),
        "exceptions.md": exceptions(),
        **{api.page_of(name, ""): module_page(name) for name in api.PUBLIC if name != "ameles"},
        "errors.md": errors(),
        "commands.md": commands(),
        "extras.md": optional_parts(),
    }
    listed = "\n".join(name.removesuffix(".md") for name in made)
    made["index.md"] = page(
        "Reference",
        "Made from the code by `docs/generate.py`.",
        f"```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```",
    )
    return made


def module_page(name: str) -> str:
    module = importlib.import_module(name)
    about = markdown(module.__doc__ or "")
    return page(f"{name}", *about, *api.entries(api.page_of(name, "")))


def page(title: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", *parts]) + "\n"


def first_line(thing: object) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0].replace("``", "`")


def errors() -> str:
    """Standard deviations of the counters, between marks from which other pages include them."""

    def rounded(number: float) -> str:
        return f"{number:,.{0 if number >= 1000 else 1 if number >= 20 else 2}f}"

    def rows(comparisons: list[dict[str, Row]]) -> Iterator[tuple[str, ...]]:
        for name in sorted(comparisons[-1], key=lambda name: -comparisons[-1][name].mean):
            ratios = (each[name].mean / each["BinaryCounter"].mean for each in comparisons)
            means = (rounded(each[name].mean) for each in comparisons)
            yield (
                f"`{name}`",
                *means,
                " / ".join(f"{ratio:,.{3 if ratio < 1 else 1}f}" for ratio in ratios),
            )

    horizons = {power: 1 << power for power in (10, 16, 20)}
    bounded = [
        {row.name: row for row in compare(epsilon=1, horizon=steps)} for steps in horizons.values()
    ]
    columns = [f"T = 2^{power}" for power in horizons]
    short = [
        (f"`{row.name}`", rounded(row.mean), rounded(row.worst), rounded(row.last))
        for row in sorted(bounded[0].values(), key=lambda row: -row.mean)
    ]
    endless = [
        (f"`{row.name}`", rounded(row.mean), f"{row.ratio:.3g}") for row in compare(epsilon=1)
    ]
    bounds = [
        (
            f"2^{power}",
            f"{packing_bound(horizon=steps, epsilon=1, beta=0.05):g}",
            f"{bounded[place]['SiblingsCounter'].recipe.error.bound_all(steps, 0.05):g}",
            f"{gaussian_lower_bound(steps):.3f}",
        )
        for place, (power, steps) in enumerate(horizons.items())
    ]
    heads = ("T", "pure: all steps, 95%", "Siblings promises", "Gaussian: mean, in sigma")
    return page(
        "Errors of the counters",
        "At epsilon 1, in counts. The mean is the root of the mean variance over the steps; up to "
        "2^10 over all of them, beyond over 1,024 that are spread evenly.",
        "## Mean standard deviation",
        "<!-- means -->",
        table(("", *columns, "÷ binary"), rows(bounded)),
        "<!-- /means -->",
        "## At T = 2^10",
        table(("", "mean", "worst", "last step, 95% within"), short),
        "## Streams without end, over the first 2^20 steps",
        "<!-- unbounded -->",
        table(("", "mean", "÷ best"), reversed(endless)),
        "<!-- /unbounded -->",
        "## Lower bounds",
        "<!-- bounds -->",
        table(heads, bounds),
        "<!-- /bounds -->",
    )


def commands() -> str:
    parts = []
    for path, help_text in help_texts():
        parts.append(f"## {path}")
        parts.append(f"```text\n{help_text}\n```")
    return page(
        "Commands",
        "Results go to standard output, messages to standard error. Exit codes: 0 done, 2 wrong "
        "usage, 1 anything else; a refusal has [the code of its class](exceptions.md).",
        *parts,
    )


def help_texts() -> Iterator[tuple[str, str]]:
    """Every command of the program with its help text, the program itself first."""
    program = typer.main.get_command(app)
    inner = sorted(program.commands) if isinstance(program, TyperGroup) else []
    for path in ([], *([name] for name in inner)):
        # The width is fixed, so that the page does not depend on somebody's terminal.
        asked = CliRunner().invoke(app, [*path, "--help"], prog_name="ameles", terminal_width=80)
        yield " ".join(["ameles", *path]), asked.stdout.strip()


@cache
def import_everything() -> None:
    for module in walk_packages(ameles.__path__, "ameles."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def refusals(kind: type[AmelesError]) -> list[type[AmelesError]]:
    """The refusals right below one, in all of Ameles and not only in what was imported so far."""
    import_everything()
    return [inner for inner in kind.__subclasses__() if inner.__module__.startswith("ameles.")]


def place_in_the_code(kind: type[AmelesError]) -> tuple[bool, str, int]:
    """Those of ``core`` first; then by module and line."""
    home = kind.__module__
    return home != AmelesError.__module__, home, inspect.getsourcelines(kind)[1]


def exceptions() -> str:
    def rows(kind: type[AmelesError], depth: int) -> Iterator[tuple[str, ...]]:
        indent = "\N{NO-BREAK SPACE}" * 4 * depth
        code = f"`error[{kind.code}]`"
        yield f"{indent}`{kind.__name__}`", code, str(kind.exit_code), first_line(kind)
        for inner in sorted(refusals(kind), key=place_in_the_code):
            yield from rows(inner, depth + 1)

    heads = ("Exception", "Printed as", "Exit code", "What was refused")
    return page(
        "Refusals",
        "Each says what happened, why, and what to try. Parameters are echoed, because they are "
        "public; event values and exact counts never are.",
        table(heads, rows(AmelesError, 0)),
        *api.entries("exceptions.md"),
    )


def optional_parts() -> str:
    rows = [
        (f"`{part.name}`", part.purpose, ", ".join(part.packages), f"`{part.install}`")
        for part in extras()
    ]
    return page("Extras", table(("Extra", "For", "Packages", "To install"), rows))


if __name__ == "__main__":
    sys.exit(main())
