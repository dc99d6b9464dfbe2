"""Live readers: many connections that wait for each release, as pages in browsers do."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

LIMIT = 120.0


@dataclass
class Heard:
    """What the readers have heard: when each step came to each of them."""

    readers: int
    steps: dict[int, list[float]] = field(default_factory=dict)  # seconds after the step's end
    connected: int = 0

    def whole(self) -> list[int]:
        """The steps that came to every reader, once."""
        return sorted(step for step, came in self.steps.items() if len(came) == self.readers)


async def _read(port: int, path: str, heard: Heard, ends: dict[int, float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        kind, greeted = b"", False
        while line := await reader.readline():
            if line.startswith(b"event: "):
                kind = line[7:].strip()
                heard.connected += not greeted
                greeted = True
            elif line.startswith(b"data: ") and kind == b"releases":
                came = time.time()
                _note(json.loads(line[6:]), came, heard, ends)
    finally:
        writer.close()


def _note(
    page: dict[str, list[dict[str, object]]], came: float, heard: Heard, ends: dict[int, float]
) -> None:
    for row in {str(one["step"]): one for one in page["releases"]}.values():
        step = int(str(row["step"]))
        if step not in ends:
            ends[step] = datetime.fromisoformat(str(row["end"])).timestamp()
        heard.steps.setdefault(step, []).append(came - ends[step])


async def _listen(
    port: int, path: str, steps: int, heard: Heard, connected: Callable[[], object]
) -> None:
    ends: dict[int, float] = {}
    tasks = [asyncio.create_task(_read(port, path, heard, ends)) for _ in range(heard.readers)]
    waiting = True
    try:
        async with asyncio.timeout(LIMIT):
            while waiting or len(heard.whole()) < steps:
                failed = [task for task in tasks if task.done()]
                if failed:
                    raise RuntimeError(f"{len(failed)} readers were disconnected")
                if waiting and heard.connected >= heard.readers:
                    waiting = False
                    connected()
                await asyncio.sleep(0.05)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def listen(
    port: int, path: str, *, readers: int, steps: int, connected: Callable[[], object]
) -> Heard:
    """Listens until so many steps have come to everybody; ``connected`` is called once all are
    there."""
    heard = Heard(readers)
    asyncio.run(_listen(port, path, steps, heard, connected))
    return heard
