"""A real Postgres for tests: a server of its own in a temporary folder, on a socket there.

It syncs as a server in earnest does (``fsync`` is on), to memory where there is room for that:
tests crash servers and not the machine.  It ends with the tests, also when they are killed.  Nobody
gets in without a password, so that a wrong one can be tried.
"""

from __future__ import annotations

import ctypes
import hashlib
import hmac
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

from tests.temporary import in_memory

MISSING = "needs the programs of Postgres (Debian package postgresql)"
ADMIN, OWNER = "admin", "owner"
SIGN_IN = "pass/w%rd"  # with signs that an address must write otherwise
SETTINGS = {
    "fsync": "on",
    "wal_writer_delay": "10ms",
    "synchronous_commit": "off",  # a careless server: stores must insist
    "listen_addresses": "",
    "max_connections": "50",
    "max_prepared_transactions": "8",
    "wal_level": "replica",
    "max_wal_senders": "2",
    "autovacuum": "off",
    "log_statement": "none",
}
_SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux
_PATIENCE = 600.0  # seconds after which a server has died, on any machine


def programs() -> Path | None:
    """The folder of initdb and postgres, in PATH or where Debian has them."""
    initdb = shutil.which("initdb")
    folders = [Path(initdb).resolve().parent] if initdb else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in folders:
        if all((folder / name).exists() for name in ("initdb", "postgres")):
            return folder
    return None


def quick_secret(password: str) -> str:
    """What a server keeps of a password, hashed once: a client that hashes it 4,096 times, as is
    usual, needs longer for that than for the rest of a connection.
    """
    salt = b"salt"
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, 1)
    client, server = (hmac.digest(salted, who, "sha256") for who in (b"Client Key", b"Server Key"))
    parts = [salt, hashlib.sha256(client).digest(), server]
    salt_, stored, served = (b64encode(part).decode() for part in parts)
    return f"SCRAM-SHA-256$1:{salt_}${stored}:{served}"


class Server:
    """A server that can be stopped and started again; its databases stay."""

    def __init__(self, folder: Path, bin_folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.bin = bin_folder
        self._as: dict[str, Any] = _other_user()
        if self._as:
            os.chown(folder, self._as["user"], self._as["group"])
        self._process: subprocess.Popen[bytes] | None = None
        self._number = 0
        self.database = ""

    def create(self) -> None:
        """An empty cluster with a superuser and an owner for the stores."""
        secret = self.folder / "password"
        secret.write_text(SIGN_IN)
        secret.chmod(0o644)
        self.run(
            "initdb",
            f"--pgdata={self.data}",
            f"--username={ADMIN}",
            f"--pwfile={secret}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
            "--data-checksums",
            "--no-sync",
        )
        self.start()
        with self.admin() as connection:
            connection.execute(f"CREATE ROLE {OWNER} LOGIN")
            for name in (ADMIN, OWNER):
                connection.execute(f"ALTER ROLE {name} PASSWORD '{quick_secret(SIGN_IN)}'".encode())
        self.database = self.new_database()

    def run(self, program: str, *arguments: str) -> None:
        """Runs a program of Postgres as the server's user."""
        subprocess.run(
            [self.bin / program, *arguments],
            check=True,
            capture_output=True,
            cwd=self.folder,
            env={**os.environ, "PGPASSWORD": SIGN_IN},
            **self._as,
        )

    def start(self, **settings: str) -> None:
        """Starts it and waits until it answers."""
        options = {**SETTINGS, "unix_socket_directories": str(self.folder), **settings}
        if int((self.data / "PG_VERSION").read_text()) >= 14:
            # After a crash it would open and sync each of some ten thousand files.
            options["recovery_init_sync_method"] = "syncfs"
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    self.bin / "postgres",
                    *("-D", str(self.data)),
                    *(f"--{name}={value}" for name, value in options.items()),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                preexec_fn=end_with_parent,
                **self._as,
            )
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                self.admin().close()
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError((self.folder / "log").read_text()[-2000:]) from None
                time.sleep(0.02)
            else:
                return

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT ends all sessions and stops in order; SIGQUIT is a crash."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(_PATIENCE)
            self._process = None

    def restart(self, how: signal.Signals = signal.SIGINT, **settings: str) -> None:
        """As when a machine is rebooted, or crashes."""
        self.stop(how)
        self.start(**settings)

    def url(self, database: str = "", *, user: str = OWNER, schema: str = "") -> str:
        """The address of a store in this server."""
        where = f"{user}:{quote(SIGN_IN, safe='')}@/{database or self.database}"
        options = f"&options={quote(f'-c search_path={schema}')}" if schema else ""
        return f"postgresql://{where}?host={quote(str(self.folder), safe='')}{options}"

    def admin(self, database: str = "postgres") -> psycopg.Connection[tuple[Any, ...]]:
        """A connection of the superuser; every statement is a transaction."""
        return psycopg.connect(self.url(database, user=ADMIN), autocommit=True)

    def new_database(self) -> str:
        """An empty database of the owner's."""
        name = f"d{self.number()}"
        with self.admin() as connection:
            connection.execute(f"CREATE DATABASE {name} OWNER {OWNER}")
        return name

    @contextmanager
    def replica(self) -> Iterator[Server]:
        """A second server that follows this one, and only reads."""
        with _home() as home:
            other = Server(home, self.bin)
            other.database = self.database
            self.run(
                "pg_basebackup",
                *("-D", str(other.data), "-h", str(self.folder), "-U", ADMIN),
                *("--wal-method=stream", "--checkpoint=fast", "--write-recovery-conf"),
            )
            try:
                other.start()
                yield other
            finally:
                other.stop(signal.SIGQUIT)

    def number(self) -> int:
        """One that was not used yet."""
        self._number += 1
        return self._number


@contextmanager
def serving() -> Iterator[Server]:
    """A new server, gone with its folder at the end."""
    folder = programs()
    if folder is None:
        raise RuntimeError(MISSING)
    with _home() as home:
        server = Server(home, folder)
        try:
            server.create()
            yield server
        finally:
            server.stop(signal.SIGQUIT)


@contextmanager
def _home() -> Iterator[Path]:
    # A short path: sockets have short names.
    home = Path(tempfile.mkdtemp(prefix="ameles-", dir=in_memory()))
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _other_user() -> dict[str, Any]:
    """Postgres refuses to run as root; then it runs as its own user, or as nobody."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            user = pwd.getpwnam(name)
            return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    raise RuntimeError("there is no user for a server")


def end_with_parent(how: signal.Signals = signal.SIGQUIT) -> None:
    """For a new process: it is to end with this one, also when this one is killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, how)
