"""Three brokers: one is killed, one is cut off by its network; nothing is lost or doubled.

``benchmarks/faults_kafka.py`` does so many times.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest

from tests.faults.choices import Choices
from tests.kafka_faults import KafkaLife, cuts_of, kill_broker
from tests.kafka_server import MISSING, Cluster, installed, serving, serving_apart
from tests.networks import MISSING as NO_NETWORKS
from tests.networks import Networks, possible
from tests.source_faults import Faults, LifeFault, mostly


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, Networks | None]]:
    """Three brokers, in networks of their own where that is possible."""
    if not installed():
        pytest.skip(MISSING)
    folder = tmp_path_factory.mktemp("three")
    with ExitStack() as served:
        if possible():
            yield served.enter_context(serving_apart(folder, 3))
        else:
            yield served.enter_context(serving(folder, 3)), None


def live(cluster: Cluster, fault: LifeFault, folder: Path) -> None:
    """Lives of one step, until a fault came in time."""
    faults = Faults()
    for number in count(1):
        life = KafkaLife(cluster, folder / str(number), steps=1)
        life.span /= number
        life.live(mostly(fault), Choices(number), faults)
        assert faults.wrong == []
        if faults.number:
            return


def test_a_broker_is_killed(three: tuple[Cluster, Networks | None], tmp_path: Path) -> None:
    live(three[0], kill_broker, tmp_path)


def test_a_broker_is_cut_off(three: tuple[Cluster, Networks | None], tmp_path: Path) -> None:
    cluster, networks = three
    if networks is None:
        pytest.skip(NO_NETWORKS)
    live(cluster, cuts_of(networks, seconds=2.0), tmp_path)
