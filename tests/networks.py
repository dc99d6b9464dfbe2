"""Networks of Linux for servers of tests, each of which can be cut off.

A network is a namespace.  A hub joins them to each other and to this machine.  A namespace lasts as
long as the process that holds it, and these end with the tests: nothing stays behind, even if the
tests are killed.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache, partial

from tests.postgres import end_with_parent

MISSING = (
    "needs the right to make network namespaces (root), and the commands ip, unshare and nsenter "
    "(Debian packages iproute2 and util-linux)"
)
_RANGE = range(256)  # of 10.177.N.0/24, of which each group of networks takes one
_HERE = 254  # the address of this machine


class Networks:
    """Some networks: the first one has the address 1, and so on."""

    def __init__(self, number: int, hub: Sequence[str], inside: Sequence[Sequence[str]]) -> None:
        self.hosts = [f"10.177.{number}.{each}" for each in range(1, len(inside) + 1)]
        self.inside = list(inside)  # commands that run a command in a network
        self._hub = hub

    def cut(self, place: int) -> None:
        """Nobody reaches the network, and nobody there reaches others."""
        _ip(*self._hub, "ip", "link", "set", f"to{place}", "down")

    def mend(self, place: int) -> None:
        """Undoes a cut."""
        _ip(*self._hub, "ip", "link", "set", f"to{place}", "up")


@cache
def possible() -> bool:
    """Whether this process may make networks."""
    if not all(map(shutil.which, ("ip", "unshare", "nsenter"))):
        return False
    try:
        with networks(1):
            return True
    except subprocess.CalledProcessError:
        return False


@contextmanager
def networks(size: int) -> Iterator[Networks]:
    """Networks that reach each other and this machine."""
    with ExitStack() as held:
        hub, *ends = (held.enter_context(_namespace()) for _ in range(size + 1))
        into = _into(hub)
        _ip(*into, "ip", "link", "add", "hub", "type", "bridge")
        _ip(*into, "ip", "link", "set", "hub", "up")
        number = _joined(hub)
        _ip(*into, "ip", "link", "set", "here", "master", "hub", "up")
        for place, each in enumerate(ends):
            peer = ("type", "veth", "peer", "eth0", "netns", str(each))
            _ip(*into, "ip", "link", "add", f"to{place}", *peer)
            _ip(*into, "ip", "link", "set", f"to{place}", "master", "hub", "up")
            address = f"10.177.{number}.{place + 1}/24"
            _ip(*_into(each), "ip", "addr", "add", address, "dev", "eth0")
            for link in ("eth0", "lo"):
                _ip(*_into(each), "ip", "link", "set", link, "up")
        yield Networks(number, into, [_into(each) for each in ends])


def _joined(hub: int) -> int:
    """Joins this machine to a hub; gives the number of the addresses, which nobody else has."""
    for number in _RANGE:
        here = f"ameles{number}"
        peer = ("type", "veth", "peer", "here", "netns", str(hub))
        try:
            _ip("ip", "link", "add", here, *peer)  # fails if others have this name
        except subprocess.CalledProcessError:
            if not os.path.exists(f"/sys/class/net/{here}"):
                raise
            continue
        _ip("ip", "addr", "add", f"10.177.{number}.{_HERE}/24", "dev", here)
        _ip("ip", "link", "set", here, "up")
        return number
    raise RuntimeError("all addresses are taken")


@contextmanager
def _namespace() -> Iterator[int]:
    """A process that holds a new network."""
    with subprocess.Popen(
        ["unshare", "--net", "cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        preexec_fn=partial(end_with_parent, signal.SIGKILL),
    ) as holder:
        try:
            yield _ready(holder)
        finally:
            holder.kill()


def _ready(holder: subprocess.Popen[bytes]) -> int:
    """Waits until a process answers, which it does in its new network."""
    if holder.stdin is None or holder.stdout is None:
        raise RuntimeError
    try:
        holder.stdin.write(b"\n")
        holder.stdin.flush()
    except BrokenPipeError:
        pass
    if not holder.stdout.readline():
        raise subprocess.CalledProcessError(holder.wait(), holder.args)
    return holder.pid


def _into(holder: int) -> tuple[str, ...]:
    """What runs a command in the network of a process."""
    return ("nsenter", f"--target={holder}", "--net")


def _ip(*command: str) -> None:
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
