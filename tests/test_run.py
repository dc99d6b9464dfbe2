"""The script ``run``: what it says, and when it sets up an environment again.

Set-up is tested in a copy with stand-ins for Python and uv, which write down how they
were called and install nothing.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOCK_OF_TESTS = "tests/requirements.lock"
NEEDED_TOOLS = ["cat", "cmp", "dirname", "head", "mktemp", "mv", "rm", "sed", "sh", "uname"]

# Answers the questions of ./run, makes environments that hold a copy of itself, and is a
# pip that fails on request.  The log says what was asked, without the questions.
STAND_IN = """\
#!/bin/sh
me=$0
case "$*" in
    --version | "-c import pip") exit 0 ;;
    "-c import sys; sys.exit(sys.version_info < (3, 11))") [ ! -e "$STAND_INS/old" ] && exit 0 ;;
    *"venv "*)
        echo "venv" >>"$STAND_INS/log"
        for target; do :; done
        mkdir -p "$target/bin"
        cp "$me" "$target/bin/python"
        exit 0 ;;
    *"pip install"*)
        echo "${me##*/} $*" >>"$STAND_INS/log"
        [ ! -e "$STAND_INS/fail" ] && exit 0 ;;
    "-m mypy") echo "ran $*"; [ ! -e "$STAND_INS/untyped" ] && exit 0 ;;
    *) echo "ran${PYTHONDONTWRITEBYTECODE:+ uncompiled} $*"; exit 0 ;;
esac
exit 1
"""


class Copy:
    """A folder with the script, a small project, and a path that holds nothing else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.folder.mkdir()
        shutil.copy(ROOT / "run", self.folder)
        for tool in [*NEEDED_TOOLS, "cp", "mkdir"]:
            path = shutil.which(tool)
            assert path
            (self.bin / tool).symlink_to(path)
        (self.folder / "pyproject.toml").write_text("[project]\n", encoding="utf-8")
        (self.folder / "requirements.lock").write_text("numpy==2.0\n", encoding="utf-8")
        (self.folder / "tests").mkdir()
        (self.folder / LOCK_OF_TESTS).write_text("numpy==2.0\npyspark==4\n", encoding="utf-8")

    def install(self, *names: str) -> None:
        for name in names:
            (self.bin / name).write_text(STAND_IN, encoding="utf-8")
            (self.bin / name).chmod(0o755)

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["./run", *arguments],
            cwd=self.folder,
            env={"PATH": str(self.bin), "STAND_INS": str(self.bin), **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    def log(self) -> list[str]:
        """What was done since the last look."""
        file = self.bin / "log"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return lines


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def test_help_names_every_command(copy: Copy) -> None:
    asked = copy.run("--help")
    assert asked.returncode == 0
    assert asked.stderr == ""
    commands = re.findall(r"^    (\w+)\)", (ROOT / "run").read_text(encoding="utf-8"), re.MULTILINE)
    assert {"demo", "test", "check", "docs", "lock"} <= set(commands)
    for command in [*commands, "bench"]:
        assert f"\n  {command} " in asked.stdout


@pytest.mark.parametrize("arguments", [[], ["nonsense"], [""]])
def test_no_or_an_unknown_command_shows_the_help_and_exits_with_2(
    copy: Copy, arguments: list[str]
) -> None:
    ended = copy.run(*arguments)
    assert ended.returncode == 2
    assert ended.stderr == copy.run("--help").stdout
    assert ended.stdout == ""


@pytest.mark.parametrize("uv", [True, False], ids=["uv", "pip"])
def test_set_up_happens_once_and_from_the_hashes(copy: Copy, uv: bool) -> None:
    copy.install("python3", *(["uv"] if uv else []))
    first = copy.run("test", "-k", "laplace")
    assert first.returncode == 0, first.stderr
    assert first.stdout == "ran -m pytest -k laplace\n"
    done = copy.log()
    assert done[0] == "venv"
    assert [line.split()[0] for line in done[1:]] == ["uv" if uv else "python"] * 4
    assert done[1].endswith("--require-hashes -r requirements.lock")
    assert done[2].endswith("--no-deps --no-build-isolation -e .")
    assert done[3].endswith(f"--require-hashes -r {LOCK_OF_TESTS}")
    assert done[4].endswith("--no-deps --no-build-isolation -e .")
    second = copy.run("test")
    assert second.stdout == "ran -m pytest --forks auto -q\n"
    assert second.stderr == ""
    assert not copy.log()


@pytest.mark.parametrize("option", ["--quick", "--measure"])
def test_options_for_all_tests_use_all_cores_too(copy: Copy, option: str) -> None:
    copy.install("python3")
    ran = copy.run("test", option).stdout
    assert ran == f"ran -m pytest --forks auto -q {option}\n"
    assert copy.run("test", option, "-x").stdout == f"ran -m pytest {option} -x\n"


def test_where_libraries_do_not_survive_a_fork_there_is_none(copy: Copy) -> None:
    copy.install("python3")
    (copy.bin / "uname").unlink()
    (copy.bin / "uname").write_text("#!/bin/sh\necho Darwin\n", encoding="utf-8")
    (copy.bin / "uname").chmod(0o755)
    assert copy.run("test").stdout == "ran -m pytest -n auto --dist worksteal -q\n"


def test_all_that_is_checked_must_be_right_also_the_types(copy: Copy) -> None:
    copy.install("python3")
    copy.run("test")
    shutil.copy(copy.bin / "python3", copy.folder / ".venv" / "bin" / "lint-imports")
    right = copy.run("check")
    assert right.returncode == 0, right.stderr
    ran = right.stdout.splitlines()
    assert ran[-1] == "ran -m mypy", "it ends last, and what it says is not mixed with the others"
    assert {"ran -m ruff check", "ran --no-logo", "ran docs/generate.py --check"} <= set(ran)
    (copy.bin / "untyped").touch()
    wrong = copy.run("check")
    assert wrong.returncode == 1
    assert wrong.stdout == right.stdout


def test_modules_are_compiled_once_whatever_the_machine_says(copy: Copy) -> None:
    """Else each process of the tests compiles all that it loads: half of their time."""
    copy.install("python3")
    assert copy.run("test", "a", PYTHONDONTWRITEBYTECODE="1").stdout == "ran -m pytest a\n"


@pytest.mark.parametrize(
    ("file", "installs"), [("pyproject.toml", 4), ("requirements.lock", 2), (LOCK_OF_TESTS, 2)]
)
def test_a_change_of_what_is_wanted_installs_again(copy: Copy, file: str, installs: int) -> None:
    copy.install("python3")
    copy.run("test")
    copy.log()
    with (copy.folder / file).open("a", encoding="utf-8") as more:
        more.write("# changed\n")
    assert copy.run("test").returncode == 0
    assert [line.split()[0] for line in copy.log()] == ["python"] * installs
    copy.run("test")
    assert not copy.log()


def test_an_interrupted_set_up_is_done_again(copy: Copy) -> None:
    copy.install("python3")
    copy.run("test")
    before = (copy.folder / "pyproject.toml").read_text(encoding="utf-8")
    (copy.folder / "pyproject.toml").write_text(before + "# changed\n", encoding="utf-8")
    (copy.bin / "fail").touch()
    stopped = copy.run("test")
    assert stopped.returncode != 0
    assert "ran" not in stopped.stdout
    # Even what was wanted before the interruption may be half overwritten by now.
    (copy.folder / "pyproject.toml").write_text(before, encoding="utf-8")
    (copy.bin / "fail").unlink()
    copy.log()
    assert copy.run("test").returncode == 0
    assert copy.log()


def test_an_environment_that_was_moved_is_made_anew(copy: Copy) -> None:
    copy.install("python3")
    copy.run("test")
    copy.log()
    copy.folder = copy.folder.rename(copy.folder.with_name("elsewhere"))
    assert copy.run("test").returncode == 0
    assert copy.log()[0] == "venv"


def test_the_demo_is_that_of_the_program(copy: Copy) -> None:
    copy.install("python3")
    assert copy.run("demo", "some-folder").stdout == "ran -m ameles demo some-folder\n"


def test_the_demo_does_not_wait_for_what_only_tests_need(copy: Copy) -> None:
    copy.install("python3")
    copy.run("demo")
    assert not [line for line in copy.log() if LOCK_OF_TESTS in line]
    copy.run("test")
    assert [line.split()[-1] for line in copy.log()] == [LOCK_OF_TESTS, "."]
    copy.run("demo")
    assert not copy.log()


def test_without_python_it_says_what_to_install(copy: Copy) -> None:
    ended = copy.run("demo")
    assert ended.returncode == 1
    assert "Python 3.11 or newer" in ended.stderr
    assert "apt-get install python3" in ended.stderr


def test_an_old_python_does_not_count(copy: Copy) -> None:
    copy.install("python3", "python3.12")
    (copy.bin / "old").touch()
    ended = copy.run("demo")
    assert ended.returncode == 1
    assert "Python 3.11 or newer" in ended.stderr


def test_a_python_can_be_named(copy: Copy) -> None:
    copy.install("mine")
    assert copy.run("demo", PYTHON=str(copy.bin / "mine")).stdout == "ran -m ameles demo\n"


def test_a_python_that_was_named_and_is_none_is_not_replaced_by_another(copy: Copy) -> None:
    copy.install("python3")
    ended = copy.run("demo", PYTHON="mine")
    assert ended.returncode == 1
    assert "PYTHON is 'mine'" in ended.stderr
    assert not copy.log()


def test_benchmarks_are_listed_and_have_an_environment_of_their_own(copy: Copy) -> None:
    copy.install("python3")
    benchmarks = copy.folder / "benchmarks"
    benchmarks.mkdir()
    (benchmarks / "requirements.lock").write_text("opendp==0.16\n", encoding="utf-8")
    (benchmarks / "noise.py").write_text('"""How fast noise is drawn."""\n', encoding="utf-8")
    assert re.fullmatch(r"noise +How fast noise is drawn\.\n", copy.run("bench").stdout)
    assert copy.run("bench", "nonsense").returncode == 2
    assert not copy.log()
    assert (
        copy.run("bench", "noise", "--draws", "5").stdout == "ran benchmarks/noise.py --draws 5\n"
    )
    assert (benchmarks / ".venv" / "stamp").exists()
    assert not (copy.folder / ".venv").exists()


def versions(lock: str) -> set[str]:
    """The first line of each entry: a package, its version, and where it is installed."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    return {line for line in text.splitlines() if not line.startswith(" ")}


def test_the_tests_have_every_package_of_the_demo_in_the_same_version() -> None:
    demo, tests = versions("requirements.lock"), versions(LOCK_OF_TESTS)
    assert demo < tests
    names = {line.split("==")[0] for line in demo}
    assert {"numpy", "numba", "matplotlib", "fastapi", "hatchling"} <= names
    assert not names & {"playwright", "pyspark", "pytest", "schemathesis", "sphinx"}


@pytest.mark.parametrize(
    "lock", ["requirements.lock", LOCK_OF_TESTS, "benchmarks/requirements.lock"]
)
def test_the_locks_pin_everything_by_hash_and_name_no_host(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert "://" not in text
    entries = re.split(r"\n(?=\S)", text.strip())
    assert len(entries) > 10
    for entry in entries:
        assert re.match(r"[a-z0-9-]+==\S+( ; .*)? \\\n", entry), entry
        assert "--hash=sha256:" in entry


@pytest.mark.skipif(
    shutil.which("shellcheck") is None, reason="needs shellcheck (Debian package shellcheck)"
)
def test_the_shell_scripts_pass_shellcheck() -> None:
    subprocess.run(["shellcheck", "run", ".ci/run", "tests/kafka/fetch"], cwd=ROOT, check=True)


@pytest.mark.skipif(shutil.which("dash") is None, reason="needs dash (Debian package dash)")
def test_the_script_is_plain_posix_shell() -> None:
    subprocess.run(["dash", "-n", "run"], cwd=ROOT, check=True)
