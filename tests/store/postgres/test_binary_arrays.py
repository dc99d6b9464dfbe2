"""Arrays and rows in Postgres's binary format: what goes in comes out, to the last bit."""

from __future__ import annotations

import numpy as np
import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ameles.store.columns import Columns, rows
from ameles.store.postgres.binary_arrays import array
from ameles.store.postgres.session import copy_rows
from tests.postgres import Server
from tests.store.places import PostgresPlace
from tests.store.stores import new_store

BIG = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)
TABLE = "CREATE TEMP TABLE t (a bigint, b double precision, c text, d bytea, e bigint, f text)"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(BIG, st.floats(), TEXT, st.binary(max_size=40)), min_size=1, max_size=30),
    BIG,
    TEXT,
)
def test_what_is_copied_is_there(
    postgres: Server, given_rows: list[tuple[int, float, str, bytes]], number: int, text: str
) -> None:
    a, b, c, d = map(list, zip(*given_rows, strict=True))
    columns: Columns = {"a": a, "b": np.array(b), "c": c, "d": d, "e": number, "f": text}
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(TABLE)
        with connection.cursor().copy("COPY t FROM STDIN (FORMAT BINARY)") as copy:
            copy_rows(copy, columns)
        stored = connection.execute("SELECT * FROM t").fetchall()
    assert repr(stored) == repr(list(rows(columns)))  # repr: -0.0 is not 0.0


def test_arrays_are_those_of_the_server(schema: PostgresPlace) -> None:
    with new_store(schema) as store, store.reading() as transaction:
        numbers = np.array([2**63 - 1, -(2**63), 0, 1])
        hashes = [bytes(16), b"fifteen bytes..\0", b"\0fifteen bytes..", b""]
        stored = transaction._session.rows(
            "SELECT a, b FROM unnest(?, ?) AS t (a, b)", (array(numbers), array(hashes))
        )
        assert stored == list(zip(numbers.tolist(), hashes, strict=True))


def test_numbers_of_every_width_are_taken() -> None:
    for kind in (np.int8, np.int32, np.int64, ">i8"):
        assert array(np.arange(3, dtype=kind)) == array([0, 1, 2])
    with pytest.raises(OverflowError):
        array([2**63])
