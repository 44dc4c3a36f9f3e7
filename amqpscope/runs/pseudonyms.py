"""Other words for words, and other octets for octets: as long, and the same for the same.

A word's letters are moved along the alphabet by a keyed hash of all that precedes them in the word.
So equal words stay equal, different ones different, and one that begins with another still does;
no letter stays where it was, and without the salt nobody can go back. Long octets become a keyed
hash of themselves.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from functools import partial
from hashlib import blake2b
from typing import Final

from amqpscope.protocols.prose import WORDS
from amqpscope.protocols.scrub import Manner
from amqpscope.runs.leaks import LEAST

BLOCK: Final = 64
"""Octets that are hashed at once."""
SHORT: Final = 8
"""Octets below which a hash of them might be that of others too."""
MIXED: Final = (b"abcdefghijklmnopqrstuvwxyz", b"0123456789")
"""Letters and digits by turns: hardly ever a word or number of somebody."""
MAGIC: Final = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")
"""How compressed bodies begin."""
WORD: Final = re.compile(
    r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    r"|%[0-9a-fA-F]{2}|[0-9A-Za-z]+(?:[^\x00-\x7f]+[0-9A-Za-z]*)*|[^\x00-\x7f]+[0-9A-Za-z]*"
    r"(?:[^\x00-\x7f]+[0-9A-Za-z]*)*"
)
HEX: Final = re.compile(r"[0-9a-f-]{8,}|[0-9A-F-]{8,}")
SEGMENTS: Final = frozenset((
    "$cbs", "$management", "management", "$me", "$Default", "$DeadLetterQueue", "$deadletterqueue",
    "$Transfer", "$TransferDeadLetterQueue", "queues", "exchanges", "queue", "exchange", "topic",
    "amq", "Subscriptions", "subscriptions", "ConsumerGroups", "consumergroups", "Partitions",
    "partitions", "!transaction", "amqp:", "amqps:", "sb:", "http:", "https:", "ws:", "wss:",
    "queue:", "topic:", "temp-queue:", "temp-topic:", "topic:", "key",
))  # fmt: skip
"""Parts of addresses between slashes that brokers define."""
LOGIN: Final = re.compile(
    r"(?:^|(?<=[,\x01]))(?:[ny](?=,)|p=[\w-]+(?=,)|i=\d+|e=[\w-]+|user=|host=|port=\d+"
    r"|auth=(?:Bearer |Basic )?|[a-z]=)"
)
"""What the mechanisms of SASL define."""
TABLE_LOGIN: Final = (b"\x05LOGIN", b"\x08PASSWORD")
"""How the fields of an AMQPLAIN response begin."""
# fmt: off
ALPHABETS: Final = (
    # from, and up to
    (0x30,    0x3A), (0x41,     0x5B),   (0x61,   0x7B),
    (0xA1,    0x800), (0x800,   0xD800), (0xE000, 0x10000), (0x10000, 0x110000),
)
# fmt: on
INVALID: Final = 0xFF
"""An octet that UTF-8 does not have."""
PRINTABLE: Final = (0x21, 0x7F)


class Pseudonyms:
    """What replaces what, by a salt."""

    def __init__(self, salt: bytes, common: frozenset[str] = WORDS) -> None:
        self.key = blake2b(salt, digest_size=32).digest()
        self.common = common
        """Words that may stay in sentences."""
        self.names: set[str] = set()
        """Words of names, which are not left in sentences."""
        self.known: dict[tuple[Manner, bytes], bytes] = {}
        self.hosts: dict[str, str] = {}
        self.manners: dict[Manner, Callable[[bytes], bytes]] = {
            Manner.NAME: partial(self._texts, self._word),
            Manner.ADDRESS: self._address,
            Manner.PROSE: partial(self._texts, self._prose_word),
            Manner.LOGIN: self._login,
            Manner.BODY: self._body,
            Manner.OCTETS: self._octets,
        }

    def replace(self, octets: bytes, manner: Manner) -> bytes:
        """Other octets, as many."""
        found = self.known.get((manner, octets))
        if found is None:
            found = self.manners[manner](octets)
            self.known[manner, octets] = found
        return found

    def text(self, text: str, manner: Manner = Manner.NAME) -> str:
        """A pseudonym for a text."""
        return self.replace(text.encode(), manner).decode()

    def host(self, host: str) -> str:
        """Another IP address, of the same kind; a loopback stays one."""
        found = self.hosts.get(host)
        if found is None:
            address = ipaddress.ip_address(host)
            hashed = blake2b(address.packed, key=self.key, person=b"host").digest()
            if address.version == 4:
                net = 127 if address.is_loopback else 10
                found = str(ipaddress.IPv4Address(bytes((net, *hashed[:2], hashed[2] % 253 + 1))))
            elif address.is_loopback:
                found = host
            else:
                found = str(ipaddress.IPv6Address(b"\xfd" + hashed[:15]))
            self.hosts[host] = found
        return found

    def note_name(self, octets: bytes) -> None:
        """Keep the words of a name, so that they are replaced in sentences too."""
        for word in WORD.findall(octets.decode("utf-8", "replace")):
            self.names.add(word.lower())

    # texts

    def _texts(self, replace: Callable[[str], str], octets: bytes) -> bytes:
        text = octets.decode("utf-8", "surrogateescape")
        made = WORD.sub(lambda found: replace(found[0]), text)
        return b"".join(
            bytes((INVALID,)) if "\udc80" <= each <= "\udcff" else each.encode() for each in made
        )

    def _word(self, word: str) -> str:
        if word[0] == "%":
            return self._escape(word)
        if word.isascii() and word.isdigit() and len(word) >= LEAST:
            return self._number(word)
        alphabets = ((0x30, 0x3A), (0x41, 0x47), (0x61, 0x67)) if HEX.fullmatch(word) else ALPHABETS
        state = blake2b(key=self.key, person=b"word")
        made = []
        for letter in word:
            code = ord(letter)
            for first, end in alphabets:
                if first <= code < end:
                    step = int.from_bytes(state.copy().digest()[:4], "big") % (end - first - 1) + 1
                    code = first + (code - first + step) % (end - first)
                    break
            made.append(chr(code))
            state.update(letter.encode("utf-8", "surrogateescape"))
        return "".join(made)

    def _number(self, word: str) -> str:
        """A word of digits: every other becomes a letter, for all numbers may be names here."""
        state = blake2b(key=self.key, person=b"number")
        made = []
        for place, digit in enumerate(word):
            alphabet = MIXED[place % 2]
            step = int.from_bytes(state.copy().digest()[:4], "big")
            made.append(chr(alphabet[(int(digit) + step) % len(alphabet)]))
            state.update(digit.encode())
        return "".join(made)

    def _escape(self, escape: str) -> str:
        """An octet of a URL that is written by its number: what is no letter or digit stays."""
        code = int(escape[1:], 16)
        if code < 0x80 and not chr(code).isalnum():
            return escape
        return f"%{ord(self._word(chr(code & 0x0F | 0x60 if code & 0x0F else 0x61))):02X}"

    def replaced_words(self, octets: bytes) -> list[bytes]:
        """The words of a sentence that do not stay."""
        words = WORD.findall(octets.decode("utf-8", "replace"))
        return [word.encode() for word in words if not self._is_common(word)]

    def _prose_word(self, word: str) -> str:
        return word if self._is_common(word) else self._word(word)

    def _is_common(self, word: str) -> bool:
        """Whether anybody might write a word: nobody is called so, or by a part of it."""
        small = word.lower()
        if small not in self.common or small in self.names:
            return False
        return not any(name in small for name in self.names if len(name) >= LEAST)

    def _address(self, octets: bytes) -> bytes:
        parts = octets.split(b"/")
        return b"/".join(
            part if part.decode("utf-8", "replace") in SEGMENTS else self._texts(self._word, part)
            for part in parts
        )

    # credentials

    def _login(self, octets: bytes) -> bytes:
        if TABLE_LOGIN[0] in octets or TABLE_LOGIN[1] in octets:
            return self._table_login(octets)
        try:
            text = octets.decode()
        except UnicodeDecodeError:
            return self._octets(octets)
        if not all(each.isprintable() or each in "\0\1" for each in text):
            return self._octets(octets)
        made, at = [], 0
        for found in LOGIN.finditer(text):
            made += [self._name(text[at : found.start()]), found[0].encode()]
            at = found.end()
        return b"".join([*made, self._name(text[at:])])

    def _name(self, text: str) -> bytes:
        return self._texts(self._word, text.encode())

    def _table_login(self, octets: bytes) -> bytes:
        """The response of AMQPLAIN: a table."""
        made, at = bytearray(self._octets(octets)), 0
        for name in TABLE_LOGIN:
            start = octets.find(name, at)
            if start >= 0:
                at = start + len(name) + 5
                stop = min(at + int.from_bytes(octets[at - 4 : at], "big"), len(octets))
                made[start:stop] = octets[start:at] + self._texts(self._word, octets[at:stop])
                at = stop
        return bytes(made)

    # octets

    def _body(self, octets: bytes) -> bytes:
        magic = next((each for each in MAGIC if octets.startswith(each)), b"")
        if magic:
            return magic + self._octets(octets[len(magic) :])
        try:
            text = octets.decode()
        except UnicodeDecodeError:
            return self._octets(octets)
        if not all(each.isprintable() or each.isspace() for each in text):
            return self._octets(octets)
        if text.isascii():
            return self._blocks(octets, self._letters, PRINTABLE)
        return "".join(self._whole_word(word) for word in re.split(r"(\s+)", text)).encode()

    def _whole_word(self, word: str) -> str:
        """A word of a body, in which nothing stays but white space."""
        return "".join(self._word(each) if each.isalnum() else each for each in self._word(word))

    def _octets(self, octets: bytes) -> bytes:
        return self._blocks(octets, self._noise, (0, 256))

    def _blocks(
        self, octets: bytes, replace: Callable[[bytes, int], bytes], alphabet: tuple[int, int]
    ) -> bytes:
        made = []
        for at in range(0, len(octets), BLOCK):
            block = octets[at : at + BLOCK]
            if len(block) >= SHORT:
                made.append(replace(block, at))
            else:
                made.append(self._shifted(octets[:at], block, alphabet))
        return b"".join(made)

    def _hash(self, block: bytes, at: int) -> bytes:
        hashed = blake2b(block, key=self.key, person=b"octets", salt=at.to_bytes(8, "big"))
        return hashed.digest()[: len(block)]

    def _noise(self, block: bytes, at: int) -> bytes:
        """Octets of which every other is not ASCII, so that there is never a word in them."""
        return bytes(
            octet | 0x80 if place % 2 else octet
            for place, octet in enumerate(self._hash(block, at))
        )

    def _letters(self, block: bytes, at: int) -> bytes:
        hashed = self._hash(block, at)
        return bytes(
            old if old <= 0x20 else MIXED[place % 2][new % len(MIXED[place % 2])]
            for place, (old, new) in enumerate(zip(block, hashed, strict=True))
        )

    def _shifted(self, before: bytes, block: bytes, alphabet: tuple[int, int]) -> bytes:
        """A few octets, each moved along its alphabet."""
        first, end = alphabet
        made = bytearray()
        state = blake2b(before, key=self.key, person=b"few")
        for octet in block:
            new = octet
            if first <= octet < end:
                step = state.copy().digest()[0] % (end - first - 1) + 1
                new = first + (octet - first + step) % (end - first)
            made.append(new)
            state.update(bytes((octet,)))
        return bytes(made)
