"""Kills backup, restore, retire and compact at changes of files, refuses changes, cuts the power.

    python -m tests.faults.operating_faults FOLDER OPERATION=EACH... OPERATION:CUTS...

It is started with the shim.  An operation runs in a child that dies at the n-th change of a file,
before, within or after it, or whose disk refuses everything from there on; for every EACH-th n,
until an n is beyond its last change.  Then another child judges what is left, does the operation
again without a fault, and judges that.  With a colon it is recorded once instead, and judged on
CUTS disks that a power cut may leave, a fourth of them after its end: what has ended must stay
done.  It prints how many faults there were, and what was wrong.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import traceback
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from unittest import mock

from ameles.core.exceptions import AmelesError
from ameles.engine.engine import Engine
from ameles.engine.operating.compact import compact_store
from ameles.engine.operating.retire import retire_stream
from ameles.engine.sealed.stream_vault import sealed_step
from ameles.plan.plan import Plan, read_plan
from ameles.store import open_store, opened_backup, restore, write_backup
from ameles.store.backup.container import About, seal
from tests.faults.choices import Choices
from tests.faults.disk_images import DiskImages, lay_out, read_changes
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


def back_up_in_place(folder: Path) -> None:
    """A backup with a planted mistake: it is written under its own name."""
    file = folder / "b"
    file.unlink(missing_ok=True)
    file.touch(mode=0o600)
    with closing(open_store(str(folder / "flu.db"), create=False, reading=True)) as store:
        store.copy_into(file)
    seal(file, About(made=0, database="sqlite"))


def back_up_unsynced(folder: Path) -> None:
    """A backup with a planted mistake: its checksum need not be on the disk at the end."""
    with mock.patch("ameles.store.backup.container.os.fsync"):
        back_up(folder)


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


OPERATIONS: dict[str, Callable[[Path], None]] = {
    work.__name__: work
    for work in (
        *(back_up, back_up_in_place, back_up_unsynced),
        *(put_back, put_back_anew, retire, compact),
    )
}
FAILED = 2
FOLDERS = {"trial": "template", "keys": "keys.made"}  # of a trial, and what they are copies of


def judge(operation: str, before: Rows, newer: Rows, folder: Path, *, done: bool) -> None:
    """What must hold after a fault, and once it is ``done``."""
    kept = rows(folder / "flu.db")
    if operation.startswith("back_up"):
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


def check_nothing_left(folder: Path) -> None:
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
        code = FAILED
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


class Trials:
    """Trials of operations on copies of one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.template = folder / "template"
        make(self.template)
        shutil.copytree(folder / "keys", folder / "keys.made")
        self.before = rows(self.template / "flu.db")
        with opened_backup(self.template / "newer", work=folder / "unpacked") as backup:
            self.newer = contents(backup.store)

    def all_of(self, operation: str, each: int) -> tuple[int, list[str]]:
        """How many faults there were, and those after which something was wrong."""
        faults, wrong = 0, []
        for mode in filter(None, MODES):
            at = 1 + faults % each
            while (ended := self._fault(operation, Fault(at=at, mode=mode))) != 0:
                faults += 1
                if os.waitstatus_to_exitcode(ended) == FAILED or self._goes_on(operation) != 0:
                    wrong.append(f"{mode} {at}")
                at += each
        return faults, wrong

    def cuts(self, operation: str, count: int) -> tuple[int, list[str]]:
        """The same for power cuts during and after an operation."""
        log, wrong = self.folder / "changes", []
        log.unlink(missing_ok=True)
        if self._fault(operation, Fault(log=str(log))) != 0:
            return 0, ["it does not end"]
        changes = read_changes(log)
        images = DiskImages(self._made(), changes)
        for number in range(count):
            choices = Choices(operation, number)
            at = choices.below(len(changes)) if number % 4 else len(changes)
            self._remove()
            lay_out(images.after_power_cut(at, choices), self.folder)
            if self._goes_on(operation, done=at == len(changes)) != 0:
                wrong.append(f"cut {at} of {len(changes)}, {number}")
        return count, wrong

    def _made(self) -> dict[str, bytes]:
        """The files before an operation, by the paths that it changes."""
        return {
            f"{name}/{path}": content
            for name, made in FOLDERS.items()
            for path, content in DiskImages.files(self.folder / made).items()
        }

    def _remove(self) -> None:
        for name in FOLDERS:
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def _fault(self, operation: str, fault: Fault) -> int:
        """How an operation ends with a fault; 0 if it makes fewer changes than that."""
        self._remove()
        for name, made in FOLDERS.items():
            shutil.copytree(self.folder / made, self.folder / name)

        def faulty() -> None:
            arm(str(self.folder), fault, "")
            OPERATIONS[operation](self.folder / "trial")

        return in_child(faulty)

    def _goes_on(self, operation: str, *, done: bool = False) -> int:
        trial = self.folder / "trial"

        def after() -> None:
            judge(operation, self.before, self.newer, trial, done=done)
            OPERATIONS[operation](trial)
            judge(operation, self.before, self.newer, trial, done=True)
            check_nothing_left(trial)

        return in_child(after)


def main() -> None:
    trials = Trials(Path(sys.argv[1]))
    for asked in sys.argv[2:]:
        operation, how, number = re.split("([=:])", asked)
        tried = trials.all_of if how == "=" else trials.cuts
        faults, wrong = tried(operation, int(number))
        sys.stdout.write(f"{operation} {faults} {wrong}\n")


if __name__ == "__main__":
    main()
