"""Kills backup, restore, retire and compact of a store in Postgres at their statements.

At its n-th statement an operation is killed, or its sessions are ended by the server, or a process
of the server is killed, so that the server recovers as after a crash.  Then what is left is judged,
the operation is done again without a fault, and is judged again.  All of them:
``python -m tests.store.postgres.operating_faults``.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import mock

import psycopg

from ameles.core.exceptions import AmelesError
from ameles.engine.engine import Engine
from ameles.engine.operating.compact import compact_store
from ameles.engine.operating.retire import retire_stream
from ameles.engine.sealed.stream_vault import sealed_step
from ameles.plan.plan import Plan, read_plan_text
from ameles.store import open_store, opened_backup, restore, write_backup
from tests.faults.operating_faults import PLAN, Rows
from tests.postgres import Server, serving
from tests.store.backup.test_backup import contents
from tests.store.backup.test_restore import begin, release

OPERATIONS = ("back_up", "put_back", "put_back_anew", "retire", "compact")
DEEDS = ("kill", "sessions", "crash")
ENDED, REFUSED, FAILED, SURVIVED = 0, 1, 2, 3
"""How a child ends: undisturbed, refused, by a mistake, or well in spite of a fault."""


class Trials:
    """Trials on schemas of one server."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.folder = folder
        self.server = server
        self.files = {name: folder / name for name in ("older", "newer")}
        path = folder / "flu.db"
        with closing(open_store(str(path))) as store, store.writing() as transaction:
            begin(transaction)
        write_backup(str(path), self.files["older"])
        with closing(open_store(str(path))) as store, store.writing() as transaction:
            release(transaction, 2)
            transaction.set_position(transaction.streams()[0], "row 99")
        write_backup(str(path), self.files["newer"])
        self.url = ""
        self.before, self.newer = (self._content(name) for name in ("older", "newer"))

    def _content(self, name: str) -> Rows:
        with opened_backup(self.files[name], work=self.folder / "unpacked") as backup:
            return contents(backup.store)

    def all_of(self, operation: str, deed: str, each: int) -> tuple[int, list[str]]:
        """How many faults there were, and those after which something was wrong."""
        faults, wrong = 0, []
        while (found := self.strike(operation, deed, 1 + faults * each)) is not None:
            faults += 1
            wrong += [found] if found else []
        return faults, wrong

    def strike(self, operation: str, deed: str, at: int) -> str | None:
        """Names the fault if something was wrong after it; None if the operation has ended before
        it came to that statement."""
        self._make(operation)
        ended = _in_child(getattr(self, operation), self._armed(deed, at))
        if ended == ENDED:
            return None
        self._wait()
        sound = ended != FAILED and _in_child(lambda: self._goes_on(operation)) == ENDED
        return "" if sound else f"{deed} {at}"

    def _make(self, operation: str) -> None:
        """A new schema with an older store, or with a stream whose state is sealed."""
        self.url = self.server.url(schema=f"o{self.server.number()}")
        for name in ("b", "b.new"):
            (self.folder / name).unlink(missing_ok=True)
        if operation == "retire":
            shutil.rmtree(self.folder / "keys", ignore_errors=True)
            shutil.rmtree(self.folder / "door", ignore_errors=True)
            (self.folder / "door").mkdir()
            with closing(open_store(self.url)) as store, Engine(self.plan, store).session():
                pass
        elif operation != "put_back_anew":
            self._put("older")

    @property
    def plan(self) -> Plan:
        """A stream whose state may be seized."""
        text = PLAN.replace("door.db", self.url)
        return read_plan_text(text, base=self.folder / "door")

    def back_up(self) -> None:
        write_backup(self.url, self.folder / "b", replace=True)

    def put_back(self) -> None:
        self._put("newer")

    put_back_anew = put_back

    def _put(self, name: str) -> None:
        with opened_backup(self.files[name], work=self.folder / "restoring") as backup:
            restore(backup, self.url)

    def retire(self) -> None:
        with closing(open_store(self.url, create=False)) as store:
            retire_stream(self.plan, store, "over")

    def compact(self) -> None:
        with closing(open_store(self.url, create=False)) as store:
            compact_store((), store)

    def _goes_on(self, operation: str) -> None:
        self._judge(operation, done=False)
        getattr(self, operation)()
        self._judge(operation, done=True)

    def _judge(self, operation: str, *, done: bool) -> None:
        if operation == "retire":
            self._judge_retired(done=done)
            return
        with closing(open_store(self.url)) as store:
            kept = contents(store)
        if operation == "back_up":
            assert kept == self.before
            if done or (self.folder / "b").exists():
                with opened_backup(self.folder / "b", work=self.folder / "judged") as backup:
                    assert contents(backup.store) == self.before
        elif operation == "compact":
            assert kept == self.before
        elif done:
            assert kept == self.newer
        elif operation == "put_back":
            assert kept in (self.before, self.newer)
        else:
            assert kept == self.newer or not kept["stream"]

    def _judge_retired(self, *, done: bool) -> None:
        with (
            closing(open_store(self.url, create=False)) as store,
            store.reading() as transaction,
        ):
            (stream,) = transaction.streams()
            retired = transaction.retirement(stream) is not None
            assert retired or not done
            assert sealed_step(self.plan, stream.identity) == 0 or retired
            if done:
                assert sealed_step(self.plan, stream.identity) is None
                assert stream.salt == bytes(len(stream.salt))

    def _armed(self, deed: str, at: int) -> Callable[[], Callable[[], bool]]:
        """Arms a child: at its n-th statement something happens; tells whether it has."""

        def arm() -> Callable[[], bool]:
            made = 0

            def counted(real: Callable[..., Any]) -> Callable[..., Any]:
                def statement(cursor: Any, *given: Any, **options: Any) -> Any:
                    nonlocal made
                    made += 1
                    if made == at:
                        self._do(deed, cursor.connection)
                    return real(cursor, *given, **options)

                return statement

            for kind, name in (
                (psycopg.Cursor, "execute"),
                (psycopg.Cursor, "copy"),
                (psycopg.ServerCursor, "execute"),
            ):
                mock.patch.object(kind, name, counted(getattr(kind, name))).start()
            return lambda: made >= at

        return arm

    def _do(self, deed: str, connection: psycopg.Connection[Any]) -> None:
        if deed == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif deed == "sessions":
            with self.server.admin() as admin:
                admin.execute(
                    "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity "
                    "WHERE usename = 'owner'"
                )
        else:  # the server ends all sessions, and recovers
            os.kill(connection.info.backend_pid, signal.SIGKILL)

    def _wait(self) -> None:
        """Until the server is back, and has noticed who is gone."""
        deadline = time.monotonic() + 600
        while time.monotonic() < deadline:
            try:
                with self.server.admin() as admin:
                    if not admin.execute(
                        "SELECT 1 FROM pg_stat_activity WHERE usename = 'owner'"
                    ).fetchone():
                        return
            except psycopg.OperationalError:
                pass
            time.sleep(0.005)
        raise TimeoutError


def _in_child(
    task: Callable[[], None],
    arm: Callable[[], Callable[[], bool]] = lambda: lambda: False,
) -> int:
    """Runs a task in a child that was armed, and says how it has ended."""
    child = os.fork()
    if child == 0:
        code = FAILED
        try:
            struck = arm()
            task()
            code = SURVIVED if struck() else ENDED
        except (AmelesError, OSError):
            code = REFUSED
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> None:
    with serving() as server, tempfile.TemporaryDirectory() as folder:
        trying = Trials(Path(folder), server)
        for operation in OPERATIONS:
            for deed in DEEDS:
                since, each = time.monotonic(), int((sys.argv[1:] or ["1"])[0])
                faults, wrong = trying.all_of(operation, deed, each)
                took = time.monotonic() - since
                sys.stdout.write(f"{operation} {deed} {faults} {wrong}, {took:.0f} s\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
