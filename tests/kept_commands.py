"""The command line, built once for all tests: to build it takes longer than most commands.

A program builds it once, too; tests run hundreds of commands in one process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

import pytest
import typer
import typer.main

from ameles.cli.commands import Later, app


@pytest.fixture(scope="session", autouse=True)
def kept_commands() -> Iterator[None]:
    """While tests run, the commands stay as they are first built; a function that a test puts in
    the place of a command is built anew."""
    build, load = typer.main.get_command, Later.loaded
    whole = cache(lambda: build(app))
    kept: dict[tuple[str, Callable[..., Any]], Any] = {}

    def built(asked: typer.Typer) -> Any:
        return whole() if asked is app else build(asked)

    def loaded(self: Later) -> Any:
        name = self.name or ""
        place = name, getattr(import_module(f"ameles.cli.{name}"), name)
        if place not in kept:
            kept[place] = load(self)
        return kept[place]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(typer.main, "get_command", built)
        patched.setattr(Later, "loaded", loaded)
        yield
