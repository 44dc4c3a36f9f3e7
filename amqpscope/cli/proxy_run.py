"""One run of `proxy`: the relay here, the analysis in a child, and how both end.

How it ends: Ctrl-C lets the command clean up, through us, as long as it likes within a limit, and
again Ctrl-C hurries it; SIGTERM and SIGHUP are passed on to it, and everything is over within
seconds. Then what is under way may arrive, and the analysis may finish.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import sys
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, TextIO

from amqpscope.capture.ring import Ring
from amqpscope.cli.output import INTERRUPTED, UNREADABLE, complain, try_to_complain
from amqpscope.cli.proxy_command import TO_END, Command
from amqpscope.cli.proxy_report import analyse, files_of, standard
from amqpscope.cli.proxy_screen import Terminal, show_screen
from amqpscope.cli.scrub import SALT, scrub_one
from amqpscope.cli.web import PROXY
from amqpscope.protocols.words import escaped
from amqpscope.proxy.connection import IN
from amqpscope.proxy.control import Channel, Watch
from amqpscope.proxy.control_socket import ControlSocket
from amqpscope.proxy.files import NEVER
from amqpscope.proxy.process import Settings, StartError, exposed_listeners, make_relay
from amqpscope.proxy.relay import QUIET, SECONDS_TO_END
from amqpscope.report.columns import cut
from amqpscope.runs.collector import bound_garbage
from amqpscope.runs.gate import lost_packets
from amqpscope.runs.input import Input
from amqpscope.runs.live import ProxyOutput
from amqpscope.wording import plural, reason_of

if TYPE_CHECKING:
    from amqpscope.proxy.relay import Relay
    from amqpscope.proxy.route import Route

CLEAN_UP: Final = 30.0
"""Seconds that a command has after Ctrl-C."""
SHORT_END: Final = 2.0
"""Seconds for what is under way when we are told to end, not asked."""
ANALYSIS_TO_END: Final = 3.0
"""Seconds for the rest of the analysis, then."""
NICENESS: Final = 10
"""Of the analysis: where processors are scarce the traffic comes first."""
MOST_LISTED: Final = 20
"""Faults that are named one by one."""
LONGEST_LISTED: Final = 400
"""Characters of a fault that are shown."""


class ProxyRun:
    """The processes of one run."""

    def __init__(self, settings: Settings, output: ProxyOutput, command: tuple[str, ...]) -> None:
        self.settings = replace(settings, holdable=output.screen)
        self.output = output
        self.command = Command(command, resource.getrlimit(resource.RLIMIT_NOFILE))
        self.page_options: tuple[str, ...] = ()
        """How a browser is to show what passes; empty: it is not."""
        self.page: Command | None = None
        self.out: TextIO = standard(output)
        self.child = 0
        """The process that analyses, while there is one."""
        self.died = ""
        """How it ended, if not as it should."""
        self.interrupts = 0
        self.given_up = False
        """The user does not want to wait for the rest of the analysis."""
        self.end_at = float("inf")
        """When the analysis must have ended."""
        self.terminal = Terminal(wanted=output.screen)

    def run(self) -> int:
        """Relay until the end; the exit code."""
        ours, theirs = socket.socketpair()
        channel = Channel(ours, try_to_complain)
        try:
            if self.output.path:
                self.out = open_output(self.output.path)
            relay = make_relay(self.settings, channel.tell)
        except StartError as error:
            complain(str(error))
            return UNREADABLE
        self.heed_signals(relay)
        open_control(relay)
        announce(relay)
        relay.recording.files.needed = 1
        # Opened now: by the time that it is read it may be gone.
        file = os.open(relay.recording.files.first, os.O_RDONLY)
        sys.stdout.flush()
        self.child = os.fork()
        if self.child == 0:
            ours.close()
            relay.forget()
            self.be_child(relay.recording.files.first, Watch(theirs), file)
        os.close(file)
        theirs.close()
        channel.serve(relay, partial(self.child_left, relay))
        self.serve_page(relay)
        code = self.command.start(relay)
        if not code:
            bound_garbage()
            relay.run()
        relay.close()
        channel.send({"ended": relay.status()._asdict()})
        channel.close()
        verdict = self.verdict(relay)
        if relay.recording.problem is not None:
            verdict = verdict or UNREADABLE
        for line in fault_counts(relay):
            complain(line)
        relay.recording.files.reading(NEVER)  # what waited for the analysis may go
        if self.page is not None:
            self.page.finish()
        self.tell_recording(relay)
        if self.output.scrub and relay.recording.packets:
            verdict = verdict or scrub_recording(relay.recording.files.first)
        return code or self.command.finish() or verdict

    def serve_page(self, relay: Relay) -> None:
        """Show the recording in a browser, if that is wanted."""
        if self.page_options:
            path = relay.recording.files.first
            me = (sys.executable, "-m", "amqpscope", "read", *self.page_options)
            if relay.control is not None:
                me += (f"{PROXY}={relay.control.name}",)
            me += (path,)
            self.page = Command(me, self.command.files)
            self.page.start(relay)

    # The child

    def be_child(self, path: str, watch: Watch, file: int) -> None:
        """Analyse until the relay is gone; this never returns."""
        code = UNREADABLE
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            if self.output.screen:
                for each in (signal.SIGTERM, signal.SIGHUP):
                    signal.signal(each, signal.SIG_DFL)
                code = show_screen(path, watch, self.output)
            else:
                # Asked to end, the relay ends first, and says so: the handlers that it has do
                # nothing by themselves. (Not ignored: programs that we start would ignore them.)
                os.nice(NICENESS)
                code = analyse(path, watch, self.output, self.out, file)
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else UNREADABLE
        except BaseException as error:
            complain(f"this is a bug of amqpscope: {type(error).__name__}: {error}")
        finally:
            for stream in (self.out, sys.stdout):
                with contextlib.suppress(OSError):
                    stream.flush()
            os._exit(code)

    def child_left(self, relay: Relay) -> None:
        """The analysis ended before the relay: the traffic goes on without it."""
        code = os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])
        self.child = 0
        relay.recording.files.reading(NEVER)
        relay.tell_news()
        if not relay.running or relay.ending:
            return  # it asked for the end itself
        self.terminal.restore()
        if relay.faults is not None:
            relay.faults.intercept("")
            relay.later.append(relay.faults.resume_all)
        if code == 0:
            try_to_complain("nobody reads the output any more; traffic continues, Ctrl-C ends it")
        else:
            self.died = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            try_to_complain(f"the analysis ended {self.died}; traffic continues and is recorded")

    def verdict(self, relay: Relay) -> int:
        """What the analysis says; made here and now if the child is gone."""
        if self.child:
            code = self.wait_for_child()
            if self.given_up:
                return INTERRUPTED
            if self.output.screen or code >= 0:
                # A screen that we ended has nothing to say.
                return max(code, 0)
            self.died = f"by signal {-code}"
            if self.end_at < time.monotonic():
                complain("the analysis was not finished: part of the traffic was not checked")
                return UNREADABLE
        if not self.output.lint:
            return UNREADABLE if self.died else 0
        return self.analyse_again(relay)

    def analyse_again(self, relay: Relay) -> int:
        """The analysis died: make it here, from the recording."""
        if self.died:
            complain(f"the analysis ended {self.died}, and starts again from the recording")
        signal.signal(signal.SIGINT, signal.default_int_handler)
        end, gone = socket.socketpair()
        with gone:
            Channel(gone, try_to_complain).send({"ended": relay.status()._asdict()})
        if self.output.path:
            self.out.seek(0)
            self.out.truncate()
        code = analyse(relay.recording.files.first, Watch(end), self.output, self.out)
        return code or (UNREADABLE if self.died else 0)

    def wait_for_child(self) -> int:
        """Wait until the analysis has ended, or must have; its exit code."""
        signal.signal(signal.SIGINT, lambda *_: self.give_up())
        for each in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, lambda *_: self.hurry())
        if self.output.screen and (self.interrupts or self.end_at < float("inf")):
            self.end_at = time.monotonic() + SHORT_END
            os.kill(self.child, signal.SIGTERM)
        if not self.output.screen and self.end_at == float("inf"):
            os.kill(self.child, signal.SIGCONT)  # one that was stopped would be waited for for ever
        pause = 0.001
        while (done := os.waitpid(self.child, os.WNOHANG))[0] == 0:
            if self.given_up or time.monotonic() >= self.end_at:
                os.kill(self.child, signal.SIGKILL)
                done = os.waitpid(self.child, 0)
                break
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        self.child = 0
        code = os.waitstatus_to_exitcode(done[1])
        if code:
            self.terminal.restore()
        return code

    def give_up(self) -> None:
        """The user does not want to wait for the rest of the analysis."""
        self.given_up = True

    def hurry(self) -> None:
        """We are told to end."""
        self.end_at = min(self.end_at, time.monotonic() + ANALYSIS_TO_END)

    # The relay

    def heed_signals(self, relay: Relay) -> None:
        """End in order when asked to, and when the command has ended."""
        heard, said = socket.socketpair()
        said.setblocking(False)
        heard.setblocking(False)
        signal.set_wakeup_fd(said.fileno(), warn_on_full_buffer=False)
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(each, lambda *_: None)

        def event(_: int) -> None:
            for number in heard.recv(64):
                if number == signal.SIGINT:
                    self.interrupt(relay)
                elif number in (signal.SIGTERM, signal.SIGHUP):
                    self.terminate(relay)
            if self.command.process is not None and not self.command.running:
                self.command_ended(relay)

        self.wakeup = (heard, said)
        relay.register(heard.fileno(), IN, event)

    def command_ended(self, relay: Relay) -> None:
        """The command has ended: let what is under way arrive."""
        if not relay.ending:
            relay.drain(SECONDS_TO_END)

    def interrupt(self, relay: Relay) -> None:
        """Ctrl-C: the command got it too, and may clean up; without one, end."""
        self.interrupts += 1
        if not self.command.running:
            if self.interrupts == 1:
                relay.drain(SECONDS_TO_END, QUIET)
            else:
                relay.stop()
        elif self.interrupts == 1:
            try_to_complain("interrupted: the command may clean up; Ctrl-C again to terminate it")
            relay.clock.call_later(CLEAN_UP, partial(self.end_command, relay))
        else:
            self.end_command(relay)

    def terminate(self, relay: Relay) -> None:
        """SIGTERM or SIGHUP: end, the command too, and soon."""
        ending = self.end_at < float("inf")
        self.end_at = time.monotonic() + TO_END + SHORT_END + ANALYSIS_TO_END
        if self.command.running:
            self.end_command(relay)
        elif ending:
            relay.stop()
        else:
            relay.drain(SHORT_END, QUIET)

    def end_command(self, relay: Relay) -> None:
        """Ask the command to end, and do not wait for ever."""
        self.command.terminate()
        relay.clock.call_later(TO_END, self.command.kill)

    def tell_recording(self, relay: Relay) -> None:
        """Where the recording is, unless nothing is in it that anyone wants; and what is not."""
        if missing := lost_packets(relay.status()):
            complain(missing)
        recording, files = relay.recording, relay.recording.files
        held, lost = recording.packet_count(), recording.lost
        if self.output.temporary and not recording.packets and not lost:
            with contextlib.suppress(OSError):
                os.unlink(files.path)
            return
        where = files.path
        if kept := files.kept_files():
            where = f"{kept[0].path} and the files after it, up to {where}"
        told = f"{plural(held, 'packet')} recorded: {where}"
        if files.dropped:
            told += f" ({plural(files.dropped, 'packet')} before them removed by --keep)"
        complain(told)


def scrub_recording(first: str) -> int:
    """Write the recording once more, without secrets, bodies and names; 2 where that fails."""
    files = files_of(first)
    given = Input(Ring(first, files) if files else first)
    path = f"{first.removesuffix('.pcapng')}.scrubbed.pcapng"
    done = scrub_one(given, path, os.urandom(SALT), complain)
    return done if done == UNREADABLE else 0


def open_output(path: str) -> TextIO:
    """The file for what is printed; known to be one before anything begins."""
    try:
        return open(path, "w", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise StartError(f"{path}: {reason_of(error)}") from error


def open_control(relay: Relay) -> None:
    """Let `amqpscope faults` reach us under each of our ports, or the name of a Unix socket."""
    places = [listener.getsockname() for route in relay.routes for listener in route.listeners]
    names = [os.path.basename(at) if isinstance(at, str) else str(at[1]) for at in places]
    with contextlib.suppress(OSError):
        relay.control = ControlSocket(relay, *dict.fromkeys(names))


def fault_counts(relay: Relay) -> list[str]:
    """How often each fault has matched and acted: one that never did was written wrong."""
    faults = [] if relay.faults is None else relay.faults.faults
    shown = [fault for at, fault in enumerate(faults) if fault.matched or at < MOST_LISTED]
    lines = [
        f"fault {fault.name}: matched {plural(fault.matched, 'frame')}, acted on {fault.acted:,}"
        for fault in shown
    ]
    if more := len(faults) - len(shown):
        lines.append(f"{plural(more, 'more fault')}: matched 0 frames")
    return lines


def announce_route(route: Route) -> str:
    """Where clients can connect, and where that leads."""
    via = "" if route.via is None else f" via {route.via}"
    return f"listening on {', '.join(route.names)}, upstream {route.upstream}{via}"


def announce(relay: Relay) -> None:
    """Where clients can connect, what the recording will hold, and who else could connect."""
    routes = relay.routes
    told = "; ".join(map(announce_route, routes))
    told += "; the recording will hold passwords and tokens as clients send them"
    for route in routes:
        if route.recorded_port != route.upstream.port:
            # TLS is taken off in it, and Wireshark goes by the port.
            port = route.upstream.port
            told += f", and port {route.recorded_port} for {port}, which Wireshark knows"
    complain(told)
    if relay.metrics is not None:
        complain(f"metrics at http://{relay.metrics.name}/metrics")
    faults = [] if relay.faults is None else relay.faults.faults
    for fault in faults[:MOST_LISTED]:
        complain(f"fault {fault.name}: {cut(escaped(str(fault)), LONGEST_LISTED)}")
    if len(faults) > MOST_LISTED:
        more = plural(len(faults) - MOST_LISTED, "more fault")
        complain(f"{more}: amqpscope faults list shows them all")
    for policy in [route.policy for route in routes if route.policy is not None]:
        for warning in policy.warnings:
            complain(f"warning: {warning}")
    for host in exposed_listeners(relay):
        complain(
            f"warning: {host} is not loopback: whoever reaches this machine reaches the upstream"
            " through it, unasked, and is recorded"
        )
