"""All goals in one table: what was wanted, what was measured, and how busy the machine was.

Runs the benchmarks that have goals, one after the other, and collects the lines of their output
that name one.  Ratios are measured side by side in one run, but a busy machine still makes some of
them worse: the load is the number of processes that wanted a core, when the benchmark began and
when it ended.

    ./run bench goals                    all that need no server of others
    ./run bench goals counters noise     some
    ./run bench goals --output FOLDER    keeps what the benchmarks print
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
# Those with goals that need no cluster, no browser and no other server.
USUAL = ("counters", "intervals", "noise", "engine", "live", "local", "multiplicative_weights")
# A benchmark that takes longer is stopped; what it has printed counts.
LONGEST = 1800
VERDICT = re.compile(r":? *\b(not reached(?: at every scale)?|reached|missed)\b", re.IGNORECASE)
LINE = "{:<24} {:<64} {:<22} {:>14} {:<12} {:>11}"


@dataclass(frozen=True)
class Goal:
    """One line of the table."""

    what: str
    wanted: str
    measured: str
    reached: str


def goal_of(line: str) -> Goal | None:
    """The goal that a line of output names, if it names one.

    >>> goal_of("goal: bulk feed, steps/s: at least 2e+07: 5.1e+07: reached")
    Goal(what='bulk feed, steps/s', wanted='at least 2e+07', measured='5.1e+07', reached='yes')
    >>> goal_of("  count: 2.40 x the insert; goal at most 2: NOT reached").reached
    'NO'
    >>> goal_of("ratio      1.80 (goal 2.0; each 1.7 to 1.9)")
    Goal(what='ratio 1.80', wanted='2.0; each 1.7 to 1.9', measured='', reached='?')
    >>> goal_of("1,024 steps")
    """
    text = " ".join(line.split())
    if not re.search(r"\bgoal\b", text):
        return None
    verdict = VERDICT.search(text)
    said = "?" if verdict is None else "yes" if verdict[1].lower() == "reached" else "NO"
    rest = text if verdict is None else text[: verdict.start()]
    if rest.startswith("goal: "):
        what, wanted, measured = [*rest.removeprefix("goal: ").rsplit(": ", 2), "", ""][:3]
        return Goal(what, wanted, measured, said)
    what, wanted = re.split(r"[,;(]? *\bgoal\b:? *", rest, maxsplit=1)
    return Goal(what.strip(), wanted.strip(" );"), "", said)


def run(name: str, output: Path | None) -> str:
    """What a benchmark prints."""
    command = [sys.executable, str(HERE / f"{name}.py")]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)
        printed = done.stdout
        if done.returncode:
            sys.stderr.write(f"{name} ended with {done.returncode}:\n{done.stderr[-2000:]}\n")
    except subprocess.TimeoutExpired as stopped:
        sys.stderr.write(f"{name} was stopped after {LONGEST} seconds\n")
        printed = (stopped.stdout or b"").decode()
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        (output / f"{name}.txt").write_text(printed, encoding="utf-8")
    return printed


def main() -> int:
    """Prints the table, benchmark by benchmark; exits with 1 if a goal was not reached."""
    parser = argparse.ArgumentParser(description="All goals in one table.")
    parser.add_argument("names", nargs="*", default=USUAL, help="benchmarks, without .py")
    parser.add_argument("--output", type=Path, help="a folder for what the benchmarks print")
    options = parser.parse_args()
    missing = [name for name in options.names if not (HERE / f"{name}.py").is_file()]
    if missing:
        parser.error(f"there is no benchmark {', '.join(missing)}")
    print(f"{os.cpu_count()} cores")
    print(LINE.format("benchmark", "what", "goal", "measured", "reached", "load"))
    failed = 0
    for name in options.names:
        before = os.getloadavg()[0]
        printed = run(name, options.output)
        load = f"{before:.1f} - {os.getloadavg()[0]:.1f}"
        goals = [goal for line in printed.splitlines() if (goal := goal_of(line))]
        for goal in goals or [Goal("no goal was printed", "", "", "?")]:
            failed += goal.reached == "NO"
            cells = (goal.what[:64], goal.wanted[:22], goal.measured, goal.reached)
            print(LINE.format(name, *cells, load), flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
