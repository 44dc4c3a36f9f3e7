"""One class per composite type.

Written by `python -m dissectors.v1_0.generate` from the rows; do not edit. The spec's names are
the attributes (`-` becomes `_`).
"""
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from typing import ClassVar, Final, final

from dissectors.native import mypyc_attr
from dissectors.v1_0.body import NO_WRONG
from dissectors.v1_0.body import Body as Body
from dissectors.v1_0.rows import Composite
from dissectors.v1_0.tables import COMPOSITE
from dissectors.v1_0.values import Map, Symbol, Timestamp, Value


@final
@mypyc_attr(acyclic=True)
class Open(Body):
    """The composite type `open`."""

    row: ClassVar[Composite] = COMPOSITE["open"]

    def __init__(self, container_id: Value = None, hostname: Value = None, max_frame_size: Value = None, channel_max: Value = None, idle_time_out: Value = None, outgoing_locales: Value = None, incoming_locales: Value = None, offered_capabilities: Value = None, desired_capabilities: Value = None, properties: Value = None, *, values: list[Value] | None = None) -> None:
        self.values = [container_id, hostname, max_frame_size, channel_max, idle_time_out, outgoing_locales, incoming_locales, offered_capabilities, desired_capabilities, properties] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)

    @property
    def container_id(self) -> str | None:
        return self.values[0]

    @property
    def hostname(self) -> str | None:
        return self.values[1]

    @property
    def max_frame_size(self) -> int | None:
        return self.values[2]

    @property
    def channel_max(self) -> int | None:
        return self.values[3]

    @property
    def idle_time_out(self) -> int | None:
        return self.values[4]

    @property
    def outgoing_locales(self) -> Value:
        return self.values[5]

    @property
    def incoming_locales(self) -> Value:
        return self.values[6]

    @property
    def offered_capabilities(self) -> Value:
        return self.values[7]

    @property
    def desired_capabilities(self) -> Value:
        return self.values[8]

    @property
    def properties(self) -> Map | None:
        return self.values[9]


@final
@mypyc_attr(acyclic=True)
class Begin(Body):
    """The composite type `begin`."""

    row: ClassVar[Composite] = COMPOSITE["begin"]

    def __init__(self, remote_channel: Value = None, next_outgoing_id: Value = None, incoming_window: Value = None, outgoing_window: Value = None, handle_max: Value = None, offered_capabilities: Value = None, desired_capabilities: Value = None, properties: Value = None, *, values: list[Value] | None = None) -> None:
        self.values = [remote_channel, next_outgoing_id, incoming_window, outgoing_window, handle_max, offered_capabilities, desired_capabilities, properties] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)

    @property
    def remote_channel(self) -> int | None:
        return self.values[0]

    @property
    def next_outgoing_id(self) -> int | None:
        return self.values[1]

    @property
    def incoming_window(self) -> int | None:
        return self.values[2]

    @property
    def outgoing_window(self) -> int | None:
        return self.values[3]

    @property
    def handle_max(self) -> int | None:
        return self.values[4]

    @property
    def offered_capabilities(self) -> Value:
        return self.values[5]

    @property
    def desired_capabilities(self) -> Value:
        return self.values[6]

    @property
    def properties(self) -> Map | None:
        return self.values[7]


@final
@mypyc_attr(acyclic=True)
class Attach(Body):
    """The composite type `attach`."""

    row: ClassVar[Composite] = COMPOSITE["attach"]

    def __init__(self, name: Value = None, handle: Value = None, role: Value = None, snd_settle_mode: Value = None, rcv_settle_mode: Value = None, source: Value = None, target: Value = None, unsettled: Value = None, incomplete_unsettled: Value = None, initial_delivery_count: Value = None, max_message_size: Value = None, offered_capabilities: Value = None, desired_capabilities: Value = None, properties: Value = None, *, values: list[Value] | None = None) -> None:
        self.values = [name, handle, role, snd_settle_mode, rcv_settle_mode, source, target, unsettled, incomplete_unsettled, initial_delivery_count, max_message_size, offered_capabilities, desired_capabilities, properties] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)

    @property
    def name(self) -> str | None:
        return self.values[0]

    @property
    def handle(self) -> int | None:
        return self.values[1]

    @property
    def role(self) -> bool | None:
        return self.values[2]

    @property
    def snd_settle_mode(self) -> int | None:
        return self.values[3]

    @property
    def rcv_settle_mode(self) -> int | None:
        return self.values[4]

    @property
    def source(self) -> Value:
        return self.values[5]

    @property
    def target(self) -> Value:
        return self.values[6]

    @property
    def unsettled(self) -> Map | None:
        return self.values[7]

    @property
    def incomplete_unsettled(self) -> bool | None:
        return self.values[8]

    @property
    def initial_delivery_count(self) -> int | None:
        return self.values[9]

    @property
    def max_message_size(self) -> int | None:
        return self.values[10]

    @property
    def offered_capabilities(self) -> Value:
        return self.values[11]

    @property
    def desired_capabilities(self) -> Value:
        return self.values[12]

    @property
    def properties(self) -> Map | None:
        return self.values[13]


@final
@mypyc_attr(free_list_len=1, acyclic=True)
class Flow(Body):
    """The composite type `flow`."""

    row: ClassVar[Composite] = COMPOSITE["flow"]

    def __init__(self, next_incoming_id: Value = None, incoming_window: Value = None, next_outgoing_id: Value = None, outgoing_window: Value = None, handle: Value = None, delivery_count: Value = None, link_credit: Value = None, available: Value = None, drain: Value = None, echo: Value = None, properties: Value = None, *, values: list[Value] | None = None) -> None:
        self.values = [next_incoming_id, incoming_window, next_outgoing_id, outgoing_window, handle, delivery_count, link_credit, available, drain, echo, properties] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)

    @property
    def next_incoming_id(self) -> int | None:
        return self.values[0]

    @property
    def incoming_window(self) -> int | None:
        return self.values[1]

    @property
    def next_outgoing_id(self) -> int | None:
        return self.values[2]

    @property
    def outgoing_window(self) -> int | None:
        return self.values[3]

    @property
    def handle(self) -> int | None:
        return self.values[4]

    @property
    def delivery_count(self) -> int | None:
        return self.values[5]

    @property
    def link_credit(self) -> int | None:
        return self.values[6]

    @property
    def available(self) -> int | None:
        return self.values[7]

    @property
    def drain(self) -> bool | None:
        return self.values[8]

    @property
    def echo(self) -> bool | None:
        return self.values[9]

    @property
    def properties(self) -> Map | None:
        return self.values[10]


@final
@mypyc_attr(free_list_len=1, acyclic=True)
class Transfer(Body):
    """The composite type `transfer`."""

    row: ClassVar[Composite] = COMPOSITE["transfer"]

    def __init__(self, handle: Value = None, delivery_id: Value = None, delivery_tag: Value = None, message_format: Value = None, settled: Value = None, more: Value = None, rcv_settle_mode: Value = None, state: Value = None, resume: Value = None, aborted: Value = None, batchable: Value = None, *, values: list[Value] | None = None) -> None:
        self.values = [handle, delivery_id, delivery_tag, message_format, settled, more, rcv_settle_mode, state, resume, aborted, batchable] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)

    @property
    def handle(self) -> int | None:
        return self.values[0]

    @property
    def delivery_id(self) -> int | None:
        return self.values[1]

    @property
    def delivery_tag(self) -> bytes | None:
        return self.values[2]

    @property
    def message_format(self) -> int | None:
        return self.values[3]

    @property
    def settled(self) -> bool | None:
        return self.values[4]

    @property
    def more(self) -> bool | None:
        return self.values[5]

    @property
    def rcv_settle_mode(self) -> int | None:
        return self.values[6]

    @property
    def state(self) -> Value:
        return self.values[7]

    @property
    def resume(self) -> bool | None:
        return self.values[8]

    @property
    def aborted(self) -> bool | None:
        return self.values[9]

    @property
    def batchable(self) -> bool | None:
        return self.values[10]


@final
@mypyc_attr(free_list_len=1, acyclic=True)
class Disposition(Body):
    """The composite type `disposition`."""

    row: ClassVar[Composite] = COMPOSITE["disposition"]

    def __init__(self, role: Value = None, first: Value = None, last: Value = None, settled: Value = None, state: Value = None, batchable: Value = None, *, values: list[Value] | None = None) -> None:
        self.values = [role, first, last, settled, state, batchable] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)

    @property
    def role(self) -> bool | None:
        return self.values[0]

    @property
    def first(self) -> int | None:
        return self.values[1]

    @property
    def last(self) -> int | None:
        return self.values[2]

    @property
    def settled(self) -> bool | None:
        return self.values[3]

    @property
    def state(self) -> Value:
        return self.values[4]

    @property
    def batchable(self) -> bool | None:
        return self.values[5]


@final
@mypyc_attr(acyclic=True)
class Detach(Body):
    """The composite type `detach`."""

    row: ClassVar[Composite] = COMPOSITE["detach"]

    def __init__(self, handle: Value = None, closed: Value = None, error: Value = None, *, values: list[Value] | None = None) -> None:
        self.values = [handle, closed, error] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)

    @property
    def handle(self) -> int | None:
        return self.values[0]

    @property
    def closed(self) -> bool | None:
        return self.values[1]

    @property
    def error(self) -> Error | None:
        return self.values[2]


@final
@mypyc_attr(acyclic=True)
class End(Body):
    """The composite type `end`."""

    row: ClassVar[Composite] = COMPOSITE["end"]

    def __init__(self, error: Value = None, *, values: list[Value] | None = None) -> None:
        self.values = [error] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)

    @property
    def error(self) -> Error | None:
        return self.values[0]


@final
@mypyc_attr(acyclic=True)
class Close(Body):
    """The composite type `close`."""

    row: ClassVar[Composite] = COMPOSITE["close"]

    def __init__(self, error: Value = None, *, values: list[Value] | None = None) -> None:
        self.values = [error] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)

    @property
    def error(self) -> Error | None:
        return self.values[0]


@final
@mypyc_attr(acyclic=True)
class Error(Body):
    """The composite type `error`."""

    row: ClassVar[Composite] = COMPOSITE["error"]

    def __init__(self, condition: Value = None, description: Value = None, info: Value = None, *, values: list[Value] | None = None) -> None:
        self.values = [condition, description, info] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)

    @property
    def condition(self) -> Symbol | None:
        return self.values[0]

    @property
    def description(self) -> str | None:
        return self.values[1]

    @property
    def info(self) -> Map | None:
        return self.values[2]


@final
@mypyc_attr(acyclic=True)
class Received(Body):
    """The composite type `received`."""

    row: ClassVar[Composite] = COMPOSITE["received"]

    def __init__(self, section_number: Value = None, section_offset: Value = None, *, values: list[Value] | None = None) -> None:
        self.values = [section_number, section_offset] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)

    @property
    def section_number(self) -> int | None:
        return self.values[0]

    @property
    def section_offset(self) -> int | None:
        return self.values[1]


@final
@mypyc_attr(acyclic=True)
class Accepted(Body):
    """The composite type `accepted`."""

    row: ClassVar[Composite] = COMPOSITE["accepted"]

    def __init__(self, *, values: list[Value] | None = None) -> None:
        self.values = [] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)


@final
@mypyc_attr(acyclic=True)
class Rejected(Body):
    """The composite type `rejected`."""

    row: ClassVar[Composite] = COMPOSITE["rejected"]

    def __init__(self, error: Value = None, *, values: list[Value] | None = None) -> None:
        self.values = [error] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)

    @property
    def error(self) -> Error | None:
        return self.values[0]


@final
@mypyc_attr(acyclic=True)
class Released(Body):
    """The composite type `released`."""

    row: ClassVar[Composite] = COMPOSITE["released"]

    def __init__(self, *, values: list[Value] | None = None) -> None:
        self.values = [] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)


@final
@mypyc_attr(acyclic=True)
class Modified(Body):
    """The composite type `modified`."""

    row: ClassVar[Composite] = COMPOSITE["modified"]

    def __init__(self, delivery_failed: Value = None, undeliverable_here: Value = None, message_annotations: Value = None, *, values: list[Value] | None = None) -> None:
        self.values = [delivery_failed, undeliverable_here, message_annotations] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)

    @property
    def delivery_failed(self) -> bool | None:
        return self.values[0]

    @property
    def undeliverable_here(self) -> bool | None:
        return self.values[1]

    @property
    def message_annotations(self) -> Map | None:
        return self.values[2]


@final
@mypyc_attr(acyclic=True)
class Source(Body):
    """The composite type `source`."""

    row: ClassVar[Composite] = COMPOSITE["source"]

    def __init__(self, address: Value = None, durable: Value = None, expiry_policy: Value = None, timeout: Value = None, dynamic: Value = None, dynamic_node_properties: Value = None, distribution_mode: Value = None, filter: Value = None, default_outcome: Value = None, outcomes: Value = None, capabilities: Value = None, *, values: list[Value] | None = None) -> None:
        self.values = [address, durable, expiry_policy, timeout, dynamic, dynamic_node_properties, distribution_mode, filter, default_outcome, outcomes, capabilities] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)

    @property
    def address(self) -> Value:
        return self.values[0]

    @property
    def durable(self) -> int | None:
        return self.values[1]

    @property
    def expiry_policy(self) -> Symbol | None:
        return self.values[2]

    @property
    def timeout(self) -> int | None:
        return self.values[3]

    @property
    def dynamic(self) -> bool | None:
        return self.values[4]

    @property
    def dynamic_node_properties(self) -> Map | None:
        return self.values[5]

    @property
    def distribution_mode(self) -> Symbol | None:
        return self.values[6]

    @property
    def filter(self) -> Map | None:
        return self.values[7]

    @property
    def default_outcome(self) -> Value:
        return self.values[8]

    @property
    def outcomes(self) -> Value:
        return self.values[9]

    @property
    def capabilities(self) -> Value:
        return self.values[10]


@final
@mypyc_attr(acyclic=True)
class Target(Body):
    """The composite type `target`."""

    row: ClassVar[Composite] = COMPOSITE["target"]

    def __init__(self, address: Value = None, durable: Value = None, expiry_policy: Value = None, timeout: Value = None, dynamic: Value = None, dynamic_node_properties: Value = None, capabilities: Value = None, *, values: list[Value] | None = None) -> None:
        self.values = [address, durable, expiry_policy, timeout, dynamic, dynamic_node_properties, capabilities] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)

    @property
    def address(self) -> Value:
        return self.values[0]

    @property
    def durable(self) -> int | None:
        return self.values[1]

    @property
    def expiry_policy(self) -> Symbol | None:
        return self.values[2]

    @property
    def timeout(self) -> int | None:
        return self.values[3]

    @property
    def dynamic(self) -> bool | None:
        return self.values[4]

    @property
    def dynamic_node_properties(self) -> Map | None:
        return self.values[5]

    @property
    def capabilities(self) -> Value:
        return self.values[6]


@final
@mypyc_attr(acyclic=True)
class DeleteOnClose(Body):
    """The composite type `delete-on-close`."""

    row: ClassVar[Composite] = COMPOSITE["delete-on-close"]

    def __init__(self, *, values: list[Value] | None = None) -> None:
        self.values = [] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)


@final
@mypyc_attr(acyclic=True)
class DeleteOnNoLinks(Body):
    """The composite type `delete-on-no-links`."""

    row: ClassVar[Composite] = COMPOSITE["delete-on-no-links"]

    def __init__(self, *, values: list[Value] | None = None) -> None:
        self.values = [] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)


@final
@mypyc_attr(acyclic=True)
class DeleteOnNoMessages(Body):
    """The composite type `delete-on-no-messages`."""

    row: ClassVar[Composite] = COMPOSITE["delete-on-no-messages"]

    def __init__(self, *, values: list[Value] | None = None) -> None:
        self.values = [] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)


@final
@mypyc_attr(acyclic=True)
class DeleteOnNoLinksOrMessages(Body):
    """The composite type `delete-on-no-links-or-messages`."""

    row: ClassVar[Composite] = COMPOSITE["delete-on-no-links-or-messages"]

    def __init__(self, *, values: list[Value] | None = None) -> None:
        self.values = [] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)


@final
@mypyc_attr(acyclic=True)
class Coordinator(Body):
    """The composite type `coordinator`."""

    row: ClassVar[Composite] = COMPOSITE["coordinator"]

    def __init__(self, capabilities: Value = None, *, values: list[Value] | None = None) -> None:
        self.values = [capabilities] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)

    @property
    def capabilities(self) -> Value:
        return self.values[0]


@final
@mypyc_attr(acyclic=True)
class Declare(Body):
    """The composite type `declare`."""

    row: ClassVar[Composite] = COMPOSITE["declare"]

    def __init__(self, global_id: Value = None, *, values: list[Value] | None = None) -> None:
        self.values = [global_id] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)

    @property
    def global_id(self) -> Value:
        return self.values[0]


@final
@mypyc_attr(acyclic=True)
class Discharge(Body):
    """The composite type `discharge`."""

    row: ClassVar[Composite] = COMPOSITE["discharge"]

    def __init__(self, txn_id: Value = None, fail: Value = None, *, values: list[Value] | None = None) -> None:
        self.values = [txn_id, fail] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)

    @property
    def txn_id(self) -> Value:
        return self.values[0]

    @property
    def fail(self) -> bool | None:
        return self.values[1]


@final
@mypyc_attr(acyclic=True)
class Declared(Body):
    """The composite type `declared`."""

    row: ClassVar[Composite] = COMPOSITE["declared"]

    def __init__(self, txn_id: Value = None, *, values: list[Value] | None = None) -> None:
        self.values = [txn_id] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)

    @property
    def txn_id(self) -> Value:
        return self.values[0]


@final
@mypyc_attr(acyclic=True)
class TransactionalState(Body):
    """The composite type `transactional-state`."""

    row: ClassVar[Composite] = COMPOSITE["transactional-state"]

    def __init__(self, txn_id: Value = None, outcome: Value = None, *, values: list[Value] | None = None) -> None:
        self.values = [txn_id, outcome] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)

    @property
    def txn_id(self) -> Value:
        return self.values[0]

    @property
    def outcome(self) -> Value:
        return self.values[1]


@final
@mypyc_attr(acyclic=True)
class SaslMechanisms(Body):
    """The composite type `sasl-mechanisms`."""

    row: ClassVar[Composite] = COMPOSITE["sasl-mechanisms"]

    def __init__(self, sasl_server_mechanisms: Value = None, *, values: list[Value] | None = None) -> None:
        self.values = [sasl_server_mechanisms] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)

    @property
    def sasl_server_mechanisms(self) -> Value:
        return self.values[0]


@final
@mypyc_attr(acyclic=True)
class SaslInit(Body):
    """The composite type `sasl-init`."""

    row: ClassVar[Composite] = COMPOSITE["sasl-init"]

    def __init__(self, mechanism: Value = None, initial_response: Value = None, hostname: Value = None, *, values: list[Value] | None = None) -> None:
        self.values = [mechanism, initial_response, hostname] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)

    @property
    def mechanism(self) -> Symbol | None:
        return self.values[0]

    @property
    def initial_response(self) -> bytes | None:
        return self.values[1]

    @property
    def hostname(self) -> str | None:
        return self.values[2]


@final
@mypyc_attr(acyclic=True)
class SaslChallenge(Body):
    """The composite type `sasl-challenge`."""

    row: ClassVar[Composite] = COMPOSITE["sasl-challenge"]

    def __init__(self, challenge: Value = None, *, values: list[Value] | None = None) -> None:
        self.values = [challenge] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)

    @property
    def challenge(self) -> bytes | None:
        return self.values[0]


@final
@mypyc_attr(acyclic=True)
class SaslResponse(Body):
    """The composite type `sasl-response`."""

    row: ClassVar[Composite] = COMPOSITE["sasl-response"]

    def __init__(self, response: Value = None, *, values: list[Value] | None = None) -> None:
        self.values = [response] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)

    @property
    def response(self) -> bytes | None:
        return self.values[0]


@final
@mypyc_attr(acyclic=True)
class SaslOutcome(Body):
    """The composite type `sasl-outcome`."""

    row: ClassVar[Composite] = COMPOSITE["sasl-outcome"]

    def __init__(self, code: Value = None, additional_data: Value = None, *, values: list[Value] | None = None) -> None:
        self.values = [code, additional_data] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)

    @property
    def code(self) -> int | None:
        return self.values[0]

    @property
    def additional_data(self) -> bytes | None:
        return self.values[1]


@final
@mypyc_attr(free_list_len=1, acyclic=True)
class Header(Body):
    """The composite type `header`."""

    row: ClassVar[Composite] = COMPOSITE["header"]

    def __init__(self, durable: Value = None, priority: Value = None, ttl: Value = None, first_acquirer: Value = None, delivery_count: Value = None, *, values: list[Value] | None = None) -> None:
        self.values = [durable, priority, ttl, first_acquirer, delivery_count] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)

    @property
    def durable(self) -> bool | None:
        return self.values[0]

    @property
    def priority(self) -> int | None:
        return self.values[1]

    @property
    def ttl(self) -> int | None:
        return self.values[2]

    @property
    def first_acquirer(self) -> bool | None:
        return self.values[3]

    @property
    def delivery_count(self) -> int | None:
        return self.values[4]


@final
@mypyc_attr(free_list_len=1, acyclic=True)
class Properties(Body):
    """The composite type `properties`."""

    row: ClassVar[Composite] = COMPOSITE["properties"]

    def __init__(self, message_id: Value = None, user_id: Value = None, to: Value = None, subject: Value = None, reply_to: Value = None, correlation_id: Value = None, content_type: Value = None, content_encoding: Value = None, absolute_expiry_time: Value = None, creation_time: Value = None, group_id: Value = None, group_sequence: Value = None, reply_to_group_id: Value = None, *, values: list[Value] | None = None) -> None:
        self.values = [message_id, user_id, to, subject, reply_to, correlation_id, content_type, content_encoding, absolute_expiry_time, creation_time, group_id, group_sequence, reply_to_group_id] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)

    @property
    def message_id(self) -> Value:
        return self.values[0]

    @property
    def user_id(self) -> bytes | None:
        return self.values[1]

    @property
    def to(self) -> Value:
        return self.values[2]

    @property
    def subject(self) -> str | None:
        return self.values[3]

    @property
    def reply_to(self) -> Value:
        return self.values[4]

    @property
    def correlation_id(self) -> Value:
        return self.values[5]

    @property
    def content_type(self) -> Symbol | None:
        return self.values[6]

    @property
    def content_encoding(self) -> Symbol | None:
        return self.values[7]

    @property
    def absolute_expiry_time(self) -> Timestamp | None:
        return self.values[8]

    @property
    def creation_time(self) -> Timestamp | None:
        return self.values[9]

    @property
    def group_id(self) -> str | None:
        return self.values[10]

    @property
    def group_sequence(self) -> int | None:
        return self.values[11]

    @property
    def reply_to_group_id(self) -> str | None:
        return self.values[12]


def body_of(code: int, values: list[Value]) -> Body:
    """The body of a row with just these fields; the rows that come most, first."""
    if code == 0x14:
        return Transfer(values=values)
    if code == 0x15:
        return Disposition(values=values)
    if code == 0x13:
        return Flow(values=values)
    if code == 0x73:
        return Properties(values=values)
    if code == 0x70:
        return Header(values=values)
    return BODY_OF[code](values=values)


def restore(name: str, values: list[Value], wrong: dict[int, Value]) -> Body:
    """Make a body again from its parts (as pickle does)."""
    body = body_of(COMPOSITE[name].code, list(values))
    if wrong:
        body.wrong = wrong
    return body


BODIES: Final[dict[str, type[Body]]] = {
    "open": Open,
    "begin": Begin,
    "attach": Attach,
    "flow": Flow,
    "transfer": Transfer,
    "disposition": Disposition,
    "detach": Detach,
    "end": End,
    "close": Close,
    "error": Error,
    "received": Received,
    "accepted": Accepted,
    "rejected": Rejected,
    "released": Released,
    "modified": Modified,
    "source": Source,
    "target": Target,
    "delete-on-close": DeleteOnClose,
    "delete-on-no-links": DeleteOnNoLinks,
    "delete-on-no-messages": DeleteOnNoMessages,
    "delete-on-no-links-or-messages": DeleteOnNoLinksOrMessages,
    "coordinator": Coordinator,
    "declare": Declare,
    "discharge": Discharge,
    "declared": Declared,
    "transactional-state": TransactionalState,
    "sasl-mechanisms": SaslMechanisms,
    "sasl-init": SaslInit,
    "sasl-challenge": SaslChallenge,
    "sasl-response": SaslResponse,
    "sasl-outcome": SaslOutcome,
    "header": Header,
    "properties": Properties,
}
BODY_OF: Final[dict[int, type[Value]]] = {
    row.code: BODIES[name] for name, row in COMPOSITE.items()
}
