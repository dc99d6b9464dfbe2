"""Remote sinks: in order, again until accepted, with the same ids, and no step waits."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from unittest import mock

import pytest

from ameles.connectors.remote_sink import OutgoingBatch, RemoteSink, Undelivered
from ameles.connectors.sink import Row
from ameles.connectors.source import SeekableSource
from ameles.connectors.webhook import messages as webhook_messages
from ameles.connectors.webhook import sink as webhook_sink
from ameles.connectors.webhook.sink import WebhookSink
from ameles.core.exceptions import AmelesError, PlanError, StoreRefused
from ameles.engine.engine import Engine
from ameles.engine.following.publishing import Publishing
from ameles.engine.running import remote_delivery
from ameles.engine.running.remote_delivery import RemoteDelivery
from ameles.engine.running.stream_sink import StreamSink
from ameles.store import open_store
from tests.connectors.webhook.webhook_receiver import Message, Receiver, drop, receiving, stall
from tests.engine.sink_worlds import run, states, world_in
from tests.engine.worlds import World
from tests.warm_processes import start

CSV = '[[sink]]\ncsv = "out.csv"\n'
ALERT = (
    '[[release]]\nname = "crowd"\nmeasure = "alert"\nover = "step"\nthreshold = -1000\ntimes = 2\n'
)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_delivery, "FIRST", 0.001)
    monkeypatch.setattr(remote_delivery, "LONGEST", 0.01)


def hooked(folder: Path, receiver: Receiver, more: str = "") -> World:
    return world_in(folder, rest=receiver.plan(folder) + more)


def lag(world: World) -> tuple[int | None, int | None]:
    state = states(world)["webhook"]
    return state.step, state.behind


def test_every_step_is_sent_once_and_in_order(receiver: Receiver, tmp_path: Path) -> None:
    world = hooked(tmp_path, receiver)
    run(world, 3)
    assert receiver.steps == [1, 2, 3]
    assert lag(world) == (3, 0)
    run(world, 5)
    run(world, 5)
    assert receiver.steps == [1, 2, 3, 4, 5]
    with closing(open_store(str(tmp_path / "s.db"))) as store, store.reading() as transaction:
        stream = transaction.stream("s")
        assert stream is not None
        stored = [one.to_dict() for one in transaction.releases(stream)]
    assert [one for sent in receiver.messages for one in sent.data["releases"]] == stored


def test_what_is_not_accepted_is_sent_again_before_anything_else(
    receiver: Receiver, tmp_path: Path
) -> None:
    receiver.answers = [204, 500, (429, {"retry-after": "0"}), 204, drop]
    run(hooked(tmp_path, receiver), 3)
    assert receiver.steps == [1, 2, 2, 2, 3, 3]
    assert len({message.id for message in receiver.messages}) == 3
    assert len({message.body for message in receiver.messages}) == 3


def test_a_receiver_that_is_away_fails_the_run_alone_and_gets_everything_later(
    receiver: Receiver, tmp_path: Path
) -> None:
    world = hooked(tmp_path, receiver, CSV)
    receiver.answers = [204, 204, *[503] * remote_delivery.ATTEMPTS]
    with pytest.raises(AmelesError, match=r"webhook:.* cannot be reached") as caught:
        run(world, 4)
    assert "it answers 503; another sink has everything up to step 4" in caught.value.why
    assert receiver.steps == [1, 2, *[3] * remote_delivery.ATTEMPTS]
    assert lag(world) == (2, 2)
    assert states(world)["webhook"].behind_since == "2026-01-04T00:00:00Z"
    assert states(world)["csv"].step == 4
    del receiver.messages[:]
    run(world, 5)
    assert receiver.steps == [3, 4, 5]
    assert lag(world) == (5, 0)


def test_a_receiver_that_asks_for_long_is_not_waited_for_at_the_end(
    receiver: Receiver, tmp_path: Path
) -> None:
    receiver.answers = [(429, {"retry-after": "60"})]
    with pytest.raises(AmelesError, match="cannot be reached"):
        run(hooked(tmp_path, receiver), 2)
    assert receiver.steps == [1]


def test_a_receiver_that_is_killed_and_comes_back_gets_the_rest(tmp_path: Path) -> None:
    with receiving() as first:
        world = hooked(tmp_path, first)
        run(world, 2)
    with pytest.raises(AmelesError, match="cannot be reached"):
        run(world, 4)
    with receiving(port=first.port) as second:
        run(world, 5)
    assert (first.steps, second.steps) == ([1, 2], [3, 4, 5])


class Followed:
    """A follower, step by step, without its clock."""

    def __init__(self, world: World) -> None:
        self.said: list[str] = []
        self._world = world

    @contextmanager
    def going(self) -> Iterator[Followed]:
        with closing(open_store(str(self._world.folder / "s.db"))) as store:
            self._engine = Engine(self._world.plan, store)
            source = self._engine.source()
            assert isinstance(source, SeekableSource)
            self._source = source
            with self._engine.session() as self._session:
                self._publishing = Publishing(self._session, self.said.append)
                yield self

    def release(self, step: int) -> None:
        self._engine.take(self._session, self._source, step, self._source.ends())
        self._publishing.publish()

    def finish(self) -> None:
        self._session.publish()

    @property
    def sinks(self) -> list[StreamSink]:
        return self._session._sinks.sinks


def test_no_step_waits_for_a_receiver_that_stalls(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_sink, "TIMEOUT", 600.0)
    asked = threading.Event()
    receiver.came = lambda message: asked.set()
    receiver.answers = [stall(receiver)]
    world = hooked(tmp_path, receiver, CSV)
    with Followed(world).going() as followed:
        followed.release(1)
        assert asked.wait(600)
        for step in (2, 3, 4):
            followed.release(step)
        assert states(world)["csv"].step == 4
        assert lag(world) == (0, 4)
        assert followed.said == []
        (thread,) = (one._thread for one in followed.sinks if isinstance(one, RemoteDelivery))
    # the end of the session has not waited either: the receiver still stalls
    assert receiver.steps == [1]
    assert thread is not None
    assert not thread.is_alive()


def test_a_follower_says_that_a_receiver_fails_and_is_back(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[tuple[int, float]]()

    def pause(failures: int, seconds: float) -> float:
        asked.append((failures, seconds))
        return 600.0

    monkeypatch.setattr(remote_delivery, "pause", pause)
    refused = threading.Event()
    waiting = RemoteDelivery._wait

    def noticed(self: RemoteDelivery, problem: AmelesError) -> None:
        self.failed = problem
        refused.set()
        waiting(self, problem)

    monkeypatch.setattr(RemoteDelivery, "_wait", noticed)
    receiver.answers = [(429, {"retry-after": "7"})]
    with Followed(hooked(tmp_path, receiver)).going() as followed:
        followed.release(1)
        assert refused.wait(600)
        followed.release(2)
        assert [line.partition(" cannot")[0] for line in followed.said] == [
            f"The sink webhook:{receiver.url}"
        ]
        followed.finish()  # which ends the pause of ten minutes
        followed.release(3)
        assert followed.said[1:] == [
            f"The sink webhook:{receiver.url} is written again, and has everything."
        ]
        followed.finish()
    assert receiver.steps == [1, 1, 2, 3]
    assert asked == [(1, 7.0)]


def test_a_receiver_that_is_gone_gets_nothing_more_and_the_stream_goes_on(
    receiver: Receiver, tmp_path: Path
) -> None:
    receiver.answers = [410]
    world = hooked(tmp_path, receiver)
    with Followed(world).going() as followed:
        followed.release(1)
        with pytest.raises(AmelesError, match="wants no more messages"):
            followed.finish()
        followed.release(2)
        with pytest.raises(AmelesError, match="wants no more messages"):
            followed.finish()
    assert receiver.steps == [1]
    run(world, 3)
    assert receiver.steps == [1, 1, 2, 3], "another process asks again"


def test_a_crash_after_the_answer_sends_the_same_message_again(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = hooked(tmp_path, receiver)

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(RemoteDelivery, "_record", crash)
        with pytest.raises(KeyboardInterrupt):
            run(world, 2)
    run(world, 2)
    assert receiver.steps == [1, 1, 2]
    first, second, _ = receiver.messages
    assert (first.id, first.body) == (second.id, second.body)


@pytest.mark.parametrize("answered", [False, True])
def test_a_kill_between_sending_and_the_commit_sends_the_same_message_again(
    answered: bool, receiver: Receiver, tmp_path: Path
) -> None:
    world = hooked(tmp_path, receiver)
    (tmp_path / "plan.toml").write_text(world.text, encoding="utf-8")
    script = (
        "import os, signal, sys; from ameles.engine.running.remote_delivery import RemoteDelivery\n"
        + (
            "RemoteDelivery._record = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
            if answered
            else ""
        )
        + "from ameles.cli import main; sys.argv[1:] = ['run', 'plan.toml', '--yes', '--until', "
        "'2026-01-03']; main()"
    )
    process = start("-c", script, cwd=tmp_path)
    if not answered:

        def kill(message: Message) -> None:
            os.kill(process.pid, signal.SIGKILL)

        receiver.came = kill
    assert process.wait(600) == -signal.SIGKILL
    receiver.came = lambda message: None
    assert receiver.steps == [1]
    run(world, 3)
    assert receiver.steps == [1, 1, 2, 3]
    first, second, *_ = receiver.messages
    assert (first.id, first.body) == (second.id, second.body)


def test_nothing_more_is_sent_after_the_end_of_a_session(
    receiver: Receiver, tmp_path: Path
) -> None:
    run(world_in(tmp_path, rest=CSV), 3)
    with Followed(hooked(tmp_path, receiver, CSV)).going() as followed:
        (delivery,) = (one for one in followed.sinks if isinstance(one, RemoteDelivery))
        receiver.came = lambda message: setattr(delivery, "_ended", True)
        followed.release(3)
        assert delivery._thread is not None
        delivery._thread.join(600)
    assert receiver.steps == [1], "although all three steps were read"


@pytest.mark.parametrize("ends", [True, False])
def test_a_sink_is_closed_when_its_thread_has_ended_and_never_under_it(*, ends: bool) -> None:
    told = mock.Mock(spec=["abort", "join", "close"])
    sink = mock.create_autospec(RemoteSink, instance=True)
    sink.abort, sink.close = told.abort, told.close
    delivery = RemoteDelivery("away", lambda: sink)
    delivery._thread = thread = mock.create_autospec(threading.Thread, instance=True)
    thread.join, thread.is_alive = told.join, lambda: not (ends and told.join.called)
    delivery.close()
    waited = [mock.call.abort(), mock.call.join(remote_delivery.PATIENCE)]
    assert told.mock_calls == [*waited, *[mock.call.close()] * ends]


def test_a_mistake_in_the_thread_ends_the_run(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mistaken(self: WebhookSink, *_: object) -> None:
        raise RuntimeError("a mistake")

    monkeypatch.setattr(WebhookSink, "send", mistaken)
    with Followed(hooked(tmp_path, receiver)).going() as followed:
        followed.release(1)
        with pytest.raises(RuntimeError, match="a mistake"):
            followed.finish()
        with pytest.raises(RuntimeError, match="a mistake"):
            followed.release(2)


def test_a_store_that_refuses_for_a_moment_is_asked_again(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording, refusals = RemoteDelivery._record, [StoreRefused("It is busy.")]

    def busy(self: RemoteDelivery, work: remote_delivery._Work, step: int) -> None:
        if refusals:
            raise refusals.pop()
        recording(self, work, step)

    monkeypatch.setattr(RemoteDelivery, "_record", busy)
    run(hooked(tmp_path, receiver), 2)
    assert receiver.steps == [1, 1, 2]


def test_a_secret_that_is_away_for_a_moment_fails_the_sink_alone(
    receiver: Receiver, tmp_path: Path
) -> None:
    world = hooked(tmp_path, receiver, CSV)
    run(world, 1)
    secret = tmp_path / "hook.secret"
    secret.chmod(0o644)
    with pytest.raises(AmelesError, match="can be read by other users"):
        run(world, 2)
    assert states(world)["csv"].step == 2
    secret.chmod(0o600)
    run(world, 3)
    assert receiver.steps == [1, 2, 3]


def test_a_launch_is_refused_without_the_secret(receiver: Receiver, tmp_path: Path) -> None:
    world = hooked(tmp_path, receiver)
    (tmp_path / "hook.secret").unlink()
    with pytest.raises(AmelesError, match="No such file"):
        run(world, 1)
    with closing(open_store(str(tmp_path / "s.db"))) as store, store.reading() as transaction:
        assert transaction.stream("s") is None


def test_a_long_history_is_read_in_pieces_of_whole_steps(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes, made = [], WebhookSink.batches

    def counted(self: WebhookSink, rows: list[Row], sent: int) -> Iterator[OutgoingBatch]:
        sizes.append(len(rows))
        return made(self, rows, sent)

    monkeypatch.setattr(remote_delivery, "_ROWS", 3)
    monkeypatch.setattr(WebhookSink, "batches", counted)
    run(hooked(tmp_path, receiver), 7)
    assert receiver.steps == [1, 2, 3, 4, 5, 6, 7]
    assert sizes == [4, 4, 4, 2], "steps of two rows"


def test_a_step_counts_as_sent_when_all_of_its_parts_are(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_messages, "PART", 1)
    world = hooked(tmp_path, receiver)
    receiver.answers = [204, *[503] * remote_delivery.ATTEMPTS]
    with pytest.raises(AmelesError, match="cannot be reached"):
        run(world, 1)
    assert lag(world) == (0, 1)
    del receiver.messages[:]
    run(world, 1)
    assert [message.data["part"] for message in receiver.messages] == [1, 2]
    assert lag(world) == (1, 0)


def test_alerts_alone_are_sent_and_the_quiet_steps_count_as_sent(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_delivery, "_ROWS", 1)
    world = World(tmp_path, ALERT, rest=receiver.plan(tmp_path, 'send = "alerts"'))
    world.write([])
    run(world, 2)
    run(world, 8)
    told = [one["label"] for sent in receiver.messages for one in sent.data["releases"]]
    assert (receiver.steps, told) == ([1, 2, 3], ["above", "above", "halted"])
    assert lag(world) == (8, 0)


def test_two_webhooks_of_one_address_are_refused(receiver: Receiver, tmp_path: Path) -> None:
    one = receiver.plan(tmp_path)
    with pytest.raises(PlanError, match="Two sinks have the address"):
        run(world_in(tmp_path, rest=one + one), 1)
    other = one.replace("to=me", "to=you")
    run(world_in(tmp_path, rest=one + other), 1)
    assert sorted(message.path[-3:] for message in receiver.messages) == ["=me", "you"]


def test_undelivered_is_an_error_that_says_when_to_try_again() -> None:
    problem = Undelivered("It is away.", why="it answers 429", tip="wait", wait=3.0)
    assert (problem.wait, problem.final, problem.exit_code) == (3.0, False, 1)
