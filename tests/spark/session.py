"""One Spark session for all tests of a process: Java takes seconds to start."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ameles.spark.context import spark_context
from ameles.spark.java import java_program

ROOT = Path(__file__).parents[2]
MISSING = "needs Java and PySpark (Debian package openjdk-17-jre-headless; pip install pyspark)"
LOG = """
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {file}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %p %c: %m%n%ex
"""


@dataclass(frozen=True)
class SharedSession:
    """A context with two cores that tries a task four times, and what it writes."""

    context: Any
    folder: Path

    @property
    def said(self) -> str:
        """Everything in the log, also what is below a warning, and in the event log."""
        texts = [self.folder / "log", *(self.folder / "events").rglob("*")]
        return "\n".join(text.read_text(errors="replace") for text in texts if text.is_file())


def quick_java(log: Path) -> str:
    """Options with which Java starts soon and uses one core for itself."""
    return f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto -Dlog4j2.configurationFile={log}"


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedSession]:
    """The session, started when it is first asked for; it ends with the tests."""
    if java_program() is None or find_spec("pyspark") is None:
        pytest.skip(MISSING)
    folder = tmp_path_factory.mktemp("spark")
    (folder / "events").mkdir()
    log = folder / "log4j2.properties"
    log.write_text(LOG.format(file=folder / "log"))
    settings = {
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": quick_java(log),
        "spark.executorEnv.PYTHONPATH": str(ROOT),
        "spark.python.daemon.module": "tests.spark.warm_daemon",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": f"file://{folder}/events",
    }
    with spark_context("local[2,4]", settings) as context:
        context.setLogLevel("INFO")  # Spark has set it to WARN
        yield SharedSession(context, folder)
