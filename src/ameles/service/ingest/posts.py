"""One posted batch: the right to post, the body, the way to the engine, the answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Protocol

from starlette.concurrency import run_in_threadpool
from starlette.types import Receive

from ameles.connectors.http_source import Batch, Outcome
from ameles.service.ingest.answers import NOT_COUNTED, Answer, Closed, OpenStep, answer_to
from ameles.service.ingest.door import Door
from ameles.service.ingest.framing import MOST_BYTES, framed, too_large
from ameles.service.ingest.unfinished import UnfinishedBodies
from ameles.service.refusals import Refused
from ameles.service.views import Gate, Right, Scope

INGEST: frozenset[Scope] = frozenset({"ingest"})
DIGEST = 16


def events_path(stream: str) -> str:
    """Where the events of a stream are posted."""
    return f"/v1/streams/{stream}/events"


class Doors(Protocol):
    """The ways into the streams of a service."""

    def door(self, stream: str) -> Door | None:
        """The way into a stream; None if it takes no events over HTTP, or does not run now."""

    def open_step(self, stream: str) -> OpenStep:
        """The step of a stream that is open now."""

    def closed(self, stream: str) -> Closed:
        """Why no events can be posted to a stream that has no door."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """A request to post a batch; its body is not read yet."""

    stream: str
    batch: str  # the id that its sender chose
    step: int
    authorization: str | None
    address: str
    content_type: str
    encoding: str
    length: str  # of the body, as its sender says
    receive: Receive = field(repr=False)


async def take_batch(post: Post, gate: Gate, doors: Doors, bodies: UnfinishedBodies) -> Answer:
    """Takes a batch; the answer comes when its events are safe."""
    right = await right_to_post(gate, post.authorization, post.address, post.stream)
    if over(doors, post.stream):
        return answer_to(Outcome.ENDED, doors.open_step(post.stream))
    with held_by(right):
        door = open_door(doors, post.stream)
        digest = _digest(right, post.batch)

        async def read() -> Batch:
            if post.length.isdigit() and int(post.length) > MOST_BYTES:
                raise too_large()
            body = await _body(post.receive, right, bodies)
            events = framed(body, post.content_type, post.encoding, door.source)
            door.first_lines.check(right.name, events.form)
            return Batch(digest, post.step, door.now(), events.form, events.lines)

        outcome = await door.take(read, right.name)
    return answer_to(outcome, doors.open_step(post.stream))


@contextmanager
def held_by(right: Right) -> Iterator[None]:
    """Makes refusals inside the block say whose request they refuse."""
    try:
        yield
    except Refused as refusal:
        refusal.holder = right
        raise


def with_open_step(refusal: Refused, stream: str, doors: Doors, *, posted: bool) -> Refused:
    """A refusal that tells the open step, if it goes to somebody who may post to the stream; and,
    if it refuses a batch, that this was not counted.

    Nobody else learns from a refusal whether there is such a stream.
    """
    holder = refusal.holder
    if holder is not None and holder.stream == stream and holder.scope in INGEST:
        refusal.more = doors.open_step(stream).model_dump(mode="json")
        if posted:
            refusal.more |= NOT_COUNTED
    return refusal


async def right_to_post(gate: Gate, authorization: str | None, address: str, stream: str) -> Right:
    """The right of a request to post events to a stream; refused if it has none.

    A store that does not answer must not keep the event loop waiting.
    """
    given = authorization, address, stream, INGEST
    if authorization is None or gate.knows(authorization):
        right = gate.check(*given)
    else:
        right = await run_in_threadpool(gate.check, *given)
    if right is None:  # nobody posts without a token
        raise AssertionError("a gate lets nobody post without a token")
    return right


def over(doors: Doors, stream: str) -> bool:
    """Whether the last step of a stream that does not run is over; one that runs says so itself.

    One that was not launched has no steps yet, whatever its plan says.
    """
    if doors.door(stream) is not None or doors.open_step(stream).step is not None:
        return False
    return doors.closed(stream) not in (Closed.NOT_LAUNCHED, Closed.NEVER_LAUNCHED)


def open_door(doors: Doors, stream: str) -> Door:
    """The way into a stream; refused if there is none now."""
    door = doors.door(stream)
    if door is None:
        why, tip = doors.closed(stream).value
        raise Refused(
            503,
            "This stream takes no events now.",
            why=why,
            tip=tip,
            headers={"Retry-After": "1"},
        )
    return door


def _digest(right: Right, batch: str) -> bytes:
    """What the engine knows a batch by: no holder of one token can name a batch of another."""
    return sha256(f"{len(right.name)}:{right.name}:{batch}".encode()).digest()[:DIGEST]


async def _body(receive: Receive, right: Right, bodies: UnfinishedBodies) -> bytes:
    """The body, as long as it is not too large."""
    pieces, more = list[bytes](), True
    with bodies.of(right.name) as body:
        while more:
            piece, more = await _piece(receive)
            pieces.append(piece)
            body.add(len(piece))
            if body.size > MOST_BYTES:
                raise too_large()
    return b"".join(pieces)


async def _piece(receive: Receive) -> tuple[bytes, bool]:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Refused(400, "The body is not whole.")
    return message.get("body", b""), message.get("more_body", False)
