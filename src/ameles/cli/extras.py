"""The optional parts of Ameles: what each is for, what it needs, and what is installed.

Names and packages come from the installed metadata, so ``pyproject.toml`` is the only list of
them.  A test checks that the purposes below have the same names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import metadata

PURPOSES = {  # short enough for one line of a table
    "audit": "exact audits",
    "dataframes": "data frames of Polars",
    "fast": "compiled noise kernels",
    "kafka": "Kafka source and sink",
    "objects": "buckets of S3, Google, Azure",
    "plot": "pictures",
    "postgres": "Postgres store, source, sink",
    "redis": "Redis source, sink",
    "serve": "HTTP service",
    "spark": "tasks on a Spark cluster",
}

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_EXTRA = re.compile(r"""extra\s*==\s*['"]([A-Za-z0-9._-]+)['"]""")


@dataclass(frozen=True, slots=True)
class Extra:
    """One optional part: the packages it needs, with the version of those installed."""

    name: str
    purpose: str
    packages: dict[str, str | None]

    @property
    def installed(self) -> bool:
        """Whether everything it needs is there."""
        return None not in self.packages.values()

    @property
    def install(self) -> str:
        """The command that installs it."""
        return f"pip install '.[{self.name}]'"


def extras() -> list[Extra]:
    """All extras, by name."""
    needs = needed(metadata.requires("ameles") or [])
    return [
        Extra(name, PURPOSES.get(name, ""), {package: version(package) for package in needs[name]})
        for name in sorted(needs)
    ]


def needed(requirements: list[str]) -> dict[str, list[str]]:
    """The packages of each extra, from requirements as package metadata writes them.

    >>> needed(["numpy>=2.0", "psycopg[binary]>=3.2; extra == 'postgres'"])
    {'postgres': ['psycopg']}
    """
    packages: dict[str, list[str]] = {}
    for requirement in requirements:
        extra, package = _EXTRA.search(requirement), _NAME.match(requirement)
        if extra and package:
            packages.setdefault(extra[1], []).append(package[0])
    return packages


def version(package: str) -> str | None:
    """The installed version of a package, or None; the package is not imported."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
