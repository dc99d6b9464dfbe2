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
