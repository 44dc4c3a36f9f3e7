"""What went wrong in TLS, and what to do about it, in one line."""

from __future__ import annotations

import ssl
from typing import Final

from amqpscope.stream.types import CLIENT, SERVER

TRUST: Final = (
    "give it the local CA as one to trust: amqpscope ca export FILE (or --cert and --key)"
)

# By what X509_verify_cert_error_string means; {host} is the name that was verified.
_VERIFY: Final = {
    9: "is not valid yet{dates}: look at the clocks",
    10: "has expired{dates}: renew it",
    12: "cannot be checked: the revocation list has expired",
    18: "is self-signed: name it with --cafile FILE to trust it",
    19: "comes from a CA that is not trusted here{issuer}: name that CA with --cafile FILE",
    20: "comes from a CA that is not trusted here{issuer}: name that CA with --cafile FILE",
    21: "comes from a CA that is not trusted here{issuer}: name that CA with --cafile FILE",
    23: "has been revoked",
    24: "comes from something that is no CA{issuer}",
    26: "is not meant for servers",
    62: "is not for the host {host}{names}: connect by a name it has, or say --sni NAME",
    64: "is not for the address {host}{names}: connect by a name it has, or say --sni NAME",
    66: "has a key that is too weak",
    67: "comes from a CA with a key that is too weak{issuer}",
    68: "has a signature that is too weak",
}
_INSTEAD: Final = "; --insecure goes on without verifying"

_UPSTREAM: Final = {
    "WRONG_VERSION_NUMBER": "does not speak TLS there: say amqp:// or another port",
    "PACKET_LENGTH_TOO_LONG": "does not speak TLS there: say amqp:// or another port",
    "RECORD_LAYER_FAILURE": "does not speak TLS there: say amqp:// or another port",
    "UNSUPPORTED_PROTOCOL": "speaks no TLS newer than 1.1",
    "TLSV1_ALERT_PROTOCOL_VERSION": "speaks neither TLS 1.2 nor 1.3",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": (
        "refuses the handshake: it may want a client certificate (--client-cert FILE), "
        "or there is no cipher that both know"
    ),
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": (
        "wants a client certificate: --client-cert FILE --client-key FILE"
    ),
    "TLSV1_UNRECOGNIZED_NAME": "does not know the host {host}: say --sni NAME",
    "TLSV1_ALERT_UNKNOWN_CA": "does not trust the CA of the client certificate (--client-cert)",
    "SSLV3_ALERT_BAD_CERTIFICATE": "does not accept the client certificate (--client-cert)",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "does not accept the client certificate (--client-cert)",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "says that the client certificate has expired",
    "SSLV3_ALERT_CERTIFICATE_REVOKED": "says that the client certificate has been revoked",
    "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE": "does not take this kind of client certificate",
    "TLSV1_ALERT_NO_APPLICATION_PROTOCOL": "takes none of the protocols that the client offers",
    "DH_KEY_TOO_SMALL": "uses a Diffie-Hellman key that is too weak",
}

_UNTRUSTED: Final = f"the client does not trust the certificate: {TRUST}"
_CLIENT: Final = {
    "TLSV1_ALERT_UNKNOWN_CA": _UNTRUSTED,
    "SSLV3_ALERT_BAD_CERTIFICATE": f"the client does not accept the certificate: {TRUST}",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": f"the client does not accept the certificate: {TRUST}",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": (
        "the client says that the certificate has expired: amqpscope ca shows its dates, "
        "amqpscope ca renew makes a new one"
    ),
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "the client refuses the handshake",
    "UNSUPPORTED_PROTOCOL": "the client supports no TLS newer than 1.1",
    "VERSION_TOO_LOW": "the client supports no TLS newer than 1.1",
    "NO_SHARED_CIPHER": "the client offers no cipher that fits the certificate",
    "WRONG_VERSION_NUMBER": "what the client sends is not TLS",
}


class UpstreamTroubles:
    """Troubles with the certificate or the TLS of an upstream."""

    side = SERVER

    def __init__(self, address: str, host: str) -> None:
        self._address = address
        self._host = host

    def explain(self, error: OSError, certificate: bytes | None) -> str:
        """One line about an error of OpenSSL, with the certificate (DER) that was shown."""
        if isinstance(error, ssl.SSLCertVerificationError):
            return self._unfit(error, certificate)
        words = _UPSTREAM.get(reason(error))
        if words is None:
            return f"TLS with {self._address} failed: {plainly(error)}"
        return f"{self._address} {words.format(host=self._host)}"

    def cut(self) -> str:
        """One line about a connection that ended inside the handshake."""
        return f"{self._address} closed the connection in the TLS handshake: does it speak TLS?"

    def _unfit(self, error: ssl.SSLCertVerificationError, certificate: bytes | None) -> str:
        words = _VERIFY.get(error.verify_code)
        if words is None:
            words = f"does not verify: {error.verify_message.lower()}"
        facts = {"host": self._host, "dates": "", "issuer": "", "names": ""}
        if certificate is not None:
            from amqpscope.proxy.certificates import facts_of

            facts.update(facts_of(certificate))
        return f"the certificate of {self._address} {words.format(**facts)}{_INSTEAD}"


class ClientTroubles:
    """Troubles that a client has with us."""

    side = CLIENT

    def explain(self, error: OSError, certificate: bytes | None) -> str:
        """One line about an error of OpenSSL."""
        return _CLIENT.get(reason(error)) or f"TLS with the client failed: {plainly(error)}"

    def cut(self) -> str:
        """One line about a connection that ended inside the handshake."""
        return (
            f"the client left in the TLS handshake; if it does not trust the certificate, {TRUST}"
        )


def reason(error: OSError) -> str:
    """OpenSSL's name of the reason."""
    return (error.reason or "") if isinstance(error, ssl.SSLError) else ""


def plainly(error: OSError) -> str:
    """An error in words, without the place in OpenSSL's sources."""
    if name := reason(error):
        return name.lower().replace("_", " ")
    return (error.strerror or str(error)).splitlines()[0].lower()
