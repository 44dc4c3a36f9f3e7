import hashlib
import os
import ssl

import pytest

from amqpscope.proxy.ca import KEY_FILE


@pytest.fixture
def ca(amqpscope, config):
    """Run `amqpscope ca` with a configuration of its own."""
    return lambda *arguments, **how: amqpscope("ca", *arguments, **how)


def fingerprint(text):
    lines = text.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("SHA-256"))
    return lines[at].split()[1] + lines[at + 1].strip()


def test_it_tells_where_until_when_and_how_to_trust(ca, config):
    first, second = ca(), ca()
    assert first.stdout.startswith("A new local CA was made.\n")
    assert second.stdout.startswith("name         amqpscope local CA ")
    assert str(config / "ca.pem") in second.stdout
    assert "729 days left" in second.stdout
    assert "NODE_EXTRA_CA_CERTS" in second.stdout
    der = ssl.PEM_cert_to_DER_cert((config / "ca.pem").read_text())
    assert fingerprint(second.stdout) == hashlib.sha256(der).digest().hex(":").upper()


def test_export_gives_the_certificate_and_never_the_key(ca, config, tmp_path):
    piped = ca("export", "-")
    assert piped.stdout.startswith("-----BEGIN CERTIFICATE-----\n")
    file = tmp_path / "exported.pem"
    told = ca("export", file)
    assert told.stdout.startswith(f"{file}: amqpscope local CA ")
    assert file.read_text() == piped.stdout
    secret = (config / KEY_FILE).read_text().splitlines()[1]
    assert secret not in piped.stdout + told.stdout


def test_export_goes_over_a_certificate_but_over_nothing_else(ca, tmp_path):
    file = tmp_path / "exported.pem"
    assert ca("export", file).returncode == 0
    assert ca("export", file).returncode == 0
    file.write_text("precious")
    refused = ca("export", file)
    assert refused.returncode == 2
    assert refused.stderr == (f"amqpscope: {file}: exists already and is not a certificate\n")
    assert file.read_text() == "precious"


def test_renew_makes_another(ca):
    old = fingerprint(ca().stdout)
    told = ca("renew")
    assert fingerprint(told.stdout) != old
    assert fingerprint(ca().stdout) == fingerprint(told.stdout)
    assert "until they are started again" in told.stdout


@pytest.mark.parametrize("arguments", [(), ("export", "-")])
def test_a_key_that_others_can_read_is_one_line(ca, config, arguments):
    ca()
    (config / KEY_FILE).chmod(0o644)
    refused = ca(*arguments)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.count("\n") == 1
    assert "amqpscope ca renew" in refused.stderr


def test_no_home_is_one_line(amqpscope):
    env = {name: value for name, value in os.environ.items() if name != "XDG_CONFIG_HOME"}
    refused = amqpscope("ca", env=env | {"HOME": "nowhere"})
    assert refused.returncode == 2
    assert refused.stderr == (
        "amqpscope: the home directory is not known: set HOME or XDG_CONFIG_HOME\n"
    )


@pytest.mark.parametrize("arguments", [("--help",), ("export", "--help"), ("renew", "--help")])
def test_help_fits_80_columns(ca, arguments):
    told = ca(*arguments).stdout
    assert max(map(len, told.splitlines())) <= 80
    assert "amqpscope ca" in told
