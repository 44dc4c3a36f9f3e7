"""The core of the river: pieces of TCP streams in, Steps out.

An `Analyzer` takes the pieces of one capture in order, finds the connections that use AMQP, numbers
their frames, and lets each connection's own protocol (`protocols.talk.Talk`) decode and follow
them. Only `Step`, `Finding` and the end of a connection leave it: terminal, CI, TUI and Spark read
the same ones; none of them decodes, and none asks which family a step belongs to.
"""

from amqpscope.analysis.analyzer import Analyzer
from amqpscope.analysis.batch import Batch, FaultySteps, StepSink, StreamEnd, StreamWindow
from amqpscope.analysis.numbering import Numbering, Share
from amqpscope.analysis.recognition import MAGIC, Candidate, Recognition
from amqpscope.analysis.step import NO_FAULTS, NOTHING, Conversation, Step

__all__ = [
    "MAGIC",
    "NOTHING",
    "NO_FAULTS",
    "Analyzer",
    "Batch",
    "Candidate",
    "Conversation",
    "FaultySteps",
    "Numbering",
    "Recognition",
    "Share",
    "Step",
    "StepSink",
    "StreamEnd",
    "StreamWindow",
]
