"""Mutants: changes what matters, one thing at a time, and sees whether a test notices.

``./run mutants noise ledger --sample 40 --seed 1`` takes 40 changes of each package, tries them
under the tests that reach them, and ends with a table and the list of those that no test noticed.
It can be stopped and goes on where it was.  Those that change nothing that anybody could notice are
in ``tests/mutation/survivors.md`` with the reason.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import sys
from pathlib import Path

from tests.mutation.changes import KINDS, Change, changes
from tests.mutation.children import preload
from tests.mutation.measured import by_name, reach, seconds_of
from tests.mutation.packages import PACKAGES, TREE, files_of_tests, modules
from tests.mutation.trials import Outcome, Trials

KEPT = TREE / ".mutants"
_OUT = os.dup(1)
EXPLAINED = Path(__file__).with_name("survivors.md")


def main() -> int:
    """Everything."""
    asked = _asked()
    os.chdir(TREE)
    KEPT.mkdir(exist_ok=True)
    preload()
    chosen = {
        name: sample(name, asked.sample, asked.seed, asked.kinds, asked.about)
        for name in asked.packages
    }
    files = [file for file in files_of_tests() if not asked.near or _near(file, asked.packages)]
    if asked.mirrored is None:
        measured = reach(KEPT / "reached", files, asked.processes, _say)
    else:
        named = {change.module for some in chosen.values() for change in some}
        measured = by_name(files, named, asked.mirrored, asked.durations)
    if asked.measure:
        return 0
    trials = Trials(
        KEPT / "results.jsonl", measured, seconds=asked.seconds, thorough=asked.thorough
    )
    for some in chosen.values():
        left = [change for change in some if asked.again or trials.known(change) is None]
        trials.run(left, asked.processes, _told)
    return _report(chosen, trials, asked.goal)


def sample(package: str, count: int, seed: int, kinds: list[str], about: str = "") -> list[Change]:
    """Some changes of a package; which ones does not depend on where in their files they are."""
    suitable = [
        change
        for module, file in modules(package).items()
        for change in changes(module, file.read_text(encoding="utf-8"))
        if change.kind in kinds and re.search(about, change.before)
    ]
    order = lambda change: hashlib.sha256(f"{seed} {change.key}".encode()).digest()
    return sorted(suitable, key=order)[:count] if count else suitable


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./run mutants", description=__doc__)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help=", ".join(PACKAGES))
    parser.add_argument("--sample", type=int, default=40, help="so many of each package; 0: all")
    parser.add_argument("--seed", type=int, default=1, help="another seed, another sample")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--about", default="", help="only changes of what this pattern matches")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=60.0, help="of tests for one change")
    parser.add_argument("--near", action="store_true", help="only tests of the packages' folders")
    parser.add_argument(
        "--mirrored",
        nargs="*",
        metavar="FILE",
        help="tests are not measured: whole files with the name of the module are run, and these",
    )
    parser.add_argument(
        "--durations",
        type=lambda report: seconds_of(Path(report)),
        default={},
        metavar="REPORT",
        help="how long tests take, as ./run test --junitxml REPORT has noted it",
    )
    parser.add_argument("--thorough", action="store_true", help="loads Ameles anew for each change")
    parser.add_argument("--measure", action="store_true", help="only what each test reaches")
    parser.add_argument("--again", action="store_true", help="also what was tried before")
    parser.add_argument("--goal", type=float, default=0.0, help="fails below this score")
    asked = parser.parse_args()
    if unknown := [name for name in asked.packages if name not in PACKAGES]:
        parser.error(f"there is no package {unknown[0]}; there are {', '.join(PACKAGES)}")
    asked.packages = asked.packages or list(PACKAGES)
    return asked


def _near(file: str, packages: list[str]) -> bool:
    folders = {PACKAGES[name] for name in packages}
    folders |= {folder.partition("/")[0] for folder in folders if folder.startswith("engine/")}
    return any(file.startswith((f"tests/{folder}/", f"src/ameles/{folder}/")) for folder in folders)


def _report(chosen: dict[str, list[Change]], trials: Trials, goal: float) -> int:
    reasons = explained()
    rows, survivors, below = [], [], False
    for name, some in chosen.items():
        lost = [change for change in some if not _outcome(trials, change).killed]
        open_ones = [change for change in lost if change.key not in reasons]
        killed = len(some) - len(lost)
        judged = killed + len(open_ones)
        score = killed / judged if judged else 1.0
        below |= score < goal
        rows.append((name, len(some), killed, len(lost) - len(open_ones), len(open_ones), score))
        survivors += [(change, _outcome(trials, change)) for change in open_ones]
    for change, outcome in survivors:
        _say(f"\n{change.key}  {place_of(change)}  {change.kind}  ({outcome.how})")
        _say(f"    {change.shown}")
    _say("\n| package | mutants | killed | equivalent | survived | score |")
    _say("|---|---|---|---|---|---|")
    for name, count, killed, equal, left, score in rows:
        _say(f"| {name} | {count} | {killed} | {equal} | {left} | {score:.1%} |")
    return 1 if below else 0


def explained() -> set[str]:
    """The keys of changes that are known to change nothing."""
    text = EXPLAINED.read_text(encoding="utf-8")
    return set(re.findall(r"^\| `([0-9a-f]{12})`", text, re.MULTILINE))


def place_of(change: Change) -> str:
    """Where a change is, as an editor takes it."""
    file = "src/" + change.module.replace(".", "/") + ".py"
    if not (TREE / file).exists():
        file = file.removesuffix(".py") + "/__init__.py"
    return f"{file}:{change.line} {change.place}".rstrip()


def _outcome(trials: Trials, change: Change) -> Outcome:
    outcome = trials.known(change)
    if outcome is None:
        raise LookupError(change.key)
    return outcome


def _told(change: Change, outcome: Outcome) -> None:
    _say(
        f"{'killed  ' if outcome.killed else 'SURVIVED'} {change.key} {place_of(change)} "
        f"{change.kind}: {change.shown} ({outcome.how})"
    )


def _say(words: str) -> None:
    os.write(_OUT, f"{words}\n".encode())  # also from a child, whose output goes elsewhere


if __name__ == "__main__":
    sys.exit(main())
