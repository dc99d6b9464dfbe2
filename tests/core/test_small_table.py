"""Small tables: aligned in a terminal, escaped in a notebook."""

from __future__ import annotations

import pytest

from ameles.core.small_table import SmallTable

ROWS = [["<b>", "1"], ["north & south", "1,234"]]


def test_texts_are_left_and_numbers_right() -> None:
    text = str(SmallTable(("key", "count"), ROWS, numbers=(1,)))
    assert text.splitlines() == [
        "key             count",
        "<b>                 1",
        "north & south   1,234",
    ]


def test_the_footer_stands_below_an_empty_line() -> None:
    assert str(SmallTable(("key",), [["a"]], footer="Paid.")).endswith("a\n\nPaid.")


def test_html_is_escaped() -> None:
    page = SmallTable(("<key>", "count"), ROWS, footer="a < b").html()
    assert "<caption>a &lt; b</caption>" in page
    assert "<th>&lt;key&gt;</th>" in page
    assert "<td>&lt;b&gt;</td>" in page
    assert page.count("<tr>") == 3
    assert "<caption>" not in SmallTable(("key",), [["a"]]).html()


def test_a_row_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        str(SmallTable(("key", "count"), [["a"]]))
