"""The files of deploy/ fit together."""

from __future__ import annotations

import re
from pathlib import Path

DEPLOY = Path(__file__).parents[1] / "deploy"


def test_an_image_is_built_from_what_its_steps_copy_and_from_nothing_else() -> None:
    steps = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    copied = {
        name
        for words in re.findall(r"^COPY (?!--)(.+) \S+$", steps, re.MULTILINE)
        for name in words.split()
    }
    rules = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").split("\n")
    assert "*" in rules
    assert {rule.removeprefix("!") for rule in rules if rule.startswith("!")} == copied
    assert all((DEPLOY.parent / name).exists() for name in copied)


def test_what_starts_by_itself_launches_nothing() -> None:
    """A launch is paid for ever; a store that is not mounted must not be a reason to pay again."""
    files = [path for path in DEPLOY.iterdir() if path.is_file() and path.suffix != ".md"]
    started = [
        line
        for path in files
        for line in path.read_text(encoding="utf-8").splitlines()
        if not line.startswith("#") and ("serve" in line or "ameles run" in line)
    ]
    assert len(started) >= 3
    assert [line for line in started if "--yes" in line] == []
