"""Tokens: found by their digest, valid for their time, revoked for ever."""

from __future__ import annotations

from datetime import timedelta
from hashlib import sha256

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.store import Store
from ameles.store.transaction import Transaction
from tests.store.stores import MARCH

DIGEST = sha256(b"a token").digest()
DAY = timedelta(days=1)


def add(transaction: Transaction, name: str = "site", digest: bytes = DIGEST) -> int:
    return transaction.add_token(
        digest=digest, name=name, stream="flu", scope="read", created=MARCH, expires=MARCH + DAY
    )


def test_a_token_is_found_by_its_digest_alone(store: Store) -> None:
    with store.writing() as transaction:
        assert transaction.token(DIGEST) is None
        assert add(transaction) == 1
        token = transaction.token(DIGEST)
        assert token is not None
        assert (token.number, token.name, token.stream, token.scope) == (1, "site", "flu", "read")
        assert transaction.token(sha256(b"another").digest()) is None
        assert transaction.tokens() == (token,)


def test_a_token_is_valid_from_its_making_to_its_end(store: Store) -> None:
    with store.writing() as transaction:
        add(transaction)
        (token,) = transaction.tokens()
    assert token.valid(MARCH)
    assert token.valid(MARCH + DAY - timedelta(microseconds=1))
    assert not token.valid(MARCH + DAY)
    assert token.valid(MARCH - DAY), "clocks differ, and are set back"


def test_a_revoked_token_stays_revoked(store: Store) -> None:
    with store.writing() as transaction:
        number = add(transaction)
        assert add(transaction, "other", sha256(b"another").digest()) == 2
        transaction.revoke_token(number, MARCH + DAY / 2)
        transaction.revoke_token(number, MARCH + DAY)
    with store.reading() as transaction:
        first, second = transaction.tokens()
    assert first.revoked == MARCH + DAY / 2
    assert not first.valid(MARCH)
    assert second.revoked is None


def test_two_tokens_never_share_a_name_or_a_digest(store: Store) -> None:
    with store.writing() as transaction:
        add(transaction)
    for name, digest in (("site", sha256(b"another").digest()), ("other", DIGEST)):
        with pytest.raises(StoreRefused, match="exists already"), store.writing() as transaction:
            add(transaction, name, digest)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE token SET scope = 'admin', revoked = 1",
        "UPDATE token SET expires = expires + 1, revoked = 1",
        "UPDATE token SET expires = expires + 1",
        "DELETE FROM token",
    ],
)
def test_a_token_never_changes_in_another_way(store: Store, change: str) -> None:
    with store.writing() as transaction:
        add(transaction)
    with pytest.raises(StoreRefused, match="break a rule"), store.writing() as transaction:
        transaction._session.write(change)
    with store.writing() as transaction:
        transaction.revoke_token(1, MARCH)
    with pytest.raises(StoreRefused, match="break a rule"), store.writing() as transaction:
        transaction._session.write("UPDATE token SET revoked = 5")
