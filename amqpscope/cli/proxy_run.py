"""One run of `proxy`: the relay here, the analysis in a child, and how both end."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import termios
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from amqpscope.cli.output import INTERRUPTED, UNREADABLE, complain, printing
from amqpscope.live import Live, Wishes
from amqpscope.proxy.address import shown
from amqpscope.proxy.channel import Channel, Watch
from amqpscope.proxy.connection import IN
from amqpscope.proxy.process import Settings, StartError, exposed, make_relay
from amqpscope.report.lint import finding_object
from amqpscope.report.lint_text import LintText

if TYPE_CHECKING:
    from amqpscope.checked import Checked
    from amqpscope.proxy.relay import Relay

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LAST_WORDS: Final = 3.0
"""Seconds that connections have to close when the command has ended."""
NOT_FOUND: Final = 127
NICENESS: Final = 10
"""Of the analysis: where processors are scarce the traffic comes first."""


class ProxyRun:
    """The processes of one run."""

    def __init__(self, settings: Settings, wishes: Wishes, command: tuple[str, ...]) -> None:
        self.settings = settings
        self.wishes = wishes
        self.arguments = command
        self.command: subprocess.Popen[bytes] | None = None
        self.child = 0
        """The process that analyses, while there is one."""
        self.interrupted = False
        self.terminal = Terminal(wanted=wishes.screen)

    def run(self) -> int:
        """Relay until the end; the exit code."""
        ours, theirs = socket.socketpair()
        channel = Channel(ours, say_alone)
        try:
            relay = make_relay(self.settings, channel.tell)
        except StartError as error:
            complain(str(error))
            return UNREADABLE
        self.heed_signals(relay)
        announce(relay)
        sys.stdout.flush()
        self.child = os.fork()
        if self.child == 0:
            ours.close()
            relay.forget()
            self.be_child(relay.recording.files.first, Watch(theirs))
        theirs.close()
        channel.serve(relay, partial(self.child_left, relay))
        code = self.start_command(relay)
        if not code:
            relay.run()
        relay.close()
        channel.send({"ended": relay.status()._asdict()})
        channel.close()
        verdict = self.verdict(relay)
        self.tell_recording(relay)
        if self.command is not None:
            code = self.end_command(self.command)
        return code or verdict

    # The child

    def be_child(self, path: str, watch: Watch) -> None:
        """Analyse until the relay is gone; this never returns."""
        code = UNREADABLE
        try:
            signal.set_wakeup_fd(-1)
            for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
                signal.signal(each, signal.SIG_DFL)
            if not self.wishes.screen:
                os.nice(NICENESS)
                # The relay ends first, and says so. (Not ignored: programs that we start would
                # ignore them too, for good.)
                for each in (signal.SIGINT, signal.SIGHUP):
                    signal.signal(each, lambda *_: None)
            act = show_screen if self.wishes.screen else analyse
            code = act(path, watch, self.wishes)
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else UNREADABLE
        except BaseException as error:
            complain(f"this is a bug of amqpscope: {type(error).__name__}: {error}")
        finally:
            with contextlib.suppress(OSError):
                sys.stdout.flush()
            os._exit(code)

    def child_left(self, relay: Relay) -> None:
        """The analysis ended before the relay: the traffic goes on without it."""
        status = os.waitpid(self.child, 0)[1]
        self.child = 0
        code = os.waitstatus_to_exitcode(status)
        if not relay.running:
            return  # it asked for the end itself
        self.terminal.restore()
        if code == 0:
            say_alone("nobody reads the output any more; traffic goes on, Ctrl-C ends it")
        else:
            how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            say_alone(f"the analysis ended {how}; traffic goes on and is recorded")

    def verdict(self, relay: Relay) -> int:
        """What the analysis says; made here and now if the child is gone."""
        if self.child:
            signal.signal(signal.SIGINT, lambda *_: self.give_up())
            status = os.waitpid(self.child, 0)[1]
            code = os.waitstatus_to_exitcode(status)
            self.child = 0
            if code:
                self.terminal.restore()
            if self.interrupted:
                return INTERRUPTED
            if code >= 0 or not self.wishes.lint:
                return code if code >= 0 else UNREADABLE
        elif not self.wishes.lint:
            return 0
        signal.signal(signal.SIGINT, signal.default_int_handler)
        end, gone = socket.socketpair()
        with gone:
            Channel(gone, say_alone).send({"ended": relay.status()._asdict()})
        return analyse(relay.recording.files.first, Watch(end), self.wishes)

    def give_up(self) -> None:
        """The user does not want to wait for the rest of the analysis."""
        self.interrupted = True
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.child, signal.SIGKILL)

    # The relay

    def heed_signals(self, relay: Relay) -> None:
        """End in order when asked to, and when the command has ended."""
        heard, said = socket.socketpair()
        said.setblocking(False)
        heard.setblocking(False)
        signal.set_wakeup_fd(said.fileno(), warn_on_full_buffer=False)
        for each in (*ENDING, signal.SIGCHLD):
            signal.signal(each, lambda *_: None)

        def event(_: int) -> None:
            numbers = heard.recv(64)
            if any(number in ENDING for number in numbers):
                relay.stop()
            elif self.command is not None and self.command.poll() is not None:
                relay.drain(LAST_WORDS)

        self.wakeup = (heard, said)
        relay.register(heard.fileno(), IN, event)

    def start_command(self, relay: Relay) -> int:
        """Start the user's command, if there is one; an exit code when it cannot be."""
        if not self.arguments:
            return 0
        host, port = relay.listeners[0].getsockname()[:2]
        told = {
            "AMQPSCOPE_PROXY_URL": f"amqp://{shown((host, port))}",
            "AMQPSCOPE_PROXY_HOST": host,
            "AMQPSCOPE_PROXY_PORT": str(port),
        }
        try:
            self.command = subprocess.Popen(self.arguments, env={**os.environ, **told})
        except OSError as error:
            complain(f"{self.arguments[0]}: {(error.strerror or str(error)).lower()}")
            return NOT_FOUND
        return 0

    def end_command(self, command: subprocess.Popen[bytes]) -> int:
        """The command's exit code as a shell tells it."""
        if command.poll() is None:
            command.terminate()
        code = command.wait()
        return code if code >= 0 else 128 - code

    def tell_recording(self, relay: Relay) -> None:
        """Where the recording is, unless nothing is in it that anyone wants."""
        recording = relay.recording
        if self.wishes.temporary and not recording.packets:
            with contextlib.suppress(OSError):
                os.unlink(recording.files.path)
            return
        packets = "1 packet" if recording.packets == 1 else f"{recording.packets:,} packets"
        where = recording.files.path
        if recording.files.number > 1:
            where = f"{recording.files.first} and the files after it, up to {where}"
        complain(f"{packets} recorded: {where}")


def announce(relay: Relay) -> None:
    """Where clients can connect, and who else could."""
    complain(f"listening on {', '.join(relay.names)}, upstream {relay.upstream}")
    for warning in [] if relay.policy is None else relay.policy.warnings:
        complain(f"warning: {warning}")
    for host in exposed(relay):
        complain(
            f"warning: {host} is not loopback: whoever reaches this machine reaches the upstream"
            " through it, unasked, and is recorded"
        )


def analyse(path: str, watch: Watch, wishes: Wishes) -> int:
    """Follow the recording to its end and print; the exit code."""
    with printing():
        checked = Live(path, watch, wishes, sys.stdout, complain).run()
        for note in (*checked.notes, checked.error):
            if note:
                complain(f"{checked.path}: {note}")
        for protocol in checked.protocols:
            if protocol == "amqp-0-10":
                complain(f"{protocol} is not checked beyond its protocol header")
        if checked.gaps:
            complain(f"{checked.path}: octets are missing at {checked.gaps} places")
        if checked.packets and not checked.frames and not checked.notes:
            complain(f"{checked.path}: no AMQP in {checked.packets:,} packets")
        if not watch.in_order:
            complain(f"the relay has died; what it passed on up to then is in {path}")
        if not wishes.lint:
            return 0 if watch.in_order else UNREADABLE
        for line in report(checked, wishes):
            sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    status = watch.latest
    if checked.unreadable or not watch.in_order or (status is not None and status.problem):
        return UNREADABLE
    return int(any(map(wishes.choice.fails, checked.findings)))


def show_screen(path: str, watch: Watch, wishes: Wishes) -> int:
    """Open the screen on the recording; when the user leaves it, the relay ends too."""
    from amqpscope.tui import run

    told: list[str] = []

    def status() -> str:
        told.extend(watch.told())
        watch.ask()
        return status_words(watch, told)

    options = wishes.options
    where = "" if options.where is None else options.where.text
    trouble, _ = run(
        path, follow=True, where=where, show_secrets=options.show_secrets, status=status
    )
    watch.stop()
    watch.wait_for_end()
    for line in (*told, *watch.told(), trouble):
        if line:
            complain(line)
    return UNREADABLE if trouble or not watch.in_order else 0


def status_words(watch: Watch, told: list[str]) -> str:
    """How the relay stands, in a few words; its last trouble first."""
    status = watch.latest
    if watch.ended or status is None:
        return "the relay has ended" if watch.ended else ""
    connections = "1 connection" if status.open == 1 else f"{status.open:,} connections"
    words = f"{status.listening[0]} to {status.upstream}, {connections} open"
    return f"{told[-1]} | {words}" if told else words


class Terminal:
    """The state of the terminal, for when the screen dies and leaves it as it was for itself."""

    def __init__(self, *, wanted: bool) -> None:
        self.state: list[Any] | None = None
        if wanted:
            with contextlib.suppress(termios.error, OSError):
                self.state = termios.tcgetattr(sys.stdin.fileno())

    def restore(self) -> None:
        """As it was; and off the second page, with a cursor, and no reports of the mouse."""
        if self.state is None:
            return
        with contextlib.suppress(termios.error, OSError):
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, self.state)
            sys.stdout.write("\x1b[?1049l\x1b[?25h\x1b[?1000l\x1b[?1003l\x1b[?1006l\x1b[?2004l")
            sys.stdout.flush()


def report(checked: Checked, wishes: Wishes) -> list[str]:
    """The findings, as `lint` writes them."""
    options = wishes.options
    if options.form == "jsonl":
        objects: list[dict[str, Any]] = [
            finding_object(finding, checked.path) for finding in checked.findings
        ]
        return [json.dumps(each) for each in objects]
    writer = LintText(width=options.width, colour=options.colour, plain=options.plain)
    return list(writer.lines([checked]))


def say_alone(line: str) -> None:
    """Complain from the relay's process, if standard error takes it without making us wait."""
    poll = select.poll()
    with contextlib.suppress(OSError, ValueError):
        poll.register(sys.stderr, select.POLLOUT)
        if poll.poll(0):
            complain(line)
