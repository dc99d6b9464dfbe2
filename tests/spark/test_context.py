"""A Spark context that Ameles opens hides what tasks exchange; others are refused."""

from __future__ import annotations

import importlib
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ameles.core.exceptions import BadInput, MissingExtra
from ameles.spark import context as contexts
from ameles.spark.context import AUTHENTICATION, DEMANDED, SparkFailed, check_context, spark_context
from tests.spark.session import SharedSession

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")  # PySpark's sockets


def test_what_tasks_exchange_is_encrypted_and_nothing_shows_it(session: SharedSession) -> None:
    conf = session.context.getConf()
    check_context(session.context)
    assert conf.get("spark.ui.enabled") == "false"
    assert len(conf.get("spark.authenticate.secret")) == 64
    assert session.context._encryption_enabled
    local = Path(conf.get("spark.local.dir"))
    assert local.stat().st_mode & 0o777 == 0o700


def test_no_command_line_shows_the_secret_of_the_session(session: SharedSession) -> None:
    """Everybody on the machine can read it; with the secret one could ask for what tasks get."""
    secret = session.context.getConf().get(AUTHENTICATION).encode()
    lines = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended
            lines.append(process.read_bytes())
    assert any(b"SparkSubmit" in line for line in lines)
    assert not any(secret in line for line in lines)


class Conf(dict[str, str]):
    """A configuration of Spark, as far as it is needed."""

    def set(self, name: str, value: str) -> None:
        self[name] = value


def test_a_cluster_with_a_master_needs_a_secret_of_its_own() -> None:
    library: Any = SimpleNamespace(SparkConf=Conf)
    with pytest.raises(BadInput, match=f"no {AUTHENTICATION}"):
        contexts._configuration(library, {"spark.master": "spark://m:7077"})
    given = {"spark.master": "spark://m:7077", AUTHENTICATION: "ours"}
    assert contexts._configuration(library, given)[AUTHENTICATION] == "ours"
    assert AUTHENTICATION not in contexts._configuration(library, {"spark.master": "yarn"})
    made = [contexts._configuration(library, {"spark.master": "local[1]"}) for _ in range(2)]
    assert made[0][AUTHENTICATION] != made[1][AUTHENTICATION]
    assert contexts._configuration(library, {})[AUTHENTICATION]


def test_java_is_started_without_secrets() -> None:
    given = list[Conf]()
    starting = SimpleNamespace(_ensure_initialized=lambda conf: given.append(conf))
    library: Any = SimpleNamespace(SparkConf=Conf, SparkContext=starting)
    contexts._java(
        library, {AUTHENTICATION: "x", "spark.ssl.keyPassword": "x", "spark.master": "yarn"}
    )
    assert given == [{"spark.master": "yarn"}]


def test_ctrl_c_does_what_it_did_before(session: SharedSession) -> None:
    handler = signal.getsignal(signal.SIGINT)
    assert getattr(handler, "__module__", "") != "pyspark.core.context"


def test_off_the_main_thread_ctrl_c_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python lets the main thread alone set handlers: elsewhere a refusal would be hidden."""
    monkeypatch.setattr(contexts, "java_program", lambda: "java")

    def fails(library: Any, own: Any) -> None:
        raise RuntimeError("no cluster")

    monkeypatch.setattr(contexts, "_java", fails)
    library: Any = SimpleNamespace(SparkContext=SimpleNamespace(_active_spark_context=None))
    with ThreadPoolExecutor(1) as other, pytest.raises(SparkFailed, match="did not start"):
        other.submit(contexts._started, library, {}).result()
    with pytest.raises(SparkFailed, match="did not start"):
        contexts._started(library, {})


def test_a_process_has_one_context(session: SharedSession) -> None:
    with pytest.raises(BadInput, match="has a Spark session already"), spark_context("local[1]"):
        pass


@pytest.mark.parametrize("name", DEMANDED)
def test_encryption_cannot_be_turned_off(name: str) -> None:
    with (
        pytest.raises(BadInput, match=f"{name} must be true"),
        spark_context(None, {name: "false"}),
    ):
        pass
    settings = {**DEMANDED, name: "false"}
    for _ in range(2):
        with pytest.raises(BadInput, match=f"without {name}=true"):
            check_context(SimpleNamespace(getConf=lambda: settings))
        settings.pop(name, None)  # as if it was never said


def test_other_settings_than_those_of_spark_are_refused() -> None:
    with pytest.raises(BadInput, match="settings of Spark begin"), spark_context(None, {"ui": "1"}):
        pass


def test_without_pyspark_or_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(contexts, "java_program", lambda: None)
    fake: Any = type(
        "PySpark", (), {"SparkContext": type("S", (), {"_active_spark_context": None})}
    )
    with pytest.raises(SparkFailed, match="Java is not installed"):
        contexts._started(fake, {})

    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(MissingExtra, match="pyspark"), spark_context():
        pass


def test_a_context_that_does_not_start_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        _active_spark_context = None

        @staticmethod
        def _ensure_initialized(conf: object) -> None:
            raise RuntimeError("a long text of Java")

    monkeypatch.setattr(contexts, "java_program", lambda: Path("java"))
    fake: Any = type("PySpark", (), {"SparkContext": Broken, "SparkConf": Conf})
    with pytest.raises(SparkFailed) as failed:
        contexts._started(fake, {})
    assert "RuntimeError" in failed.value.why
    assert "long text" not in str(failed.value)
