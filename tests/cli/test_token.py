"""``ameles token``: shown once, stored as a digest, listed without secrets, revoked for ever."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from ameles.core.token import TOKEN
from ameles.store import open_store
from tests.cli.conftest import Program


@pytest.mark.usefixtures("site")
def test_a_token_is_shown_once_and_its_digest_is_stored(ameles: Program, site: Path) -> None:
    ended = ameles("token", "create", "--name", "page", "--scope", "read")
    assert ended.code == 0
    token = ended.out.strip()
    assert TOKEN.fullmatch(token)
    assert token not in ended.err
    with open_store(str(site / "flu.db")) as store, store.reading() as transaction:
        record = transaction.token(hashlib.sha256(token.encode()).digest())
    assert record is not None
    assert (record.name, record.stream, record.scope) == ("page", "flu", "read")
    assert record.expires - record.created == timedelta(days=90)
    listed = ameles("token", "list", "--json")
    assert token not in listed.out
    for file in site.iterdir():
        if file.is_file():
            assert token.encode() not in file.read_bytes()


@pytest.mark.usefixtures("site")
def test_two_tokens_are_different(ameles: Program) -> None:
    made = [
        json.loads(ameles("token", "create", "--name", name, "--scope", "read", "--json").out)
        for name in ("a", "b")
    ]
    assert made[0]["token"] != made[1]["token"]
    assert [one["number"] for one in made] == [1, 2]


@pytest.mark.usefixtures("site")
def test_tokens_are_listed_and_revoked(ameles: Program) -> None:
    assert "no tokens" in ameles("token", "list").err
    for name, scope in (("feeder", "ingest"), ("page", "read")):
        assert ameles("token", "create", "--name", name, "--scope", scope, "--days", "1").code == 0
    assert ameles("token", "revoke", "--name", "feeder").code == 0
    states = {
        one["name"]: one["state"] for one in json.loads(ameles("token", "list", "--json").out)
    }
    assert states == {"feeder": "revoked", "page": "valid"}
    shown = ameles("token", "list").out
    assert "feeder" in shown
    assert "revoked" in shown
    again = ameles("token", "revoke", "--name", "feeder", "--json")
    assert (again.code, json.loads(again.out)) == (0, {"name": "feeder", "revoked": True})


def test_an_expired_token_is_listed_as_such(
    site: Path, ameles: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = SimpleNamespace(now=lambda zone: datetime.now(zone) + timedelta(days=91))
    assert ameles("token", "create", "--name", "page", "--scope", "admin").code == 0
    monkeypatch.setattr("ameles.cli.token.datetime", later)
    (one,) = json.loads(ameles("token", "list", "--json").out)
    assert one["state"] == "expired"


def test_a_token_may_be_made_before_the_launch(fresh: Path, ameles: Program) -> None:
    assert ameles("token", "create", "--name", "page", "--scope", "read").code == 0
    assert ameles("run", "--until", "2025-10-03").code == 0
    assert "page" in ameles("token", "list").out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("create", "--scope", "read"), 2),
        (("create", "--name", "", "--scope", "read"), 2),
        (("create", "--name", "a b", "--scope", "read"), 2),
        (("create", "--name", "a"), 2),
        (("create", "--name", "a", "--scope", "all"), 2),
        (("create", "--name", "a", "--scope", "read", "--days", "0"), 2),
        (("create", "--name", "taken", "--scope", "admin"), 2),
        (("revoke",), 2),
        (("revoke", "--name", "nobody"), 2),
    ],
)
@pytest.mark.usefixtures("site")
def test_what_cannot_be_done_is_refused(
    ameles: Program, arguments: tuple[str, ...], code: int
) -> None:
    ameles("token", "create", "--name", "taken", "--scope", "read")
    ended = ameles("token", *arguments)
    assert (ended.code, ended.out) == (code, "")
