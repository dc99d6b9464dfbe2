"""Tables of Postgres as sinks: which are fit, and which the store itself writes."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from ameles.connectors.postgres.server import TableAddress
from ameles.core.exceptions import AmelesError, PlanError
from ameles.engine.running.remote_delivery import RemoteDelivery
from ameles.engine.running.store_table import StoreTable
from ameles.engine.running.stream_sinks import StreamSinks
from ameles.plan.plan import read_plan_text
from tests.connectors.database_places import (
    Table,
    crash,
    quick,
)
from tests.engine.worlds import World
from tests.postgres import ADMIN, Server

__all__ = ["quick"]  # fixtures


class TestTables:
    def test_a_table_of_something_else_is_refused_before_the_launch(
        self, postgres: Server, tmp_path: Path
    ) -> None:
        table = Table(postgres, tmp_path)
        with closing(table.admin):
            table.admin.execute(f"CREATE TABLE {table.name} (a int)")
            table.admin.execute(f"GRANT ALL ON {table.name} TO owner")
            with pytest.raises(PlanError, match="is not a table of releases"):
                table.run(1)
            assert table.admin.execute(f"SELECT count(*) FROM {table.name}").fetchall() == [(0,)]
            table.admin.execute(f"DROP TABLE {table.name}")
            table.run(1)
            table.admin.execute(f"DROP TABLE {table.name}; CREATE TABLE {table.name} (a int)")
            with pytest.raises(AmelesError, match="is not a table of releases"):
                table.run(2)
        assert {row[3] for row in table.released()} == {"1", "2"}, "the stream goes on"

    def test_a_table_without_its_key_gets_each_release_once_too(
        self, postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        table = Table(postgres, tmp_path)
        with closing(table.admin):
            table.run(1)
            table.admin.execute(f"ALTER TABLE {table.name} DROP CONSTRAINT {table.name}_pkey")
            with monkeypatch.context() as patched:
                patched.setattr(RemoteDelivery, "_record", crash)
                with pytest.raises(KeyboardInterrupt):
                    table.run(2)
            table.run(3)
            assert sorted(table.has(), key=repr) == sorted(table.released(), key=repr)

    def test_the_server_has_nothing_to_warn_of(
        self, postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Else each release is a line in the log of the server."""
        said, connect = list[str](), TableAddress.connect

        def heard(address: TableAddress) -> Any:
            connection = connect(address)
            connection.add_notice_handler(lambda notice: said.append(notice.severity_nonlocalized))
            return connection

        monkeypatch.setattr(TableAddress, "connect", heard)
        table = Table(postgres, tmp_path)
        with closing(table.admin):
            table.run(1)
            table.run(3)
            assert len(table.has()) == len(table.released())
        assert "WARNING" not in said

    def test_two_launches_share_a_table(self, postgres: Server, tmp_path: Path) -> None:
        for name in "ab":
            (tmp_path / name).mkdir()
        one, other = (Table(postgres, tmp_path / name) for name in "ab")
        other.world.text = other.world.text.replace(other.name, one.name)
        with closing(one.admin), closing(other.admin):
            one.run(2)
            other.run(3)
            assert len(one.has()) == len(one.released()) + len(other.released())

    def test_the_schema_of_the_store_is_refused(self, postgres: Server, tmp_path: Path) -> None:
        table = Table(postgres, tmp_path, beside=True)
        inside = f"s_{table.name}.mine"
        table.world.text = table.world.text.replace(f"table={table.name}", f"table={inside}")
        with closing(table.admin), pytest.raises(PlanError, match="in the schema of the store"):
            table.run(1)

    def test_which_tables_the_store_writes(self, postgres: Server, tmp_path: Path) -> None:
        table = Table(postgres, tmp_path, beside=True)
        table.admin.close()
        text = table.world.text

        def kind(text: str) -> type[object]:
            table.world.text = text
            (sink,) = StreamSinks(table.world.plan, uuid4()).sinks
            return type(sink)

        assert kind(text) is StoreTable
        for other in (
            text.replace(table.url, table.url.replace("owner@", f"{ADMIN}@")),
            text.replace(table.url, table.url.replace(f"/{postgres.database}?", "/postgres?")),
            text.replace(table.url + '"', table.url + '"\nconnection = "postgres.toml"'),
            text.replace(f'"{table.store}"', '"s.db"'),
        ):
            assert kind(other) is RemoteDelivery

    @pytest.mark.parametrize(
        ("sink", "what"),
        [
            ('postgres = "postgresql://me:word@h/d?table=r"', "contains a password"),
            ('postgres = "postgresql://me@h/d"', "one table"),
            ('redis = "redis://h/0"', "one stream"),
            ('redis = "redis://me:word@h/0?stream=r"', "user or a password"),
            ('csv = "a.csv"\nconnection = "x.toml"', "cannot be used with csv"),
        ],
    )
    def test_addresses(self, sink: str, what: str, tmp_path: Path) -> None:
        world = World(tmp_path, rest=f"[[sink]]\n{sink}\n")
        with pytest.raises(PlanError, match=what) as refused:
            read_plan_text(world.text, base=tmp_path)
        assert "me:word" not in str(refused.value)
