"""Processes of Ameles that start at once, for tests that start many and are not about the start.

``start`` and ``run`` are like those of ``subprocess``, for ``python -m ...`` and ``python -c ...``;
the process is a fork of a server that has loaded Ameles (``warm_server``).  Where that cannot be,
they start Python itself: on other systems, and for a mutant, which must be in place before the
first import.
"""

from __future__ import annotations

import atexit
import ctypes
import inspect
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
ADOPT = 36  # PR_SET_CHILD_SUBREAPER of Linux: a process whose parent has ended becomes our child
_TURN = threading.Lock()  # the server answers one thread after the other
_EXECUTE = vars(subprocess.Popen)["_execute_child"]


def start(*arguments: str, text: bool = True, **options: Any) -> subprocess.Popen[Any]:
    """A process of Python with these arguments."""
    if _impossible(options.get("env") or os.environ):
        return subprocess.Popen([sys.executable, *arguments], text=text, **options)
    return WarmProcess(arguments, text=text, **options)


def run(
    *arguments: str, given: str | bytes = "", timeout: float | None = None, **options: Any
) -> subprocess.CompletedProcess[Any]:
    """The same to its end, with what it said; in bytes if it is given bytes."""
    pipe, text = subprocess.PIPE, isinstance(given, str)
    pipes = {"stdin": pipe, "stdout": pipe, "stderr": pipe}
    with start(*arguments, text=text, **pipes, **options) as process:
        try:
            out, err = process.communicate(given, timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def _impossible(environment: Mapping[str, str]) -> bool:
    return sys.platform != "linux" or any(
        name in environment for name in ("AMELES_MUTANT", "AMELES_REACHED")
    )


class WarmProcess(subprocess.Popen[Any]):
    """A process that the server starts; all else is as ``subprocess`` has it."""

    def _execute_child(self, *given: Any) -> None:
        asked = inspect.signature(_EXECUTE).bind(self, *given).arguments
        ends = [asked[name] for name in ("p2cread", "c2pwrite", "errwrite")]
        handles = [number if end == -1 else end for number, end in enumerate(ends)]
        request = {
            "arguments": [str(part) for part in asked["args"]],
            "folder": os.fspath(asked["cwd"] or os.getcwd()),
            "environment": dict(asked["env"] or os.environ),
        }
        with _TURN:
            channel = _server(os.getpid())
            socket.send_fds(channel, [json.dumps(request).encode()], handles)
            self.pid = int(channel.recv(20))
        vars(self)["_child_created"] = True
        pairs = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        vars(subprocess.Popen)["_close_pipe_fds"](self, *(asked[name] for name in pairs))


@cache
def _server(_process: int) -> socket.socket:
    """How to ask the server of this process; it ends when this process does."""
    ctypes.CDLL(None).prctl(ADOPT, 1, 0, 0, 0)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONPATH", None)
    environment.pop("AMELES_TEST_SERVER", None)
    with theirs:
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.warm_server", str(theirs.fileno())],
            cwd=ROOT,
            env=environment,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )
    atexit.register(_end, ours, server)
    return ours


def _end(channel: socket.socket, server: subprocess.Popen[bytes]) -> None:
    channel.close()
    server.wait()
