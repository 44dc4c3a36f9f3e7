"""What a broker did with messages, as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import Final

import amqpscope

STYLE: Final = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}"
    "pre{white-space:pre-wrap;font:13px/1.5 ui-monospace,monospace}"
    ":root{color-scheme:light dark}"
)
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"


def broker_page(lines: Iterable[str]) -> Iterator[str]:
    """The profile in its own words; a heading for each broker and for the judgements."""
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="generator" content="amqpscope {escape(amqpscope.__version__)}">\n'
        '<link rel="icon" href="data:,">\n<title>Broker profile - amqpscope</title>\n'
        f"<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>Broker profile</h1>\n"
    )
    is_open = False
    for line in lines:
        if line and not line.startswith(" "):
            yield ("</pre>\n" if is_open else "") + f"<h2>{escape(line)}</h2>\n<pre>\n"
            is_open = True
        elif line:
            yield f"{escape(line)}\n"
    yield ("</pre>\n" if is_open else "") + "</main>\n</body>\n</html>\n"
