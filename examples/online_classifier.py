"""A classifier over a stream: it protects users, and goes on after a restart.

Two hundred people send messages over ten days.  The model learns which are urgent, and its weights
are published every day.  One person is used on three days at most, however many messages they send.
"""

from __future__ import annotations

import numpy as np

from ameles import USER, Approx, Ledger, Neighbours
from ameles.mechanisms.learning import OnlineClassifier, classifier_counter
from ameles.noise import System

PEOPLE, DAYS, MESSAGES = 200, 10, 400
CLASSES = ("later", "urgent")


def messages() -> tuple[list[list[float]], list[str], list[str]]:
    """Made up: a message is urgent if it is short and written at night."""
    noise = System()
    rows = (noise.uniform(2001, (MESSAGES, 2)) - 1000) / 1000
    urgent = rows @ [1.0, -0.5] > 0.1
    users = [f"person {number}" for number in noise.uniform(PEOPLE, MESSAGES)]
    return rows.tolist(), [CLASSES[int(one)] for one in urgent], users


def main() -> None:
    """Learns for ten days, with a restart after the fifth."""
    counter = classifier_counter(
        epsilon=2, delta="1e-6", features=2, steps=DAYS, contributions=3, unit=USER
    )
    cap = Approx(2, "1e-6")
    ledger = Ledger("people", cap=cap, unit=USER, neighbours=Neighbours.USER_PRESENCE)
    run = ledger.start(counter, on="messages", why="a model of what is urgent")
    model = OnlineClassifier(run, rate="0.05", classes=CLASSES)
    rows, labels, _ = messages()  # of nobody in the stream, to measure with
    for day in range(1, DAYS + 1):
        model.partial_fit(*messages())
        shown = " ".join(f"{weight:+.1f}" for weight in np.append(model.coef_, model.intercept_))
        print(f"day {day:2}: weights {shown}, right {model.score(rows, labels):.0%}")
        if day == DAYS // 2:
            kept = run.snapshot(), model.snapshot()  # both secret
            run = ledger.resume(counter, kept[0])
            model = OnlineClassifier.resume(run, kept[1])
            print("        a restart: the model knows whom it has used")
    print(f"spent: {ledger.spent} of {ledger.cap}")


if __name__ == "__main__":
    main()
