"""Extras are what the package's metadata says; only their purposes are written by hand."""

from __future__ import annotations

import tomllib
from pathlib import Path

from ameles.cli.extras import PURPOSES, Extra, extras, needed, version

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_extra_has_a_purpose_and_none_is_invented() -> None:
    declared = sorted(PROJECT["project"]["optional-dependencies"])
    assert sorted(PURPOSES) == declared
    assert [extra.name for extra in extras()] == declared


def test_an_extra_is_installed_when_all_it_needs_is() -> None:
    assert Extra("some", "", {"numpy": "2.0"}).installed
    assert not Extra("some", "", {"numpy": "2.0", "missing": None}).installed
    assert version("numpy")
    assert version("a-package-that-does-not-exist") is None


def test_requirements_as_metadata_writes_them() -> None:
    written = ['a.b-c[x]>=1 ; (python_version < "4") and extra == "one"', "d; extra == 'one'", "e"]
    assert needed(written) == {"one": ["a.b-c", "d"]}
