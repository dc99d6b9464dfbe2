"""The versions that every task must have: the same SQL means the same only in one DuckDB."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import version

import duckdb

from ameles.core.exceptions import AmelesError


class OtherVersion(AmelesError):
    """A machine has another version of DuckDB or Ameles than the engine."""

    code = "version"


@dataclass(frozen=True, slots=True)
class Versions:
    """What a process runs with."""

    duckdb: str
    ameles: str

    @classmethod
    def here(cls) -> Versions:
        """The versions of this process."""
        return cls(duckdb.__version__, version("ameles"))

    def check(self) -> None:
        """Refuses to go on in a process with other versions."""
        here = Versions.here()
        for name, wanted, found in (
            ("DuckDB", self.duckdb, here.duckdb),
            ("Ameles", self.ameles, here.ameles),
        ):
            if wanted != found:
                raise OtherVersion(
                    f"The machine '{platform.node()}' has {name} {found}; the engine that gave it "
                    f"work has {wanted}.",
                    why="with another version a task could count other events or other users",
                    tip=f"{name} {wanted} on every machine of the cluster",
                )
