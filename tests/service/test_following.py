"""The threads that follow plans: each ends, fails or is stopped alone."""

from __future__ import annotations

import http.client
import io
import json
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ameles.connectors.source import AnySource
from ameles.core.exceptions import AmelesError, BadInput, PlanError, StoreRefused
from ameles.engine.engine import Engine
from ameles.engine.running.descriptions import Descriptions
from ameles.engine.running.session import Report
from ameles.plan.forecast import in_words
from ameles.service import server
from ameles.service.describing import Describing
from ameles.service.following import Following
from ameles.service.log import MOST, Log
from ameles.service.published import Shown, StorePublished
from ameles.service.rate_limit import RateLimit
from ameles.service.server import address_of, listening, url_of
from ameles.service.service import Service
from ameles.service.stream_failure import StreamFailure
from ameles.service.views import State
from ameles.store import Store, open_store
from tests.service.small_service import plan_of, released, world

CANARY = "cafebabe-canary"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(str(tmp_path / "s.db"))) as opened:
        yield opened


def shown(folder: Path, store: Store, name: str, horizon: int | None = 3) -> Shown:
    """A stream whose steps have all ended, or one that goes on for ever."""
    made = world(folder / name, name, horizon=horizon)
    if horizon is None:
        made.text = made.text.replace('every = "1d"', 'every = "3650d"')
    return Shown(plan_of(made), store)


def lines(out: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_events_can_be_posted_when_a_stream_is_said_to_run(tmp_path: Path, store: Store) -> None:
    made = world(tmp_path / "posted", "posted", horizon=None)
    made.text = made.text.replace('source = "events.csv"\ntime = "at"', 'source = "http"')
    open_doors, begun = dict[str, bool](), threading.Event()

    class Watching(Log):
        def say(self, event: str, **fields: Any) -> None:
            open_doors[event] = following.streams["posted"].door is not None
            if event == "following":
                begun.set()

    following = Following([Shown(plan_of(made), store)], Watching(io.StringIO()), lambda name: None)
    following.start()
    assert begun.wait(600)
    following.stop()
    assert open_doors["following"]


class Watched(Following):
    """Streams whose states a test can wait for."""

    def __init__(self, plans: list[Shown], log: Log) -> None:
        self.told: list[str] = []
        self._happened = threading.Condition()
        super().__init__(plans, log, self._tell)

    def _tell(self, name: str) -> None:
        with self._happened:
            self.told.append(name)
            self._happened.notify_all()

    def wait(self, name: str, state: State) -> None:
        with self._happened:
            assert self._happened.wait_for(lambda: self.doing(name) is state, 600)


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries streams again at once."""
    monkeypatch.setattr("ameles.service.following.FIRST_PAUSE", 0.001)
    monkeypatch.setattr("ameles.service.following.LONGEST_PAUSE", 0.01)


def test_a_stream_that_fails_stops_alone(tmp_path: Path, store: Store) -> None:
    out = io.StringIO()
    plans = [shown(tmp_path, store, name) for name in ("first", "held", "last")]
    following = Watched(plans, Log(out, as_json=True))
    told = following.told
    assert (following.starting, following.failed) == (3, {})
    with store.holding("held"):  # another process runs it
        following.start()
        for name, state in (
            ("first", State.ENDED),
            ("held", State.FAILED),
            ("last", State.ENDED),
        ):
            following.wait(name, state)
        following.stop()
    states = {name: following.doing(name) for name in following.streams}
    assert states == {"first": State.ENDED, "held": State.FAILED, "last": State.ENDED}
    assert (following.starting, len(following.failed)) == (0, 1)
    (refused,) = [line for line in lines(out) if line["event"] == "refused"]
    assert refused["stream"] == "held"
    assert refused["what"]
    said = [line["event"] for line in lines(out) if line.get("stream") == "first"]
    assert said == ["launched", "following", "released", "ended"]
    assert {*told} == {"first", "held", "last"}
    published = StorePublished(plans, following.doing)
    assert [published.stream(name).state for name in ("first", "held")] == [
        State.ENDED,
        State.FAILED,
    ]


def poor(folder: Path, store: Store, *names: str) -> list[Shown]:
    """Streams of one population whose cap is enough for one of them."""
    made = [world(folder / name, name, horizon=3) for name in names]
    for one in made:
        one.text = one.text.replace('population = "of-', 'cap = 2\npopulation = "shared" #')
    return [Shown(plan_of(one), store) for one in made]


def test_streams_are_launched_in_the_order_of_the_command_line(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the first source takes longer than the others: what is spent is spent for ever."""
    source, others = Engine.source, threading.Event()

    def slow(engine: Engine, *, waiting: bool = False) -> AnySource:
        if engine.plan.stream.name == "zoo":
            others.wait(0.5)
        return source(engine, waiting=waiting)

    monkeypatch.setattr(Engine, "source", slow)
    following = Watched(poor(tmp_path, store, "zoo", "alps", "moor"), Log(io.StringIO()))
    following.start()
    for stream in following.streams.values():
        stream.join()
    assert following.doing("zoo") is State.ENDED
    for name in ("alps", "moor"):
        assert following.doing(name) is State.FAILED
        failure = following.failure(name)
        assert failure is not None
        assert failure.again is None
    following.stop()


def test_a_launched_stream_waits_for_no_launch_and_a_hanging_one_holds_up_nobody_for_ever(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, released_by_now = Engine.source, threading.Event()

    def hanging(engine: Engine, *, waiting: bool = False) -> AnySource:
        if engine.plan.stream.name == "hangs":
            released_by_now.wait(600)
        return source(engine, waiting=waiting)

    monkeypatch.setattr(Engine, "source", hanging)
    old = released(world(tmp_path / "old", "old", horizon=3), store, until=1)
    plans = [shown(tmp_path, store, "hangs"), shown(tmp_path, store, "new"), old]
    monkeypatch.setattr("ameles.service.launch_order.LONGEST_TURN", 600.0)
    following = Watched(plans, Log(io.StringIO()))
    following.start()
    following.wait("old", State.ENDED)
    assert following.doing("new") is State.STARTING
    released_by_now.set()
    following.wait("new", State.ENDED)
    following.stop()

    released_by_now.clear()
    monkeypatch.setattr("ameles.service.launch_order.LONGEST_TURN", 0.01)
    with closing(open_store(str(tmp_path / "other.db"))) as other:
        plans = [shown(tmp_path / "other", other, name) for name in ("hangs", "new")]
        following = Watched(plans, Log(io.StringIO()))
        following.start()
        following.wait("new", State.ENDED)
        assert following.doing("hangs") is State.STARTING
        released_by_now.set()
        following.wait("hangs", State.ENDED)
        following.stop()


def test_a_stream_that_waits_for_its_turn_is_not_launched_at_the_end(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, reached, gone = Engine.source, threading.Event(), threading.Event()

    def hanging(engine: Engine, *, waiting: bool = False) -> AnySource:
        reached.set()
        gone.wait(600)
        return source(engine, waiting=waiting)

    monkeypatch.setattr(Engine, "source", hanging)
    following = Watched(
        [shown(tmp_path, store, "first"), shown(tmp_path, store, "last")], Log(io.StringIO())
    )
    following.start()
    assert reached.wait(600)
    ending = threading.Thread(target=following.stop)
    ending.start()
    following.wait("last", State.STOPPED)
    gone.set()
    ending.join(600)
    with store.reading() as transaction:
        assert transaction.stream("last") is None


def test_a_stream_that_failed_is_tried_again_and_says_why_once(
    tmp_path: Path, store: Store
) -> None:
    out = io.StringIO()
    following = Watched([shown(tmp_path, store, "held")], Log(out, as_json=True))
    with store.holding("held"):
        following.start()
        while following.told.count("held") < 5:
            threading.Event().wait(0.001)
        assert following.doing("held") is State.FAILED
        assert following.failed == {"held": "another process runs it"}
        failure = following.failure("held")
        assert failure is not None
        assert failure.again is not None
        assert "held" in failure.what
    following.wait("held", State.ENDED)
    following.stop()
    assert (following.failed, following.failure("held")) == ({}, None)
    said = [line["event"] for line in lines(out)]
    assert said == ["refused", "launched", "following", "released", "ended"]


def test_another_reason_is_said_too_and_pauses_grow(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    reasons = iter([StoreRefused("a"), StoreRefused("a"), StoreRefused("b"), ValueError("c")])

    def broken(*given: object, **named: object) -> None:
        raise next(reasons, PlanError("d"))

    monkeypatch.setattr("ameles.service.following.follow", broken)
    out, pauses = io.StringIO(), list[float]()
    following = Following([shown(tmp_path, store, "s")], Log(out, as_json=True))
    (stream,) = following.streams.values()

    class Noted(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            pauses.append(timeout or 0)
            return False

    monkeypatch.setattr(stream, "_back", Noted())
    following.start()
    stream.join()
    assert [line.get("what", line.get("kind")) for line in lines(out)] == [
        "a",
        "b",
        "ValueError",
        "d",
    ]
    assert pauses == [0.001, 0.002, 0.004, 0.008], "and a plan that is refused is not tried again"
    assert following.doing("s") is State.FAILED
    reason = "its plan, or something that it needs, is refused"
    assert following.failure("s") == StreamFailure("d", "", "", again=None, reason=reason)


def test_streams_that_lost_their_locks_with_another_begin_anew(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in Postgres, where one connection holds the locks of all streams of a store."""
    begun, failed, lost = list[str](), threading.Event(), threading.Event()
    stops = list[threading.Event]()

    def following_one(engine: Engine, stop: threading.Event, **named: Any) -> Report:
        name = engine.plan.stream.name
        begun.append(name)
        stops.append(stop)
        named["begun"](Report(False, 0, 0, None))
        if name == "first" and not failed.is_set():
            lost.wait(600)
            failed.set()
            raise StoreRefused("The connection was cut.")
        stop.wait(600)
        return Report(False, 0, 0, None)

    monkeypatch.setattr("ameles.service.following.follow", following_one)
    monkeypatch.setattr(type(store), "lost_locks", property(lambda self: True))
    with closing(open_store(str(tmp_path / "other.db"))) as apart:
        plans = [shown(tmp_path, store, name) for name in ("first", "second")]
        following = Watched(
            [*plans, shown(tmp_path, apart, "apart")], Log(io.StringIO(), as_json=True)
        )
        following.start()
        for name in ("first", "second", "apart"):
            following.wait(name, State.RUNNING)
        lost.set()
        while begun.count("second") < 2 or begun.count("first") < 2:
            threading.Event().wait(0.001)
        following.stop()
    assert begun.count("apart") == 1
    assert all(stop.is_set() for stop in stops), "also of an attempt that failed"


def test_a_launched_stream_is_described_also_if_it_cannot_be_followed(
    tmp_path: Path, store: Store
) -> None:
    made = world(tmp_path / "held", "held")
    one = released(made, store)  # as by ameles run, which writes no texts
    for text in (None, '{"words":["of an older version"]}'):
        with store.writing() as transaction:
            stream = transaction.stream("held")
            assert stream is not None
            if text is not None:
                transaction.set_description(stream, "plan", text)
        following = Following([one], Log(io.StringIO(), as_json=True))
        with store.holding("held"):  # another process runs it
            following.start()
            following.stop()
        assert following.doing("held") is State.FAILED
        published = StorePublished([one], following.doing)
        assert published.description("held", "release/visits")["measure"] == "count"
        assert published.description("held", "plan")["words"] == in_words(one.plan)


def test_a_stream_that_was_launched_before_goes_on_and_is_described_once(
    tmp_path: Path, store: Store
) -> None:
    one = released(world(tmp_path / "s", "s", horizon=3), store, until=1)
    following = Following([one], Log(io.StringIO(), as_json=True))
    following.start()
    for stream in following.streams.values():
        stream.join()
    following.stop()
    assert following.doing("s") is State.ENDED
    assert StorePublished([one], following.doing).description("s", "release/visits")


def test_texts_are_written_when_the_store_is_back(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, out = released(world(tmp_path / "s", "s", horizon=3), store, until=1), io.StringIO()
    describing = Describing(one, Log(out, as_json=True))
    failing = iter([True, True, True])
    begin = Descriptions.begin

    def fail_thrice(self: Descriptions) -> None:
        if next(failing, False):
            raise StoreRefused("The store is away.")
        begin(self)

    monkeypatch.setattr(Descriptions, "begin", fail_thrice)
    monkeypatch.setattr("ameles.service.describing.FIRST_PAUSE", 0.001)
    describing.begin(1)
    describing.begin(1)  # nothing: it tries already
    while StorePublished([one], lambda name: State.RUNNING).description("s", "plan") is None:
        threading.Event().wait(0.001)
    describing.stop()
    (line,) = out.getvalue().splitlines()  # once for one reason
    assert json.loads(line)["while_"] == "describing"


def test_texts_that_cannot_be_written_do_not_keep_a_service_from_ending(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Descriptions) -> None:
        tried.set()
        raise StoreRefused("The store is away.")

    one, tried = released(world(tmp_path / "s", "s", horizon=3), store, until=1), threading.Event()
    describing = Describing(one, Log(io.StringIO(), as_json=True))
    monkeypatch.setattr(Descriptions, "begin", fail)
    monkeypatch.setattr("ameles.service.describing.FIRST_PAUSE", 600)
    describing.begin(1)
    assert tried.wait(600)
    describing.stop()
    assert describing._thread is not None
    assert not describing._thread.is_alive()


def test_a_stream_is_never_described_by_another_plan(tmp_path: Path, store: Store) -> None:
    made = world(tmp_path / "s", "s")
    one = released(made, store)
    made.text = made.text.replace("epsilon = 2", "epsilon = 1")
    changed = Shown(plan_of(made), store)
    following = Following([changed], Log(io.StringIO(), as_json=True))
    following.start()
    for stream in following.streams.values():
        stream.join()
    following.stop()
    assert following.doing("s") is State.FAILED
    published = StorePublished([changed], following.doing)
    assert published.description("s", "plan") is None
    (own, _) = published.attacker("s")["losses"]
    assert own["words"] == str(one.plan.loss) == "epsilon 2"


def test_a_bug_in_one_stream_is_told_without_its_text(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: object, **named: object) -> None:
        raise ValueError(CANARY)

    monkeypatch.setattr("ameles.service.following.follow", broken)
    out = io.StringIO()
    following = Watched([shown(tmp_path, store, "s")], Log(out, as_json=True))
    following.start()
    following.wait("s", State.FAILED)
    following.stop()
    (line,) = lines(out)
    assert (line["event"], line["stream"], line["kind"]) == ("failed", "s", "ValueError")
    assert line["place"].startswith("service/following.py:")
    assert CANARY not in out.getvalue()
    failure = following.failure("s")
    assert failure is not None
    assert failure.again is not None
    assert CANARY not in repr(failure)


def test_a_stream_is_stopped_when_its_work_is_stored(tmp_path: Path, store: Store) -> None:
    out, running = io.StringIO(), threading.Event()
    plan = shown(tmp_path, store, "s", horizon=None)
    following = Following([plan], Log(out), lambda name: running.set())
    following.start()
    assert running.wait(600)
    assert following.doing("s") is State.RUNNING
    following.stop()
    assert following.doing("s") is State.STOPPED
    assert out.getvalue().splitlines()[-1].endswith("stopped stream=s step=0")


def get(opened: socket.socket, path: str) -> tuple[int, Any]:
    host, port = opened.getsockname()[:2]
    with closing(http.client.HTTPConnection(host, port, timeout=600)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, json.load(answer)


def test_a_stream_that_was_stopped_before_its_attempt_makes_none(
    tmp_path: Path, store: Store
) -> None:
    following = Following([shown(tmp_path, store, "endless", horizon=None)], Log(io.StringIO()))
    stream = following.streams["endless"]
    stream.stop()  # as between two attempts
    stream.start()
    stream._thread.join(600)
    assert stream.state is State.STOPPED


def test_a_service_over_a_socket(tmp_path: Path, store: Store) -> None:
    """Serves what is followed, says that a stream has failed, and ends when it is told to."""
    out, stop, failed = io.StringIO(), threading.Event(), list[int]()
    plans = [shown(tmp_path, store, name) for name in ("s", "held")]
    service = Service([(one.plan, one.store) for one in plans], Log(out, as_json=True))
    with closing(listening("127.0.0.1:0")) as opened, store.holding("held"):
        served = threading.Thread(target=lambda: failed.append(service.run(opened, stop)))
        served.start()
        assert get(opened, "/healthz") == (200, {"alive": True})
        service.following.streams["s"].join()
        while not service.following.failed:
            threading.Event().wait(0.001)
        why = {"name": "held", "reason": "another process runs it"}
        told = {"ready": False, "starting": 0, "failed": 1, "streams": [why]}
        assert get(opened, "/readyz") == (503, told)
        assert get(opened, "/v1/streams") == (200, {"streams": []})
        stop.set()
        served.join()
    assert failed == [1]
    assert "127.0.0.1" not in out.getvalue(), "no address of a client is logged"


@pytest.mark.parametrize("text", ["", "8421", ":8421", "host:", "host:x", "host:65536", "h:-1"])
def test_an_address_that_cannot_be_listened_at_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        address_of(text)


def test_a_port_that_is_taken_is_refused_in_words() -> None:
    with closing(listening("[::1]:0" if socket.has_ipv6 else "127.0.0.1:0")) as opened:
        with pytest.raises(AmelesError, match="Nothing can listen at") as refused:
            listening(url_of(opened).removeprefix("http://"))
        assert refused.value.why


def test_what_another_package_logs_has_no_values() -> None:
    out = io.StringIO()
    log = Log(out, as_json=True)
    log.take_over("tests.other")
    other = logging.getLogger("tests.other")
    other.warning("a request from %s\nand more", CANARY)
    try:
        raise ValueError(CANARY)
    except ValueError:
        other.exception("it failed with %s", CANARY)
    other.info(CANARY)
    first, second = lines(out)
    assert "left_out" not in first
    assert first["said"] == "a request from %s"
    assert second["kind"] == "ValueError"
    assert CANARY not in out.getvalue()


def test_a_flood_of_lines_of_another_package_is_logged_in_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out, now = io.StringIO(), [0.0]
    other = logging.getLogger("tests.other")
    with monkeypatch.context() as patched:
        patched.setattr("ameles.service.log.RateLimit", lambda: RateLimit(lambda: now[0]))
        Log(out, as_json=True).take_over("tests.other")
    for _ in range(100):
        other.warning("broken")
    assert len(lines(out)) == MOST
    now[0] = 0.1
    other.warning("broken")
    assert lines(out)[-1]["left_out"] == 100 - MOST


def test_a_line_for_people_can_be_read_by_programs() -> None:
    out = io.StringIO()
    Log(out).say("sink", stream="s", said='a "b" c', empty="")
    assert out.getvalue().split(" ", 1)[1] == 'sink stream=s said="a \\"b\\" c" empty=""\n'


@pytest.mark.parametrize("problem", [None, OSError(), ValueError()])
def test_as_many_files_are_opened_as_the_system_allows(
    monkeypatch: pytest.MonkeyPatch, problem: Exception | None
) -> None:
    asked: list[tuple[int, int]] = []

    def change(kind: int, limits: tuple[int, int]) -> None:
        asked.append(limits)
        if problem is not None:  # a sandbox forbids it
            raise problem

    monkeypatch.setattr("resource.getrlimit", lambda kind: (1024, 4096))
    monkeypatch.setattr("resource.setrlimit", change)
    server.allow_open_files()
    assert asked == [(4096, 4096)]
