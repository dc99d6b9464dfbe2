"""confluent-kafka, loaded when a topic is first asked for (the ``kafka`` extra)."""

from __future__ import annotations

import importlib
from typing import Any

from ameles.core.exceptions import MissingExtra


def driver(part: str = "") -> Any:
    """The module confluent_kafka or a part of it; if it is missing, the refusal says how to
    install it."""
    try:
        return importlib.import_module(f"confluent_kafka.{part}".rstrip("."))
    except ImportError:
        raise MissingExtra(
            "A topic of Kafka needs confluent-kafka, which is not installed.",
            tip="pip install '.[kafka]' in the clone of Ameles",
        ) from None
