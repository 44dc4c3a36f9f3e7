"""A conversation whose messages have bodies of several kinds, in notation."""

import gzip

from dissectors.notation import parse

BATCH = 0x80013700
TRANSFER = 'client: transfer[0] handle=0 delivery-id={0} delivery-tag=b"{0}" settled=true'
ATTACHED = """
client: attach name="s" handle=0 role=sender source=source() target=target(address="q")
server: attach name="s" handle=0 role=receiver source=source() target=target(address="q")
server: flow next-incoming-id=0 incoming-window=99 next-outgoing-id=0 outgoing-window=99 \
handle=0 delivery-count=0 link-credit=99
"""


def message(text):
    """A message in notation as octets."""
    return parse(f"transfer[0] handle=0 | {text}")[len(parse("transfer[0] handle=0")) :]


def in_data(octets):
    """Octets in a data section, in notation."""
    return f"data(0x{octets.hex()})"


def typed(content_type, section, encoding=""):
    """A message with a content-type, in notation."""
    more = f' content-encoding=:"{encoding}"' if encoding else ""
    return f'properties(content-type=:"{content_type}"{more}) {section}'


PACKED = gzip.compress(b'{"orders":[1,2,3],"total":9.50}', mtime=0)
INNER = (typed("text/plain", 'data(b"n1")'), 'amqp-value({"a"=1})')
TEXT = "\n".join(
    (
        ATTACHED,
        f"{TRANSFER.format(0)} | {typed('application/json', in_data(PACKED), 'gzip')}",
        f"{TRANSFER.format(1)} message-format={BATCH} | "
        + " ".join(in_data(message(each)) for each in INNER),
        f'{TRANSFER.format(2)} more=true | data(b"one ")',
        'client: transfer[0] handle=0 delivery-id=2 | data(b"body")',
        f'{TRANSFER.format(3)} | data(b"user=me password=hunter2")',
        "",
    )
)
"""Frames 10 (gzip over JSON), 11 (a batch of two), 12 and 13 (one message), 14 (a secret)."""
