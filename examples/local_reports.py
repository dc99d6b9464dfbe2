"""Local reports: a survey that nobody has to trust, from devices to a table.

Three thousand people are asked how they travel.  Each device randomises its own answer, keeps its
own budget, and sends a report; the server counts reports and estimates shares.  Then the same
count is shown as a curator would publish it: that is what the missing trust costs.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from ameles.mechanisms.local import Client, RandomizedResponse, Server
from ameles.mechanisms.one_shot import HistogramMechanism
from ameles.noise import System

WAYS = ("on foot", "bicycle", "bus", "car")
PEOPLE = 3000
DEVICES = 40  # of them with a budget file of their own; writing thousands would take a while


def main() -> None:
    """Asks, answers, counts and compares."""
    recipe = RandomizedResponse(categories=len(WAYS), epsilon=2)
    truth = [1500, 900, 450, 150]
    values = [way for way, count in enumerate(truth) for _ in range(count)]

    server = Server(recipe, question="travel:2026")
    with TemporaryDirectory() as folder:
        for number in range(DEVICES):
            client = Client.create(Path(folder) / f"budget-{number}", cap=2)
            value = values[number * PEOPLE // DEVICES]
            report = client.answer(server.question, value)
            again = client.answer(server.question, value)
            assert report == again, "a question is answered once"
            server.take(report)
            server.take(again)
        refused = client.answer(Server(recipe, question="travel:2027").question, value)
    print(f"{server.reports} devices reported, each once; the next question gets {refused}")

    reports = recipe.start(System.direct()).feed(values)
    estimate = recipe.estimate(reports)
    curator = HistogramMechanism(epsilon=2, bins=len(WAYS), neighbours="replace")
    central = curator.start(System()).step(truth)
    print(f"\n{PEOPLE} people, epsilon 2      truth   local (95% interval)   with a curator")
    for way, name in enumerate(WAYS):
        interval = (
            f"{estimate.counts[way]:6.0f} ({estimate.low[way]:.0f} to {estimate.high[way]:.0f})"
        )
        print(f"{name:>26} {truth[way]:7d}   {interval:21} {central[way]:15d}")
    print(
        f"\nLocal counts are off by about {recipe.error.std(PEOPLE):.0f}, "
        f"those of a curator by about {curator.error.std(1):.1f}."
    )


if __name__ == "__main__":
    main()
