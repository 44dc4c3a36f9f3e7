"""Which certificates and which checks TLS has on either side of the proxy.

One `TlsPolicy` serves all connections. It makes the ends of a connection: toward the client with a
certificate given by the user, or with one that the local CA makes for the host the client asks
for; toward the upstream with verification, unless the user turned it off.
"""

from __future__ import annotations

import datetime
import os
import ssl
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from amqpscope.proxy.sniff import Opening
from amqpscope.proxy.tls import TlsEnd, TlsError
from amqpscope.proxy.tls_errors import ClientTroubles, UpstreamTroubles, plainly
from amqpscope.stream.types import CLIENT, SERVER

if TYPE_CHECKING:
    from amqpscope.proxy.ca import LocalCa
    from amqpscope.proxy.certificates import Key

_K = TypeVar("_K")

MAX_CONTEXTS: Final = 64
"""Kept for each side; a client can ask for any number of names, and each has a file open when
secrets are logged."""
FITTING_ALPN: Final = ("http/1.1", "amqp")
"""What to agree on with a client when the upstream has no say, being plain."""


@dataclass(frozen=True)
class TlsOptions:
    """TLS as the user wants it; files by their paths."""

    upstream_tls: bool = False
    """Upstream speaks TLS from the first octet: amqps, wss."""
    upstream_host: str = ""
    upstream_port: int = 0
    cafile: str | None = None
    """A file or directory of CAs to trust instead of the system's."""
    client_cert: str | None = None
    client_key: str | None = None
    """None: it lies in the file of the certificate."""
    sni: str | None = None
    """The host to ask for and to verify, if not that of the upstream."""
    insecure: bool = False
    in_band: bool = False
    """Upstream speaks TLS after AMQP's TLS header (spec 5.2.1)."""
    cert: str | None = None
    key: str | None = None
    """Shown to clients instead of what the local CA makes."""
    keylog: str | None = None
    listen_host: str = ""

    @property
    def encrypted(self) -> bool:
        """Whether upstream is spoken to in TLS only."""
        return self.upstream_tls or self.in_band

    @property
    def upstream(self) -> str:
        """The upstream, as messages name it."""
        host = f"[{self.upstream_host}]" if ":" in self.upstream_host else self.upstream_host
        return f"{host}:{self.upstream_port}" if self.upstream_port else host


class TlsPolicy:
    """Makes the TLS ends of connections."""

    def __init__(self, options: TlsOptions) -> None:
        self.options = options
        self.warnings: list[str] = []
        """What the user should know, one line each."""
        # Certificates know neither the dot of a full name nor the zone of a local address.
        self._verified = (options.sni or options.upstream_host).partition("%")[0].rstrip(".")
        self._upstream_troubles = UpstreamTroubles(options.upstream, self._verified)
        self._client_troubles = ClientTroubles()
        self._upstream: OrderedDict[tuple[str, ...], ssl.SSLContext] = OrderedDict()
        self._leaves = Leaves()
        self._given: OrderedDict[str, ssl.SSLContext] = OrderedDict()
        if options.keylog is not None:
            self._create_keylog(options.keylog)
        if options.cert is not None:
            self._given[""] = self._server_context(options.cert, options.key, "")
        elif options.key is not None:
            raise TlsError("--key without --cert: expected the certificate of that key too")
        if options.client_key is not None and options.client_cert is None:
            raise TlsError("--client-key without --client-cert: expected its certificate too")
        if options.encrypted or options.cafile or options.client_cert or options.sni:
            # Bad files and names are to be known at the start, not with the first connection.
            self.upstream_end(())
        if options.insecure:
            self.warnings.append(
                f"the certificate of {options.upstream} is not verified (--insecure): "
                "anybody in between can read and change the traffic"
            )

    @property
    def descriptors(self) -> int:
        """Descriptors that contexts hold: each has the key log open."""
        if self.options.keylog is None:
            return 0
        return len(self._upstream) + len(self._given) + len(self._leaves)

    def prepare(self) -> None:
        """Make ready for clients that speak TLS, if there is a local CA already."""
        if self.options.cert is None:
            self.warnings += self._leaves.prepare()

    def upstream_end(self, alpn: tuple[str, ...]) -> TlsEnd:
        """The end toward the upstream, offering these protocols."""
        context = _cached_context(self._upstream, alpn, lambda: self.client_context(alpn))
        name = self._verified
        try:
            # Without a name Python would verify no name, and say nothing.
            if not name and not self.options.insecure:
                raise ValueError
            return TlsEnd(context, self._upstream_troubles, server_name=name or None)
        except ValueError:
            given = self.options.sni or self.options.upstream_host
            raise TlsError(f"{given!r} is not a host name that TLS can ask for", SERVER) from None

    def client_end(self, opening: Opening, local: str, alpn: str) -> TlsEnd:
        """The end toward a client that asks for a host, agreeing on a protocol (or none)."""
        options = self.options
        if options.cert is not None:
            cert, key = options.cert, options.key
            context = _cached_context(
                self._given, alpn, lambda: self._server_context(cert, key, alpn)
            )
        else:
            named = (opening.sni or local, local, options.listen_host, options.upstream_host)
            context = self._leaves.context(
                tuple(dict.fromkeys(name for name in named if name)),
                alpn,
                lambda path: self._server_context(path, None, alpn),
            )
        return TlsEnd(context, self._client_troubles)

    def server_context(self, host: str) -> ssl.SSLContext:
        """What clients that know us by a host are shown: the given certificate, or one made."""
        given = self._given.get("")
        if given is not None:
            return given
        names = tuple(dict.fromkeys(name for name in (host, "localhost") if name))
        return self._leaves.context(names, "", lambda path: self._server_context(path, None, ""))

    def agree(self, offered: tuple[str, ...]) -> str:
        """The protocol to agree on with a client when the upstream is plain."""
        return next((name for name in FITTING_ALPN if name in offered), "")

    def client_context(self, alpn: tuple[str, ...] = ()) -> ssl.SSLContext:
        """How to verify the upstream, and what to show it."""
        options = self.options
        # Not ssl.create_default_context: it would log secrets to SSLKEYLOGFILE by itself.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        # RFC 9525, 6.3: a common name is no host's name, whatever it looks like.
        context.hostname_checks_common_name = False
        if options.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif options.cafile is None:
            context.load_default_certs(ssl.Purpose.SERVER_AUTH)
        else:
            _load_cas(context, options.cafile)
        if options.client_cert is not None:
            _load_pair(context, options.client_cert, options.client_key, "--client-key")
        return self._finish(context, alpn)

    def _server_context(self, cert: str, key: str | None, alpn: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        _load_pair(context, cert, key, "--key")
        return self._finish(context, (alpn,) if alpn else ())

    def _finish(self, context: ssl.SSLContext, alpn: tuple[str, ...]) -> ssl.SSLContext:
        if alpn:
            context.set_alpn_protocols(list(alpn))
        if self.options.keylog is not None:
            try:
                context.keylog_filename = self.options.keylog
            except OSError as error:
                raise TlsError(f"{self.options.keylog}: {plainly(error)}") from None
        return context

    def _create_keylog(self, path: str) -> None:
        """Create it for the user alone; OpenSSL would let everybody read it."""
        try:
            fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise TlsError(f"{path}: {plainly(error)}") from None
        mode = os.fstat(fd).st_mode & 0o777
        os.close(fd)
        if mode & 0o077:
            self.warnings.append(f"{path}: others may read the TLS secrets in it (mode {mode:04o})")


class Leaves:
    """Server contexts with certificates of the local CA, made when first asked for."""

    def __init__(self) -> None:
        self._ca: LocalCa | None = None
        self._key: Key | None = None
        self._contexts: OrderedDict[
            tuple[tuple[str, ...], str], tuple[ssl.SSLContext, datetime.datetime]
        ] = OrderedDict()

    def __len__(self) -> int:
        return len(self._contexts)

    def prepare(self) -> list[str]:
        """Load the CA if there is one; what the user should know of it."""
        from amqpscope.proxy.ca import LAST_DAYS, CaError, config_directory, load_ca

        try:
            ca = load_ca(config_directory())
        except CaError as error:
            return [f"TLS from clients will not work: {error}"]
        if ca is None:
            return []
        left = ca.days_left(_now())
        if left < 0:
            return ["the local CA has expired: amqpscope ca renew"]
        return [f"the local CA expires in {left} days: amqpscope ca renew"] * (left < LAST_DAYS)

    def context(
        self, names: tuple[str, ...], alpn: str, load: Callable[[str], ssl.SSLContext]
    ) -> ssl.SSLContext:
        """The context for a client that may know us by these names."""
        wanted = (names, alpn)
        now = _now()
        known = self._contexts.get(wanted)
        if known is not None and now < known[1]:
            self._contexts.move_to_end(wanted)
            return known[0]
        made = self._make(names, now, load)
        self._contexts[wanted] = made
        while len(self._contexts) > MAX_CONTEXTS:
            self._contexts.popitem(last=False)
        return made[0]

    def _make(
        self, names: tuple[str, ...], now: datetime.datetime, load: Callable[[str], ssl.SSLContext]
    ) -> tuple[ssl.SSLContext, datetime.datetime]:
        from amqpscope.proxy.ca import CaError, config_directory, load_or_make_ca
        from amqpscope.proxy.certificates import make_key, make_leaf

        try:
            if self._ca is None:
                self._ca = load_or_make_ca(config_directory(), now)
        except CaError as error:
            raise TlsError(f"no certificate for the client: {error}", CLIENT) from None
        if self._ca.expires <= now:
            self._ca = None  # it may have been renewed when the next client comes
            raise TlsError("the local CA has expired: amqpscope ca renew", CLIENT)
        if self._key is None:
            self._key = make_key()
        leaf = make_leaf(self._ca.authority, self._key, (*names, "localhost"), now)
        with _as_file(leaf.pem) as path:
            # Made anew when half its life is over: a proxy may run for months.
            return load(path), now + (leaf.expires - now) / 2


def _load_cas(context: ssl.SSLContext, path: str) -> None:
    try:
        if os.path.isdir(path):
            context.load_verify_locations(capath=path)
        else:
            context.load_verify_locations(cafile=path)
    except ssl.SSLError:
        raise TlsError(f"{path}: no certificate in it (--cafile), expected PEM") from None
    except OSError as error:
        raise TlsError(f"{path}: {plainly(error)} (--cafile)") from None


def _load_pair(context: ssl.SSLContext, cert: str, key: str | None, option: str) -> None:
    def no_password() -> str:
        raise TlsError(f"{key or cert}: the key is encrypted, expected one without a password")

    for path in (cert, key):
        if path is not None and not os.access(path, os.R_OK):
            missing = "permission denied" if os.path.exists(path) else "no such file or directory"
            raise TlsError(f"{path}: {missing}")
    try:
        context.load_cert_chain(cert, key, no_password)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise TlsError(f"{key or cert}: the key is not that of {cert}") from None
        expected = "expected both in PEM" if key else f"expected both in PEM, or {option} FILE"
        raise TlsError(f"{cert}: no certificate with its key, {expected}") from None


def _cached_context(
    contexts: OrderedDict[_K, ssl.SSLContext], key: _K, make: Callable[[], ssl.SSLContext]
) -> ssl.SSLContext:
    if key in contexts:
        contexts.move_to_end(key)
        return contexts[key]
    context = contexts[key] = make()
    while len(contexts) > MAX_CONTEXTS:
        contexts.popitem(last=False)
    return context


@contextmanager
def _as_file(text: bytes) -> Iterator[str]:
    """Text under a path, for OpenSSL, without a trace on any disk where that can be."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("leaf", os.MFD_CLOEXEC)
        path = f"/proc/self/fd/{fd}"
    else:
        fd, path = tempfile.mkstemp()
    try:
        with open(fd, "wb", closefd=False) as file:
            file.write(text)
        yield path
    finally:
        os.close(fd)
        if not path.startswith("/proc"):
            os.unlink(path)


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
