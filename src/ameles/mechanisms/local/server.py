"""The server of the local model: it asks a question, checks reports and adds them up.

What it holds is public: reports are private before they arrive.  It believes nothing: a report that
is malformed, foreign or a replay is not counted, and never raises.

>>> from ameles.mechanisms.local import RandomizedResponse
>>> server = Server(RandomizedResponse(categories=2, odds=3), question="flu")
>>> server.take('{"ameles":"report"}'), server.take(b"\\xff NaN")
('refused', 'refused')
>>> server.estimate().counts
array([0., 0.])
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import NoReturn

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.mechanisms.local.frequencies import Frequencies
from ameles.mechanisms.local.randomizer import FrequencyRandomizer, Reports
from ameles.noise.arrays import IntArray

_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_NONCE = re.compile(r"[0-9a-f]{32}")
FIELDS = {"ameles", "version", "question", "randomizer", "nonce", "report"}


class Server:
    """Adds up the reports to one question."""

    def __init__(self, randomizer: FrequencyRandomizer, *, question: str) -> None:
        if not isinstance(randomizer, FrequencyRandomizer):
            raise BadInput(
                f"A server asks through a randomizer of categories or of a bounded number. Got "
                f"{type(randomizer).__name__} instead.",
                tip="RandomizedResponse, UnaryEncoding, HadamardResponse or MeanResponse",
            )
        if str(question) != question or not _ID.fullmatch(question):
            raise BadInput(
                "A question must have a name of up to 64 letters, digits and . _ : -",
                tip='question="flu:2026-w07"',
            )
        self._randomizer = randomizer
        self._id = question
        asked = randomizer.to_dict()
        written = json.dumps(asked, sort_keys=True, separators=(",", ":"))
        self._fingerprint = sha256(written.encode()).hexdigest()
        document = {"ameles": "question", "version": 1, "id": question, "randomizer": asked}
        self._question = json.dumps(document, separators=(",", ":"))
        self._tally: IntArray | None = None
        self._reports = 0
        self._seen: set[bytes] = set()

    @property
    def question(self) -> str:
        """What devices are asked, as JSON."""
        return self._question

    @property
    def reports(self) -> int:
        """How many reports were counted."""
        return self._reports

    def take(self, text: str | bytes) -> str:
        """Counts a report: "accepted", "replayed" or "refused".  Nothing a device sends raises."""
        try:
            nonce, report = self._parsed(text)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            return "refused"
        if nonce in self._seen:
            return "replayed"
        self._seen.add(nonce)
        tally = self._randomizer.tally(report)
        self._tally = tally if self._tally is None else self._tally + tally
        self._reports += 1
        return "accepted"

    def estimate(self, *, beta: float = 0.05) -> Frequencies:
        """The counts of all categories among the devices that reported."""
        recipe = self._randomizer
        empty: IntArray = np.zeros((0, recipe.report_size), dtype=np.int64)
        tally = recipe.tally(shaped(empty, recipe)) if self._tally is None else self._tally
        support = recipe.supported(tally, self._reports)
        return recipe.error.estimate(support, self._reports, beta=beta)

    def _parsed(self, text: str | bytes) -> tuple[bytes, Reports]:
        if len(text) > 1000 + self._randomizer.report_size:
            raise ValueError
        document = json.loads(text, parse_constant=_refused, parse_float=_refused)
        version = document["version"]
        head = document["ameles"], version, type(version)  # True equals 1
        if document.keys() != FIELDS or head != ("report", 1, int):
            raise ValueError
        if (document["question"], document["randomizer"]) != (self._id, self._fingerprint):
            raise ValueError
        if not _NONCE.fullmatch(document["nonce"]):
            raise ValueError
        return bytes.fromhex(document["nonce"]), parsed_report(document["report"], self._randomizer)


def parsed_report(report: object, recipe: FrequencyRandomizer) -> Reports:
    """One report as a device writes it: a number, or bits as hexadecimal digits.

    >>> from ameles.mechanisms.local import UnaryEncoding
    >>> parsed_report("40", UnaryEncoding(categories=3, odds=3))
    array([[0, 1, 0]], dtype=uint8)
    """
    size, values = recipe.report_size, recipe.report_values
    if size == 1:
        if type(report) is not int or not 0 <= report < values:
            raise ValueError
        return np.array([report], dtype=np.int64)
    if not isinstance(report, str) or not re.fullmatch(r"[0-9a-f]*", report):
        raise ValueError
    packed = bytes.fromhex(report)
    bits = np.unpackbits(np.frombuffer(packed, dtype=np.uint8))
    if len(packed) != -(-size // 8) or bits[size:].any():
        raise ValueError
    return bits[None, :size]


def shaped(rows: Reports, recipe: FrequencyRandomizer) -> Reports:
    """Rows of reports as a tally takes them."""
    first: Reports = rows[:, 0]
    return first if recipe.report_size == 1 else rows


def _refused(_: str) -> NoReturn:
    raise ValueError
