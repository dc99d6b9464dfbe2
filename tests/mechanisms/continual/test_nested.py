"""Snapshots within snapshots."""

from __future__ import annotations

import os

from ameles.mechanisms.continual.nested import nested, unnested


def test_every_length_comes_back() -> None:
    for length in range(40):
        snapshot = os.urandom(length)
        assert unnested(nested(snapshot)) == snapshot
