"""Addresses of stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from ameles.core.exceptions import AmelesError, BadInput, StoreRefused
from ameles.store import exists, open_store, public_address
from tests.store.places import Place, PostgresPlace


def test_a_path_is_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with open_store("flu.db") as store:
        monkeypatch.chdir("/")
        with store.reading() as transaction, store.reading() as another:
            assert transaction.streams() == another.streams() == ()
    assert (tmp_path / "flu.db").exists()


@pytest.mark.parametrize("name", ["a b?mode=ro#x%20.db", "über.db", "it's.db"])
def test_names_with_signs_that_mean_something_in_addresses(tmp_path: Path, name: str) -> None:
    with open_store(str(tmp_path / name)):
        assert (tmp_path / name).exists()
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "POSTGRES"])
def test_a_server_is_asked_and_the_password_never_repeated(scheme: str) -> None:
    with pytest.raises(StoreRefused, match="cannot be reached") as caught:
        open_store(f"{scheme}://me:hunter2@localhost:1/flu")
    assert "hunter2" not in str(caught.value)
    assert caught.value.what == "The store 'postgresql://me@localhost:1/flu' cannot be reached."


@pytest.mark.parametrize("url", ["", "redis://x", "a\0b", "sqlite://flu.db"])
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(BadInput, match="address of a store"):
        open_store(url)


def test_a_store_is_not_created_unless_asked(place: Place) -> None:
    with pytest.raises(StoreRefused, match="There is no store"):
        open_store(place.url, create=False)
    open_store(place.url).close()
    open_store(place.url, create=False).close()


def test_whether_there_is_one_can_be_asked_and_nothing_is_made(place: Place) -> None:
    assert not exists(place.url)
    assert not exists(place.url)
    open_store(place.url).close()
    assert exists(place.url)


def test_a_schema_of_another_program_is_something(schema: PostgresPlace) -> None:
    with schema.connected() as connection:
        connection.execute(f"CREATE SCHEMA {schema.schema}")
        assert not exists(schema.url)
        connection.execute("CREATE TABLE customers (name TEXT)")
    assert exists(schema.url)


def test_a_server_that_is_away_cannot_be_asked() -> None:
    with pytest.raises(StoreRefused, match="cannot be reached") as caught:
        exists("postgresql://me:hunter2@localhost:1/flu")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hunter2@db.example/flu",
        "postgres://db.example/flu?user=me&password=hunter2",
        "POSTGRES://me:hunter2@@db.example/flu",  # which part of it is the password?
        "postgresql://me:1/hunter2@db.example/flu",
        "postgresql://me:hunter2@db.example/flu?options=-c%20search_path%3DA,B",
    ],
)
def test_what_is_shown_of_an_address_has_no_password(url: str) -> None:
    assert "hunter2" not in public_address(url)
    assert public_address(url).lower().startswith("postgres")


def test_every_refusal_is_one_of_ours(tmp_path: Path) -> None:
    for url in (str(tmp_path), str(tmp_path / "no" / "flu.db"), "\ud800.db"):
        with pytest.raises(AmelesError):
            open_store(url)
