"""Tables of Postgres as addresses: how they are written in a plan, reached and refused.

An address is one of libpq with the name of a table: ``postgresql://me@db.example/clinic?table=
visits``, or ``table=north.visits`` for one in another schema than ``public``.  Passwords are never
in it: they are in ``~/.pgpass``, in ``PGPASSWORD``, in a service file or in the connection file.

No message of the server reaches a person: it may quote rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from ameles.connectors.connection_file import read_connection
from ameles.connectors.source import SourceAway
from ameles.core.exceptions import AmelesError, BadInput, PlanError, SourceUnreadable
from ameles.measures.fields import identifier
from ameles.store.postgres.address import address_of
from ameles.store.postgres.driver import driver
from ameles.store.postgres.problems import connection_refusal, refusal

SCHEMES = ("postgres", "postgresql")
SECRETS = ("password", "sslpassword")
OLDEST = 140000

# Seconds, so that a server which has vanished is noticed.
LINK = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "application_name": "ameles",
}

# What values look like, and what a statement may do; the same in each transaction, whoever set what
# for the user or the database.  Nothing but the server's own functions is found by its bare name.
SETTINGS = {
    "search_path": "pg_catalog, pg_temp",
    "timezone": "UTC",
    "datestyle": "ISO, YMD",
    "intervalstyle": "iso_8601",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "row_security": "off",  # rows that this user may not see are an error, not a gap
    "lock_timeout": "10s",
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
}


@dataclass(frozen=True, slots=True)
class TableAddress:
    """A table, and how its server is reached."""

    url: str
    where: str  # what people may see
    schema: str
    table: str
    options: tuple[tuple[str, str], ...] = ()  # what the address says besides, for its reader
    connection: Path | None = None  # the file with passwords

    @classmethod
    def of(
        cls, text: str, example: str, connection: Path | None = None, options: tuple[str, ...] = ()
    ) -> TableAddress:
        """Reads an address; ``options`` are further names that it may have."""
        check_public(text, example)
        parts = urlsplit(text)
        asked = parse_qsl(parts.query, keep_blank_values=True)
        own = {name: value for name, value in asked if name in ("table", *options)}
        rest = [pair for pair in asked if pair[0] not in own]
        schema, dot, table = own.get("table", "").rpartition(".")
        schema = schema if dot else "public"
        if not table or not schema or "." in schema or len(own) + len(rest) != len(asked):
            raise PlanError(
                "The address does not name a database and one table.", tip=f'"{example}"'
            )
        url = parts._replace(query=urlencode(rest, quote_via=quote)).geturl()
        try:
            where = address_of(url).where
        except BadInput as problem:
            raise PlanError(
                "The address of the table cannot be read.", why=problem.why, tip=f'"{example}"'
            ) from None
        kept = tuple((name, value) for name, value in own.items() if name != "table")
        return cls(url, where, schema, table, kept, connection)

    @property
    def shown(self) -> str:
        """What people call it."""
        return f"the table {self.table!r} of {self.where}"

    @property
    def sql(self) -> str:
        """Its name in a statement."""
        return f"{identifier(self.schema)}.{identifier(self.table)}"

    def connect(self) -> Any:
        """A connection in which each statement is a transaction, unless one is begun."""
        psycopg = driver()
        options = read_connection(self.connection)
        try:
            return psycopg.connect(
                self.url,
                autocommit=True,
                prepare_threshold=None,
                client_encoding="UTF8",
                **{**LINK, **options},
            )
        except (psycopg.ProgrammingError, TypeError, UnicodeEncodeError):
            raise PlanError(
                f"Postgres cannot be reached by {self.where} with this connection file.",
                tip="in the file, options of libpq, such as password or sslrootcert",
            ) from None
        except psycopg.Error as problem:
            about = connection_refusal(problem, self.where)
            raise _away(self, about) from None

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """A connection in a transaction that reads one snapshot; its failures are refusals."""
        with self.connect() as connection:
            try:
                begin(connection, "ISOLATION LEVEL REPEATABLE READ READ ONLY")
                yield connection
            except driver().Error as problem:
                raise unreadable(self, problem) from None


def check_public(text: str, example: str) -> None:
    """Refuses an address with a password; a user may be in it."""
    address = urlsplit(text)
    signs_in, _, _ = address.netloc.rpartition("@")
    if ":" in signs_in or any(name in SECRETS for name, _ in parse_qsl(address.query)):
        raise PlanError(
            "The address of the table contains a password.",
            why="plans are public",
            tip=f'"{example}", and the password in ~/.pgpass, PGPASSWORD or the file that '
            'connection = "file.toml" names',
        )


def begin(connection: Any, how: str) -> None:
    """Begins a transaction with the settings above, also behind a pooler."""
    connection.execute(f"BEGIN {how}")
    sets = ", ".join("set_config(%s, %s, true)" for _ in SETTINGS)
    connection.execute(f"SELECT {sets}", [word for pair in SETTINGS.items() for word in pair])


def unreadable(address: TableAddress, problem: Exception) -> AmelesError:
    """The refusal for a failure of the server while a table was read."""
    code = getattr(problem, "sqlstate", None) or "08"
    about = refusal(problem, address.where)
    if code == "42501":
        return SourceUnreadable(
            f"This user may not read all of {address.shown}.",
            why="a privilege is missing, or row security hides rows from this user",
            tip="GRANT USAGE ON SCHEMA ..., GRANT SELECT on the columns of the plan and on the "
            "column with the transaction; and no row security for this user",
        )
    if code[:2] in ("08", "40", "53", "57") or code == "55P03":
        return _away(address, about)
    return SourceUnreadable(
        f"{address.shown[0].upper()}{address.shown[1:]} cannot be read.",
        why=about.why,
        tip="the log of the server says more",
    )


def _away(address: TableAddress, about: AmelesError) -> SourceAway:
    return SourceAway(
        f"{address.shown[0].upper()}{address.shown[1:]} cannot be read now.",
        why=about.why,
        tip="start the server, or mend the address, the user or the password",
    )
