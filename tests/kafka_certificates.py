"""Certificates for a broker of tests: one that signs, and one of this machine that it signed."""

from __future__ import annotations

import datetime
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_LONG = datetime.timedelta(days=3650)


def write_certificates(folder: Path) -> None:
    """Writes ``ca.pem``, which clients trust, and ``server.pem``, the key and chain of a server."""
    own, its = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    signer, server = _named("tests"), _named("127.0.0.1")
    signing = _certificate(signer, signer, own)
    signing = signing.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    host = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    signed = _certificate(server, signer, its).add_extension(host, critical=False)
    chain = [each.sign(own, hashes.SHA256()) for each in (signed, signing)]
    texts = [each.public_bytes(serialization.Encoding.PEM) for each in chain]
    key = its.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (folder / "ca.pem").write_bytes(texts[1])
    (folder / "server.pem").write_bytes(key + b"".join(texts))


def _named(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _LONG)
        .not_valid_after(now + _LONG)
    )
