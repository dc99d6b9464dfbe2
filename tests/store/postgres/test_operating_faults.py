"""Backup, restore, retire and compact on Postgres, killed at some of their statements; at all of
them: ``python -m tests.store.postgres.operating_faults``."""

from __future__ import annotations

import pytest

from ameles.store.postgres.session import WRITE, PostgresSession
from tests.postgres import Server
from tests.store.postgres.operating_faults import OPERATIONS, Trials

# What happens to each operation, and at which of its statements.
STRIKES = {
    "back_up": (("kill", 40), ("crash", 25)),
    "put_back": (("kill", 150), ("sessions", 120), ("crash", 90)),
    "put_back_anew": (("kill", 100),),
    "retire": (("kill", 30), ("crash", 20)),
    "compact": (("kill", 35), ("sessions", 15)),
}


@pytest.fixture(scope="module")
def trials(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Trials:
    folder = tmp_path_factory.mktemp("operating")
    folder.chmod(0o700)
    return Trials(folder, postgres)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_is_interrupted_goes_on(operation: str, trials: Trials) -> None:
    for deed, at in STRIKES[operation]:
        assert trials.strike(operation, deed, at) == ""


def test_a_restore_in_two_transactions_is_seen(
    trials: Trials, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted mistake: the old rows are gone for good before the new ones come."""

    def emptied_for_good(self: PostgresSession) -> None:
        emptying(self)
        self._open().execute("COMMIT")
        self._open().execute(WRITE)

    emptying = PostgresSession.empty
    monkeypatch.setattr(PostgresSession, "empty", emptied_for_good)
    assert trials.strike("put_back", "kill", 150) == "kill 150"
