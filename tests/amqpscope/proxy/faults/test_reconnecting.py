"""The reconnect logic of a client, tested with ten faults, as the guide shows it."""

import time

import pytest

pytest.importorskip("proton")

from proton import Message, ProtonException
from proton.utils import BlockingConnection, SendException

pytest_plugins = ["pytester"]

FAULTS = [
    "open && from == server => delay 300ms",
    "attach && from == server => truncate times=1",
    "begin && from == server => corrupt octets=4 seed=3 times=1",
    "flow && from == server => set link-credit=0 times=1",
    "transfer && from == client => release skip=1 times=1",
    "transfer && from == client => detach condition=amqp:link:detach-forced skip=1 times=1",
    "transfer && from == client => end skip=2 times=1",
    "transfer && from == client => close condition=amqp:connection:forced skip=2 times=1",
    "transfer && from == client => reset skip=3 times=1",
    "disposition && from == server => drop skip=1 times=1",
]
BODIES = ["m0", "m1", "m2", "m3", "m4"]
RETRIES = 5


def connect(url):
    return BlockingConnection(url, timeout=1, allowed_mechs="ANONYMOUS")


def send(url, queue, bodies):
    """The client: sends each message until it is accepted, over as many connections as it takes."""
    left = list(bodies)
    for attempt in range(RETRIES):
        try:
            connection = connect(url)
            sender = connection.create_sender(queue)
            while left:
                sender.send(Message(id=left[0], body=left[0]))
                del left[0]
            connection.close()
            return
        except (ProtonException, SendException, OSError) as error:
            reason = error
            time.sleep(0.02 * 2**attempt)
    raise reason


def receive(url, queue):
    """The bodies in a queue."""
    connection = connect(url)
    receiver = connection.create_receiver(queue, credit=10)
    bodies = []
    try:
        while True:
            bodies.append(receiver.receive(timeout=0.5).body)
            receiver.accept()
    except ProtonException:
        return bodies
    finally:
        connection.close()


@pytest.mark.parametrize("fault", FAULTS)
def test_no_message_is_lost(amqp_proxy, broker, fault):
    upstream = f"amqp://127.0.0.1:{broker}"
    queue = f"reconnect-{FAULTS.index(fault)}"
    proxy = amqp_proxy(upstream, faults=[fault], fail_on="error")
    send(proxy.url, queue, BODIES)
    assert proxy.faults.list()[0]["acted"] > 0
    # At least once: what was accepted and not known to be so comes again.
    arrived = receive(upstream, queue)
    assert list(dict.fromkeys(arrived)) == BODIES


def test_a_client_that_gives_up_is_shown_what_the_fault_did(pytester, broker):
    pytester.makeconftest("from amqpscope.pytest_plugin import *")
    pytester.makepyfile(f"""
        from proton import Message
        from proton.utils import BlockingConnection

        def test_it_sends(amqp_proxy):
            rule = "transfer && from == client => detach condition=amqp:link:detach-forced times=1"
            proxy = amqp_proxy("amqp://127.0.0.1:{broker}", faults=[rule])
            connection = BlockingConnection(proxy.url, timeout=2, allowed_mechs="ANONYMOUS")
            sender = connection.create_sender("gives-up")
            sender.send(Message(body="m"))
    """)
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines([
        "*LinkDetached*",
        "*amqpscope proxy*",
        "fault-1: transfer && from == client => detach * (matched 1, acted on 1)",
        '*C←S*detach*fault fault-1: detach*amqp:link:detach-forced*',
    ])  # fmt: skip
