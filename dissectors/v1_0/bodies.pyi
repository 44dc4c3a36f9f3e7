"""Written by `python -m dissectors.v1_0.stubs` from the rows; do not edit."""

from collections.abc import Mapping
from typing import ClassVar

from dissectors.rows import Composite
from dissectors.v1_0.values import Map, Symbol, Timestamp, Value

class Body(tuple[Value, ...]):
    type: ClassVar[str]
    row: ClassVar[Composite]
    wrong: Mapping[int, Value]
    def wire(self, position: int) -> Value: ...

def restore(name: str, values: tuple[Value, ...], wrong: dict[int, Value]) -> Body: ...

BODIES: dict[str, type[Body]]

class Open(Body):
    container_id: str | None
    hostname: str | None
    max_frame_size: int | None
    channel_max: int | None
    idle_time_out: int | None
    outgoing_locales: Value
    incoming_locales: Value
    offered_capabilities: Value
    desired_capabilities: Value
    properties: Map | None
    def __new__(cls, container_id: Value = None, hostname: Value = None, max_frame_size: Value = None, channel_max: Value = None, idle_time_out: Value = None, outgoing_locales: Value = None, incoming_locales: Value = None, offered_capabilities: Value = None, desired_capabilities: Value = None, properties: Value = None) -> Open: ...

class Begin(Body):
    remote_channel: int | None
    next_outgoing_id: int | None
    incoming_window: int | None
    outgoing_window: int | None
    handle_max: int | None
    offered_capabilities: Value
    desired_capabilities: Value
    properties: Map | None
    def __new__(cls, remote_channel: Value = None, next_outgoing_id: Value = None, incoming_window: Value = None, outgoing_window: Value = None, handle_max: Value = None, offered_capabilities: Value = None, desired_capabilities: Value = None, properties: Value = None) -> Begin: ...

class Attach(Body):
    name: str | None
    handle: int | None
    role: bool | None
    snd_settle_mode: int | None
    rcv_settle_mode: int | None
    source: Value
    target: Value
    unsettled: Map | None
    incomplete_unsettled: bool | None
    initial_delivery_count: int | None
    max_message_size: int | None
    offered_capabilities: Value
    desired_capabilities: Value
    properties: Map | None
    def __new__(cls, name: Value = None, handle: Value = None, role: Value = None, snd_settle_mode: Value = None, rcv_settle_mode: Value = None, source: Value = None, target: Value = None, unsettled: Value = None, incomplete_unsettled: Value = None, initial_delivery_count: Value = None, max_message_size: Value = None, offered_capabilities: Value = None, desired_capabilities: Value = None, properties: Value = None) -> Attach: ...

class Flow(Body):
    next_incoming_id: int | None
    incoming_window: int | None
    next_outgoing_id: int | None
    outgoing_window: int | None
    handle: int | None
    delivery_count: int | None
    link_credit: int | None
    available: int | None
    drain: bool | None
    echo: bool | None
    properties: Map | None
    def __new__(cls, next_incoming_id: Value = None, incoming_window: Value = None, next_outgoing_id: Value = None, outgoing_window: Value = None, handle: Value = None, delivery_count: Value = None, link_credit: Value = None, available: Value = None, drain: Value = None, echo: Value = None, properties: Value = None) -> Flow: ...

class Transfer(Body):
    handle: int | None
    delivery_id: int | None
    delivery_tag: bytes | None
    message_format: int | None
    settled: bool | None
    more: bool | None
    rcv_settle_mode: int | None
    state: Value
    resume: bool | None
    aborted: bool | None
    batchable: bool | None
    def __new__(cls, handle: Value = None, delivery_id: Value = None, delivery_tag: Value = None, message_format: Value = None, settled: Value = None, more: Value = None, rcv_settle_mode: Value = None, state: Value = None, resume: Value = None, aborted: Value = None, batchable: Value = None) -> Transfer: ...

class Disposition(Body):
    role: bool | None
    first: int | None
    last: int | None
    settled: bool | None
    state: Value
    batchable: bool | None
    def __new__(cls, role: Value = None, first: Value = None, last: Value = None, settled: Value = None, state: Value = None, batchable: Value = None) -> Disposition: ...

class Detach(Body):
    handle: int | None
    closed: bool | None
    error: Error | None
    def __new__(cls, handle: Value = None, closed: Value = None, error: Value = None) -> Detach: ...

class End(Body):
    error: Error | None
    def __new__(cls, error: Value = None) -> End: ...

class Close(Body):
    error: Error | None
    def __new__(cls, error: Value = None) -> Close: ...

class Error(Body):
    condition: Symbol | None
    description: str | None
    info: Map | None
    def __new__(cls, condition: Value = None, description: Value = None, info: Value = None) -> Error: ...

class Received(Body):
    section_number: int | None
    section_offset: int | None
    def __new__(cls, section_number: Value = None, section_offset: Value = None) -> Received: ...

class Accepted(Body):
    def __new__(cls) -> Accepted: ...

class Rejected(Body):
    error: Error | None
    def __new__(cls, error: Value = None) -> Rejected: ...

class Released(Body):
    def __new__(cls) -> Released: ...

class Modified(Body):
    delivery_failed: bool | None
    undeliverable_here: bool | None
    message_annotations: Map | None
    def __new__(cls, delivery_failed: Value = None, undeliverable_here: Value = None, message_annotations: Value = None) -> Modified: ...

class Source(Body):
    address: Value
    durable: int | None
    expiry_policy: Symbol | None
    timeout: int | None
    dynamic: bool | None
    dynamic_node_properties: Map | None
    distribution_mode: Symbol | None
    filter: Map | None
    default_outcome: Value
    outcomes: Value
    capabilities: Value
    def __new__(cls, address: Value = None, durable: Value = None, expiry_policy: Value = None, timeout: Value = None, dynamic: Value = None, dynamic_node_properties: Value = None, distribution_mode: Value = None, filter: Value = None, default_outcome: Value = None, outcomes: Value = None, capabilities: Value = None) -> Source: ...

class Target(Body):
    address: Value
    durable: int | None
    expiry_policy: Symbol | None
    timeout: int | None
    dynamic: bool | None
    dynamic_node_properties: Map | None
    capabilities: Value
    def __new__(cls, address: Value = None, durable: Value = None, expiry_policy: Value = None, timeout: Value = None, dynamic: Value = None, dynamic_node_properties: Value = None, capabilities: Value = None) -> Target: ...

class DeleteOnClose(Body):
    def __new__(cls) -> DeleteOnClose: ...

class DeleteOnNoLinks(Body):
    def __new__(cls) -> DeleteOnNoLinks: ...

class DeleteOnNoMessages(Body):
    def __new__(cls) -> DeleteOnNoMessages: ...

class DeleteOnNoLinksOrMessages(Body):
    def __new__(cls) -> DeleteOnNoLinksOrMessages: ...

class Coordinator(Body):
    capabilities: Value
    def __new__(cls, capabilities: Value = None) -> Coordinator: ...

class Declare(Body):
    global_id: Value
    def __new__(cls, global_id: Value = None) -> Declare: ...

class Discharge(Body):
    txn_id: Value
    fail: bool | None
    def __new__(cls, txn_id: Value = None, fail: Value = None) -> Discharge: ...

class Declared(Body):
    txn_id: Value
    def __new__(cls, txn_id: Value = None) -> Declared: ...

class TransactionalState(Body):
    txn_id: Value
    outcome: Value
    def __new__(cls, txn_id: Value = None, outcome: Value = None) -> TransactionalState: ...

class SaslMechanisms(Body):
    sasl_server_mechanisms: Value
    def __new__(cls, sasl_server_mechanisms: Value = None) -> SaslMechanisms: ...

class SaslInit(Body):
    mechanism: Symbol | None
    initial_response: bytes | None
    hostname: str | None
    def __new__(cls, mechanism: Value = None, initial_response: Value = None, hostname: Value = None) -> SaslInit: ...

class SaslChallenge(Body):
    challenge: bytes | None
    def __new__(cls, challenge: Value = None) -> SaslChallenge: ...

class SaslResponse(Body):
    response: bytes | None
    def __new__(cls, response: Value = None) -> SaslResponse: ...

class SaslOutcome(Body):
    code: int | None
    additional_data: bytes | None
    def __new__(cls, code: Value = None, additional_data: Value = None) -> SaslOutcome: ...

class Header(Body):
    durable: bool | None
    priority: int | None
    ttl: int | None
    first_acquirer: bool | None
    delivery_count: int | None
    def __new__(cls, durable: Value = None, priority: Value = None, ttl: Value = None, first_acquirer: Value = None, delivery_count: Value = None) -> Header: ...

class Properties(Body):
    message_id: Value
    user_id: bytes | None
    to: Value
    subject: str | None
    reply_to: Value
    correlation_id: Value
    content_type: Symbol | None
    content_encoding: Symbol | None
    absolute_expiry_time: Timestamp | None
    creation_time: Timestamp | None
    group_id: str | None
    group_sequence: int | None
    reply_to_group_id: str | None
    def __new__(cls, message_id: Value = None, user_id: Value = None, to: Value = None, subject: Value = None, reply_to: Value = None, correlation_id: Value = None, content_type: Value = None, content_encoding: Value = None, absolute_expiry_time: Value = None, creation_time: Value = None, group_id: Value = None, group_sequence: Value = None, reply_to_group_id: Value = None) -> Properties: ...
