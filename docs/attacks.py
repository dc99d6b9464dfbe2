"""Plays every attack, and writes the page on attacks with its pictures.

    python docs/attacks.py           docs/attacks.md, and the pictures and tables in docs/attacks/
    python docs/attacks.py --into X  into another folder

Shares are measured with real noise, so they differ a little from run to run.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ameles.audit.attacks import AttackReport
from ameles.audit.attacks.catalogue import ATTACKS
from ameles.cli.attack import values
from ameles.plot import attack as picture

FOLDER = Path(__file__).parent
HEAD = """# Attacks

What can somebody learn about one person from published statistics? Each attack on this page runs
as a command, with made-up people:

```sh
ameles attack                                # lists all of them
ameles attack linkage --plot linkage.svg     # plays one, and draws it
ameles attack averaging --epsilon 0.5        # with another privacy loss
```

Most of them are a game. A coin decides a secret about one person; the attacker sees what is
published and guesses the coin. Without looking, a guess is right half of the time. Against a
mechanism with epsilon *nobody* is right more often than e^epsilon / (1 + e^epsilon), whatever they
know and compute: 73.1% for epsilon 1, 52.5% for epsilon 0.1. The column *allowed* has that number;
measured shares can be above it by chance, by about a percent. Where it is empty, nothing is
promised. In Python each attack is a function of `ameles.audit.attacks` that returns these numbers.

This page is written by `python docs/attacks.py`.
"""


def section(report: AttackReport) -> str:
    """One attack: its story, picture, numbers and meaning."""
    effort = [report.effort] if report.effort else []
    heads = ["published", *effort, report.measure, "allowed"]
    lines = [f"| {' | '.join(heads)} |", "|---" + "|---:" * (len(heads) - 1) + "|"]
    for target in report.targets:
        cells = [target.name]
        if effort:
            cells.append("" if target.effort is None else f"{target.effort:,}")
        cells += [
            "" if value is None else f"{value:.1%}" if report.share else f"{value:.2f}"
            for value in (target.reached, target.allowed)
        ]
        lines.append(f"| {' | '.join(cells)} |")
    title = report.name.replace("_", " ").capitalize()
    return "\n\n".join(
        [
            f"## {title}",
            report.story,
            f"![{title}](attacks/{report.name}.svg)",
            "\n".join(lines),
            f"**{report.meaning}**",
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=FOLDER)
    folder = parser.parse_args().into
    (folder / "attacks").mkdir(parents=True, exist_ok=True)
    sections = []
    for name, play in ATTACKS.items():
        report = play()
        table = values(report)
        table.write(folder / "attacks" / f"{name}.csv")
        picture(
            table,
            folder / "attacks" / f"{name}.svg",
            measure=report.measure,
            blind=report.blind,
            effort=report.effort,
            share=report.share,
        )
        sections.append(section(report))
    page = "\n\n".join([HEAD.rstrip(), *sections]) + "\n"
    (folder / "attacks.md").write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
