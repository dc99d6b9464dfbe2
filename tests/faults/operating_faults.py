"""Kills backup, restore, retire and compact at changes of files, and refuses changes.

    python -m tests.faults.operating_faults FOLDER OPERATION EACH

It is started with the shim.  The operation runs in a child that dies at the n-th change of a file,
before, within or after it, or whose disk refuses everything from there on; for every EACH-th n,
until an n is beyond its last change.  Then another child judges what is left, does the operation
again without a fault, and judges that.  It prints how many faults there were, and what was wrong.
"""

from __future__ import annotations

import os
import shutil
import sys
import traceback
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from ameles.core.exceptions import AmelesError
from ameles.engine.engine import Engine
from ameles.engine.operating.compact import compact_store
from ameles.engine.operating.retire import retire_stream
from ameles.engine.sealed.stream_vault import sealed_step
from ameles.plan.plan import Plan, read_plan
from ameles.store import open_store, opened_backup, restore, write_backup
from tests.faults.shim import MODES, Fault, arm
from tests.store.backup.test_backup import contents
from tests.store.backup.test_restore import begin, release

Rows = dict[str, list[tuple[object, ...]]]
PLAN = """
[stream]
name = "door"
source = "-"
format = "jsonl"
columns = { door = "text" }
start = "2026-01-01"
every = "1h"
horizon = 100
[privacy]
population = "guests"
unit = "event"
epsilon = 1
intrusions = "one"
[[release]]
name = "passages"
measure = "count"
[store]
url = "door.db"
vault = "../keys"
"""


def rows(path: Path) -> Rows:
    with closing(open_store(str(path), create=False)) as store:
        return contents(store)


def make(folder: Path) -> None:
    """What each trial begins with: an older store, a newer backup, a sealed stream."""
    folder.mkdir()
    path = folder / "flu.db"
    with closing(open_store(str(path))) as store, store.writing() as transaction:
        begin(transaction)
    shutil.copy(path, folder / "older")
    with closing(open_store(str(path))) as store:
        with store.writing() as transaction:
            release(transaction, 2)
            transaction.set_position(transaction.streams()[0], "row 99")
        write_backup(str(path), folder / "newer")
    os.rename(folder / "older", path)
    (folder / "door.toml").write_text(PLAN, encoding="utf-8")
    plan = read_plan(folder / "door.toml")
    with closing(open_store(str(folder / "door.db"))) as store, Engine(plan, store).session():
        pass


def door(folder: Path) -> Plan:
    return read_plan(folder / "door.toml")


def back_up(folder: Path) -> None:
    write_backup(str(folder / "flu.db"), folder / "b", replace=True)


def put_back(folder: Path) -> None:
    with opened_backup(folder / "newer", work=folder / "flu.db.restoring") as backup:
        restore(backup, str(folder / "flu.db"))


def put_back_anew(folder: Path) -> None:
    with opened_backup(folder / "newer", work=folder / "new.db.restoring") as backup:
        restore(backup, str(folder / "new.db"))


def retire(folder: Path) -> None:
    with closing(open_store(str(folder / "door.db"), create=False)) as store:
        retire_stream(door(folder), store, "over")


def compact(folder: Path) -> None:
    with closing(open_store(str(folder / "flu.db"), create=False)) as store:
        compact_store((), store)


def judge(operation: str, before: Rows, newer: Rows, folder: Path, *, done: bool) -> None:
    """What must hold after a fault, and once it is ``done``."""
    kept = rows(folder / "flu.db")
    if operation == "back_up":
        assert kept == before
        if done or (folder / "b").exists():
            with opened_backup(folder / "b", work=folder / "judged") as backup:
                assert contents(backup.store) == before
    elif operation == "put_back":
        assert kept in ([newer] if done else [before, newer])
    elif operation == "put_back_anew":
        new = folder / "new.db"
        if done or (new.exists() and new.stat().st_size and rows(new)["stream"]):
            assert rows(new) == newer
    elif operation == "compact":
        assert kept == before
    else:
        judge_retired(folder, done=done)
    if done:
        left = {name for name in os.listdir(folder) if name.endswith((".new", ".restoring"))}
        assert not left, left


def judge_retired(folder: Path, *, done: bool) -> None:
    plan = door(folder)
    with (
        closing(open_store(str(folder / "door.db"), create=False)) as store,
        store.reading() as transaction,
    ):
        (stream,) = transaction.streams()
        retired = transaction.retirement(stream) is not None
        assert retired or not done
        # A stream that is not retired can go on; the key of one that is may be left to erase.
        assert sealed_step(plan, stream.identity) == 0 or retired
        if done:
            assert sealed_step(plan, stream.identity) is None
            assert stream.salt == bytes(len(stream.salt))


def in_child(task: Callable[[], None]) -> int:
    """Runs a task in a child: 0 if it ended, 1 if it was refused, 2 if it failed, else a death."""
    child = os.fork()
    if child == 0:
        code = 2
        try:
            task()
            code = 0
        except (AmelesError, OSError):
            code = 1
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]


def main() -> None:
    folder, operation, each = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    work: Callable[[Path], None] = globals()[operation]
    template = folder / "template"
    make(template)
    shutil.copytree(folder / "keys", folder / "keys.made")
    before = rows(template / "flu.db")
    with opened_backup(template / "newer", work=folder / "unpacked") as backup:
        newer = contents(backup.store)
    faults, wrong = 0, []
    for mode in [mode for mode in MODES if mode]:
        at = 1 + faults % each
        while True:
            trial = folder / "trial"
            shutil.rmtree(trial, ignore_errors=True)
            shutil.rmtree(folder / "keys", ignore_errors=True)
            shutil.copytree(template, trial)
            shutil.copytree(folder / "keys.made", folder / "keys")

            def faulty(at: int = at, mode: str = mode, trial: Path = trial) -> None:
                arm(str(folder), Fault(at=at, mode=mode), "")
                work(trial)

            ended = in_child(faulty)
            if ended == 0:
                break  # it made fewer changes
            faults += 1

            def after(trial: Path = trial) -> None:
                judge(operation, before, newer, trial, done=False)
                work(trial)
                judge(operation, before, newer, trial, done=True)

            if os.waitstatus_to_exitcode(ended) == 2 or in_child(after) != 0:
                wrong.append(f"{operation} {mode} {at}")
            at += each
    sys.stdout.write(f"{faults} {wrong}\n")


if __name__ == "__main__":
    main()
