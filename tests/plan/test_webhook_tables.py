"""The table of a webhook in a plan: its settings go with it alone, and it needs what to send."""

from __future__ import annotations

from pathlib import Path

import pytest

from ameles.plan.plan import read_plan_text
from ameles.plan.problems import BadPlan
from tests.engine.worlds import COUNT, World

HOOK = 'webhook = "https://a.org"\n'
SIGNED = 'secret = "hook.secret"\n'
ALARM = '[[release]]\nname = "a"\nmeasure = "alert"\nover = "step"\nthreshold = 9\ntimes = 2\n'


def problems(folder: Path, sink: str, releases: str = COUNT) -> list[tuple[str, str]]:
    text = World(folder, releases, rest=f"[[sink]]\n{sink}").text
    with pytest.raises(BadPlan) as refused:
        read_plan_text(text, base=folder)
    return [(problem.key, problem.what) for problem in refused.value.problems]


@pytest.mark.parametrize(
    ("sink", "key", "said"),
    [
        (HOOK, "sink.1", "A webhook needs a secret."),
        (SIGNED, "sink.1", "A sink has exactly one of csv"),
        (f'csv = "a.csv"\n{SIGNED}', "sink.1", "secret cannot be used with csv."),
        (f'csv = "a.csv"\n{HOOK}{SIGNED}', "sink.1", "A sink has exactly one of csv"),
        (f'webhook = "http://a.org"\n{SIGNED}', "sink.1", "The address of a webhook on another"),
        (f'{HOOK}{SIGNED}send = "all"', "sink.1.send", "It must be 'releases' or 'alerts'."),
        (f'{HOOK}{SIGNED}send = "alerts"', "sink.1.send", "No release is an alert"),
    ],
)
def test_a_table_that_is_wrong_is_refused(sink: str, key: str, said: str, tmp_path: Path) -> None:
    ((where, what),) = problems(tmp_path, sink)
    assert (where, what[: len(said)]) == (key, said)


def test_a_webhook_has_its_address_and_its_settings(tmp_path: Path) -> None:
    rest = f'[[sink]]\n{HOOK}{SIGNED}send = "alerts"'
    (sink,) = World(tmp_path, COUNT + ALARM, rest=rest).plan.sinks
    assert sink.given == {"webhook": "https://a.org"}
    assert sink.settings == {"secret": "hook.secret", "send": "alerts"}
