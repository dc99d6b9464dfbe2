"""What the functions of a condition mean."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ameles.plan.condition import check_expression
from tests.engine.condition_rows import shared


@settings(max_examples=100, deadline=None)
@given(
    pattern=st.text(st.sampled_from("ab%_.*\\[]()$^é\n"), max_size=6),
    value=st.text(st.sampled_from("ab%_.*\\[]()$^é\n"), max_size=6),
    fold=st.booleans(),
)
def test_like_means_what_it_means_in_duckdb(pattern: str, value: str, fold: bool) -> None:
    word = "ILIKE" if fold else "LIKE"
    written = "'" + pattern.replace("'", "''") + "'"
    sql, _ = check_expression(f"region {word} {written}", {"region": "text"})
    duck = shared()
    ours = duck.execute(f"SELECT {sql} FROM (SELECT ? AS region)", [value]).fetchall()
    theirs = duck.execute(f"SELECT ? {word} ?", [value, pattern]).fetchall()
    assert ours == theirs
