"""Files of a sink's own: opened by name in a folder that is open, never through a link.

Whoever may write into the folder of a sink can put a link where the sink, its note or a temporary
file is to be, and have this program write elsewhere.  So links above the folder are followed once,
when it is opened; the name itself never is (``O_NOFOLLOW``), new files are new (``O_EXCL``), and a
file that is there is taken only from those who could change it anyway: this user, the
administrator, and whoever owns the folder.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ameles.core.exceptions import AmelesError, PlanError, StoreRefused

LONGEST = 200  # bytes of a name; those of notes and temporary files are longer
FRESH = ".new"  # how the name of a file ends that is still to take its place
_SAFE = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe that was put there blocks nobody
_LINK = {errno.ELOOP, getattr(errno, "EMLINK", errno.ELOOP), getattr(errno, "EFTYPE", errno.ELOOP)}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a sink is: a folder, with all links in its path resolved, and a name in it."""

    sink: str
    folder: Path
    name: str

    @classmethod
    def of(cls, sink: str, target: str, base: Path) -> Place:
        """The place that a plan names by a path from ``base``; its folder must be there."""
        name = os.path.basename(target)
        if name in ("", ".", "..") or "\0" in target:
            raise PlanError(f"The sink {target!r} has no name of a file.", tip="releases.csv")
        if len(os.fsencode(name)) > LONGEST:
            raise PlanError(
                f"The name of the sink {target!r} has more than {LONGEST} bytes.",
                why="files beside it have longer names",
                tip="releases.csv",
            )
        try:
            folder = (base / target).parent.resolve(strict=True)
        except (OSError, RuntimeError):
            folder = None
        if folder is None or not folder.is_dir():
            raise PlanError(
                f"The folder of the sink {target!r} does not exist.",
                why="a sink is a path from the folder of the plan",
                tip="make the folder first",
            )
        return cls(sink, folder, name)

    @property
    def path(self) -> Path:
        """For messages and comparisons; files are opened by ``entered``."""
        return self.folder / self.name

    @contextmanager
    def entered(self) -> Iterator[OwnFolder]:
        """The folder, open."""
        handle = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield OwnFolder(handle, self.sink)
        finally:
            os.close(handle)


class OwnFolder:
    """A folder that is open, for the files of one sink in it."""

    def __init__(self, handle: int, sink: str) -> None:
        self.handle = handle
        self.sink = sink
        self._owners = {os.geteuid(), 0, os.fstat(handle).st_uid}

    def look(self, name: str) -> os.stat_result | None:
        """What is there under a name, which may be a link; None: nothing."""
        try:
            return os.stat(name, dir_fd=self.handle, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def names(self) -> list[str]:
        """All names in the folder."""
        return os.listdir(self.handle)

    def open(self, name: str, *, writing: bool) -> int:
        """A file that is there; the caller closes it."""
        handle = self._opened(name, (os.O_RDWR if writing else os.O_RDONLY) | _SAFE)
        return self._checked(name, handle, stat.S_ISREG, "is not a file")

    @contextmanager
    def looking(self, name: str) -> Iterator[int]:
        """A file that is there, to be read."""
        handle = self.open(name, writing=False)
        try:
            yield handle
        finally:
            os.close(handle)

    def create(self, name: str) -> int:
        """A new file, for everybody to read as far as the user's mask allows."""
        handle = self._opened(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | _SAFE)
        return self._checked(name, handle, stat.S_ISREG, "is not a file")

    def create_fresh(self, name: str) -> int:
        """A new file that is to take another's place, instead of what a crash left of one."""
        self.remove(name)
        return self.create(name)

    @contextmanager
    def below(self, name: str) -> Iterator[OwnFolder]:
        """A folder in this one."""
        handle = self._opened(name, os.O_RDONLY | os.O_DIRECTORY | _SAFE)
        handle = self._checked(name, handle, stat.S_ISDIR, "is not a folder")
        try:
            yield OwnFolder(handle, self.sink)
        finally:
            os.close(handle)

    def replace(self, name: str, content: bytes) -> None:
        """Give a file this content: after a crash it has the old one or the new one, whole."""
        fresh = name + FRESH
        handle = self.create_fresh(fresh)
        try:
            write_all(handle, content)
            os.fsync(handle)
        finally:
            os.close(handle)
        self.rename(fresh, name)

    def rename(self, old: str, new: str) -> None:
        """Another name, durably; what had it is gone."""
        os.replace(old, new, src_dir_fd=self.handle, dst_dir_fd=self.handle)
        self.sync()

    def remove(self, name: str) -> None:
        """No file of this name; a link is removed, not what it leads to."""
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.handle)

    def make(self, name: str) -> None:
        """A new folder in this one."""
        os.mkdir(name, dir_fd=self.handle)

    def empty(self, name: str, ours: re.Pattern[str]) -> None:
        """Removes the files of a folder in this one that have such names, and no others."""
        with self.below(name) as folder:
            for each in folder.names():
                if ours.fullmatch(each):
                    folder.remove(each)

    def remove_folder(self, name: str) -> None:
        """No folder of this name; one that has files is refused by the system."""
        os.rmdir(name, dir_fd=self.handle)

    def sync(self) -> None:
        """Makes names in the folder durable."""
        os.fsync(self.handle)

    def _opened(self, name: str, flags: int) -> int:
        try:
            return os.open(name, flags, 0o666, dir_fd=self.handle)
        except OSError as error:
            found = self.look(name) if error.errno in (*_LINK, errno.ENOTDIR) else None
            if found is None or not stat.S_ISLNK(found.st_mode):
                raise
        raise self._refused(name, "is a link")

    def _checked(self, name: str, handle: int, kind: Callable[[int], bool], otherwise: str) -> int:
        found = os.fstat(handle)
        if kind(found.st_mode) and found.st_uid in self._owners:
            return handle
        os.close(handle)
        if kind(found.st_mode):
            otherwise = "belongs to another user"
        raise self._refused(name, otherwise)

    def _refused(self, name: str, what: str) -> AmelesError:
        return StoreRefused(
            f"'{name}' of the sink {self.sink} {what}.",
            why="somebody else may have put it there, and releases would go where they want",
            tip="remove it if it is none of yours; a sink may have links above its folder only, so "
            "name the place itself",
        )


def write_all(handle: int, content: bytes) -> None:
    """All bytes, however many the system takes at once."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(handle, rest) :]
