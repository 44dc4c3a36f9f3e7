"""Signs of a secret in octets: asked of every frame, so that few are searched text by text.

Compiled; what a secret is, `secrets` decides.
"""

from __future__ import annotations


def suspicious_octets(octets: bytes) -> bool:
    """Whether texts among the octets may have secrets: quick, and right when it says no.

    A login needs a colon too, since the octet of `@` is null in AMQP 1.0 and in every frame.
    """
    login = b"@" in octets and b":" in octets
    return login or b"=" in octets or b"eyJ" in octets or b"earer" in octets or b"asic" in octets
