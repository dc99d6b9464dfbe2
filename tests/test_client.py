"""The client: batches, lost answers, closed steps; each event counts at most once."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from ameles import client
from ameles.client import Refused, Sender, Unreachable

BEARER = "ameles_secret"


@dataclass
class FakeService:
    """A service that counts batches by their ids, and does as the script says."""

    step: int = 7
    script: list[str] = field(default_factory=list)  # one word for each POST; then "count"
    posts: list[tuple[str, int, list[Any]]] = field(default_factory=list)
    counted: dict[tuple[str, int], list[Any]] = field(default_factory=dict)
    asked: int = 0
    over: bool = False
    port: int = 0

    def answer(self, handler: BaseHTTPRequestHandler) -> tuple[int, dict[str, Any], str]:
        assert handler.headers["Authorization"] == f"Bearer {BEARER}"
        assert handler.path == "/base/v1/streams/f%20lu/events"
        if handler.command == "GET":
            self.asked += 1
            return 200, {"step": None if self.over else self.step}, ""
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        events = [json.loads(line) for line in gzip.decompress(body).splitlines()]
        assert handler.headers["Content-Type"] == "application/x-ndjson"
        name, step = handler.headers["Ameles-Batch"], int(handler.headers["Ameles-Step"])
        self.posts.append((name, step, events))
        word = self.script.pop(0) if self.script else "count"
        if word == "close":
            self.step += 1
        if word in ("full", "late", "away", "lost", "down"):
            status = {"full": 429, "late": 408, "away": 503, "lost": 503, "down": 502}[word]
            outcome = "unknown" if word in ("lost", "down") else "not counted"
            return status, {"what": "busy", "step": self.step, "outcome": outcome}, "0"
        if word == "reused":
            return 409, {"what": "It had another body.", "outcome": "not counted"}, ""
        if word == "refuse":
            return 400, {"what": "The body is broken."}, ""
        if word.isdigit():  # this status, also of all later batches if it is one of the service's
            return int(word), {"what": "No."}, ""
        if word == "not here":  # as a proxy says
            return 404, {}, ""
        if step != self.step:
            return 409, {"what": "closed", "step": self.step, "outcome": "unknown"}, ""
        self.counted.setdefault((name, step), events)
        if word == "leave":  # as a server does with a connection that nobody uses
            handler.close_connection = True
        if word == "cut":
            handler.connection.shutdown(socket.SHUT_RDWR)
        if word == "cut and close":
            self.step += 1
            handler.connection.shutdown(socket.SHUT_RDWR)
        return 200, {"step": self.step}, ""


@pytest.fixture
def service() -> Iterator[FakeService]:
    fake = FakeService()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, answer, after = fake.answer(self)
            content = json.dumps(answer).encode()
            try:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                if after:
                    self.send_header("Retry-After", after)
                self.end_headers()
                self.wfile.write(content)
            except (OSError, ValueError):
                self.close_connection = True

        def do_POST(self) -> None:
            self.do_GET()

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    fake.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield fake
    server.shutdown()
    server.server_close()


def sender_to(service: FakeService, patience: float = 5.0, every: float = 3600.0) -> Sender:
    slept = iter(range(10**6))
    return Sender(
        f"http://127.0.0.1:{service.port}/base/",
        stream="f lu",
        token=BEARER,
        every=every,
        patience=patience,
        sleep=lambda seconds: None,
        clock=lambda: 0.1 * next(slept),
    )


def numbers(service: FakeService) -> list[int]:
    return sorted(event["n"] for events in service.counted.values() for event in events)


def test_events_go_in_batches_that_count_once(service: FakeService) -> None:
    with sender_to(service) as sender:
        for number in range(2500):
            sender.send({"n": number})
        assert len(service.posts) == 2
    assert numbers(service) == list(range(2500))
    assert [len(events) for _, _, events in service.posts] == [1000, 1000, 500]
    assert len({name for name, _, _ in service.posts}) == 3
    assert service.asked == 1  # every answer tells the open step


def test_large_events_make_smaller_batches(
    service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MOST_BYTES", 100)
    with sender_to(service) as sender:
        for number in range(10):
            sender.send({"n": number, "text": "x" * 30})
        with pytest.raises(ValueError, match="may have 100 bytes"):
            sender.send({"text": "x" * 100})
    assert numbers(service) == list(range(10))
    assert {len(events) for _, _, events in service.posts} == {2}


@pytest.mark.parametrize("word", ["full", "late", "away", "lost", "down", "cut"])
def test_a_batch_is_sent_again_until_it_is_counted(service: FakeService, word: str) -> None:
    service.script = [word, word]
    with sender_to(service) as sender:
        sender.send({"n": 1})
        sender.flush()
        assert sender.uncertain == 0
    assert numbers(service) == [1]
    assert len(service.posts) == 3
    assert len({post[:2] for post in service.posts}) == 1, "the same id and the same step"


def test_a_batch_that_was_not_counted_goes_into_the_next_step(service: FakeService) -> None:
    with sender_to(service) as sender:
        sender.send({"n": 1})
        sender.flush()
        service.step = 9
        sender.send({"n": 2})
        sender.flush()
        assert sender.uncertain == 0
        service.script = ["full", "late", "away", "close"]
        sender.send({"n": 3})
    assert numbers(service) == [1, 2, 3]
    assert [step for _, step, _ in service.posts] == [7, 7, 9, 9, 9, 9, 9, 10]


def test_a_batch_that_always_comes_too_late_is_not_sent_for_ever(service: FakeService) -> None:
    service.script = ["close"] * 1000
    sender = sender_to(service)
    sender.send({"n": 1})
    with pytest.raises(Unreachable):
        sender.flush()
    assert len(service.posts) < 100
    service.script = []
    sender.close()
    assert numbers(service) == [1]
    assert sender.uncertain == 0


def test_an_id_that_was_used_for_another_body_is_refused_for_good(service: FakeService) -> None:
    service.script = ["reused"]
    with sender_to(service) as sender:
        sender.send({"n": 1})
        with pytest.raises(Refused, match="another body"):
            sender.flush()
        sender.send({"n": 2})
        sender.flush()
        assert (sender.refused, sender.uncertain) == (1, 0)
    assert (len(service.posts), numbers(service)) == (2, [2])


def test_a_stream_that_is_over_refuses(service: FakeService) -> None:
    service.over = True
    sender = sender_to(service)
    sender.send({"n": 1})
    with pytest.raises(Refused) as caught:
        sender.close()
    assert caught.value.status == 410
    assert not service.posts


def test_a_quiet_sender_loses_nothing(service: FakeService) -> None:
    service.script = ["leave"]
    now = [0.0]
    url = f"http://127.0.0.1:{service.port}/base/"
    with Sender(
        url, stream="f lu", token=BEARER, every=3600, sleep=lambda wait: None, clock=lambda: now[-1]
    ) as sender:
        sender.send({"n": 1})
        sender.flush()
        now.append(60.0)
        service.step += 1
        sender.send({"n": 2})
        sender.flush()
        assert sender.uncertain == 0
    assert numbers(service) == [1, 2]
    assert [step for _, step, _ in service.posts] == [7, 8]
    assert service.asked == 2


@pytest.mark.parametrize("script", [["cut and close"], ["lost", "close"], ["down", "close"]])
def test_a_batch_that_may_have_counted_is_not_sent_in_another_step(
    service: FakeService, script: list[str]
) -> None:
    service.script = list(script)
    with sender_to(service) as sender:
        sender.send({"n": 1})
        sender.flush()
        assert sender.uncertain == 1
        sender.send({"n": 2})
    counted = numbers(service)
    assert counted.count(1) <= 1
    assert counted[-1] == 2


def test_a_refused_batch_is_told_and_the_next_one_counts(service: FakeService) -> None:
    service.script = ["refuse"]
    with sender_to(service) as sender:
        sender.send({"n": 1})
        with pytest.raises(Refused, match=r"The body is broken\.") as caught:
            sender.flush()
        assert caught.value.status == 400
        sender.send({"n": 2})
    assert numbers(service) == [2]


def test_a_service_that_is_away_keeps_the_events(service: FakeService) -> None:
    sender = sender_to(service)
    port, sender._connection.port = service.port, 1
    sender.send({"n": 1})
    with pytest.raises(Unreachable):
        sender.flush()
    sender._connection.port = port
    sender.close()
    assert numbers(service) == [1]
    assert len(service.posts) == 1
    assert sender.uncertain == 0


def test_an_event_is_kept_when_those_before_it_cannot_be_sent(
    service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MOST_EVENTS", 2)
    sender = sender_to(service)
    port, sender._connection.port = service.port, 1
    sender.send({"n": 1})
    for number in (2, 3, 4):
        with pytest.raises(Unreachable):
            sender.send({"n": number})
    sender._connection.port = port
    service.script = ["refuse"]
    with pytest.raises(Refused):
        sender.send({"n": 5})
    sender.close()
    assert numbers(service) == [3, 4, 5]
    assert [len(events) for _, _, events in service.posts] == [2, 2, 1]


def test_what_waits_is_sent_by_itself_and_its_problems_are_told_later(
    service: FakeService,
) -> None:
    service.script = ["refuse"]
    sender = sender_to(service, every=0.001)
    sender.send({"n": 1})
    while not sender.refused:
        threading.Event().wait(0.001)
    with pytest.raises(Refused):
        sender.flush()
    sender.send({"n": 2})
    sender.close()
    assert numbers(service) == [2]


def test_the_next_send_tells_of_a_refused_batch_and_keeps_its_event(service: FakeService) -> None:
    service.script = ["refuse"]
    sender = sender_to(service, every=0.001)
    sender.send({"n": 1})
    while not sender.refused:
        threading.Event().wait(0.001)
    with pytest.raises(Refused, match=r"The body is broken\."):
        sender.send({"n": 2})
    sender.send({"n": 3})
    sender.close()
    assert numbers(service) == [2, 3]
    assert (sender.refused, sender.uncertain) == (1, 0)


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_when_all_events_are_refused_every_send_says_so(service: FakeService, status: int) -> None:
    service.script = [str(status)] * 10
    sender = sender_to(service, every=0.001)
    sender.send({"n": 1})
    while not sender.refused:
        threading.Event().wait(0.001)
    for given in range(2, 12):
        with pytest.raises(Refused) as caught:
            sender.send({"n": given})
        assert caught.value.status == status
        assert sender.refused == given
    sender.close()  # nothing that was not told
    assert (sender.uncertain, len(service.posts)) == (0, 1), "and nothing more is sent"


def test_batches_that_wait_are_refused_with_the_first_one(
    service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MOST_EVENTS", 2)
    sender = sender_to(service)
    port, sender._connection.port = service.port, 1
    sender.send({"n": 1})
    for number in (2, 3, 4):
        with pytest.raises(Unreachable):
            sender.send({"n": number})
    sender._connection.port = port
    service.script = ["410"]
    with pytest.raises(Refused) as caught:
        sender.send({"n": 5})
    sender.close()
    assert caught.value.status == 410
    assert (sender.refused, sender.uncertain, len(service.posts)) == (5, 0, 1)


def test_a_refused_batch_does_not_hold_up_the_next_one_at_the_end(service: FakeService) -> None:
    service.script = ["away"]
    sender = sender_to(service, patience=0.0)
    sender.send({"n": 1})
    with pytest.raises(Unreachable):
        sender.flush()
    service.script = ["away"]
    with pytest.raises(Unreachable):
        sender.send({"n": 2})
    service.script = ["refuse"]
    with pytest.raises(Refused):
        sender.close()
    assert numbers(service) == [2]
    assert sender.refused == 1


@pytest.mark.parametrize("script", [["cut", "410"], ["lost", "401"], ["500"]])
def test_a_refused_batch_that_may_have_counted_is_uncertain(
    service: FakeService, script: list[str]
) -> None:
    service.script = list(script)
    sender = sender_to(service)
    sender.send({"n": 1})
    with pytest.raises(Refused):
        sender.close()
    assert (sender.refused, sender.uncertain) == (0, 1)


def test_a_refusal_by_another_program_is_not_taken_for_the_last_word(service: FakeService) -> None:
    service.script = ["not here"]
    with sender_to(service) as sender:
        sender.send({"n": 1})
        with pytest.raises(Refused):
            sender.flush()
        sender.send({"n": 2})
    assert numbers(service) == [2]
    assert sender.refused == 1


def test_a_service_that_is_back_before_anybody_asks_is_no_problem(service: FakeService) -> None:
    service.script = ["away"] * 3
    sender = sender_to(service, patience=0.0, every=0.001)
    sender.send({"n": 1})
    while not service.counted:
        threading.Event().wait(0.001)
    sender.close()
    assert numbers(service) == [1]


def test_an_address_must_be_one_of_the_web() -> None:
    for url in ("ftp://example.org", "example.org", "http://"):
        with pytest.raises(ValueError, match="url must be like"):
            Sender(url, stream="flu", token=BEARER)


def test_a_token_is_one_word(service: FakeService) -> None:
    for token in ("", "two words", "a\r\nHost: b", "é"):
        with pytest.raises(ValueError, match="token must be one word"):
            Sender("http://example.org", stream="flu", token=token)
    url = f"http://127.0.0.1:{service.port}/base"
    with Sender(url, stream="f lu", token=f"{BEARER}\n", every=3600) as sender:  # from a file
        sender.send({"n": 1})
    assert numbers(service) == [1]


def test_nothing_is_added_to_a_sender_that_is_closed(service: FakeService) -> None:
    sender = sender_to(service)
    sender.close()
    with pytest.raises(ValueError, match="the sender is closed"):
        sender.send({"n": 1})
    sender.close()


def test_the_token_is_never_printed(service: FakeService) -> None:
    with sender_to(service) as sender:
        sender.send({"n": 1})
        assert BEARER not in repr(sender) + repr(sender._batches)
