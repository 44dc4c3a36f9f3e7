import datetime
import os
import ssl
import stat
import subprocess
import sys

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

from amqpscope.proxy import tls_policy
from amqpscope.proxy.ca import CERTIFICATE_FILE, KEY_FILE, load_or_make_ca
from amqpscope.proxy.certificates import key_pem, make_authority, make_key
from amqpscope.proxy.tls import TlsError
from amqpscope.proxy.tls_bridge import Crossing
from amqpscope.proxy.tls_policy import MAX_CONTEXTS, Leaves, TlsOptions, TlsPolicy
from kit.proxy.tls_peers import NOW, VERSIONS, Certified, Peer, Plain, client, converse, server

HEADER = b"AMQP\x00\x01\x00\x00"


def shown(policy, config, name, local="127.0.0.1"):
    """The certificate that a client gets to see, which it accepts."""
    near = Peer(client(load_or_make_ca(config, NOW).path), name)
    made = Crossing(policy, local)
    made.upstream_connected()
    converse(made, near, Plain())
    assert near.done
    return near.tls.getpeercert()


@pytest.mark.parametrize(
    ("name", "local"),
    [
        ("broker.example", "127.0.0.1"),
        ("BROKER.example", "127.0.0.1"),
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "::1"),
        ("localhost", "127.0.0.1"),
        ("upstream.example", "127.0.0.1"),
        ("a" * 63 + "." + "b" * 63 + ".example", "127.0.0.1"),
    ],
)
def test_the_client_gets_a_certificate_for_the_host_it_asks_for(config, name, local):
    shown(TlsPolicy(TlsOptions(upstream_host="upstream.example")), config, name, local)


def test_a_name_that_is_no_host_gets_a_certificate_for_the_others(config):
    certificate = shown(TlsPolicy(TlsOptions(listen_host="proxy.example")), config, "127.0.0.1")
    assert ("DNS", "proxy.example") in certificate["subjectAltName"]


def test_certificates_are_kept_and_not_without_limit(config):
    policy = TlsPolicy(TlsOptions())
    first = shown(policy, config, "a.example")["serialNumber"]
    assert shown(policy, config, "a.example")["serialNumber"] == first
    for number in range(MAX_CONTEXTS):
        shown(policy, config, f"n{number}.example")
    assert shown(policy, config, "a.example")["serialNumber"] != first


def test_a_certificate_is_made_anew_when_half_its_life_is_over(config, monkeypatch):
    leaves, made = Leaves(), []

    def ask(days):
        monkeypatch.setattr(tls_policy, "_now", lambda: NOW + datetime.timedelta(days=days))
        leaves.context(("a.example",), "", lambda path: made.append(path) or object())
        return len(made)

    assert [ask(days) for days in (0, 14, 16, 30, 32)] == [1, 1, 2, 2, 3]


def test_the_leafs_key_leaves_nothing_behind(config, tmp_path):
    shown(TlsPolicy(TlsOptions()), config, "a.example")
    assert sorted(os.listdir(config)) == [KEY_FILE, CERTIFICATE_FILE]


def test_an_expired_ca_is_told(config):
    load_or_make_ca(config, NOW - datetime.timedelta(days=800))
    policy = TlsPolicy(TlsOptions())
    policy.prepare()
    assert policy.warnings == ["the local CA has expired: amqpscope ca renew"]
    with pytest.raises(TlsError, match="the local CA has expired: amqpscope ca renew"):
        shown(policy, config, "a.example")


def test_a_ca_that_expires_soon_is_told(config):
    load_or_make_ca(config, NOW - datetime.timedelta(days=720))
    policy = TlsPolicy(TlsOptions())
    policy.prepare()
    assert policy.warnings == ["the local CA expires in 9 days: amqpscope ca renew"]


def test_a_ca_that_others_can_read_signs_nothing(config):
    (load_or_make_ca(config, NOW).path.parent / KEY_FILE).chmod(0o644)
    policy = TlsPolicy(TlsOptions())
    policy.prepare()
    assert "TLS from clients will not work" in policy.warnings[0]


def test_preparing_makes_no_ca(config):
    TlsPolicy(TlsOptions()).prepare()
    assert not config.exists()


def test_a_certificate_of_the_users_own(config, tmp_path):
    own = Certified(tmp_path, "proxy.example")
    near = Peer(client(own.ca), "proxy.example")
    made = Crossing(TlsPolicy(TlsOptions(cert=str(own.path))), "127.0.0.1")
    made.upstream_connected()
    converse(made, near, Plain())
    assert near.done
    assert not config.exists()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_client_certificate_is_shown_to_upstream(tmp_path, version):
    broker, us = Certified(tmp_path, "broker.example"), Certified(tmp_path, "us")
    us.path.write_bytes(client_leaf(us))
    context = server(broker, version)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(us.ca)
    options = TlsOptions(
        upstream_tls=True, upstream_host="broker.example", cafile=str(broker.ca),
        client_cert=str(us.path),
    )  # fmt: skip
    near, far = Plain(), Peer(context)
    near.say(HEADER)
    made = Crossing(TlsPolicy(options), "127.0.0.1")
    made.upstream_connected()
    converse(made, near, far)
    assert far.plain == HEADER
    assert ("DNS", "us") in far.tls.getpeercert()["subjectAltName"]


def client_leaf(certified):
    """A certificate that is good for clients, which ours are not."""
    key, authority = make_key(), make_authority(NOW)
    plain = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "clients")])

    def signed(subject, public, ca):
        return (
            x509.CertificateBuilder(plain, subject, public, x509.random_serial_number(), NOW,
                                    NOW + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca, None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("us")]), critical=False)
            .sign(authority.key, hashes.SHA256())
        )  # fmt: skip

    pem = serialization.Encoding.PEM
    certified.ca.write_bytes(signed(plain, authority.key.public_key(), True).public_bytes(pem))
    us = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "us")])
    return key_pem(key) + signed(us, key.public_key(), False).public_bytes(pem)


@pytest.mark.parametrize("name", ["inner.example", "inner.example."])
def test_sni_is_asked_for_and_verified(tmp_path, name):
    broker = Certified(tmp_path, "inner.example")
    asked = []
    context = server(broker)
    context.sni_callback = lambda tls, name, _: asked.append(name)
    options = TlsOptions(
        upstream_tls=True, upstream_host="10.1.2.3", sni=name, cafile=str(broker.ca)
    )
    near, far = Plain(), Peer(context)
    near.say(HEADER)
    made = Crossing(TlsPolicy(options), "127.0.0.1")
    made.upstream_connected()
    converse(made, near, far)
    assert far.plain == HEADER
    assert asked == ["inner.example"]


@pytest.mark.parametrize("version", VERSIONS)
def test_secrets_of_both_sides_are_logged_for_the_user_alone(config, tmp_path, version):
    broker, keylog = Certified(tmp_path, "broker.example"), tmp_path / "keys.txt"
    options = TlsOptions(
        upstream_tls=True, upstream_host="broker.example", cafile=str(broker.ca),
        keylog=str(keylog),
    )  # fmt: skip
    old = os.umask(0)
    try:
        policy = TlsPolicy(options)
    finally:
        os.umask(old)
    assert stat.S_IMODE(keylog.stat().st_mode) == 0o600
    near = Peer(client(load_or_make_ca(config, NOW).path, version), "localhost")
    made = Crossing(policy, "127.0.0.1")
    made.upstream_connected()
    converse(made, near, Peer(server(broker, version)))
    label = "CLIENT_RANDOM" if version == ssl.TLSVersion.TLSv1_2 else "CLIENT_TRAFFIC_SECRET_0"
    lines = [line for line in keylog.read_text().splitlines() if line.startswith(label)]
    assert len({line.split()[1] for line in lines}) == 2
    assert stat.S_IMODE(keylog.stat().st_mode) == 0o600
    assert policy.warnings == []


def test_a_key_log_that_others_can_read_is_told(tmp_path):
    keylog = tmp_path / "keys.txt"
    keylog.write_text("")
    keylog.chmod(0o644)
    assert TlsPolicy(TlsOptions(keylog=str(keylog))).warnings == [
        f"{keylog}: others may read the TLS secrets in it (mode 0644)"
    ]


def test_secrets_are_not_logged_where_the_environment_says(config, tmp_path, monkeypatch):
    """SSLKEYLOGFILE is what the reader reads, so writing it needs --keylog."""
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys.txt"))
    shown(TlsPolicy(TlsOptions()), config, "a.example")
    assert not (tmp_path / "keys.txt").exists()


def files(tmp_path):
    good, other = Certified(tmp_path, "good"), Certified(tmp_path, "other")
    (tmp_path / "text").write_text("no certificate")
    (tmp_path / "encrypted").write_bytes(
        make_key().private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    return {
        "good": good.path, "ca": good.ca, "other": other.path, "text": tmp_path / "text",
        "absent": tmp_path / "absent", "encrypted": tmp_path / "encrypted", "directory": tmp_path,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"cafile": "absent"}, "absent: no such file or directory (--cafile)"),
        ({"cafile": "text"}, "text: no certificate in it (--cafile), expected PEM"),
        ({"client_cert": "absent"}, "absent: no such file or directory"),
        ({"client_cert": "ca"}, "no certificate with its key, expected both in PEM, or --client-k"),
        (
            {"cert": "text"},
            "text: no certificate with its key, expected both in PEM, or --key FILE",
        ),
        ({"cert": "good", "key": "absent"}, "absent: no such file or directory"),
        ({"cert": "good", "key": "other"}, "the key is not that of "),
        ({"cert": "good", "key": "encrypted"}, "encrypted: the key is encrypted, expected one w"),
        ({"key": "good"}, "--key without --cert"),
        ({"client_key": "good"}, "--client-key without --client-cert"),
        ({"keylog": "directory"}, "is a directory"),
    ],
)
def test_bad_files_are_told_at_the_start(tmp_path, options, line):
    known = files(tmp_path)
    given = {name: str(known[file]) for name, file in options.items()}
    with pytest.raises(TlsError) as caught:
        TlsPolicy(TlsOptions(upstream_tls=True, upstream_host="b", **given))
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", [".", "a..b", "x" * 64, "ü" * 70])
def test_a_name_that_tls_cannot_ask_for_is_told_at_the_start(name):
    with pytest.raises(TlsError, match="is not a host name"):
        TlsPolicy(TlsOptions(upstream_tls=True, upstream_host="b", sni=name))


def test_cryptography_is_not_loaded_before_it_is_needed():
    code = "import sys, amqpscope.proxy.tls_bridge; print('cryptography' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
