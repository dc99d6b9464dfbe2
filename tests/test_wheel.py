"""The wheel is complete: installed where nothing else of the project is, it runs the demo.

The clean environment has the wheel and the packages that the wheel says it needs, and no others:
neither the source tree nor what only the tests have.  So a file that is left out of the wheel
is missing there, and so is a package that the project uses but does not declare.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]


def run(*command: object, cwd: Path) -> str:
    """What a command prints; it must end with 0."""
    words = [str(word) for word in command]
    ended = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def has_uv() -> bool:
    try:
        return subprocess.run(["uv", "--version"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def installer(python: Path, command: str) -> list[object]:
    """The command line of uv, or else of pip, that works on another environment (as ``./run``)."""
    if has_uv():
        return ["uv", "pip", command, "--python", python]
    return [sys.executable, "-m", "pip", "--python", python, command]


def needed(requirements: list[str]) -> dict[str, Distribution]:
    """The installed distributions that these requirements ask for, and those that these ask for.

    >>> sorted(needed(["rich"]))[:2]
    ['markdown-it-py', 'mdurl']
    """
    packages: dict[str, Distribution] = {}
    wanted = [(text, "") for text in requirements]
    seen = set(wanted)
    while wanted:
        text, extra = wanted.pop()
        requirement = Requirement(text)
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        packages[name] = installed = distribution(name)
        inner = {
            (each, part) for part in ("", *requirement.extras) for each in installed.requires or ()
        }
        wanted += inner - seen
        seen |= inner
    return packages


def parts_of(installed: Distribution) -> Iterator[Path]:
    """The files and folders that a distribution has at the top of the site-packages."""
    tops = {file.parts[0] for file in installed.files or ()} - {"..", "__pycache__"}
    for top in tops:
        yield Path(str(installed.locate_file(top)))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=ROOT)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def clean(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and the packages that its own metadata asks for."""
    home = tmp_path_factory.mktemp("clean") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", home, cwd=home.parent)
    python = home / "bin" / "python"
    run(*installer(python, "install"), "--no-deps", "--quiet", wheel, cwd=home.parent)
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(home)}))
    (metadata,) = site.glob("ameles-*.dist-info")
    for installed in needed(Distribution.at(metadata).requires or []).values():
        for part in parts_of(installed):
            if part.suffix == ".dist-info":  # uv takes no notice of one that is a link
                shutil.copytree(part, site / part.name)
            else:
                (site / part.name).symlink_to(part)
    return home


def test_every_file_of_the_package_is_in_the_wheel(wheel: Path) -> None:
    package = ROOT / "src" / "ameles"
    files = {
        file for file in package.rglob("*") if file.is_file() and "__pycache__" not in file.parts
    }
    assert any(file.suffix == ".sql" for file in files)
    with ZipFile(wheel) as opened:
        held = {name for name in opened.namelist() if name.startswith("ameles/")}
    assert held == {file.relative_to(package.parent).as_posix() for file in files}


def test_it_is_installed_apart_from_the_source(clean: Path) -> None:
    python = clean / "bin" / "python"
    program = "import ameles, sys; print(ameles.__file__); print(*sys.path, sep=chr(10))"
    place, *path = run(python, "-I", "-W", "error", "-c", program, cwd=clean).splitlines()
    assert Path(place).is_relative_to(clean)
    assert not any(Path(each).is_relative_to(ROOT) for each in path)
    run(*installer(python, "check"), cwd=clean)


def test_what_only_the_tests_need_is_not_there(clean: Path) -> None:
    for name in ("pytest", "hatchling", "scipy"):
        program = f"from importlib.util import find_spec; print(find_spec({name!r}))"
        assert run(clean / "bin" / "python", "-I", "-c", program, cwd=clean) == "None\n"


def test_the_command_knows_its_version(clean: Path) -> None:
    assert VERSION in run(clean / "bin" / "ameles", "--version", cwd=clean)


def test_the_demo_runs(clean: Path, tmp_path: Path) -> None:
    shown = run(clean / "bin" / "ameles", "demo", "season", "--events", 5000, cwd=tmp_path)
    assert "visitors" in shown
    assert (tmp_path / "season" / "releases.csv").stat().st_size > 0
