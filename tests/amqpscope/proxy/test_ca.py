import datetime
import os
import stat
import subprocess
import sys

import pytest

from amqpscope.proxy.ca import (
    CERTIFICATE_FILE,
    KEY_FILE,
    CaError,
    config_directory,
    load_ca,
    load_or_make_ca,
    renew_ca,
)
from amqpscope.proxy.certificates import key_pem, make_key
from kit.proxy.tls_peers import NOW


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def no_umask():
    old = os.umask(0)
    yield
    os.umask(old)


def test_the_directory_is_the_users_own(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    assert config_directory() == tmp_path / "xdg" / "amqpscope"
    monkeypatch.setenv("HOME", str(tmp_path))
    for ignored in ("", "relative/path"):
        monkeypatch.setenv("XDG_CONFIG_HOME", ignored)
        assert config_directory() == tmp_path / ".config" / "amqpscope"
    monkeypatch.delenv("XDG_CONFIG_HOME")
    assert config_directory() == tmp_path / ".config" / "amqpscope"


def test_loading_makes_nothing(config):
    assert load_ca(config) is None
    assert not config.exists()


@pytest.mark.usefixtures("no_umask")
def test_it_is_made_once_and_for_the_user_alone(config):
    made = load_or_make_ca(config, NOW)
    again = load_or_make_ca(config, NOW)
    assert (made.made, again.made) == (True, False)
    assert again.authority.fingerprint == made.authority.fingerprint
    assert mode(config) == 0o700
    assert mode(config / KEY_FILE) == 0o600
    assert sorted(os.listdir(config)) == [KEY_FILE, CERTIFICATE_FILE]


def test_the_certificates_file_has_no_key(config):
    made = load_or_make_ca(config, NOW)
    assert made.path.read_bytes() == made.authority.pem()
    assert b"PRIVATE" not in made.path.read_bytes()


def test_a_lost_or_changed_certificate_file_is_written_again(config):
    made = load_or_make_ca(config, NOW)
    for damage in (made.path.unlink, lambda: made.path.write_text("other")):
        damage()
        load_or_make_ca(config, NOW)
        assert made.path.read_bytes() == made.authority.pem()


@pytest.mark.usefixtures("no_umask")
def test_renewing_puts_a_new_one_in_place(config):
    old = load_or_make_ca(config, NOW)
    new = renew_ca(config, NOW)
    assert new.authority.fingerprint != old.authority.fingerprint
    assert load_ca(config).authority.fingerprint == new.authority.fingerprint
    assert new.path.read_bytes() == new.authority.pem()
    assert mode(config / KEY_FILE) == 0o600
    assert sorted(os.listdir(config)) == [KEY_FILE, CERTIFICATE_FILE]


RACE = """
import sys, time, datetime, pathlib
from amqpscope.proxy.ca import load_or_make_ca, renew_ca
work = {"make": load_or_make_ca, "renew": renew_ca}[sys.argv[1]]
while time.time() < float(sys.argv[2]): pass
ca = work(pathlib.Path(sys.argv[3]), datetime.datetime.now(datetime.UTC))
print(ca.authority.fingerprint, ca.made)
"""


@pytest.mark.parametrize("work", ["make", "renew"])
def test_processes_that_start_together_end_with_one_ca(config, work):
    config.parent.mkdir()
    start = str(datetime.datetime.now().timestamp() + 1)
    command = [sys.executable, "-c", RACE, work, start, str(config)]
    racers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(6)]
    said = [racer.communicate()[0].split() for racer in racers]
    assert all(racer.returncode == 0 for racer in racers)
    end = load_or_make_ca(config, NOW)
    assert end.path.read_bytes() == end.authority.pem()
    assert sorted(os.listdir(config)) == [KEY_FILE, CERTIFICATE_FILE]
    if work == "make":
        assert {fingerprint for fingerprint, _ in said} == {end.authority.fingerprint}
        assert [made for _, made in said].count("True") == 1


@pytest.mark.parametrize("bits", [0o644, 0o640, 0o602])
def test_a_key_that_others_can_reach_is_refused(config, bits):
    load_or_make_ca(config, NOW)
    (config / KEY_FILE).chmod(bits)
    with pytest.raises(CaError, match=rf"{KEY_FILE}: others may read the key.*mode {bits:04o}"):
        load_or_make_ca(config, NOW)
    assert renew_ca(config, NOW).made
    assert load_ca(config) is not None


def test_a_directory_that_others_can_write_to_is_refused(config):
    config.mkdir(parents=True)
    config.chmod(0o777)
    with pytest.raises(CaError, match="others may write to it"):
        load_or_make_ca(config, NOW)


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (lambda path: path.write_bytes(b""), "does not hold a key and a certificate"),
        (lambda path: path.write_bytes(path.read_bytes()[:300]), "does not hold a key"),
        (
            lambda path: path.write_bytes(
                key_pem(make_key()) + path.read_bytes().partition(b"KEY-----\n-----")[2]
            ),
            "ca-key.pem: ",
        ),
        (lambda path: (path.unlink(), path.mkdir()), "is a directory"),
    ],
)
def test_damage_is_told_in_one_line(config, damage, line):
    load_or_make_ca(config, NOW)
    damage(config / KEY_FILE)
    with pytest.raises(CaError) as caught:
        load_or_make_ca(config, NOW)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_place_where_nothing_can_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CaError, match="file"):
        load_or_make_ca(tmp_path / "file" / "amqpscope", NOW)
