"""Releases: one value for ever, the numbers as they were, in order."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from ameles.core.exceptions import BadInput, StoreRefused
from ameles.core.loss import Pure
from ameles.core.release import COLUMNS, Release
from ameles.store import Store, StreamRecord, releases
from ameles.store.sqlite.session import PUBLISHED
from tests.store.places import Place, SqlitePlace
from tests.store.stores import launch, minutes, new_store, visitors


def publish(store: Store, first: int, steps: int, *, offset: int = 0) -> StreamRecord:
    """Values 10 step + key; half the width is a half."""
    with store.writing() as transaction:
        stream = transaction.stream("flu") or launch(transaction)
        value = np.arange(first, first + steps)[:, None] * 10 + np.arange(2) + offset
        transaction.add_steps(stream, minutes(first, first + steps - 1))
        transaction.add_releases(stream, first, 1, value, value - 0.5, value + 0.5)
    return stream


def test_a_release_is_read_as_it_was_published(place: Place) -> None:
    with new_store(place) as store:
        stream = publish(store, 1, 2)
        with store.reading() as transaction:
            first, *others = transaction.releases(stream)
            assert first == Release(
                stream="flu",
                release="fever",
                key="north",
                step=1,
                start=datetime(1970, 1, 1, tzinfo=UTC),
                end=datetime(1970, 1, 1, 0, 1, tzinfo=UTC),
                value=10,
                low=9.5,
                high=10.5,
                label="",
                mechanism="SimpleOneCounter",
                entry=1,
            )
            assert [(each.step, each.key, each.value) for each in others] == [
                (1, "south", 11),
                (2, "north", 20),
                (2, "south", 21),
            ]
            assert isinstance(first.value, int)
            assert isinstance(first.low, float)
            rows = list(transaction.release_rows(stream))
            assert [dict(zip(COLUMNS, row, strict=True)) for row in rows] == [
                each.to_dict() for each in (first, *others)
            ]


def again(store: Store, first: int, steps: int) -> None:
    with store.writing() as transaction:
        stream = transaction.stream("flu")
        assert stream is not None
        value = np.full((steps, 2), 999)
        transaction.add_steps(stream, minutes(6, 6))
        transaction.add_releases(stream, first, 1, value, value, value)


@pytest.mark.parametrize(("first", "steps"), [(1, 1), (5, 1), (5, 2)])
def test_a_second_value_is_refused_with_all_that_came_with_it(
    place: Place, first: int, steps: int
) -> None:
    with new_store(place) as store:
        stream = publish(store, 1, 5)
        before = published(store, stream)
        with pytest.raises(StoreRefused, match="was released before"):
            again(store, first, steps)
        assert published(store, stream) == before
        publish(store, 6, 1)


def published(store: Store, stream: StreamRecord) -> list[object]:
    with store.reading() as transaction:
        return list(transaction.release_rows(stream))


def test_what_was_published_cannot_be_changed_by_other_programs_either(place: Place) -> None:
    with new_store(place) as store:
        stream = publish(store, 1, 2)
        before = published(store, stream)
        with store.writing() as transaction:
            transaction.mark()
            visitors(transaction).renew(Pure(1), why="a new consent form")
        with place.connected() as connection:
            for statement in (
                "UPDATE release SET value = 0",
                "DELETE FROM release",
                "UPDATE entry SET paid = asked",
                "DELETE FROM entry",
                "UPDATE renewal SET added = why",
                "DELETE FROM renewal",
                "UPDATE meta SET value = 'genuine' WHERE name = 'noise'",
                "DELETE FROM meta",
            ):
                with pytest.raises(place.errors, match="permanent"):
                    connection.execute(statement)
        assert published(store, stream) == before


def test_a_part_is_read_by_release_key_and_step(place: Place) -> None:
    with new_store(place) as store:
        stream = publish(store, 1, 5)
        with store.writing() as transaction:
            number = transaction.add_series(stream, "cough", ["", "x"], "Other", 1)
            assert number == 3
            value = np.full((5, 2), 7)
            transaction.add_releases(stream, 1, number, value, value, value)
        with store.reading() as transaction:
            releases = list(
                transaction.releases(stream, release="fever", key="south", first=2, last=4)
            )
            assert [(each.step, each.key, each.value) for each in releases] == [
                (2, "south", 21),
                (3, "south", 31),
                (4, "south", 41),
            ]
            releases = list(transaction.releases(stream, release="cough", first=5))
            assert [(each.step, each.key, each.mechanism) for each in releases] == [
                (5, "", "Other"),
                (5, "x", "Other"),
            ]
            assert len(list(transaction.releases(stream, key="x"))) == 5
            assert len(list(transaction.release_rows(stream))) == 20
            assert list(transaction.releases(stream, release="none")) == []
            assert list(transaction.releases(stream, release="fever", key="x")) == []
            assert list(transaction.releases(stream, first=6)) == []


def test_series_apart_from_each_other_are_read_without_those_between(place: Place) -> None:
    with new_store(place) as store:
        stream = publish(store, 1, 1)
        with store.writing() as transaction:
            transaction.add_series(stream, "cough", ["x"], "Other", 1)
            transaction.add_series(stream, "fever", ["east"], "SimpleOneCounter", 1)
            value = np.full((1, 2), 7)
            transaction.add_releases(stream, 1, 3, value, value, value)
            releases = transaction.releases(stream, release="fever")
            assert [each.key for each in releases] == ["north", "south", "east"]
            assert [series.key for series in transaction.series(stream)] == [
                "north",
                "south",
                "x",
                "east",
            ]


def test_what_is_not_a_number_is_none_and_labels_are_kept(place: Place) -> None:
    with new_store(place) as store, store.writing() as transaction:
        stream = launch(transaction)
        transaction.add_steps(stream, minutes(1, 2))
        value = np.array([[1.5, np.nan], [-0.0, 2.0]])
        low = np.array([[-np.inf, np.nan], [0.25, -1e300]])
        high = np.array([[2**62, -(2**62)], [2**63 - 1, -(2**63)]])
        label = np.array([["above", "halted"], ["", "bü/s"]])
        transaction.add_releases(stream, 1, 1, value, low, high, label)
        rows = [
            (each.value, each.low, each.high, each.label) for each in transaction.releases(stream)
        ]
        assert rows == [
            (1.5, None, 2**62, "above"),
            (None, None, -(2**62), "halted"),
            (0.0, 0.25, 2**63 - 1, ""),
            (2.0, -1e300, -(2**63), "bü/s"),
        ]
        assert isinstance(rows[3][0], float)
        assert isinstance(rows[0][2], int)


def test_one_column_is_read_as_a_table_of_steps_and_series(place: Place) -> None:
    with new_store(place) as store, store.writing() as transaction:
        stream = launch(transaction, keys=["a", "b", "c"])
        transaction.add_steps(stream, minutes(1, 3))
        value = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 2**53 + 1]])
        low = np.array([[0.5, np.nan, 0.1], [-1e300, np.inf, 0.3], [1e-300, -0.0, 2.0]])
        label = np.array([["", "x", "y"], ["", "", "bü/s"], ["", "z", ""]])
        transaction.add_releases(stream, 1, 1, value, low, value, label)

        def table(column: Literal["value", "low", "label"], *ranges: tuple[int, int]) -> object:
            return transaction.release_table(stream, column, *ranges).tolist()

        assert table("value", (1, 3), (1, 3)) == [[1, 2, 3], [4, 5, 6], [7, 8, 2.0**53]]
        assert table("value", (2, 3), (2, 2)) == [[5], [8]]
        assert str(table("low", (1, 2), (1, 3))) == "[[0.5, nan, 0.1], [-1e+300, nan, 0.3]]"
        assert table("label", (2, 3), (2, 3)) == [["", "bü/s"], ["z", ""]]


def test_more_rows_than_one_block(place: Place) -> None:
    with new_store(place) as store, store.writing() as transaction:
        stream = launch(transaction, keys=[f"k{i}" for i in range(700)])
        transaction.add_steps(stream, minutes(1, 200))
        value = np.arange(200 * 700).reshape(200, 700)
        transaction.add_releases(stream, 1, 1, value, value, value)
        values = [row[6] for row in transaction.release_rows(stream)]
        assert values == list(range(200 * 700))


def test_a_block_of_one_step_has_the_number_of_that_step(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(releases, "_BLOCK", 4)  # two steps of two keys
    with new_store(place) as store, store.writing() as transaction:
        stream = launch(transaction)
        transaction.add_steps(stream, minutes(1, 5))
        value = np.arange(10).reshape(5, 2)
        transaction.add_releases(stream, 1, 1, value, value, value)
        assert [row[6] for row in transaction.release_rows(stream)] == list(range(10))


def test_shapes_types_and_declarations_are_checked_first(place: Place) -> None:
    with new_store(place) as store, store.writing() as transaction:
        stream = launch(transaction)
        transaction.add_steps(stream, minutes(1, 2))
        good = np.zeros((2, 2), dtype=np.int64)
        for wrong in (np.zeros((2, 3)), np.zeros((1, 2)), np.zeros(2)):
            with pytest.raises(BadInput, match="one shape"):
                transaction.add_releases(stream, 1, 1, good, wrong, good)
        with pytest.raises(BadInput, match="one shape"):
            transaction.add_releases(stream, 1, 1, np.zeros(2), np.zeros(2), np.zeros(2))
        for first_step, first_series in ((2, 1), (0, 1), (1, 2), (1, 0)):
            with pytest.raises(StoreRefused, match="not declared"):
                transaction.add_releases(stream, first_step, first_series, good, good, good)
        with pytest.raises(BadInput, match="integers or floats"):
            transaction.add_releases(stream, 1, 1, good, good.astype(object), good)
        assert list(transaction.releases(stream)) == []
        transaction.add_releases(stream, 1, 1, good, good, good)


def double_key(store: Store, stream: StreamRecord) -> None:
    with store.writing() as transaction:
        transaction.add_series(stream, "fever", ["west", "north"], "SimpleOneCounter", 1)


def test_a_key_has_one_series(place: Place) -> None:
    with new_store(place) as store:
        stream = publish(store, 1, 1)
        with pytest.raises(StoreRefused, match="already has a series"):
            double_key(store, stream)
        with store.reading() as transaction:
            assert len(transaction.series(stream)) == 2


def test_reading_in_order_needs_no_sorting(tmp_path: Path) -> None:
    with new_store(tmp_path) as store, store.reading() as transaction:
        rows = transaction._session.rows(f"EXPLAIN QUERY PLAN {PUBLISHED}", (1, 1, 9, 1, 9))
        assert [row[3] for row in rows] == [
            "SEARCH step USING PRIMARY KEY (stream=? AND step>? AND step<?)",
            "SEARCH release USING PRIMARY KEY (stream=? AND step=? AND series>? AND series<?)",
        ]


def test_the_view_shows_the_record_to_other_programs(place: Place) -> None:
    with new_store(place) as store:
        stream = publish(store, 1, 3)
        with store.writing() as transaction:
            # before 1970, and with a fraction of a second
            transaction.add_steps(stream, [(4, -1_500_000, -1), (5, 250, 10**15)])
            value = np.zeros((2, 2), dtype=np.int64)
            transaction.add_releases(stream, 4, 1, value, value, value)
        with store.reading() as transaction:
            expected = list(transaction.release_rows(stream))
            records = [tuple(vars_of(each)) for each in transaction.releases(stream)]
        with place.connected() as connection:
            cursor = connection.execute('SELECT * FROM releases ORDER BY step, "key"')
            assert tuple(column[0] for column in cursor.description) == COLUMNS
            rows = cursor.fetchall()
        # SQLite has no times, only texts
        assert rows in (expected, records)


def vars_of(release: Release) -> list[object]:
    return [getattr(release, name) for name in COLUMNS]


def test_sqlite_reads_the_view_along_its_keys(tmp_path: Path) -> None:
    with new_store(tmp_path), SqlitePlace(tmp_path).connected() as connection:
        for question in (
            "SELECT * FROM releases",
            "SELECT * FROM releases WHERE step BETWEEN 2 AND 9 ORDER BY step DESC",
            "SELECT * FROM releases WHERE stream = 'flu' AND \"key\" = 'north'",
        ):
            plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {question}")]
            assert "SEARCH release USING PRIMARY KEY (stream=? AND step=? AND series=?)" in plan
