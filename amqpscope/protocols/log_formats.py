"""The log formats that are read: a row each, in the order in which they are tried."""

from __future__ import annotations

from typing import Final

from amqpscope.protocols.hex_log import HexLog
from amqpscope.protocols.logs import LogFormat
from amqpscope.protocols.v1_0.logs.proton import ProtonLog
from amqpscope.protocols.v1_0.logs.rhea import RheaFrames, RheaRaw

LOG_FORMATS: Final[tuple[type[LogFormat], ...]] = (ProtonLog, RheaRaw, RheaFrames, HexLog)
