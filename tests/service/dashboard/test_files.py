"""The files of the page: small ones of our own, and programs of others as they were published."""

from __future__ import annotations

import hashlib
import re
import tomllib
from pathlib import Path

from ameles.service.dashboard.files import FOLDER

VENDOR = FOLDER / "vendor"
OWN = [path for path in FOLDER.rglob("*") if path.is_file() and VENDOR not in path.parents]


def test_programs_of_others_are_as_published_and_have_their_licences() -> None:
    listed = tomllib.loads((VENDOR / "vendor.toml").read_text(encoding="utf-8"))
    held = {path for path in VENDOR.rglob("*") if path.is_file()} - {VENDOR / "vendor.toml"}
    digests = {
        VENDOR / folder / name: digest
        for folder, about in listed.items()
        for name, digest in about["sha256"].items()
    }
    assert held == set(digests)
    for path, digest in digests.items():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == digest, path.name
    for folder, about in listed.items():
        assert "LICENSE" in about["sha256"], folder
        assert set(about) == {"package", "version", "licence", "sha256"}


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_own_files_are_short_and_say_first_what_they_are() -> None:
    for path in OWN:
        assert len(text(path).splitlines()) < 300, path.name
        assert path.suffix != ".js" or text(path).startswith("// "), path.name


def test_no_file_names_another_site_or_writes_markup() -> None:
    """A second line of defence: the browser enforces the same through the policy."""
    known = {"http://www.w3.org/2000/svg"}
    for path in OWN:
        assert set(re.findall(r"https?://[^\s\"'`<>)]+", text(path))) <= known, path.name
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert word not in text(path), f"{path.name} has {word}"
    for page in FOLDER.glob("*.html"):
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*src=)", text(page))


def test_every_module_that_is_imported_is_there() -> None:
    for path in OWN:
        if path.suffix == ".js":
            for name in re.findall(r'(?:from|import) "(\./[^"]+)"', text(path)):
                assert (path.parent / name).is_file(), f"{path.name} imports {name}"
