"""Literals of AMQP 1.0 off a text: a value of a known type, a format code (see `notation`)."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal, InvalidOperation

from dissectors.notation_scanner import WORD, Scanner
from dissectors.v1_0.decimals import FORMATS
from dissectors.v1_0.encodings import BY_CODE, ENCODINGS, label
from dissectors.v1_0.notation_text import INTEGERS, PLAIN_SYMBOL
from dissectors.v1_0.values import Char, Float, Symbol, Uuid, Value

_MARK = re.compile(r"'([0-9a-z-]+)")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NAMED_CODES = {label(row.code): row.code for row in ENCODINGS} | {"symbol": 0xA3}


class Literals(Scanner):
    """A walk over text that knows the types of 1.0."""

    def mark(self) -> int | None:
        """A format code after a value: `'70`."""
        found = _MARK.match(self.text, self.at)
        if found is None:
            return None
        name = found[1]
        code = _NAMED_CODES.get(name)
        if code is None and re.fullmatch(r"[0-9a-f]{2}", name):
            code = int(name, 16)
        if code is None or code not in BY_CODE:
            self.fail("expected a format code such as '70")
        self.at = found.end()
        return code

    def literal(self, kind: str) -> Value:
        """A value of a known type, without the type's name."""
        if kind == "timestamp":
            return self.time(timedelta(milliseconds=1))
        if kind in INTEGERS:
            return self.integer()
        if kind == "char":
            text = self.string()
            if len(text) != 1:
                self.fail("expected one character")
            return Char(text)
        if kind == "string":
            return self.string()
        if kind == "symbol":
            return self.symbol()
        if kind == "binary":
            return self.binary()
        return self.word(kind)

    def word(self, kind: str) -> Value:
        """A literal that is a bare word."""
        start = self.at
        word = self.take(WORD, f"a {kind}")[0]
        if kind == "boolean" and word in {"true", "false"}:
            return word == "true"
        if kind == "uuid" and _UUID.fullmatch(word):
            return Uuid(bytes.fromhex(word.replace("-", "")))
        try:
            if kind in FORMATS:
                return FORMATS[kind].made(Decimal(word))
            if kind in {"float", "double"}:
                return Float(word) if kind == "float" else float(word)
        except (ValueError, InvalidOperation):
            pass
        self.fail(f"expected a {kind}", start)

    def symbol(self) -> Symbol:
        """`:name` or `:"odd name"`."""
        start = self.at
        if not self.eat(":"):
            self.fail("expected a symbol: :name")
        text = self.string() if self.text.startswith('"', self.at) else ""
        if not text and self.text[self.at - 1] != '"':
            text = self.take(PLAIN_SYMBOL, "a symbol: :name")[0]
        if not text.isascii():
            self.fail("a symbol is ASCII", start)
        return Symbol(text)
