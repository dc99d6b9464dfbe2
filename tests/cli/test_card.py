"""The example with every statistic of users whose state may be seized, as an operator meets it:
planned, run from standard input, explained; with nothing of a card anywhere."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from ameles.connectors.standard_input import StandardInput
from ameles.engine.engine import Engine
from ameles.measures.catalogue import MEASURES
from ameles.measures.table_measure import HashedMeasure
from ameles.plan.plan import read_plan
from ameles.store import open_store
from tests.cli.conftest import Program
from tests.cli.test_run import change

CARD = Path(__file__).parents[2] / "examples" / "card.toml"
RETURNS = CARD.with_name("returns.toml")
CANARY = "cafebabe-canary"


@pytest.fixture
def card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "card"
    folder.mkdir()
    monkeypatch.chdir(folder)
    shutil.copy(CARD, folder)
    change('vault = "memory"', f'vault = "{tmp_path / "keys"}"', "card.toml")
    return folder


def test_both_examples_have_every_measure_of_a_table() -> None:
    kinds = {name for name, kind in MEASURES.items() if issubclass(kind, HashedMeasure)}
    shown = [*read_plan(CARD).releases, *read_plan(RETURNS).releases]
    assert {release.measure for release in shown} == kinds


def test_residues_are_planned(ameles: Program) -> None:
    ended = ameles("plan", str(RETURNS))
    assert ended.code == 0
    assert "out: Renewed, because a number that comes and goes for ever" in ended.out
    assert "in the one release at the end" in ended.err


@pytest.mark.usefixtures("card")
def test_the_plan_in_words(ameles: Program) -> None:
    ended = ameles("plan", "card.toml")
    assert ended.code == 0
    for text in (
        "if one user's events within 1d are added or removed, however many",
        "may be seized once",
        "counted in 4,000,000 cells",
        "the intervals of 'commuters' allow for that if at most 400,000 users come",
        "commuters: Renewed, because querying its table afresh",
    ):
        assert text in ended.out
    assert "For one-way, ± is that of a fraction that is small." in ended.err


def test_it_is_run_and_explained(card: Path, ameles: Program) -> None:
    for more, fewer in (("400000 ", "4000 "), ("4000000", "40000"), ("2000000", "20000")):
        text = Path("card.toml").read_text(encoding="utf-8")
        Path("card.toml").write_text(text.replace(more, fewer), encoding="utf-8")
    text = Path("card.toml").read_text(encoding="utf-8").replace("= 400000\n", "= 4000\n")
    Path("card.toml").write_text(text, encoding="utf-8")
    plan = read_plan(Path("card.toml"))
    # 600 cards: a third each rides once, twice and three times, on two days
    rides = "".join(f'{{"card": "{CANARY}-{i}"}}\n' * (1 + i % 3) for i in range(600))
    with closing(open_store("card.db")) as store:
        source = StandardInput("jsonl", plan.stream.columns)
        with Engine(plan, store).session() as session:
            for _ in range(2):
                session.take(source.reading([rides.encode()]), 0)
                session.take(source.reading([]), session.stream.released + 1)
            session.publish()
    truths = {"used": 0.15, "rides": 0.3, "commuters": 0.1, "one-way": 0.05}
    rows = [line.split(",") for line in Path("card.csv").read_text("utf-8").splitlines()[1:]]
    assert [row[1] for row in rows] == [*truths] * 2
    told = ameles("explain", "commuters", "2", "card.toml")
    assert told.code == 0
    for text in (
        "each of 40,000 cells has 2 bits, 1 with probability 1/2",
        "users who share a cell",
        "epsilon 1.6 for one user within 1 step: present or absent",
        "the state may be seized once",
    ):
        assert text in told.out
    written = [f.read_bytes() for f in card.parent.rglob("*") if f.is_file()]
    assert not any(CANARY.encode() in content for content in written)
