"""Release records for tests of sinks."""

from __future__ import annotations

from typing import Any


def records(first: int, last: int) -> list[tuple[Any, ...]]:
    """Two records a step, with texts that need quotes and values that are missing."""
    return [
        (
            "flu",
            "fever",
            key,
            step,
            f"2026-01-{step:02d}T00:00:00Z",
            f"2026-01-{step + 1:02d}T00:00:00Z",
            None if step % 3 == 0 else step * 7,
            step - 0.5,
            step + 0.5,
            'a, "b"' if key else "",
            "BinaryCounter",
            2,
        )
        for step in range(first, last + 1)
        for key in ("", "é/x")
    ]
