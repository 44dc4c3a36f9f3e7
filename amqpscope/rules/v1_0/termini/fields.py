"""Sources and targets: the types and values of their fields (SRC; spec 3.5).

An attach is judged by its own octets here. What an answer makes of a request is in `answer`.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.event import Event
from amqpscope.rules.v1_0 import ADVISORY, ERROR, IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.rules.v1_0.termini._terminus import Termini, Terminus, node_properties, symbols
from dissectors.v1_0.bodies import Attach, Body, Coordinator, Source, Target
from dissectors.v1_0.encodings import TYPE_NUMBER, TYPE_OF
from dissectors.v1_0.names import descriptor_name
from dissectors.v1_0.tables import RESTRICTED_TYPE, primitive
from dissectors.v1_0.values import Array, Described, Map, Symbol, Value, type_of

MODES: Final = frozenset(("move", "copy"))


@rule("SRC-001", "2.7.3", MUST, ERROR, on="attach")
def terminus_type_wrong(event: Event, report: Reporter, attach: Attach) -> None:
    """attach.source holds a source, and attach.target a target or a coordinator.

    A peer that finds something else there cannot tell where the link leads. Each may be an
    extension's type instead: an unknown descriptor is only noted.

    Bad (session):
        client: attach[0] name="s" handle=0 role=sender source=target(address="q")
                target=target(address="q") initial-delivery-count=0   # <- SRC-001

    Good (attaching_sender target=coordinator(capabilities=[:amqp:local-transactions])):
        server: attach[0] name="s" handle=0 role=receiver source=source() target=coordinator()
    """
    if attach.source is not None and not isinstance(attach.source, Source):
        report_type(event, report, "source", attach.source)
    if attach.target is not None and not isinstance(attach.target, (Target, Coordinator)):
        report_type(event, report, "target", attach.target)


def report_type(event: Event, report: Reporter, slot: str, value: Value) -> None:
    """Say what stands in the place of a terminus."""
    path = f"attach.{slot}"
    if isinstance(value, Described):
        text = f"{path} is of the unknown type {descriptor_name(value.descriptor)}"
        report.suspect(event, text, path, severity=INFO)
        return
    called = value.row.name if isinstance(value, Body) else type_of(value)
    report.sure(event, f"{path} is of type {called}, which is no {slot}", path)


@rule("SRC-002", "3.5.3", MUST, ERROR, on="attach")
def terminus_field_type_wrong(event: Event, report: Reporter, termini: Termini) -> None:
    """The fields of a source or target have their declared types.

    A durable sent as ubyte or a policy sent as string is refused by strict peers and ignored by
    others, which then keep less state than was asked for. Lists in the place of several symbols are
    reported by SRC-031, addresses by SRC-037, the list of outcomes by OUT-018.

    Bad (session):
        client: attach[0] name="r" handle=0 role=receiver
                source=source(address="q" expiry-policy="never") target=target()   # <- SRC-002

    Good (attaching_receiver):
        server: attach[0] name="r" handle=0 role=sender source=source(address="q" durable=2
                expiry-policy=:never capabilities=[:queue]) target=target() initial-delivery-count=0
    """
    for terminus in termini:
        body = terminus.body
        fields = body.row.fields
        for position, value in body.wrong.items():
            field = fields[position]
            if field.name == "outcomes" or terminus.repeated(position):
                continue
            if field.multiple and isinstance(value, list):
                continue
            path = f"{terminus.path}.{field.name}"
            declared = primitive(field.type)
            named = field.type if declared == field.type else f"{field.type} ({declared})"
            report.sure(event, f"{path} is of type {type_of(value)}, not {named}", path)
        surplus = body[len(fields) :]
        if any(item is not None for item in surplus):
            text = f"{terminus.path} has {len(body)} items, {len(fields)} are defined"
            report.sure(event, text, terminus.path, severity=WARNING)


@rule("SRC-031", "1.4", MUST, ERROR, on="attach")
def multiple_field_as_list(event: Event, report: Reporter, termini: Termini) -> None:
    """Several outcomes or capabilities are an array of symbols, not a list.

    One symbol by itself is as good as an array of one. A list looks alike in many languages and
    is what their bindings write; peers that decode by the declared type fail on it.

    Bad (session):
        client: attach[0] name="r" handle=0 role=receiver
                source=source(address="q" capabilities=list[:queue]) target=target()   # <- SRC-031

    Good (attaching_receiver):
        server: attach[0] name="r" handle=0 role=sender
                source=source(address="q" outcomes=[:amqp:accepted:list :amqp:released:list]
                capabilities=[:queue]) target=target() initial-delivery-count=0
    """
    for terminus in termini:
        for position, value in terminus.body.wrong.items():
            field = terminus.body.row.fields[position]
            if field.multiple and isinstance(value, list) and not terminus.repeated(position):
                path = f"{terminus.path}.{field.name}"
                text = f"{path} is a list of {len(value)}, not a symbol or an array of symbols"
                report.sure(event, text, path)


@rule("SRC-037", "3.5.3", IMPLIED, WARNING, on="attach")
def terminus_address_not_string(event: Event, report: Reporter, termini: Termini) -> None:
    """The address of a source or target is a string.

    An extension may define other addresses, so another type is only suspected; in practice no
    broker finds a node by it.

    Bad (session):
        client: attach[0] name="r" handle=0 role=receiver source=source(address=:q)
                target=target()   # <- SRC-037

    Good (attaching_receiver):
        server: attach[0] name="r" handle=0 role=sender source=source(address="q") target=target()
                initial-delivery-count=0
    """
    for terminus in termini:
        address = terminus.body[0]
        if address is not None and type(address) is not str and not terminus.repeated(0):
            path = f"{terminus.path}.address"
            report.suspect(event, f"{path} is of type {type_of(address)}, not string", path)


@rule("SRC-008", "3.5.3", MUST, ERROR, on="attach")
def node_properties_without_dynamic(event: Event, report: Reporter, termini: Termini) -> None:
    """dynamic-node-properties are sent only with dynamic set.

    They describe a node that is to be made for the link; without one they ask for something that
    will not happen. An empty map does no harm and is only noted.

    Bad (session):
        client: attach[0] name="r" handle=0 role=receiver target=target()
                source=source(address="q"
                dynamic-node-properties={:lifetime-policy=delete-on-close()})   # <- SRC-008

    Good (attaching_receiver):
        server: attach[0] name="r" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="c-r" dynamic=true
                dynamic-node-properties={:lifetime-policy=delete-on-close()})
    """
    for terminus in termini:
        position, dynamic = terminus.field("dynamic")
        properties = node_properties(terminus)
        if properties is None or dynamic or position in terminus.body.wrong:
            continue
        if terminus.repeated(position + 1):
            continue
        path = f"{terminus.path}.dynamic-node-properties"
        text = f"{path} is set, but dynamic is not"
        report.sure(event, text, path, severity="" if properties else INFO)


@rule("SRC-009", "3.5.9", MUST, ERROR, on="attach")
def node_property_key_not_symbol(event: Event, report: Reporter, termini: Termini) -> None:
    """The keys of node properties are symbols.

    A string is another key: the node is then made with the default lifetime.

    Bad (session):
        client: attach[0] name="r" handle=0 role=receiver target=target()
                source=source(dynamic=true
                dynamic-node-properties={"lifetime-policy"=delete-on-close()})   # <- SRC-009

    Good (attaching_receiver):
        server: attach[0] name="r" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="c-r" dynamic=true
                dynamic-node-properties={:lifetime-policy=delete-on-close()})
    """
    report_keys(event, report, termini, "dynamic-node-properties")


@rule("SRC-023", "3.5.8", MUST, ERROR, on="attach")
def filter_key_not_symbol(event: Event, report: Reporter, termini: Termini) -> None:
    """The keys of a filter set are symbols.

    A broker that looks a filter up by its symbol does not find the string and sends everything.

    Bad (session):
        client: attach[0] name="r" handle=0 role=receiver target=target()
                source=source(address="q"
                filter={"f"=@:apache.org:selector-filter:string "a = 1"})   # <- SRC-023

    Good (attaching_receiver):
        server: attach[0] name="r" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="q" filter={:f=@:apache.org:selector-filter:string "a = 1"})
    """
    report_keys(event, report, termini, "filter")


def report_keys(event: Event, report: Reporter, termini: Termini, name: str) -> None:
    """Report the first key of a map that is not a symbol."""
    for terminus in termini:
        position, value = terminus.field(name)
        if not isinstance(value, Map) or terminus.repeated(position):
            continue
        path = f"{terminus.path}.{name}"
        for key, _ in value:
            if not isinstance(key, Symbol):
                text = f"{path} has the key {key!r} of type {type_of(key)}, not symbol"
                report.sure(event, text, path)
                break


@rule("SRC-010", "3.5.9", MUST, ERROR, on="attach")
def lifetime_policy_type_wrong(event: Event, report: Reporter, termini: Termini) -> None:
    """The lifetime-policy of a dynamic node is one of the described policies, not its name.

    The four policies are empty lists under descriptors of their own. A symbol or string that names
    one is not understood, and the node lives as long as the broker likes. An unknown descriptor
    may be an extension's.

    Bad (session):
        client: attach[0] name="r" handle=0 role=receiver target=target()
                source=source(dynamic=true
                dynamic-node-properties={:lifetime-policy=:delete-on-close})   # <- SRC-010

    Good (attaching_receiver):
        server: attach[0] name="r" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="c-r" dynamic=true
                dynamic-node-properties={:lifetime-policy=delete-on-no-links()})
    """
    for terminus in termini:
        properties = node_properties(terminus)
        policy = None if properties is None else properties.get("lifetime-policy")
        if policy is None or terminus.repeated(5):
            continue
        path = f"{terminus.path}.dynamic-node-properties.lifetime-policy"
        if isinstance(policy, Described):
            text = f"{path} is of the unknown type {descriptor_name(policy.descriptor)}"
            report.suspect(event, text, path, severity=INFO)
        elif not isinstance(policy, Body) or "lifetime-policy" not in policy.row.provides:
            called = policy.row.name if isinstance(policy, Body) else type_of(policy)
            report.sure(event, f"{path} is of type {called}, not a described policy", path)


@rule("SRC-011", "3.5.9", MUST, ERROR, on="attach")
def supported_dist_modes_malformed(event: Event, report: Reporter, termini: Termini) -> None:
    """supported-dist-modes is a symbol or an array of symbols that name distribution modes.

    Names other than move and copy may be an extension's and are only noted.

    Bad (session):
        client: attach[0] name="r" handle=0 role=receiver target=target()
                source=source(dynamic=true
                dynamic-node-properties={:supported-dist-modes=[:move :copy]})   # <- SRC-011

    Good (attaching_receiver):
        server: attach[0] name="r" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="c-r" dynamic=true distribution-mode=:move
                dynamic-node-properties={:supported-dist-modes=array symbol[:move :copy]})
    """
    for terminus in termini:
        properties = node_properties(terminus)
        modes = None if properties is None else properties.get("supported-dist-modes")
        if modes is None or terminus.repeated(5):
            continue
        path = f"{terminus.path}.dynamic-node-properties.supported-dist-modes"
        if not isinstance(modes, Symbol) and not is_symbol_array(modes):
            text = f"{path} is of type {type_of(modes)}, not a symbol or an array of symbols"
            report.sure(event, text, path)
            continue
        unknown = [mode for mode in symbols(modes) if mode not in MODES]
        if unknown:
            text = f"{path} names the unknown mode {unknown[0]}"
            report.suspect(event, text, path, severity=INFO)


def is_symbol_array(value: Value) -> bool:
    """An array of plain symbols, or an empty one."""
    if not isinstance(value, Array):
        return False
    return not value or (TYPE_OF[value.code] == TYPE_NUMBER["symbol"] and not value.descriptors)


@rule("SRC-015", "3.5.5", MUST, ERROR, on="attach")
def terminus_durability_invalid(event: Event, report: Reporter, termini: Termini) -> None:
    """The durability of a terminus is 0, 1 or 2.

    none, configuration and unsettled-state are all there is; a peer cannot guess what was meant
    by another number.

    Bad (session):
        client: attach[0] name="r" handle=0 role=receiver source=source(address="q" durable=3)
                target=target()   # <- SRC-015

    Good (attaching_receiver target=target(durable=0)):
        server: attach[0] name="r" handle=0 role=sender source=source(address="q" durable=2)
                target=target(durable=0) initial-delivery-count=0
    """
    for terminus in termini:
        report_choice(event, report, terminus, "durable")


@rule("SRC-016", "3.5.6", MUST, ERROR, on="attach")
def expiry_policy_invalid(event: Event, report: Reporter, termini: Termini) -> None:
    """The expiry-policy of a terminus is link-detach, session-end, connection-close or never.

    With a word that it does not know a broker falls back to its own idea of how long to keep a
    subscription.

    Bad (session):
        client: attach[0] name="r" handle=0 role=receiver target=target()
                source=source(address="q" expiry-policy=:forever)   # <- SRC-016

    Good (attaching_receiver target=target(expiry-policy=:link-detach)):
        server: attach[0] name="r" handle=0 role=sender target=target(expiry-policy=:link-detach)
                source=source(address="q" expiry-policy=:never) initial-delivery-count=0
    """
    for terminus in termini:
        report_choice(event, report, terminus, "expiry-policy")


def report_choice(event: Event, report: Reporter, terminus: Terminus, name: str) -> None:
    """Report a field whose value is none of its type's choices."""
    position, value = terminus.field(name)
    if value is None or position in terminus.body.wrong or terminus.repeated(position):
        return
    field = terminus.body.row.fields[position]
    choices = RESTRICTED_TYPE[field.type].choices
    if all(value != choice for _, choice in choices):
        allowed = ", ".join(str(choice) for _, choice in choices)
        path = f"{terminus.path}.{name}"
        report.sure(event, f"{path} is {value!s}, which is none of {allowed}", path)


@rule("SRC-018", "3.5.6", ADVISORY, INFO, on="attach")
def terminus_timeout_pointless(event: Event, report: Reporter, termini: Termini) -> None:
    """A terminus that never expires needs no timeout.

    The timeout starts to count at the event that the policy names, and `never` names none. A
    broker has crashed on the two together.

    Bad (session):
        client: attach[0] name="r" handle=0 role=receiver target=target()
                source=source(address="q" expiry-policy=:never timeout=60)   # <- SRC-018

    Good (attaching_receiver):
        server: attach[0] name="r" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="q" expiry-policy=:link-detach timeout=60)
    """
    for terminus in termini:
        _, policy = terminus.field("expiry-policy")
        position, timeout = terminus.field("timeout")
        if policy == "never" and timeout and not terminus.repeated(position):
            path = f"{terminus.path}.timeout"
            report.sure(event, f"{path} is {timeout} s, but the terminus never expires", path)


@rule("SRC-021", "3.5.7", MUST, INFO, on="attach")
def distribution_mode_unknown(event: Event, report: Reporter, termini: Termini) -> None:
    """A distribution-mode is move or copy, or one that an extension has defined.

    A mode that the broker does not know is mostly taken for move, which consumes what was only
    to be browsed.

    Bad (session):
        client: attach[0] name="r" handle=0 role=receiver target=target()
                source=source(address="q" distribution-mode=:browse)   # <- SRC-021

    Good (attaching_receiver):
        server: attach[0] name="r" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="q" distribution-mode=:copy)
    """
    for terminus in termini:
        position, mode = terminus.field("distribution-mode")
        if mode is None or mode in MODES or terminus.repeated(position):
            continue
        path = f"{terminus.path}.distribution-mode"
        report.suspect(event, f"{path} is {mode}, neither move nor copy", path)


@rule("SRC-024", "3.5.8", MUST, ERROR, on="attach")
def filter_not_described(event: Event, report: Reporter, termini: Termini) -> None:
    """Each filter of a source is a described value, or null.

    The descriptor says what kind of filter it is; the key is only a name. A bare string is
    ignored or refused. Microsoft's own filters travel bare between its clients and services, so
    for those it is a warning.

    Bad (session):
        client: attach[0] name="r" handle=0 role=receiver target=target()
                source=source(address="q"
                filter={:apache.org:selector-filter:string="a = 1"})   # <- SRC-024

    Good (attaching_receiver):
        server: attach[0] name="r" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="q" filter={:f=@ulong 0x468c00000004 "a = 1"})
    """
    for terminus in termini:
        position, filters = terminus.field("filter")
        if not isinstance(filters, Map) or terminus.repeated(position):
            continue
        path = f"{terminus.path}.filter"
        for key, value in filters:
            if value is None or isinstance(value, (Described, Body)):
                continue
            if repeats(terminus, key, value):
                continue
            text = f"the filter {key!s} is of type {type_of(value)}, not a described value"
            vendor = isinstance(key, str) and key.startswith("com.microsoft:")
            report.sure(event, text, path, severity=WARNING if vendor else "")


def repeats(terminus: Terminus, key: Value, value: Value) -> bool:
    """A filter that the partner has asked for just so."""
    asked = terminus.other.filter if isinstance(terminus.other, Source) else None
    if not isinstance(asked, Map) or not isinstance(key, str):
        return False
    return type(asked.get(key)) is type(value) and bool(asked.get(key) == value)
