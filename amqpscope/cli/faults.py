"""The command `faults`: the faults of a proxy that runs."""

from __future__ import annotations

import json
import sys
from typing import Any, Final

import click

from amqpscope.cli.output import UNREADABLE, complain

LANGUAGE: Final = """\
A fault is FILTER => ACTION [skip=N] [times=N] [every=N] [chance=P] [seed=N] [connection=N].

FILTER is the language of `read -Y`, over the frame as it comes and the state before it (frame
numbers count the frames of the connection). skip lets so many matches pass, times then acts on so
many, every on the N-th, 2N-th and so on of those left; chance and seed act by a die that falls the
same way each time; connection=N acts on the N-th connection alone. The first fault that acts wins.

\b
ACTIONS
"""
NOTE: Final = """\
Frames are written in the notation of `amqpscope explain`; a channel, handle, delivery-id or
delivery-tag that is left out is the one that fits. Faults that are added act on connections that
begin after that, and on those that had faults already; where the proxy has a screen, on all.

\b
PRESETS
"""


def language() -> str:
    """How faults are written, and the presets."""
    from amqpscope.proxy.faults.actions import FORMS
    from amqpscope.proxy.faults.presets import describe_presets

    actions = "\n".join(f"  {form.usage}" for form in FORMS.values())
    presets = "\n".join(f"  {line}" for line in describe_presets().split("\n"))
    return f"{LANGUAGE}{actions}\n\n{NOTE}{presets}"


class Described(click.Group):
    """A group whose help has the language, which is put together only when it is shown."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Add the language."""
        self.epilog = language()
        super().format_epilog(ctx, formatter)


proxy_option = click.option(
    "--proxy",
    "name",
    metavar="NAME",
    help="The proxy: the port that it listens on.  [default: the only one that runs]",
)


@click.group(cls=Described)
def faults() -> None:
    """List, add and remove faults of a running proxy; hold frames and decide on them.

    \b
    amqpscope proxy amqp://broker --fault 'transfer && from == client => drop times=1'
    amqpscope faults list
    amqpscope faults add 'flow => set link-credit=0' --proxy 5673
    amqpscope faults remove fault-1
    amqpscope faults intercept 'disposition && from == server'
    amqpscope faults held
    amqpscope faults edit 1
    amqpscope faults resume --all
    """


@faults.command("list")
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text")
@proxy_option
def list_faults(name: str | None, form: str) -> None:
    """Show all faults, and how often each has matched and acted."""
    found = ask(name, {"do": "list"})["faults"]
    if form == "json":
        click.echo(json.dumps(found, indent=1))
        return
    for fault in found:
        click.echo(line_of(fault))


@faults.command()
@click.argument("rule")
@click.option("--name", "called", default="", help="What the fault is called.")
@proxy_option
def add(name: str | None, rule: str, called: str) -> None:
    """Add a fault."""
    click.echo(line_of(ask(name, {"do": "add", "rule": rule, "name": called})["added"]))


@faults.command()
@click.argument("fault")
@proxy_option
def remove(name: str | None, fault: str) -> None:
    """Remove a fault."""
    click.echo(line_of(ask(name, {"do": "remove", "name": fault})["removed"]))


@faults.command()
@click.argument("where", metavar="FILTER")
@proxy_option
def intercept(name: str | None, where: str) -> None:
    """Hold the frames that match FILTER; '' holds none.

    Each waits, with what its sender sends next, until you decide on it.
    """
    ask(name, {"do": "intercept", "filter": where})


@faults.command("held")
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text")
@proxy_option
def list_held(name: str | None, form: str) -> None:
    """Show the held frames, and who gives up on them when."""
    answer = ask(name, {"do": "held"})
    if form == "json":
        click.echo(json.dumps(answer["held"], indent=1))
        return
    for each in answer["held"]:
        click.echo(held_line(each))
    if answer["count"] > len(answer["held"]):
        click.echo(f"and {answer['count'] - len(answer['held']):,} more")


number_argument = click.argument("number", type=int, required=False)


@faults.command()
@number_argument
@click.option("--all", "everything", is_flag=True, help="All frames that wait.")
@proxy_option
def resume(name: str | None, number: int | None, everything: bool) -> None:
    """Pass a held frame on as it came."""
    decide(name, "all" if everything else number, "resume")


@faults.command()
@number_argument
@proxy_option
def drop(name: str | None, number: int | None) -> None:
    """Do not pass a held frame on."""
    decide(name, number, "drop")


@faults.command()
@number_argument
@proxy_option
def duplicate(name: str | None, number: int | None) -> None:
    """Pass a held frame on twice."""
    decide(name, number, "duplicate")


@faults.command()
@number_argument
@proxy_option
def disconnect(name: str | None, number: int | None) -> None:
    """End the connection of a held frame: FIN to both peers."""
    decide(name, number, "disconnect")


@faults.command()
@click.argument("number", type=int)
@click.argument("action")
@proxy_option
def act(name: str | None, number: int, action: str) -> None:
    """Do to a held frame what a fault could do.

    \b
    amqpscope faults act 1 'set link-credit=0'
    amqpscope faults act 2 'reject condition=amqp:not-allowed'
    amqpscope faults act 3 'delay 2s'
    """
    decide(name, number, action)


@faults.command()
@click.argument("number", type=int)
@click.argument("frame", required=False)
@click.option("--show-secrets", is_flag=True, help="Open frames with passwords and tokens too.")
@proxy_option
def edit(name: str | None, number: int, frame: str | None, show_secrets: bool) -> None:
    """Send FRAME in the place of a held one.

    Without FRAME the held one is opened in $EDITOR. Fields that you leave alone are translated so
    that both peers still agree; the others are sent as you write them.
    """
    if frame is None:
        frame = edit_in_editor(name, number, show_secrets)
    decide(name, number, "edit", frame=frame)


def edit_in_editor(name: str | None, number: int, show_secrets: bool) -> str:
    """What the user makes of a frame; if that is nothing else, it waits on."""
    from amqpscope.tui.editor import EditorError, edit_text

    answer = ask(name, {"do": "frame", "number": number})
    if answer["secret"] and not show_secrets:
        complain(f"frame {number} holds a secret: --show-secrets opens it")
        sys.exit(UNREADABLE)
    try:
        text = edit_text(answer["frame"], answer["dialect"])
    except EditorError as error:
        complain(str(error))
        sys.exit(UNREADABLE)
    if text is None:
        complain(f"nothing was changed: frame {number} is still held")
        sys.exit(UNREADABLE)
    return text


def decide(name: str | None, number: int | str | None, action: str, **more: str) -> None:
    """Decide on a frame that waits."""
    ask(name, {"do": "decide", "number": number, "action": action, **more})


def held_line(held: dict[str, Any]) -> str:
    """A frame that waits, on one line."""
    words = [f"{held['number']}: connection {held['connection']} from {held['from']}"]
    words.append(f"held for {held['seconds']:.1f} s")
    if held["behind"]:
        words.append(f"{held['behind']:,} octets behind it")
    words += [f"the {peer} has hung up" for peer in held["hung-up"]]
    words += [deadline_words(each) for each in held["deadlines"]]
    return f"{', '.join(words)}: {held['name']} {held['summary']}".rstrip()


def deadline_words(deadline: dict[str, Any]) -> str:
    """Who gives up, and when."""
    left, why = deadline["left"], f"{deadline['what']} of {deadline['seconds']:g} s"
    when = f"from {left:.1f} s on" if left > 0 else "at any moment"
    return f"the {deadline['peer']} may close {when} ({why})"


def line_of(fault: dict[str, Any]) -> str:
    """A fault on one line."""
    from amqpscope.proxy.faults.fault import line_of

    return line_of(fault)


def ask(name: str | None, question: dict[str, Any]) -> dict[str, Any]:
    """Ask a proxy; what goes wrong is one clear line, and the end."""
    from amqpscope.proxy import control_socket

    if name is None:
        names = control_socket.running()
        if len(names) != 1:
            found = f"proxies run on {', '.join(names)}: name one by --proxy"
            complain(found if names else "no proxy runs")
            sys.exit(UNREADABLE)
        name = names[0]
    try:
        answer = control_socket.ask(name, question)
    except control_socket.ControlError as error:
        complain(str(error))
        sys.exit(UNREADABLE)
    if "error" in answer:
        complain(answer["error"])
        sys.exit(UNREADABLE)
    return answer
