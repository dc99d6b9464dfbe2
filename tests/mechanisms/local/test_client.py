"""The client and the server: one law on both sides, a budget that holds, hostile reports."""

from __future__ import annotations

import ast
import json
import os
import shutil
import sys
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms.local import (
    Client,
    HadamardResponse,
    MarginalResponse,
    MeanResponse,
    RandomizedResponse,
    Server,
    UnaryEncoding,
)
from ameles.mechanisms.local import device as device_folder
from ameles.mechanisms.local.device.client import LONGEST_FILE, BudgetRefused
from ameles.mechanisms.local.device.questions import LONGEST, Question, Unfit
from ameles.noise import Tape

RECIPES: tuple[Any, ...] = (
    RandomizedResponse(categories=4, odds="3/2"),
    UnaryEncoding(categories=3, odds=3),
    UnaryEncoding(categories=11, odds=3, optimised=False),
    HadamardResponse(categories=6, odds=3),
    MeanResponse(largest=1, odds=3),
    MeanResponse(largest=7, odds="3/2"),
)


def question(recipe: Any, name: str = "flu") -> str:
    return Server(recipe, question=name).question


def named(recipe: Any) -> str:
    return f"{type(recipe).__name__}-{recipe.values}"


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client.create(tmp_path / "budget", cap=2)


BIT = RandomizedResponse(categories=2, epsilon=1)
MEAN = MeanResponse(largest=3, epsilon=1)


def scripted(draws: Iterator[int], below: int) -> int:
    drawn = next(draws)
    assert 0 <= drawn < below
    return drawn


@pytest.mark.parametrize("recipe", RECIPES, ids=named)
def test_a_device_draws_as_the_recipe_does(recipe: Any) -> None:
    # Every draw, or 40 mixtures of draws, and every value, one that is not listed among them.
    asked = Question.read(question(recipe))
    server = Server(recipe, question="flu")
    count, below = recipe.draws
    if count == 1:
        scripts = [[i] for i in range(below)]
    else:
        scripts = [[(i * 7 + j * (i + 3)) % below for j in range(count)] for i in range(40)]
    for script in scripts:
        for value in (*range(recipe.values + 1), -1, None):
            expected = recipe.start(Tape(script)).step(value)
            report: Any = asked.randomized(value, partial(scripted, iter(script)))
            document = {
                "ameles": "report",
                "version": 1,
                "question": "flu",
                "randomizer": asked.fingerprint,
                "nonce": os.urandom(16).hex(),
                "report": report,
            }
            before = server.reports
            assert server.take(json.dumps(document)) == "accepted"
            assert server.reports == before + 1
            if isinstance(expected, np.ndarray):
                report = np.unpackbits(np.frombuffer(bytes.fromhex(str(report)), np.uint8))
                assert report[: recipe.values].tolist() == expected.tolist()
            else:
                assert report == expected


@pytest.mark.parametrize(
    "given", [{"epsilon": e} for e in ("0.0001", "1/3", "1", "20")] + [{"odds": 3}, {"odds": "7/2"}]
)
@pytest.mark.parametrize(
    "kind", [RandomizedResponse, UnaryEncoding, HadamardResponse, MeanResponse]
)
def test_a_device_computes_the_loss_itself(kind: Any, given: dict[str, Any]) -> None:
    recipe = kind(**({"largest": 5} if kind is MeanResponse else {"categories": 5}), **given)
    asked = Question.read(question(recipe))
    assert (asked.loss, asked.odds) == (recipe.loss.epsilon, recipe.table_odds)


def test_a_device_needs_the_standard_library_alone() -> None:
    for file in Path(device_folder.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert all(one.name in sys.stdlib_module_names for one in node.names)
            if isinstance(node, ast.ImportFrom) and not node.level:
                assert str(node.module).partition(".")[0] in sys.stdlib_module_names


def test_devices_and_a_server(tmp_path: Path) -> None:
    recipe = HadamardResponse(categories=3, epsilon=8)
    server = Server(recipe, question="flu")
    for user in range(60):
        device = Client.create(tmp_path / str(user), cap=8)
        assert server.take(device.answer(server.question, user % 3)) == "accepted"
    # epsilon 8 tells nearly the truth; false alarm below 1e-6
    estimate = server.estimate(beta=1e-6)
    assert server.reports == estimate.reports == 60
    assert ((estimate.low <= 20) & (estimate.high >= 20)).all()


def test_the_same_question_has_the_same_answer_for_free(client: Client, tmp_path: Path) -> None:
    server = Server(BIT, question="flu")
    first = client.answer(server.question, 1)
    assert client.answer(server.question, 0) == first  # also if the value is another now
    assert Client(tmp_path / "budget").answer(server.question, 1) == first
    assert (client.spent, client.cap) == (Fraction(1), Fraction(2))
    assert [server.take(first), server.take(first)] == ["accepted", "replayed"]
    assert server.reports == 1
    other = question(RandomizedResponse(categories=2, epsilon="1/2"))
    assert json.loads(client.answer(other, 1))["why"] == "question"  # one name, two questions


def test_a_budget_is_refused_publicly_and_exactly(client: Client) -> None:
    third = RandomizedResponse(categories=2, epsilon="2/3")
    for name in "abc":
        assert json.loads(client.answer(question(third, name), 1))["ameles"] == "report"
    assert client.spent == 2
    refusals = {client.answer(question(third, "d"), value) for value in (0, 1, None, "x", 9.5)}
    assert refusals == {'{"ameles":"refusal","version":1,"question":"d","why":"budget"}'}
    assert client.spent == 2


def test_values_of_any_type_are_answered(client: Client) -> None:
    for name, value in zip("abcd", [None, "text", 10**40, True], strict=True):
        asked = question(RandomizedResponse(categories=2, epsilon="1/4"), name)
        assert json.loads(client.answer(asked, value))["report"] in (0, 1)


def test_an_answer_is_on_the_disk_before_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "budget"
    client = Client.create(path, cap=1)

    def broken(_: int) -> None:
        raise OSError("power cut")

    monkeypatch.setattr(os, "fsync", broken)
    refused = json.loads(client.answer(question(BIT), 1))
    assert refused["why"] == "budget"
    monkeypatch.undo()
    # The line may be on the disk: then it is this answer, and no other one is ever given.
    assert client.spent == 1
    assert client.answer(question(BIT), 0) == client.answer(question(BIT), 1)


def test_a_torn_line_was_never_given_out(tmp_path: Path) -> None:
    path = tmp_path / "budget"
    client = Client.create(path, cap=1)
    with path.open("ab") as file:
        file.write(b'{"question":"flu","random')
    assert json.loads(client.answer(question(BIT), 1))["ameles"] == "report"
    assert len(path.read_bytes().splitlines()) == 2
    assert Client(path).spent == 1


def test_a_copied_moved_or_shortened_budget_is_refused(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "budget"
    before = path.read_bytes()
    client.answer(question(BIT), 1)
    shutil.copyfile(path, tmp_path / "copy")
    with pytest.raises(BudgetRefused, match="copy"):
        Client(tmp_path / "copy")
    # Put back as it was before, while the client runs: the answer is missing.
    path.write_bytes(before)
    assert json.loads(client.answer(question(BIT, "tax"), 1))["why"] == "budget"
    with pytest.raises(BudgetRefused, match="lost"):
        _ = client.spent
    path.unlink()
    assert json.loads(client.answer(question(BIT, "tax"), 1))["why"] == "budget"
    with pytest.raises(FileExistsError):
        Client.create(tmp_path / "copy", cap=1)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}\n",
        b"nonsense\n",
        b"[" * 100_000 + b"\n",
        b'{"ameles":"budget","version":2,"cap":"1","file":[0,0]}\n',
        b'{"ameles":"budget","version":1,"cap":"NaN","file":[0,0]}\n',
    ],
)
def test_what_is_no_budget_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "budget").write_bytes(content)
    with pytest.raises(BudgetRefused):
        Client(tmp_path / "budget")


def test_damaged_answers_end_a_budget(client: Client, tmp_path: Path) -> None:
    with (tmp_path / "budget").open("ab") as file:
        file.write(b'{"question":"flu","epsilon":"-1"}\n')
    assert json.loads(client.answer(question(BIT), 1))["why"] == "budget"


def test_a_file_beyond_its_limit_is_refused(client: Client, tmp_path: Path) -> None:
    os.truncate(tmp_path / "budget", LONGEST_FILE + 1)
    assert json.loads(client.answer(question(BIT), 1))["why"] == "budget"
    os.truncate(tmp_path / "budget", LONGEST_FILE)
    assert json.loads(client.answer(question(BIT), 1))["ameles"] == "report"


def test_budgets_are_private_files(client: Client, tmp_path: Path) -> None:
    assert (tmp_path / "budget").stat().st_mode & 0o777 == 0o600


def changed(recipe: Any = BIT, /, **fields: Any) -> str:
    document = json.loads(question(recipe))
    for name, value in fields.items():
        where = document if name in document else document["randomizer"]
        where[name] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{}",
        "[" * 3000,
        "x" * 5000,
        changed(ameles="report"),
        changed(id="a b"),
        changed(id=7),
        changed(id="x" * 65),
        changed(recipe="Truth"),
        changed(categories=1),
        changed(categories=True),
        changed(categories=2**21),
        changed(categories=2.0),
        changed(epsilon=None),
        changed(epsilon=1),
        changed(epsilon="30"),
        changed(epsilon="0"),
        changed(epsilon="-1"),
        changed(epsilon="1e9"),
        changed(epsilon="1/0"),
        changed(odds="3"),
        changed(epsilon=None, odds="1"),
        changed(epsilon=None, odds="1000000001"),
        changed(epsilon=None, odds="10000000000001/10000000000000"),
        changed(optimised=1),
        changed(optimised=True),
        changed(version=True),
        changed(largest=2),
        changed(recipe="MeanResponse"),
        changed(MEAN, largest=0),
        changed(MEAN, largest=2**20 + 1),
        changed(MEAN, largest=True),
        changed(MEAN, categories=3),
        changed(MEAN)[:-2],
        changed(MEAN).replace('"version": 1, "largest"', '"version": true, "largest"'),
        changed(UnaryEncoding(categories=3, odds=3), optimised=1),
        changed(truthful=True),
        changed(randomizer=[]),
    ],
)
def test_a_hostile_question_is_refused(client: Client, text: str) -> None:
    assert json.loads(client.answer(text, 1)) == {
        "ameles": "refusal",
        "version": 1,
        "question": "",
        "why": "question",
    }
    assert client.spent == 0


LIMITS: tuple[Any, ...] = (
    RandomizedResponse(categories=2, odds=3),
    RandomizedResponse(categories=2**20, odds=3),
    UnaryEncoding(categories=2, odds=3),
    UnaryEncoding(categories=2**16, odds=3),
    HadamardResponse(categories=2, odds=3),
    HadamardResponse(categories=2**20 - 1, odds=3),
    MeanResponse(largest=1, odds=3),
    MeanResponse(largest=2**20, odds=3),
    RandomizedResponse(categories=2, odds="1.0001"),
    RandomizedResponse(categories=2, odds=10**8),
)


@pytest.mark.parametrize("recipe", LIMITS, ids=repr)
def test_a_device_answers_whatever_a_server_may_ask(recipe: Any) -> None:
    asked = Question.read(question(recipe))
    size = recipe.largest if isinstance(recipe, MeanResponse) else recipe.categories
    assert (asked.size, asked.odds) == (size, recipe.table_odds)


def test_questions_have_at_most_their_length() -> None:
    text = question(BIT)
    longest = text + " " * (LONGEST - len(text))
    assert Question.read(longest) == Question.read(text)
    with pytest.raises(Unfit):
        Question.read(longest + " ")


def test_unary_encodings_are_optimised_if_nothing_else_is_said() -> None:
    document = json.loads(question(UnaryEncoding(categories=3, odds=3)))
    del document["randomizer"]["optimised"]
    assert Question.read(json.dumps(document)).optimised


def reports_of(recipe: Any, **fields: Any) -> str:
    asked = Question.read(question(recipe))
    report = {
        "ameles": "report",
        "version": 1,
        "question": "flu",
        "randomizer": asked.fingerprint,
        "nonce": "0" * 32,
        "report": 1,
    }
    return json.dumps({**report, **fields})


@pytest.mark.parametrize(
    "text",
    [
        "",
        b"\xff\xfe",
        "NaN",
        "[" * 900,
        "1" * 900,
        "{" + " " * 2000 + "}",
        reports_of(BIT, report=2),
        reports_of(BIT, report=-1),
        reports_of(BIT, report=True),
        reports_of(BIT, report=None),
        reports_of(BIT, report="1"),
        reports_of(BIT, report=[1]),
        reports_of(BIT, report=float("nan")),
        reports_of(BIT, report=float("inf")),
        reports_of(BIT, report=1.0),
        reports_of(BIT, report=10**300),
        reports_of(BIT, nonce="0" * 31),
        reports_of(BIT, nonce=7),
        reports_of(BIT, nonce="G" * 32),
        reports_of(BIT, question="tax"),
        reports_of(BIT, randomizer="0" * 64),
        reports_of(BIT, version=2),
        reports_of(BIT, version=True),
        reports_of(MEAN),
        reports_of(BIT, more=1),
        '{"ameles":"refusal","version":1,"question":"flu","why":"budget"}',
    ],
)
def test_a_hostile_report_is_not_counted(text: str | bytes) -> None:
    server = Server(BIT, question="flu")
    assert server.take(text) == "refused"
    assert server.reports == 0
    assert server.take(reports_of(BIT)) == "accepted"


@pytest.mark.parametrize("report", ["", "4", "4000", "g0", "41", "0xff", 64, None, "４0", " 40"])
def test_hostile_bits_are_not_counted(report: Any) -> None:
    recipe = UnaryEncoding(categories=3, odds=3)
    server = Server(recipe, question="flu")
    assert server.take(reports_of(recipe, report=report)) == "refused"
    assert server.take(reports_of(recipe, report="e0")) == "accepted"
    assert server.estimate().reports == 1


def test_questions_have_names_that_fit() -> None:
    names: list[Any] = ["", "a b", "x" * 65, "ä", None, 5, "flu\n"]
    for name in names:
        with pytest.raises(BadInput, match="name of up to 64"):
            Server(BIT, question=name)


def test_a_server_asks_what_devices_answer() -> None:
    others: list[Any] = [MarginalResponse(attributes=2, epsilon=1), None]
    for other in others:
        with pytest.raises(BadInput, match="A server asks through"):
            Server(other, question="flu")


def test_caps_finish_the_sentence(tmp_path: Path) -> None:
    caps: list[Any] = [-1, "nan", "1e3", None, True, "x", 10**41]
    for cap in caps:
        with pytest.raises(BudgetRefused, match="A cap must be written like"):
            Client.create(tmp_path / "budget", cap=cap)
    assert not (tmp_path / "budget").exists()


def test_losses_are_exact_fractions(client: Client) -> None:
    client.answer(question(RandomizedResponse(categories=2, epsilon="1/3")), 1)
    assert client.spent == Fraction(1, 3)
