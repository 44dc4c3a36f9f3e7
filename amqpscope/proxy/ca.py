"""The local CA on disk: where it lies, who may read it, and that there is only one.

    ca-key.pem   the key, and the certificate that belongs to it, in one file: 0600
    ca.pem       the certificate alone, to be named where clients want a CA

The first file is the CA; the second is written from it. A new CA is made in a file of its own and
then linked to its name, which fails when another process was faster: then that one counts.
Nothing that comes from the network names a file here.
"""

from __future__ import annotations

import datetime
import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from amqpscope.wording import reason_of

if TYPE_CHECKING:
    from amqpscope.proxy.certificates import Authority

KEY_FILE: Final = "ca-key.pem"
CERTIFICATE_FILE: Final = "ca.pem"
LAST_DAYS: Final = 30
"""From when on the user is told that the CA is going to expire."""


class CaError(Exception):
    """A local CA that cannot be used or made; the message is one line for the user."""


class LocalCa(NamedTuple):
    """The CA, and where its certificate lies."""

    authority: Authority
    path: Path
    made: bool
    """It was not there before."""

    @property
    def begins(self) -> datetime.datetime:
        """From when on it is valid."""
        return self.authority.certificate.not_valid_before_utc

    @property
    def expires(self) -> datetime.datetime:
        """Until when it is valid."""
        return self.authority.certificate.not_valid_after_utc

    def days_left(self, now: datetime.datetime) -> int:
        """Whole days until it expires; negative after that."""
        return (self.expires - now).days


def config_directory() -> Path:
    """Where the user's CA lies: XDG_CONFIG_HOME, else ~/.config, and in it amqpscope."""
    given = os.environ.get("XDG_CONFIG_HOME", "")
    # The XDG rules: a path that is not absolute is to be ignored.
    if not os.path.isabs(given):
        given = os.path.expanduser("~/.config")
        if not os.path.isabs(given):
            raise CaError("the home directory is not known: set HOME or XDG_CONFIG_HOME")
    return Path(given, "amqpscope")


def load_ca(directory: Path) -> LocalCa | None:
    """Read the CA; None if there is none yet."""
    with _telling(directory):
        try:
            authority = _read(directory / KEY_FILE)
        except FileNotFoundError:
            return None
    return LocalCa(authority, directory / CERTIFICATE_FILE, made=False)


def load_or_make_ca(directory: Path, now: datetime.datetime) -> LocalCa:
    """Read the CA, or make it if there is none yet."""
    from amqpscope.proxy.certificates import make_authority

    with _telling(directory):
        found = load_ca(directory)
        if found is not None and _certificate_written(found):
            return found
        _make_directory(directory)
        with _locked(directory):
            made = found is None and _put_new(directory, make_authority(now))
            found = load_ca(directory)
            if found is None:
                raise CaError(f"{directory / KEY_FILE}: was removed while it was made")
            _write_certificate(found)
        return found._replace(made=made)


def renew_ca(directory: Path, now: datetime.datetime) -> LocalCa:
    """Put a new CA in place of the one that is there, if any."""
    from amqpscope.proxy.certificates import make_authority

    with _telling(directory):
        _make_directory(directory)
        authority = make_authority(now)
        with _locked(directory):
            temporary = _write_new(directory, _text(authority))
            os.replace(temporary, directory / KEY_FILE)
            found = LocalCa(authority, directory / CERTIFICATE_FILE, made=True)
            _write_certificate(found)
        return found


def _read(path: Path) -> Authority:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    with open(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise CaError(f"{path}: is no file")
        if status.st_mode & 0o077:
            raise CaError(
                f"{path}: others may read the key of the CA (mode {status.st_mode & 0o777:04o}, "
                f"expected 0600): make a new one with amqpscope ca renew"
            )
        if os.geteuid() not in (0, status.st_uid):
            raise CaError(f"{path}: belongs to another user")
        text = file.read()
    # Not sooner: to see that there is no CA takes no time.
    from amqpscope.proxy.certificates import read_authority

    try:
        return read_authority(text)
    except ValueError as error:
        raise CaError(f"{path}: {error}; amqpscope ca renew makes a new one") from None


def _make_directory(directory: Path) -> None:
    directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        directory.mkdir(mode=0o700)
    except FileExistsError:
        mode = directory.stat().st_mode
        if mode & 0o022:
            raise CaError(
                f"{directory}: others may write to it (mode {mode & 0o777:04o}, expected 0700)"
            ) from None


def _put_new(directory: Path, authority: Authority) -> bool:
    """Make this the CA, unless another process was faster."""
    temporary = _write_new(directory, _text(authority))
    try:
        os.link(temporary, directory / KEY_FILE)
    except FileExistsError:
        return False
    finally:
        os.unlink(temporary)
    return True


def _certificate_written(ca: LocalCa) -> bool:
    """Whether the file with the certificate says what the CA is."""
    try:
        return ca.path.read_bytes() == ca.authority.pem()
    except FileNotFoundError:
        return False


def _write_certificate(ca: LocalCa) -> None:
    os.replace(_write_new(ca.path.parent, ca.authority.pem()), ca.path)


def _write_new(directory: Path, text: bytes) -> Path:
    """Write a new file that only the user can read, all of it on disk."""
    path = directory / f".{secrets.token_hex(8)}.tmp"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(fd)
    except OSError:
        os.unlink(path)
        raise
    return path


def _text(authority: Authority) -> bytes:
    from amqpscope.proxy.certificates import key_pem

    return key_pem(authority.key) + authority.pem()


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """One process at a time."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


@contextmanager
def _telling(directory: Path) -> Iterator[None]:
    """Turn the file system's troubles into one line."""
    try:
        yield
    except OSError as error:
        where = error.filename or directory
        raise CaError(f"{where}: {reason_of(error)}") from error
