import datetime
import ssl

import pytest

from amqpscope.proxy.ca import load_or_make_ca
from amqpscope.proxy.tls import TlsError
from amqpscope.proxy.tls_bridge import UPSTREAM, Crossing
from amqpscope.proxy.tls_policy import TlsOptions, TlsPolicy
from amqpscope.stream.types import CLIENT
from kit.proxy.tls_peers import NOW, VERSIONS, Certified, Peer, Plain, client, converse, server

YEAR = datetime.timedelta(days=365)
HEADER = b"AMQP\x00\x01\x00\x00"


def connect(far, near=None, **options):
    """Try to reach an upstream; the trouble."""
    options = {"upstream_tls": True, "upstream_host": "broker.example", "upstream_port": 5671} | (
        options
    )
    made = Crossing(TlsPolicy(TlsOptions(**options)), "127.0.0.1")
    made.upstream_connected()
    if near is None:
        near = Plain()
        near.say(HEADER)
    with pytest.raises(TlsError) as caught:
        converse(made, near, far)
    assert "\n" not in str(caught.value)
    assert not caught.value.quiet
    return caught.value


def trouble(*arguments, **options):
    found = connect(*arguments, **options)
    assert found.side == UPSTREAM
    return str(found)


def test_expired(tmp_path):
    old = Certified(tmp_path, "broker.example", now=NOW - YEAR)
    begins = NOW - YEAR - datetime.timedelta(days=1)
    ends = NOW - YEAR + datetime.timedelta(days=30)
    assert trouble(Peer(server(old)), cafile=str(old.ca)) == (
        f"the certificate of broker.example:5671 has expired (valid {begins:%Y-%m-%d} to "
        f"{ends:%Y-%m-%d}): renew it; --insecure goes on without verifying"
    )


def test_not_valid_yet(tmp_path):
    early = Certified(tmp_path, "broker.example", now=NOW + YEAR)
    assert "is not valid yet (valid 20" in trouble(Peer(server(early)), cafile=str(early.ca))


def test_another_host(tmp_path):
    other = Certified(tmp_path, "a.example", "b.example", "10.0.0.1")
    assert trouble(Peer(server(other)), cafile=str(other.ca)) == (
        "the certificate of broker.example:5671 is not for the host broker.example "
        "(it names a.example, b.example, 10.0.0.1): connect by a name it has, or say --sni NAME; "
        "--insecure goes on without verifying"
    )


def test_another_address(tmp_path):
    other = Certified(tmp_path, "a.example")
    found = trouble(Peer(server(other)), cafile=str(other.ca), upstream_host="::1")
    assert "of [::1]:5671 is not for the address ::1 (it names a.example)" in found


@pytest.mark.parametrize("version", VERSIONS)
def test_unknown_ca(tmp_path, version):
    stranger, known = Certified(tmp_path, "broker.example"), Certified(tmp_path, "known")
    name = stranger.authority.certificate.subject.rfc4514_string()
    assert trouble(Peer(server(stranger, version)), cafile=str(known.ca)) == (
        f"the certificate of broker.example:5671 comes from a CA that is not trusted here ({name}):"
        " name that CA with --cafile FILE; --insecure goes on without verifying"
    )


def test_insecure_takes_any_certificate(tmp_path):
    far = Peer(server(Certified(tmp_path, "other.example", now=NOW - YEAR)))
    near = Plain()
    near.say(HEADER)
    policy = TlsPolicy(TlsOptions(upstream_tls=True, upstream_host="b.example", insecure=True))
    made = Crossing(policy, "127.0.0.1")
    made.upstream_connected()
    converse(made, near, far)
    assert far.plain == HEADER
    assert policy.warnings == [
        "the certificate of b.example is not verified (--insecure): "
        "anybody in between can read and change the traffic"
    ]


@pytest.mark.parametrize("octets", [b"AMQP\x00\x00\x09\x01", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_an_upstream_that_is_plain(octets):
    far = Plain()
    far.say(octets)
    assert trouble(far) == (
        "broker.example:5671 does not speak TLS there: say amqp:// or another port"
    )


def test_an_upstream_that_hangs_up():
    made = Crossing(TlsPolicy(TlsOptions(upstream_tls=True, upstream_host="b")), "127.0.0.1")
    made.upstream_connected()
    made.feed(CLIENT, HEADER)
    with pytest.raises(TlsError, match="b closed the connection in the TLS handshake"):
        made.end(UPSTREAM)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_upstream_that_wants_a_client_certificate(tmp_path, version):
    broker = Certified(tmp_path, "broker.example")
    context = server(broker, version)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(broker.ca)
    assert "client certificate" in trouble(Peer(context), cafile=str(broker.ca))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_client_that_does_not_trust_the_local_ca(config, tmp_path, version):
    load_or_make_ca(config, NOW)
    near = Peer(client(Certified(tmp_path, "other").ca, version), "localhost")
    found = connect(Plain(), near, upstream_tls=False)
    assert found.side == CLIENT
    assert str(found) == (
        "the client does not trust the certificate: give it the local CA as one to trust: "
        "amqpscope ca export FILE (or --cert and --key)"
    )


def test_a_client_that_leaves_inside_the_handshake(config):
    near = Peer(client(load_or_make_ca(config, NOW).path), "localhost")
    made = Crossing(TlsPolicy(TlsOptions()), "127.0.0.1")
    made.upstream_connected()
    made.feed(CLIENT, near.turn(b""))
    with pytest.raises(TlsError, match="the client left in the TLS handshake"):
        made.end(CLIENT)


@pytest.mark.parametrize(
    "octets", [b"\x16\x03\x01\x00\x04\x01\xff\xff\xff", b"\x16\x03\x01\x00\x01\x05"]
)
def test_a_probe_that_only_looks_like_tls_is_passed_on(config, octets):
    made = Crossing(TlsPolicy(TlsOptions()), "127.0.0.1")
    made.upstream_connected()
    assert made.feed(CLIENT, octets) == octets
    assert made.end(CLIENT) == b""
