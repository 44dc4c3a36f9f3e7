"""Certificates of the local CA: making them, and reading what others say.

Keys are P-256: made in a moment, and every client that knows TLS 1.2 takes them.
"""

from __future__ import annotations

import datetime
import ipaddress
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CA_LIFE: Final = datetime.timedelta(days=730)
LEAF_LIFE: Final = datetime.timedelta(days=30)
BACKDATED: Final = datetime.timedelta(days=1)
"""For clients whose clock is behind."""

MAX_COMMON_NAME: Final = 64
MAX_NAMES: Final = 5
"""Names of a stranger's certificate that a message lists."""

_LABEL: Final = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST: Final = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")

Key = ec.EllipticCurvePrivateKey
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Authority(NamedTuple):
    """A CA: its certificate and the key that signs."""

    certificate: x509.Certificate
    key: Key

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the certificate, as browsers and openssl show it."""
        return self.certificate.fingerprint(hashes.SHA256()).hex(":").upper()

    def pem(self) -> bytes:
        """The certificate alone."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)


def make_authority(now: datetime.datetime) -> Authority:
    """Make a new CA, for servers only and with no CA below it."""
    key = ec.generate_private_key(ec.SECP256R1())
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    # Trust stores know a CA by its name: two in a row must not have the same.
    name = _name(f"amqpscope local CA {identifier.digest[:4].hex().upper()}")
    certificate = (
        _builder(name, name, key, now, now + CA_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(identifier, critical=False)
        .sign(key, hashes.SHA256())
    )
    return Authority(certificate, key)


class Leaf(NamedTuple):
    """A server's certificate and key."""

    pem: bytes
    """Key, certificate and the CA's certificate, as OpenSSL reads them from one file."""
    expires: datetime.datetime


def make_leaf(authority: Authority, key: Key, hosts: Sequence[str], now: datetime.datetime) -> Leaf:
    """Make a certificate for hosts, by name or address; those that cannot be one are left out."""
    names = [name for host in hosts if (name := general_name(host)) is not None]
    if not names:
        names = [x509.DNSName("localhost")]
    first = str(names[0].value)
    subject = _name(first) if len(first) <= MAX_COMMON_NAME else x509.Name([])
    issuer = authority.certificate
    expires = min(now + LEAF_LIFE, issuer.not_valid_after_utc)
    certificate = (
        _builder(subject, issuer.subject, key, now, expires)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.SubjectAlternativeName(list(dict.fromkeys(names))),
            critical=not list(subject),  # RFC 5280, 4.2.1.6: when it is the only name
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()),
            critical=False,
        )
        .sign(authority.key, hashes.SHA256())
    )
    pem = key_pem(key) + certificate.public_bytes(serialization.Encoding.PEM) + authority.pem()
    return Leaf(pem, expires)


def make_key() -> Key:
    """Make a key for leaves."""
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: Key) -> bytes:
    """A key as text, not encrypted."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def general_name(host: str) -> x509.DNSName | x509.IPAddress | None:
    """A host as a certificate names it; None for what is no host, whatever a client may claim."""
    host = host.strip("[]").rstrip(".").lower()
    address = _address(host.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped  # a socket for both families says so of a client by IPv4
    if address is not None:
        return None if address.is_unspecified else x509.IPAddress(address)
    return x509.DNSName(host) if _HOST.fullmatch(host) else None


def read_authority(pem: bytes) -> Authority:
    """Read key and certificate of a CA; ValueError when they are not a pair."""
    try:
        key = serialization.load_pem_private_key(pem, password=None)
        certificate = x509.load_pem_x509_certificate(pem)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise ValueError("does not hold a key and a certificate") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != (
        certificate.public_key()
    ):
        raise ValueError("holds a key and a certificate that do not belong together")
    return Authority(certificate, key)


def facts_of(der: bytes) -> dict[str, str]:
    """What a stranger's certificate says, each as the end of a clause; {} if it is unreadable."""
    try:
        certificate = x509.load_der_x509_certificate(der)
        begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        return {
            "dates": f" (valid {begins:%Y-%m-%d} to {ends:%Y-%m-%d})",
            "issuer": _in_parentheses(certificate.issuer.rfc4514_string()),
            "names": _in_parentheses(", ".join(_names(certificate)), "it names "),
        }
    except (ValueError, x509.InvalidVersion, UnsupportedAlgorithm):
        return {}


def _in_parentheses(text: str, before: str = "") -> str:
    """Text of a stranger, which may hold anything, in parentheses."""
    safe = "".join(letter if letter.isprintable() else "?" for letter in text)
    return f" ({before}{safe[:200]})" if safe else ""


def _names(certificate: x509.Certificate) -> list[str]:
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return ["no host"]
    names = [
        str(name.value)
        for name in extension.value
        if isinstance(name, x509.DNSName | x509.IPAddress)
    ]
    more = len(names) - MAX_NAMES
    return [*names[:MAX_NAMES], f"{more} more"] if more > 0 else names


def _address(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: Key,
    now: datetime.datetime,
    expires: datetime.datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(expires)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
