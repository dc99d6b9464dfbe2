"""Opens the files of a sink by name in an open folder, never through a link.

Whoever may write into the folder of a sink could put a link in the place of the sink, its note or a
temporary file, and make this program write elsewhere.  So links above the folder are followed once,
when it is opened; the name itself is never followed (``core.own_file``), and new files must not
exist (``O_EXCL``).  A file of a sink may have other names: notes show whose its content is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ameles.core.exceptions import AmelesError, PlanError, StoreRefused
from ameles.core.own_file import Planted, open_own

LONGEST = 200  # bytes of a name; the names of notes and temporary files are longer
FRESH = ".new"  # ending of a temporary file that will replace another


@dataclass(frozen=True, slots=True)
class SinkPlace:
    """Where a sink is: a folder, with all links in its path resolved, and a name in it."""

    sink: str
    folder: Path
    name: str

    @classmethod
    def of(cls, sink: str, target: str, base: Path) -> SinkPlace:
        """The place that a plan names by a path relative to ``base``; its folder must exist."""
        name = os.path.basename(target)
        if name in ("", ".", "..") or "\0" in target:
            raise PlanError(f"The sink {target!r} does not name a file.", tip="releases.csv")
        if len(os.fsencode(name)) > LONGEST:
            raise PlanError(
                f"The name of the sink {target!r} has more than {LONGEST} bytes.",
                why="the files beside it have longer names",
                tip="releases.csv",
            )
        try:
            folder = (base / target).parent.resolve(strict=True)
        except (OSError, RuntimeError):
            folder = None
        if folder is None or not folder.is_dir():
            raise PlanError(
                f"The folder of the sink {target!r} does not exist.",
                why="a sink is a path relative to the folder of the plan",
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
    """An open folder, for the files of one sink in it."""

    def __init__(self, handle: int, sink: str) -> None:
        self.handle = handle
        self.sink = sink

    def look(self, name: str) -> os.stat_result | None:
        """The status of a name, without following a link; None if there is nothing."""
        try:
            return os.stat(name, dir_fd=self.handle, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def names(self) -> list[str]:
        """All names in the folder."""
        return os.listdir(self.handle)

    def open(self, name: str, *, writing: bool) -> int:
        """Opens an existing file; the caller closes it."""
        return self._opened(name, os.O_RDWR if writing else os.O_RDONLY)

    @contextmanager
    def looking(self, name: str) -> Iterator[int]:
        """Opens an existing file for reading."""
        handle = self.open(name, writing=False)
        try:
            yield handle
        finally:
            os.close(handle)

    def create(self, name: str) -> int:
        """Creates a file that everybody may read, as far as the user's umask allows."""
        return self._opened(name, os.O_RDWR | os.O_CREAT | os.O_EXCL)

    def create_fresh(self, name: str) -> int:
        """Creates a temporary file that will replace another; removes what a crash left of one."""
        self.remove(name)
        return self.create(name)

    @contextmanager
    def below(self, name: str) -> Iterator[OwnFolder]:
        """Opens a folder in this one."""
        handle = self._opened(name, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield OwnFolder(handle, self.sink)
        finally:
            os.close(handle)

    def replace(self, name: str, content: bytes) -> None:
        """Replaces a file atomically: after a crash it has the old content or the new one,
        whole."""
        fresh = name + FRESH
        handle = self.create_fresh(fresh)
        try:
            write_all(handle, content)
            os.fsync(handle)
        finally:
            os.close(handle)
        self.rename(fresh, name)

    def rename(self, old: str, new: str) -> None:
        """Renames a file durably; replaces a file that has the new name."""
        os.replace(old, new, src_dir_fd=self.handle, dst_dir_fd=self.handle)
        self.sync()

    def remove(self, name: str) -> None:
        """Removes a file if it exists; of a link, the link itself and not its target."""
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.handle)

    def make(self, name: str) -> None:
        """Makes a folder in this one."""
        os.mkdir(name, dir_fd=self.handle)

    def empty(self, name: str, ours: re.Pattern[str]) -> None:
        """Removes the files with matching names from a folder in this one, and no others."""
        with self.below(name) as folder:
            for each in folder.names():
                if ours.fullmatch(each):
                    folder.remove(each)

    def remove_folder(self, name: str) -> None:
        """Removes an empty folder if it exists; the system refuses one with files in it."""
        os.rmdir(name, dir_fd=self.handle)

    def sync(self) -> None:
        """Makes names in the folder durable."""
        os.fsync(self.handle)

    def _opened(self, name: str, flags: int) -> int:
        try:
            return open_own(name, flags, folder=self.handle, mode=0o666, linked=True)
        except Planted as planted:
            what = planted.strerror
        raise self._refused(name, what)

    def _refused(self, name: str, what: object) -> AmelesError:
        return StoreRefused(
            f"'{name}' of the sink {self.sink} {what}.",
            why="somebody else may have put it there to redirect the releases",
            tip="remove it if it is not yours; links are allowed only above the folder of a sink, "
            "so name the real path",
        )


def write_all(handle: int, content: bytes) -> None:
    """Writes all bytes, also if the system takes only some at once."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(handle, rest) :]
