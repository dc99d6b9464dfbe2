"""A broker of Kafka that tests share, for as long as the next test may need it.

To start one takes seconds.  One that nobody asks still takes a twentieth of a core, so it ends with
the last of the files that are about Kafka (``tests/forking.py`` gives them all to one fork).
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests import kafka_server
from tests.kafka_server import Cluster

_running = ExitStack()
_brokers: list[Cluster] = []


def broker(folder: Path) -> Cluster:
    """The one that runs, or a new one."""
    if not _brokers:
        _brokers.append(_running.enter_context(kafka_server.serving(folder)))
    return _brokers[0]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Ends it if the next test is of another file that is not about Kafka."""
    if _brokers and (nextitem is None or "kafka" not in nextitem.nodeid.partition("::")[0]):
        _brokers.clear()
        _running.close()
