"""One attempt at a real receiver: signed, verified, bounded, and silent about answers."""

from __future__ import annotations

import base64
import datetime
import hashlib
import hmac
import os
import socket
from collections.abc import Iterator
from email.utils import format_datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from ameles.connectors.remote_sink import Undelivered
from ameles.connectors.sinks import open_sink
from ameles.connectors.webhook import sink as webhook_sink
from ameles.connectors.webhook.secret import read_secrets
from ameles.connectors.webhook.sink import WebhookSink
from ameles.core.exceptions import AmelesError, PlanError
from tests.connectors.records import records
from tests.connectors.webhook.webhook_receiver import (
    CANARY,
    KEY,
    SECRET,
    Receiver,
    babble,
    drip,
    drop,
    receiving,
    stall,
)

NOW = 1_767_225_600


@pytest.fixture(scope="module")
def running() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def receiver(running: Receiver) -> Receiver:
    running.answers.clear()
    running.messages.clear()
    return running


def secret_in(folder: Path, *lines: str) -> Path:
    path = folder / "hook.secret"
    path.touch(mode=0o600)
    path.write_text("".join(f"{line}\n" for line in lines or (SECRET,)), encoding="ascii")
    return path


def sink_of(receiver: Receiver, folder: Path, *lines: str) -> WebhookSink:
    return WebhookSink(
        receiver.url, secret_in(folder, *lines), identity="one", now=lambda: NOW + 0.5
    )


def refused(sink: WebhookSink) -> Undelivered:
    """Why the next message is not accepted."""
    sink.first_needed(0)
    with pytest.raises(Undelivered) as caught:
        sink.write(records(1, 1), 1)
    assert CANARY not in str(caught.value)
    return caught.value


def test_a_message_is_posted_and_signed(receiver: Receiver, tmp_path: Path) -> None:
    sink = sink_of(receiver, tmp_path)
    assert (sink.name, sink.last(), sink.first_needed(0)) == (f"webhook:{receiver.url}", 0, 1)
    sink.write(records(1, 2), 2)
    assert receiver.steps == [1, 2]
    message = receiver.messages[0]
    assert message.path == "/hooks/flu?to=me"
    headers = message.headers
    assert headers["content-type"] == "application/json"
    assert headers["webhook-timestamp"] == str(NOW)
    signed = f"{message.id}.{NOW}.".encode() + message.body
    digest = base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{digest}"


def test_each_secret_of_the_file_signs_and_a_new_file_counts_at_once(
    receiver: Receiver, tmp_path: Path
) -> None:
    new = f"whsec_{base64.b64encode(bytes(24)).decode()}"
    sink = sink_of(receiver, tmp_path)
    sink.write(records(1, 1), 1)
    secret_in(tmp_path, SECRET, new)
    sink.write(records(2, 2), 2)
    (old,), both = (one.headers["webhook-signature"].split() for one in receiver.messages)
    assert len(both) == 2
    assert len({old, *both}) == 3, "a signature is about its message"


@pytest.mark.parametrize("status", [200, 202, 299])
def test_any_success_accepts(status: int, receiver: Receiver, tmp_path: Path) -> None:
    receiver.answers = [status]
    sink_of(receiver, tmp_path).write(records(1, 1), 1)
    assert receiver.steps == [1]


@pytest.mark.parametrize("status", [199, 300, 400, 404, 500, 503])
def test_any_other_answer_refuses(status: int, receiver: Receiver, tmp_path: Path) -> None:
    receiver.answers = [status]
    problem = refused(sink_of(receiver, tmp_path))
    assert problem.what.endswith(" cannot be reached.")
    assert (problem.why, problem.wait, problem.final) == (f"it answers {status}", 0, False)


def test_a_receiver_that_is_gone_wants_no_more(receiver: Receiver, tmp_path: Path) -> None:
    receiver.answers = [410]
    problem = refused(sink_of(receiver, tmp_path))
    assert problem.what.endswith(" wants no more messages.")
    assert problem.final


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status: int, receiver: Receiver, tmp_path: Path) -> None:
    receiver.answers = [(status, {"location": f"http://localhost:{receiver.port}/elsewhere"})]
    assert refused(sink_of(receiver, tmp_path)).why == f"it answers {status}"
    assert [message.path for message in receiver.messages] == ["/hooks/flu?to=me"]


@pytest.mark.parametrize(
    ("asked", "wait"),
    [
        ("0", 0),
        ("7", 7),
        ("99999", 3600),
        ("9" * 400, 3600),
        (format_datetime(datetime.datetime.fromtimestamp(NOW + 60, datetime.UTC), True), 59.5),
        (format_datetime(datetime.datetime.fromtimestamp(NOW - 60, datetime.UTC), True), 0),
        (f"{datetime.datetime.fromtimestamp(NOW + 9, datetime.UTC):%a, %d %b %Y %X} -0000", 8.5),
        ("soon", 0),
        ("-3", 0),
    ],
)
def test_a_receiver_may_ask_for_time(
    asked: str, wait: float, receiver: Receiver, tmp_path: Path
) -> None:
    receiver.answers = [(429, {"retry-after": asked})]
    assert refused(sink_of(receiver, tmp_path)).wait == wait


def test_a_receiver_that_says_nothing_is_left_after_a_while(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_sink, "TIMEOUT", 0.05)
    receiver.answers = [stall(receiver)]
    assert refused(sink_of(receiver, tmp_path)).why.startswith("it has not answered for")


def test_a_receiver_that_never_ends_is_left_after_a_while(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_sink, "WHOLE", 0.1)
    monkeypatch.setattr("http.client._MAXLINE", 1 << 40)  # which would end it, too, some day
    receiver.answers = [drip(receiver)]
    refused(sink_of(receiver, tmp_path))


def test_a_receiver_that_hangs_up_or_babbles_refuses(receiver: Receiver, tmp_path: Path) -> None:
    receiver.answers = [drop, babble]
    sink = sink_of(receiver, tmp_path)
    assert refused(sink).why == "it has closed the connection"
    assert refused(sink).why == "its answer is not one of HTTP"


def test_where_nobody_listens_there_is_no_receiver(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        absent = Receiver(port=free.getsockname()[1])
        assert refused(sink_of(absent, tmp_path)).why == "Connection refused"


def test_nothing_to_abort_is_no_error(receiver: Receiver, tmp_path: Path) -> None:
    sink_of(receiver, tmp_path).abort()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hook",
        "ftp://example.org/",
        "https://",
        "https:///path",
        "https://example.org:0/",
        "https://example.org:99999/",
        "https://[::1/",
        "https://example.org/a b",
        "https://example.org/\r\nx: y",
        "https://example.org/é",
        "https://example.org/#there",
        "https://me@example.org/",
        "https://me:secret@example.org/",
        "http://example.org/",
        "http://10.0.0.7/",
        "http://localhost.example.org/",
    ],
)
def test_an_address_that_is_not_safe_to_post_to_is_refused(url: str, tmp_path: Path) -> None:
    secret_in(tmp_path)
    with pytest.raises(PlanError, match="webhook"):
        open_sink(
            "webhook",
            url,
            tmp_path,
            stream="flu",
            identity="one",
            settings={"secret": "hook.secret"},
        )


@pytest.mark.parametrize(
    "url", ["https://example.org", "http://localhost/", "http://127.0.0.9:80/x", "http://[::1]/"]
)
def test_other_machines_need_tls_and_this_one_does_not(url: str, tmp_path: Path) -> None:
    secret_in(tmp_path)
    settings = {"secret": "hook.secret"}
    opened = open_sink("webhook", url, tmp_path, stream="flu", identity="one", settings=settings)
    assert opened.name == f"webhook:{url}"
    assert "webhook at " in opened.describe(url)


def test_a_webhook_needs_a_secret_that_only_its_owner_can_read(tmp_path: Path) -> None:
    def opened(secret: str | None = None) -> None:
        settings = {} if secret is None else {"secret": secret}
        open_sink(
            "webhook", "https://a.org", tmp_path, stream="flu", identity="1", settings=settings
        )

    with pytest.raises(PlanError, match="needs a secret"):
        opened()
    with pytest.raises(AmelesError, match="No such file"):
        opened("hook.secret")
    (tmp_path / "folder").mkdir(mode=0o700)
    with pytest.raises(AmelesError, match="must be a file"):
        opened("folder")
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(AmelesError, match="must be a file"):
        opened("pipe")
    path = secret_in(tmp_path)
    opened("hook.secret")
    for mode in (0o640, 0o604, 0o602, 0o610):
        path.chmod(mode)
        with pytest.raises(AmelesError, match="read by other users"):
            opened("hook.secret")
    path.chmod(0o400)
    opened("hook.secret")


def test_a_secret_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = secret_in(tmp_path)
    if not os.geteuid():
        os.chown(path, 4711, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 4711)
    with pytest.raises(AmelesError, match="must be a file of the user"):
        read_secrets(path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "whsec_",
        "hunter2",
        KEY.hex(),
        SECRET.removeprefix("whsec_"),
        "whsec_" + base64.b64encode(bytes(23)).decode(),
        "whsec_" + base64.b64encode(bytes(65)).decode(),
        "whsec_" + "!" * 44,
        SECRET + "\nsecond",
        "\n".join([SECRET] * 100),
        SECRET + " " * 5000 + "second",
        "whsec_é",
    ],
)
def test_a_file_without_secrets_is_refused_and_not_quoted(text: str, tmp_path: Path) -> None:
    path = tmp_path / "hook.secret"
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(AmelesError, match="must have a secret in each line") as caught:
        read_secrets(path)
    assert not any(line in str(caught.value) for line in text.split() if len(line) > 6)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Certificates that nobody else knows: of this machine, and of another one."""
    folder = tmp_path_factory.mktemp("certificates")
    made = {}
    for host in ("localhost", "example.org"):
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
        now = datetime.datetime.now(datetime.UTC)
        certificate = (
            x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(key, hashes.SHA256())
        )
        made[host] = folder / f"{host}.pem"
        made[host].write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
    return made


def test_certificates_are_verified(
    certificates: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiving(certificate=certificates["localhost"]) as receiver:
        sink = sink_of(receiver, tmp_path)
        assert "certificate is not valid" in refused(sink).why, "nobody has said who this is"
        assert receiver.messages == []
        monkeypatch.setenv("SSL_CERT_FILE", str(certificates["localhost"]))
        sink.write(records(1, 1), 1)
        assert receiver.steps == [1]
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates["example.org"]))
    with receiving(certificate=certificates["example.org"]) as receiver:
        assert "Hostname mismatch" in refused(sink_of(receiver, tmp_path)).why
        assert receiver.messages == []
