"""DuckDB, locked down: it reads only what it is given, writes nothing, and hides its error texts.

DuckDB's errors quote rows, a spilled block is a copy of events on disk, and an extension is foreign
code.  So a connection has no folder for temporary files, opens only the files that are listed,
loads no extension, and its configuration is locked.  Every setting is read back, because otherwise
nobody would notice one that did not take effect.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cache
from types import TracebackType
from typing import Any

import duckdb

from ameles.core.exceptions import AmelesError, PlanError
from ameles.measures.fields import literal

FEW = 1 << 20  # bytes that one thread reads alone

_UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


class OutOfMemory(AmelesError):
    """Work needed more memory than there is; it may fit in smaller parts."""

    code = "memory"


def connect(
    *, zone: str, memory: int, readable: Sequence[str] = (), threads: int | None = None
) -> duckdb.DuckDBPyConnection:
    """An in-memory connection; a time without an offset is a time in ``zone``.

    ``memory`` is the limit in bytes; ``readable`` are the paths that DuckDB itself may open.  It
    uses so many ``threads``; None: one for each core.
    """
    duck = locked_database(zone, memory, tuple(readable), threads)
    _assert_held(duck, {**_limits(readable), "lock_configuration": True}, zone, memory)
    return duck


def locked_database(
    zone: str, memory: int, readable: tuple[str, ...], threads: int | None = None
) -> duckdb.DuckDBPyConnection:
    """A database in memory with all limits, which hold for each of its connections."""
    _check_files()
    duck = duckdb.connect(":memory:")
    _set_zone(duck, zone)
    limits = [f"SET memory_limit = '{memory}B'"]
    limits += [] if threads is None else [f"SET threads = {threads}"]
    limits += [f"{_set(name)} = {_written(value)}" for name, value in _limits(readable).items()]
    with quiet("setting DuckDB's limits"):
        duck.execute("; ".join([*limits, "SET lock_configuration = true"])).fetchall()
    return duck


def _check_files() -> None:
    """Refuses to go on without a free file: DuckDB would end the whole process."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        raise AmelesError(
            "DuckDB cannot be opened now.",
            why="this process may open no more files",
            tip="a higher limit: LimitNOFILE=65536 in a unit of systemd, or ulimit -n",
        ) from None


def _limits(readable: Sequence[str]) -> dict[str, Any]:
    return {
        "temp_directory": "",
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "allow_persistent_secrets": False,
        "python_enable_replacements": False,
        "preserve_insertion_order": False,
        "enable_progress_bar": False,
        "allowed_directories": [],
        "allowed_paths": list(readable),
        "enable_external_access": False,
    }


@cache
def check_zone(zone: str) -> None:
    """Refuse a zone that DuckDB does not know; a known zone is looked up only once."""
    with duckdb.connect(":memory:") as duck:
        _set_zone(duck, zone)


def _set_zone(duck: duckdb.DuckDBPyConnection, zone: str) -> None:
    try:
        duck.execute(f"SET GLOBAL TimeZone = {literal(zone)}").fetchall()
    except duckdb.Error:
        known = False
    else:
        known = True
    if not known:
        raise PlanError(
            f"DuckDB does not know the time zone {zone!r}.",
            tip='zone = "UTC", or a name such as "Europe/Berlin"',
        )


def _set(name: str) -> str:
    """Sets it for all connections of the database, if DuckDB can."""
    return f"SET {name}" if name == "enable_progress_bar" else f"SET GLOBAL {name}"


def _written(value: bool | str | list[str]) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return literal(value)
        case _:
            return f"[{', '.join(literal(path) for path in value)}]"


def _assert_held(
    duck: duckdb.DuckDBPyConnection, wanted: dict[str, Any], zone: str, memory: int
) -> None:
    with quiet("reading DuckDB's limits back"):
        held = _settings(duck, [*wanted, "TimeZone", "memory_limit"])
    failed = [name for name, value in wanted.items() if not _same(held[name], value)]
    if str(held["TimeZone"]).casefold() != zone.casefold():
        failed.append("TimeZone")
    # DuckDB shows the limit rounded: "953.6 MiB".
    if not 0.98 * memory <= _bytes(str(held["memory_limit"])) <= 1.02 * memory:
        failed.append("memory_limit")
    if failed:
        raise AmelesError(
            f"DuckDB did not keep the settings {', '.join(failed)}.",
            why="without them it may copy events to disk, or open files that are not the source",
            tip="the version of duckdb that Ameles was tested with",
        )


def _settings(duck: duckdb.DuckDBPyConnection, names: Sequence[str]) -> dict[str, Any]:
    asked = ", ".join(f"current_setting({literal(name)})" for name in names)
    return dict(zip(names, duck.execute(f"SELECT {asked}").fetchall()[0], strict=True))


def _same(held: Any, wanted: Any) -> bool:
    if isinstance(wanted, list):
        return sorted(held or []) == sorted(set(wanted))
    return type(held) is type(wanted) and bool(held == wanted)


def _bytes(shown: str) -> float:
    match = re.fullmatch(r"([0-9.]+) (\w+)", shown)
    return float(match[1]) * _UNITS.get(match[2], 0) if match else 0.0


def quiet(what: str) -> Quiet:
    """``with quiet("adding up"):`` turns DuckDB's errors into ours, without their text."""
    return Quiet(what)


class Quiet:
    """The context manager that ``quiet`` gives."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not isinstance(error, duckdb.Error):
            return
        ours = _refusal(self._what, error)
        try:
            raise ours from None
        finally:
            ours.__context__ = None  # "from None" would only hide an error that quotes rows


def _refusal(what: str, error: duckdb.Error) -> AmelesError:
    if isinstance(error, duckdb.OutOfMemoryException):
        return OutOfMemory(
            f"DuckDB ran out of memory while {what}.",
            why="it must not write events to disk, so all of its work must fit into memory",
            tip="more memory for the engine, or a source in smaller files",
        )
    return AmelesError(
        f"DuckDB failed while {what}.",
        why=f"it reports a {type(error).__name__}; its own message is hidden, because it may "
        "quote events",
    )


class KeptConnection:
    """A connection that is kept from one reading to the next, while they open the same files.

    A reading of a few bytes has one of its own, with one thread: to wake up others and to wait for
    them takes longer than the work.
    """

    def __init__(self, *, zone: str, memory: int, threads: int | None = None) -> None:
        self._zone = zone
        self._memory = memory
        self._threads = threads
        self._kept: dict[int | None, tuple[tuple[str, ...], duckdb.DuckDBPyConnection]] = {}

    def reading(
        self, readable: tuple[str, ...], size: int | None = None
    ) -> duckdb.DuckDBPyConnection:
        """A connection that may open these files, and nothing else, for so many bytes if known."""
        threads = 1 if size is not None and size <= FEW else self._threads
        kept = self._kept.get(threads)
        if kept is not None and kept[0] == readable:
            return kept[1]
        if kept is not None:
            del self._kept[threads]
            kept[1].close()
        duck = connect(zone=self._zone, memory=self._memory, readable=readable, threads=threads)
        self._kept[threads] = readable, duck
        return duck

    def close(self) -> None:
        """Frees DuckDB's buffers."""
        while self._kept:
            _, (_, duck) = self._kept.popitem()
            duck.close()
