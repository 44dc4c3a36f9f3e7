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
begin after that, and on those that had faults already.

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
    """List, add and remove the faults of a proxy that runs.

    \b
    amqpscope proxy amqp://broker --fault 'transfer && from == client => drop times=1'
    amqpscope faults list
    amqpscope faults add 'flow => set link-credit=0' --proxy 5673
    amqpscope faults remove fault-1
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


@faults.command("held")
@proxy_option
def list_held(name: str | None) -> None:
    """Show the frames that wait for a decision (action hold)."""
    for each in ask(name, {"do": "held"})["held"]:
        click.echo(f"connection {each['connection']} from {each['from']}: {each['frame']}")


@faults.command()
@click.argument("connection", type=int)
@click.argument("sender", type=click.Choice(("client", "server")))
@click.argument("verdict", type=click.Choice(("pass", "edit", "drop", "disconnect")))
@click.argument("frame", default="")
@proxy_option
def decide(name: str | None, connection: int, sender: str, verdict: str, frame: str) -> None:
    """Let a frame that waits pass, drop it, send FRAME in its place, or disconnect."""
    question = {"do": "decide", "connection": connection, "from": sender}
    ask(name, {**question, "verdict": verdict, "frame": frame})


def line_of(fault: dict[str, Any]) -> str:
    """A fault on one line."""
    shown = {"name", "on", "action", "matched", "acted"}
    counts = "".join(f" {key}={value}" for key, value in fault.items() if key not in shown)
    rule = f"{fault['on']} => {fault['action']}{counts}"
    return f"{fault['name']}: {rule} (matched {fault['matched']:,}, acted on {fault['acted']:,})"


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
