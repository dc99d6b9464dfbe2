"""The folder with a stream's files of users: secret, durable, and never changed once written.

A file is written under a temporary name, made durable and renamed, before anybody is told its name.
Names are random, so that a task which runs twice writes two files.  They begin with the number of
the commit that they are for: so a process that was overtaken by another cannot remove the files of
later commits.  After a commit an empty file, the mark, says its number: so a store that is older
or a copy is told from the one that has gone on.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from ameles.connectors.durable import sync_folder
from ameles.connectors.own_folder import write_all
from ameles.core.exceptions import StoreRefused
from ameles.core.own_file import open_own

FRESH = ".new"  # ending of a file that is being written
MARK = "committed"
_NAME = re.compile(r"(\d{12})-\d{6}-([a-z]+)-[0-9a-f]{32}(\.new)?")


@dataclass(frozen=True, slots=True)
class BucketFolder:
    """The folder of one stream; all of its functions may run on any machine that has it."""

    path: Path

    def create(self) -> None:
        """Makes the folder durably, and those above it; only this user may open what is new."""
        above = [self.path, self.path.parent]
        while not above[-1].exists():
            above.append(above[-1].parent)
        with _refusing(self.path, "cannot be made"):
            for folder in reversed(above):
                # One that is there may be new, if a crash came between making and syncing it.
                there = folder.exists()
                folder.mkdir(mode=0o700, exist_ok=True)
                with suppress(PermissionError) if there else nullcontext():
                    sync_folder(folder.parent)
        self.check()

    def check(self) -> None:
        """Refuses a folder that other users may open or that belongs to one of them."""
        if not os.path.lexists(self.path):
            raise _refused(self.path, "is not there", "the folder in which the stream was launched")
        with _refusing(self.path, "cannot be opened"):
            status = os.stat(self.path, follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            raise _refused(self.path, "must be a folder of the user who runs Ameles")
        if stat.S_IMODE(status.st_mode) & 0o077:
            raise _refused(self.path, "can be opened by other users", f"chmod 700 '{self.path}'")

    def write(self, kind: str, generation: int, bucket: int, content: bytes) -> str:
        """Writes a new file, which is durable when this returns; returns its name."""
        name = f"{generation:012}-{bucket:06}-{kind}-{secrets.token_hex(16)}"
        path = self.path / name
        fresh = path.with_name(name + FRESH)
        with _refusing(self.path, "cannot be written"):
            handle = open_own(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            try:
                write_all(handle, content)
                os.fsync(handle)
            finally:
                os.close(handle)
            fresh.replace(path)
            sync_folder(self.path)
        return name

    @contextmanager
    def opened(self, name: str) -> Iterator[int]:
        """Opens a file for reading."""
        with _refusing(self.path / name, "cannot be read"):
            handle = open_own(self.path / name, os.O_RDONLY)
            try:
                yield handle
            finally:
                os.close(handle)

    def read(self, name: str, digest: str) -> bytes:
        """The content of a file; refused if it is not what was written."""
        with self.opened(name) as handle, os.fdopen(os.dup(handle), "rb") as file:
            content = file.read()
        if sha256(content) != digest:
            raise damaged(self.path / name)
        return content

    def check_present(self, names: frozenset[str]) -> None:
        """Refuses to go on if this machine does not see a file."""
        there = frozenset(self._names())
        missing = sorted(names - there)
        if missing:
            raise _refused(
                self.path / missing[0],
                "is not there",
                "the newest copy of this folder; if the store is from a backup, a copy of the "
                "folder from the same time",
            )

    def check_not_ahead(self, generation: int) -> None:
        """Refuses to go on from a commit if the folder shows that there was a later one."""
        for name in self._names():
            match = _NAME.fullmatch(name)
            # Files for the next commit may be of an attempt that did not commit; a mark never is.
            if match is not None and int(match[1]) > generation + (match[2] != MARK):
                raise StoreRefused(
                    f"The store is behind the files of users in '{self.path}'.",
                    why="it was restored from an older backup, or it is a copy; going on from it, "
                    "steps that were released would be released again with other noise",
                    tip="the newest store, or a backup of the store and of this folder from the "
                    "same time",
                )

    def mark(self, generation: int) -> None:
        """Says durably that this commit was made, unless that was said before."""
        start = f"{generation:012}-000000-{MARK}-"
        marks = (name for name in self._names() if name.startswith(start))
        if all(name.endswith(FRESH) for name in marks):
            self.write(MARK, generation, 0, b"")

    def remove_unnamed(self, names: frozenset[str], generation: int) -> None:
        """Removes the files of this and of earlier commits that are not valid, but not its mark."""
        for name in self._names():
            match = _NAME.fullmatch(name)
            if match is None or int(match[1]) > generation or name in names:
                continue
            if int(match[1]) < generation or match[2] != MARK or match[3]:
                with _refusing(self.path, "cannot be changed"):
                    (self.path / name).unlink(missing_ok=True)

    def remove_all(self) -> int:
        """Removes all files durably; returns how many there were, without marks."""
        ours = [name for name in self._names() if _NAME.fullmatch(name)]
        with _refusing(self.path, "cannot be changed"):
            for name in ours:
                (self.path / name).unlink(missing_ok=True)
            sync_folder(self.path)
        return sum(f"-{MARK}-" not in name for name in ours)

    def remove_if_empty(self) -> None:
        """Removes the folder, unless somebody else put something there."""
        with suppress(OSError):
            self.path.rmdir()

    def _names(self) -> list[str]:
        with _refusing(self.path, "cannot be opened"):
            return os.listdir(self.path)


def sha256(content: bytes) -> str:
    """The digest that a manifest keeps of a file."""
    return hashlib.sha256(content).hexdigest()


def damaged(path: Path) -> StoreRefused:
    """The refusal of a file that was changed after it was written."""
    return _refused(path, "is damaged", "a copy of this file from before it was damaged")


@contextmanager
def _refusing(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        problem = error.strerror or "the operating system refuses"
    else:
        return
    raise _refused(path, f"{what}: {problem}")


def _refused(path: Path, what: str, tip: str = "") -> StoreRefused:
    return StoreRefused(
        f"'{path}' {what}.",
        why="what is remembered about users is there; without it a user could count twice",
        tip=tip or "a folder that all machines of the cluster can write, for this user alone",
    )
