"""Tables keep their rows, are written and read back, and refuse what they do not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from ameles.core.exceptions import BadInput
from ameles.plot import PlotTable

TABLE = PlotTable(("name", "x", "y"), [("a, b", 1, 0.1), ("c", 2, 1 / 3), ("c", 3, 2.0)])


def test_what_is_written_is_read(tmp_path: Path) -> None:
    TABLE.write(tmp_path / "t.csv")
    again = PlotTable.read(tmp_path / "t.csv")
    assert again.heads == TABLE.heads
    assert again.rows == [("a, b", 1, 0.1), ("c", 2, 0.333333), ("c", 3, 2)]
    assert again.text() == TABLE.text()


def test_parts_of_it() -> None:
    assert TABLE.column("x") == [1, 2, 3]
    assert TABLE.values("name") == ["a, b", "c"]
    assert TABLE.where(name="c", x=3).rows == [("c", 3, 2.0)]


def test_what_it_refuses() -> None:
    with pytest.raises(BadInput, match="no column 'z'"):
        TABLE.column("z")
    with pytest.raises(BadInput, match="must have 2 cells"):
        PlotTable(("a", "b"), [(1, 2), (3,)])
    with pytest.raises(BadInput, match="at least one row"):
        PlotTable(("a",), []).check("a")
