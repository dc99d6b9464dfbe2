"""Texts with a password in them are recognised, however they are written; paths are left alone."""

from __future__ import annotations

import pytest

from ameles.core.address import may_have_secret, names_server

CANARY = "hunter2"
# Each is refused wherever a plan or a command takes a place.
HOSTILE = (
    f"host=db.example user=me password={CANARY}",
    f"password={CANARY} host=db.example dbname=flu",
    f"HOST = db.example PASSWORD = {CANARY}",
    f"Server=db.example;Database=flu;Pwd={CANARY}",
    f" postgresql://me:{CANARY}@db.example/flu",
    f"\tpostgresql://me:{CANARY}@db.example/flu ",
    f"\u00a0postgresql://me:{CANARY}@db.example/flu",
    f"postgre\nsql://me:{CANARY}@db.example/flu",
    f"postgre\u200bsql://me:{CANARY}@db.example/flu",
    f'"postgresql://me:{CANARY}@db.example/flu"',
    f"url=postgresql://me:{CANARY}@db.example/flu",
    f"postgresql:/me:{CANARY}@db.example/flu",
    f"postgresql\uff1a//me:{CANARY}\uff20db.example/flu",
    f"postgres%3A%2F%2Fme:{CANARY}@db.example/flu",
    f"postgres%253A%252F%252Fme%253A{CANARY}%2540db.example/flu",
    f"postgresql+psycopg://me:{CANARY}@db.example/flu",
    f"jdbc:postgresql://me:{CANARY}@db.example/flu",
    f"jdbc:postgresql://db.example/flu?user=me&password={CANARY}",
    f"mysql://me:{CANARY}@db.example/flu",
    f"mongodb+srv://me:{CANARY}@db.example/flu",
    f"unheard-of://me:{CANARY}@db.example/flu",
    f"s3://key:{CANARY}@bucket/x.csv",
    f"S3://key:{CANARY}@bucket/x.csv",
    f"gs://key:{CANARY}@bucket/x.csv",
    f"az://bucket/x.csv?sig={CANARY}",
    f"kafka://me:{CANARY}@localhost:9092/visits",
    f"kafka://me:{CANARY}#1@localhost:9092/visits",
    f"redis://:{CANARY}@localhost:6379/0?stream=visits",
    f"rediss://localhost:6379/0?stream=visits&password={CANARY}",
    f"https://{CANARY}@example.org/hook",
    f"https://example.org/hook?access_token={CANARY}",
    f"http://me:{CANARY}/x@localhost/hook",
    f"file://me:{CANARY}@localhost/x.csv",
    f"me:{CANARY}@db.example/flu",
    f"//me:{CANARY}@db.example/flu",
)
PLAIN = (
    *("flu.db", "a b?mode=ro#x%20.db", "it's.db", "-", "http", "a:b/c.csv", "x@y.csv", "C:x"),
    *("year=2024/month=1/*.csv", "kind=a,b/*.csv", "/data/it:x/@y.csv", "logs/**/@*.csv"),
)
CONDITIONS = (
    *("key = 'a' AND b = 3", "region = 'n' and key = 5", "token IS NULL", "auth >= 2 or x = 1"),
    *("password = 'a b' AND user = 1", "user = 'ann' and key = 3"),
)
PUBLIC = (
    "kafka://a:9092,b:9092/visits",
    "s3://lake/user@example.com/a.csv",
    "postgresql://me@db.example/flu?table=visits&sslmode=verify-full",
    "postgresql://me@db.example:5432/flu",
    "postgresql://me@/flu?host=%2Frun%2Fpg&options=-c%20search_path%3Dnorth",
    "https://example.org:8443/hooks/@team?room=7",
    "http://[::1]:80/x@y",
    "redis://localhost:6379/0?stream=visits",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_password_is_recognised_however_it_is_written(text: str) -> None:
    assert may_have_secret(text)


@pytest.mark.parametrize("text", PLAIN)
def test_a_path_is_a_path(text: str) -> None:
    assert not may_have_secret(text)
    assert not names_server(text)


@pytest.mark.parametrize("text", PUBLIC)
def test_an_address_without_a_secret_is_one_of_a_server(text: str) -> None:
    assert not may_have_secret(text)
    assert names_server(text)


@pytest.mark.parametrize(
    "text",
    ["host=db.example dbname=flu", "password=word", " postgresql://db/flu", "a\n://b", "//h"],
)
def test_what_is_no_path_is_an_attempt_at_an_address(text: str) -> None:
    assert names_server(text)


@pytest.mark.parametrize(
    "text",
    [
        *CONDITIONS,
        "SELECT COUNT(*) FROM t WHERE token = 'a' AND user = 'b'",
        *("password=0:10:1", "token=text", "region=north,south", "12:30"),
    ],
)
def test_other_arguments_are_left_alone(text: str) -> None:
    assert not may_have_secret(text)
