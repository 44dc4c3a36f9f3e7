"""An atheris target: octets into the dissector and text into the notation.

    python tests/fuzz/fuzz_dissector.py -max_total_time=60 [CORPUS]

Nothing may escape but `NotationError`, and a unit's line must give its octets back.
"""

import resource
import sys
from contextlib import suppress

import atheris

with atheris.instrument_imports(include=["dissectors"]):
    from dissectors import notation
    from dissectors.v1_0 import codec, framing, message, span

MOST = 2 << 30
"""Octets of memory that no input may need."""


def unit(data):
    """A frame around the octets, or the octets themselves."""
    size = len(data) + 4
    return size.to_bytes(4, "big") + data if len(data) >= 4 else data


def run(data):
    """One input, down every path."""
    raw = unit(data)
    framing.decode_unit(raw)
    codec.decode(data)
    for section in message.walk(data)[0]:
        message.read_section(data, section)
    span.unit_tree(raw)
    span.section_tree(data)
    text = notation.write(raw)
    if notation.parse(text) != raw:
        raise AssertionError(text)
    with suppress(notation.NotationError):
        notation.parse(data.decode("latin-1"))


def main():
    """Fuzz until libFuzzer's arguments say stop.

    Its own limit is of no use: what Linux calls a program's peak begins with that of its parent.
    """
    resource.setrlimit(resource.RLIMIT_AS, (MOST, MOST))
    atheris.Setup(sys.argv, run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
