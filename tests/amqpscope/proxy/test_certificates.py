import datetime
import shutil
import subprocess

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.verification import PolicyBuilder, Store
from hypothesis import given
from hypothesis import strategies as st

from amqpscope.proxy.certificates import (
    CA_LIFE,
    LEAF_LIFE,
    facts_of,
    general_name,
    key_pem,
    make_authority,
    make_key,
    make_leaf,
    read_authority,
)
from kit.proxy.tls_peers import NOW


@pytest.fixture(scope="module")
def authority():
    return make_authority(NOW)


def leaf_of(authority, *hosts, now=NOW):
    made = make_leaf(authority, make_key(), hosts, now)
    return x509.load_pem_x509_certificate(made.pem)


def test_ca_and_leaf_pass_an_independent_verifier(authority):
    """That of `cryptography` follows the rules for public CAs, and is written in Rust."""
    leaf = leaf_of(authority, "broker.example")
    verifier = PolicyBuilder().store(Store([authority.certificate])).time(NOW)
    verifier.build_server_verifier(x509.DNSName("broker.example")).verify(leaf, [])


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_openssl_accepts_the_leaf_with_all_its_strictness(authority, tmp_path):
    ca, leaf = tmp_path / "ca.pem", tmp_path / "leaf.pem"
    ca.write_bytes(authority.pem())
    made = leaf_of(authority, "broker.example")
    leaf.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    command = [
        "openssl", "verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", ca,
        "-verify_hostname", "broker.example", leaf,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == f"{leaf}: OK\n"


def test_the_ca_signs_for_servers_only_and_makes_no_further_ca(authority):
    extensions = authority.certificate.extensions
    constraints = extensions.get_extension_for_class(x509.BasicConstraints)
    assert (constraints.critical, constraints.value.ca, constraints.value.path_length) == (
        (True, True, 0)
    )
    usage = list(extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
    assert usage == [x509.ExtendedKeyUsageOID.SERVER_AUTH]


def test_lifetimes(authority):
    life = authority.certificate.not_valid_after_utc - NOW.replace(microsecond=0)
    assert life == CA_LIFE
    assert leaf_of(authority, "a").not_valid_after_utc - NOW.replace(microsecond=0) == LEAF_LIFE
    assert leaf_of(authority, "a").not_valid_before_utc < NOW - datetime.timedelta(hours=23)


def test_a_leaf_does_not_outlive_its_ca(authority):
    late = NOW + CA_LIFE - datetime.timedelta(days=3)
    assert leaf_of(authority, "a", now=late).not_valid_after_utc == (
        authority.certificate.not_valid_after_utc
    )


def test_each_ca_has_a_name_of_its_own():
    assert make_authority(NOW).certificate.subject != make_authority(NOW).certificate.subject


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("Broker.Example.", "broker.example"),
        ("a_b-c.example", "a_b-c.example"),
        ("10.0.0.1", "10.0.0.1"),
        ("[::1]", "::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("::ffff:127.0.0.1", "127.0.0.1"),
        ("xn--mnchen-3ya.example", "xn--mnchen-3ya.example"),
    ],
)
def test_hosts_by_name_and_address(host, name):
    assert str(general_name(host).value) == name


@pytest.mark.parametrize(
    "host",
    ["", ".", "*.example", "a..b", "-a", "a/../b", "a\x00b", "a b", "a\nb", "0.0.0.0", "::",
     "münchen", "a" * 64, ".".join(["a" * 60] * 5)],
)  # fmt: skip
def test_what_is_no_host_gets_no_name(host):
    assert general_name(host) is None


def test_a_leaf_without_a_good_name_is_for_localhost(authority):
    names = leaf_of(authority, "*", "a b").extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    assert names.value.get_values_for_type(x509.DNSName) == ["localhost"]


@given(st.text(max_size=80))
def test_any_text_is_a_name_or_none(text):
    general_name(text)


def test_key_and_certificate_are_read_back(authority):
    read = read_authority(key_pem(authority.key) + authority.pem())
    assert read.certificate == authority.certificate
    assert read.fingerprint == authority.fingerprint


@pytest.mark.parametrize("text", [b"", b"nonsense", b"-----BEGIN PRIVATE KEY-----\nAAAA\n"])
def test_text_without_a_key_is_refused(text):
    with pytest.raises(ValueError, match="does not hold a key and a certificate"):
        read_authority(text)


def test_a_key_of_another_certificate_is_refused(authority):
    with pytest.raises(ValueError, match="do not belong together"):
        read_authority(key_pem(make_key()) + authority.pem())


def test_many_names_are_counted(authority):
    leaf = leaf_of(authority, *(f"n{number}.example" for number in range(8)))
    assert facts_of(leaf.public_bytes(serialization.Encoding.DER))["names"] == (
        " (it names n0.example, n1.example, n2.example, n3.example, n4.example, 3 more)"
    )


@given(st.binary(max_size=64))
def test_an_unreadable_certificate_has_no_facts(octets):
    assert facts_of(octets) == {}
