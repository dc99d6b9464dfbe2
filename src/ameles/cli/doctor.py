"""``ameles doctor``: whether this machine has what Ameles needs.

Checks Python, the two sources of random bytes, a folder for secret files, DuckDB and its locked
configuration, a store in that folder, how many files may be open, the compiled kernels, what Spark
needs, and the extras.  A check is essential if the guarantee depends on it; the rest makes things
faster or adds features.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import resource
import sqlite3
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Annotated

import duckdb
import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ameles.cli.extras import Extra, extras, version
from ameles.connectors.duck import connect
from ameles.core.exceptions import AmelesError
from ameles.core.guarantee import EVENT, Neighbours
from ameles.core.loss import Pure
from ameles.noise import kernels
from ameles.noise.entropy import Entropy, Keystream, OperatingSystem
from ameles.spark.java import OLDEST_JAVA, java_program, java_version
from ameles.store import open_store

OLDEST_PYTHON = (3, 11)
OLDEST_DUCKDB = (2, 0)
DUCKDB_MEMORY = 64 << 20
MANY_FILES = 8_192  # 5,000 live readers, and what else is open
OWNER_ONLY = 0o600
STYLES = {"ok": "green", "broken": "red", "absent": "dim"}


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check."""

    name: str
    ok: bool
    essential: bool
    detail: str


class MachineProblem(Exception):
    """A check failed; the text says why."""


def doctor(
    folder: Annotated[Path, typer.Argument(help="The folder for secret files.")] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Check that this machine has what Ameles needs.

    Exits with 1 if something essential is broken, otherwise with 0.
    """
    checks = examine(folder)
    broken = [check.name for check in checks if check.essential and not check.ok]
    if as_json:
        typer.echo(json.dumps(_report(checks, extras(), healthy=not broken), indent=2))
    else:
        _show(checks, extras())
        typer.echo(f"Broken: {', '.join(broken)}." if broken else "All is well.", err=True)
    if broken:
        raise typer.Exit(1)


def examine(folder: Path) -> list[Check]:
    """Every check, in the order in which they are shown."""
    return [
        _check("python", python),
        _check("entropy", lambda: entropy(OperatingSystem())),
        _check("keystream", lambda: keystream(Keystream())),
        _check("folder", lambda: secret_folder(folder)),
        _check("duckdb", locked_duckdb),
        _check("store", lambda: working_store(folder)),
        _check("files", open_files, essential=False),
        _check("kernels", compiled_kernels, essential=False),
        _check("spark", spark_and_java, essential=False),
    ]


def _check(name: str, look: Callable[[], str], *, essential: bool = True) -> Check:
    try:
        return Check(name, ok=True, essential=essential, detail=look())
    except OSError as problem:
        return Check(name, ok=False, essential=essential, detail=problem.strerror or str(problem))
    except MachineProblem as problem:
        return Check(name, ok=False, essential=essential, detail=str(problem))
    except AmelesError as refusal:
        why = f" ({refusal.why})" if refusal.why else ""
        return Check(name, ok=False, essential=essential, detail=f"{refusal.what}{why}")


def python() -> str:
    """Python is recent enough."""
    version = f"{platform.python_implementation()} {platform.python_version()}"
    if sys.version_info < OLDEST_PYTHON:
        raise MachineProblem(f"{version}; {'.'.join(map(str, OLDEST_PYTHON))} or newer is needed")
    return f"{version} on {platform.system()}"


def entropy(source: Entropy) -> str:
    """The operating system gives random bytes, without blocking and never the same twice."""
    if sys.platform == "linux":
        # Raises if the kernel's generator is not seeded yet, instead of waiting for it.
        os.getrandom(32, os.GRND_NONBLOCK)
    if source.read(32) == source.read(32):
        raise MachineProblem("the operating system gave the same 32 bytes twice")
    return "the operating system gives new bytes at every call"


def keystream(source: Entropy) -> str:
    """1 MiB of the keystream looks random: it has all byte values and repeats no block."""
    pieces = [bytes(source.read(1 << 14)) for _ in range(64)]
    # False alarms: a value is missing by chance on one of 10^1700 machines; repeats are rarer.
    if len(set(pieces)) < len(pieces) or len(set(b"".join(pieces))) < 256:
        raise MachineProblem("1 MiB of it repeats itself")
    return "1 MiB drawn, no block of it twice"


def secret_folder(folder: Path) -> str:
    """Files can be made, synced and removed there, and nobody else can read them."""
    try:
        handle, name = tempfile.mkstemp(prefix=".ameles-doctor-", dir=folder)
    except OSError as problem:
        raise MachineProblem(f"no file can be made in '{folder}': {problem.strerror}") from problem
    try:
        mode = stat.S_IMODE(os.fstat(handle).st_mode)
        os.write(handle, b"\0")
        os.fsync(handle)
    finally:
        os.close(handle)
        os.unlink(name)
    if mode != OWNER_ONLY:
        raise MachineProblem(f"files in '{folder}' get mode {mode:04o} instead of {OWNER_ONLY:04o}")
    return f"'{folder}' holds files that only their owner can read"


def locked_duckdb(open_: Callable[..., duckdb.DuckDBPyConnection] = connect) -> str:
    """DuckDB is recent enough, opens no file by itself, and its settings are locked."""
    version = tuple(int(part) for part in duckdb.__version__.split(".")[:2])
    if version < OLDEST_DUCKDB:
        oldest = ".".join(map(str, OLDEST_DUCKDB))
        raise MachineProblem(f"DuckDB {duckdb.__version__}; {oldest} or newer is needed")
    with (
        closing(open_(zone="UTC", memory=DUCKDB_MEMORY)) as duck,
        tempfile.TemporaryDirectory() as place,
    ):
        some = Path(place) / "some.csv"
        some.write_text("a\n1\n", encoding="utf-8")
        tried = {
            "opens files that it was not given": f"SELECT * FROM read_csv('{some}')",
            "writes files": f"COPY (SELECT 1) TO '{some.with_name('other.csv')}'",
            "lets its settings be changed": "SET memory_limit = '8GB'",
        }
        for deed, statement in tried.items():
            try:
                duck.execute(statement).fetchall()
            except duckdb.Error:
                continue
            raise MachineProblem(f"DuckDB {duckdb.__version__} {deed}")
    return f"DuckDB {duckdb.__version__}, locked: it opens and writes no file by itself"


def working_store(folder: Path) -> str:
    """A store can be made there, and still has its data when it is opened again."""
    try:
        place = tempfile.TemporaryDirectory(prefix=".ameles-doctor-", dir=folder)
    except OSError as problem:
        raise MachineProblem(f"no store can be made in '{folder}': {problem.strerror}") from problem
    with place as name:
        url = str(Path(name) / "doctor.db")
        with closing(open_store(url)) as store, store.writing() as transaction:
            transaction.open_population(
                "doctor", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE
            )
        with closing(open_store(url, create=False)) as store:
            store.check()
            with store.reading() as transaction:
                kept = transaction.population("doctor") is not None
    if not kept:
        raise MachineProblem("a store lost what was written to it")
    return f"SQLite {sqlite3.sqlite_version}; a store in '{folder}' keeps what is written to it"


def open_files() -> str:
    """A process may open enough files for a service with many readers."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < MANY_FILES:
        raise MachineProblem(
            f"a process may open {hard:,} files, so ameles serve takes few connections; "
            f"{MANY_FILES:,} or more are better (ulimit -n, LimitNOFILE)"
        )
    most = "any number of" if hard == resource.RLIM_INFINITY else f"{hard:,}"
    return f"a process may open {most} files"


def compiled_kernels() -> str:
    """The compiled kernels can be used."""
    if not kernels.available():
        raise MachineProblem(
            "not installed; noise has the same distribution without them, but is slower"
        )
    try:
        importlib.import_module("numba")  # it may be installed in a version that does not work
    except ImportError as problem:
        raise MachineProblem(f"numba is installed but does not load: {problem}") from problem
    return f"compiled with numba {version('numba')}"


def spark_and_java() -> str:
    """Spark can run here: it needs PySpark and Java."""
    program = java_program()
    if (installed := version("pyspark")) is None:
        found = "without Java" if program is None else f"Java is '{program}'"
        raise MachineProblem(f"PySpark is not installed; {found}")
    if program is None:
        raise MachineProblem(f"PySpark {installed} needs Java {OLDEST_JAVA} or newer; none found")
    java = java_version(program)
    if java is not None and java < OLDEST_JAVA:
        raise MachineProblem(f"PySpark {installed} needs Java {OLDEST_JAVA} or newer, not {java}")
    return f"PySpark {installed}, Java {java or 'of an unknown version'}"


def _report(checks: list[Check], parts: list[Extra], *, healthy: bool) -> dict[str, object]:
    return {
        "ameles": metadata.version("ameles"),
        "healthy": healthy,
        "checks": [asdict(check) for check in checks],
        "extras": [
            {**asdict(part), "installed": part.installed, "install": part.install} for part in parts
        ],
    }


def _show(checks: list[Check], parts: list[Extra]) -> None:
    console = Console()  # no colour if NO_COLOR is set or this is no terminal
    console.print(_table("check", "", "", rows=map(_check_row, checks)))
    console.print(_table("extra", "", "for", "", rows=map(_extra_row, parts)))


def _table(*heads: str, rows: Iterable[list[str]]) -> Table:
    table = Table(*heads, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name, state, *others in rows:
        # Text, because rich would read brackets in a plain string as markup.
        table.add_row(name, Text(state, STYLES[state]), *map(Text, others))
    return table


def _check_row(check: Check) -> list[str]:
    state = "ok" if check.ok else "broken" if check.essential else "absent"
    return [check.name, state, check.detail]


def _extra_row(part: Extra) -> list[str]:
    if not part.installed:
        return [part.name, "absent", part.purpose, part.install]
    versions = ", ".join(f"{package} {number}" for package, number in part.packages.items())
    return [part.name, "ok", part.purpose, versions]
