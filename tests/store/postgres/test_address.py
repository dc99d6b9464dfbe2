"""Addresses in Postgres: one schema, and no word of a password."""

from __future__ import annotations

import sys

import pytest

from ameles.core.exceptions import BadInput, MissingExtra
from ameles.store.postgres.address import address_of


@pytest.mark.parametrize(
    ("url", "where"),
    [
        ("postgres://db/flu", "postgresql://db/flu"),
        ("POSTGRESQL://me@db/flu", "postgresql://me@db/flu"),
        ("postgresql://me:hunter2@db:5433/flu", "postgresql://me@db:5433/flu"),
        ("postgresql://me@db/flu?password=hunter2", "postgresql://me@db/flu"),
        ("postgresql://me@db/flu?sslpassword=hunter2", "postgresql://me@db/flu"),
        ("postgresql://me:hunter%402@a:1,b:2/flu", "postgresql://me@a,b:1,2/flu"),
        ("postgresql:///flu?host=/run/pg", "postgresql:///run/pg/flu"),
        ("postgresql://", "postgresql:///"),
    ],
)
def test_what_is_shown_of_an_address(url: str, where: str) -> None:
    address = address_of(url)
    assert address.where == where
    assert address.schema == "ameles"
    assert "hunter" not in repr(address)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hunt@er2@db/flu",  # libpq takes er2@db for the host
        "postgresql://me:hunt/er2@db/flu",  # and here me for the host, hunt for its port
        "postgresql://me:5432/er2@db/flu",  # and here er2@db for the database
        "postgresql://me:hunt%er2@db/flu",
        "postgresql://me:hunter2@db/flu?nonsense=hunter2",
        "postgresql://me:hunter2@[::1/flu",
        "postgresql://me@db/flu?host=db%20password%3Dhunter2",
        "postgresql://me@db/flu%20password%3Dhunter2",
    ],
)
def test_a_password_that_is_not_written_as_it_must_be_is_not_shown_in_part(url: str) -> None:
    with pytest.raises(BadInput, match="cannot be read") as caught:
        address_of(url)
    assert "er2" not in str(caught.value)
    assert "hunt" not in str(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__


@pytest.mark.parametrize("option", ["-c%20search_path%3Dnorth", "-csearch_path%3Dnorth"])
def test_a_schema_of_its_own(option: str) -> None:
    address = address_of(f"postgresql://me@db/flu?options={option}")
    assert (address.schema, address.where) == ("north", "postgresql://me@db/flu, schema north")


@pytest.mark.parametrize("path", ["a,b", "North", '"a"', "pg_catalog", "", "a'b", "1a", "x" * 64])
def test_a_search_path_must_be_one_plain_schema(path: str) -> None:
    with pytest.raises(BadInput, match="one schema"):
        address_of(f"postgresql://me@db/flu?options=-c%20search_path%3D{path}")


def test_other_options_are_left_to_the_server() -> None:
    assert address_of("postgresql://db/flu?options=-c%20geqo%3Doff").schema == "ameles"
    assert address_of("postgresql://db/flu?application_name=mine").named


def test_without_the_driver_it_is_said_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match="needs psycopg") as caught:
        address_of("postgresql://me:hunter2@db/flu")
    assert caught.value.tip == "pip install '.[postgres]' in the clone of Ameles"
