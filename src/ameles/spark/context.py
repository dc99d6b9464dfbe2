"""A Spark context for Ameles: encrypted, authenticated, and silent about data.

What tasks exchange is secret: rows of users, exact totals, and the salt of the keyed hashes.  So
the shuffle and everything that Spark puts on disk are encrypted, and processes prove to each other
who they are.  Spark's page and event log are off: they show how many bytes each task wrote, from
which one could tell how many events there were.
"""

from __future__ import annotations

import importlib
import os
import re
import secrets
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import resources
from pathlib import Path
from typing import Any

from ameles.core.exceptions import AmelesError, BadInput, MissingExtra
from ameles.spark.java import java_program

LOCAL = "local[*]"
# Without these, others could read rows of users; nobody can turn them off.
DEMANDED = {
    "spark.authenticate": "true",
    "spark.io.encryption.enabled": "true",
    "spark.network.crypto.enabled": "true",
}
# Whoever sets these otherwise knows why.
DEFAULTS = {
    "spark.app.name": "ameles",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "false",
}


AUTHENTICATION = "spark.authenticate.secret"
_HIDDEN = re.compile("secret|password|token", re.IGNORECASE)


class SparkFailed(AmelesError):
    """Spark could not start, or could not finish its tasks; nothing was released."""

    code = "spark"


def pyspark() -> Any:
    """PySpark, if it is installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the versions of packages that are not used
            return importlib.import_module("pyspark")
    except ImportError:
        raise MissingExtra(
            "The package 'pyspark' is not installed.",
            why="the plan is to be run on Spark",
            tip="pip install '.[spark]' in the clone of Ameles; Java 17 or newer is needed too",
        ) from None


@contextmanager
def spark_context(
    master: str | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[Any]:
    """A Spark context, stopped at the end; ``settings`` are Spark's own.

    Without ``master``, tasks run in processes of this machine, unless Spark's own files of settings
    name a master.
    """
    given = dict(settings or {})
    _check(given)
    library = pyspark()
    with tempfile.TemporaryDirectory(prefix="ameles-spark-") as folder:  # mode 0700
        context = _started(library, _settings(master, given, Path(folder)))
        try:
            yield context
        finally:
            with suppress(Exception):  # Java may be gone
                context.stop()


def check_context(context: Any) -> None:
    """Refuses a context of somebody else whose shuffle others could read."""
    conf = context.getConf()
    for name, value in DEMANDED.items():
        if conf.get(name, "false") != value:
            raise BadInput(
                f"This Spark session was started without {name}={value}.",
                why="tasks exchange rows of users and exact totals, and others could read them",
                tip=f"start it with --conf {name}={value}; all of: {', '.join(DEMANDED)}",
            )


def _check(given: Mapping[str, str]) -> None:
    for name, value in DEMANDED.items():
        if given.get(name, value) != value:
            raise BadInput(
                f"{name} must be {value}. Got {given[name]!r} instead.",
                why="tasks exchange rows of users and exact totals, and others could read them",
                tip=f"leave out {name}",
            )
    for name in given:
        if not name.startswith("spark."):
            raise BadInput(
                f"The settings of Spark begin with 'spark.'. Got {name[:60]!r} instead.",
                tip="spark.executor.memory=4g",
            )


def _settings(master: str | None, given: Mapping[str, str], folder: Path) -> dict[str, str]:
    """What Spark is started with; everything else is in its own files of settings."""
    log = folder / "log4j2.properties"
    packaged = resources.files("ameles.spark") / "log4j2.properties"
    log.write_text(packaged.read_text(encoding="utf-8"), encoding="utf-8")
    own = {**DEFAULTS, "spark.local.dir": str(folder), **given, **DEMANDED}
    if master is not None:
        own["spark.master"] = master
    java = own.get("spark.driver.extraJavaOptions", "")
    quiet = f"-Dlog4j2.configurationFile={log}"
    own["spark.driver.extraJavaOptions"] = f"{quiet} {java}".strip()
    return own


def _configuration(library: Any, own: Mapping[str, str]) -> Any:
    """The configuration of a context; Java runs already, and has read Spark's files."""
    conf = library.SparkConf()
    for name, value in own.items():
        conf.set(name, value)
    master = conf.get("spark.master", LOCAL)
    if conf.get(AUTHENTICATION) is None and master.startswith("local"):
        conf.set(AUTHENTICATION, secrets.token_hex(32))
    elif conf.get(AUTHENTICATION) is None and master.startswith("spark://"):
        raise BadInput(
            f"Spark's settings have no {AUTHENTICATION}.",
            why="master, workers and Ameles prove with it who they are, and must have the same",
            tip="the same in spark-defaults.conf on every machine, readable for its owner alone",
        )
    return conf


def _java(library: Any, own: Mapping[str, str]) -> None:
    """Starts Java.  Its command line has its settings, and everybody can read it: no secrets."""
    conf = library.SparkConf()
    for name, value in own.items():
        if not _HIDDEN.search(name):
            conf.set(name, value)
    library.SparkContext._ensure_initialized(conf=conf)


def _started(library: Any, own: Mapping[str, str]) -> Any:
    """Starts Java and Spark; the way in which this process ends on Ctrl-C stays the same."""
    if library.SparkContext._active_spark_context is not None:
        raise BadInput(
            "This process has a Spark session already, and Spark allows only one.",
            tip="ameles.spark.release with a data frame of that session",
        )
    if java_program() is None:
        raise SparkFailed(
            "Java is not installed.",
            why="Spark runs in it",
            tip="apt-get install openjdk-17-jre-headless, or JAVA_HOME=FOLDER",
        )
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _java(library, own)
            conf = _configuration(library, own)
            context = library.SparkContext(conf=conf)
    except AmelesError:
        raise
    except Exception as error:
        name = type(error).__name__
    else:
        if "PYSPARK_PYTHON" not in os.environ:  # the Python that has Ameles
            context.pythonExec = conf.get("spark.pyspark.python", sys.executable)
        return context
    finally:
        if main:
            signal.signal(signal.SIGINT, before)
    raise SparkFailed(
        "Spark did not start.",
        why=f"PySpark reports {name}; Spark's own messages are above",
        tip="ameles doctor shows whether Java is there; is the address of the master right?",
    )
