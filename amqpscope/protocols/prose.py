"""Words that brokers and libraries write in the texts of errors, and that say nothing of users."""

from __future__ import annotations

from typing import Final

_TEXT: Final = """
    a abort aborted absent accept accepted access access_refused account acknowledge
    acknowledged acks active address admin after allowed already amqp amqplain an and anonymous
    another any application arg argument arguments as at attach attached attempt auth
    authentication authorization authorized auto_delete bad be because been before begin being
    binding blocked body broken broker by bye bytes can cancel cancelled cannot cause caused
    channel channel_error class client close closed closing code command command_invalid
    condition configuration configured confirm connect connected connection connection_forced
    consumer container content content_too_large coordinator could created credential
    credentials current dead declare declared delete deleted delivery denied detach detached
    detail did different disconnect disconnected does dropped due duplicate durable either else
    empty end ended endpoint enough entity eof equivalent error exceeded exchange exclusive
    exist exists expected expired explicit external failed failure false field find for forced
    format found frame frame_error framing from full gone goodbye had handle handshake has have
    heartbeat heartbeats host id idle if illegal implemented in inactive inactivity inequivalent
    inner internal internal_error into invalid invalid_path is it its key large length letter
    limit link local lock locked login lookup lost management map max maximum maxlen mechanism
    message messages method missing mode more most must name negotiated no no_consumers no_route
    node none normal not not_allowed not_found not_implemented nothing null number object obtain
    octets of off ok on one only open operation operator option or other out outcome over
    passive peer permission plain policy precondition precondition_failed presentation primary
    privilege properties property protocol queue quorum reached read reason receive received
    receiver refused reject rejected released remote remotely reply request requested required
    reset resource resource_error resource_locked response restarting result retry role route
    routing same sasl second seconds security send sender sent server service session settle
    settled should shutdown shutting silent size socket source state stolen stop stopped stream
    supported syntax syntax_error system table tag tags target temporary terminated terminus
    than that the their there this time timed timeout to token too topic transaction transfer
    transport true ttl type unable unacked unauthorized undefined under unexpected
    unexpected_frame unknown unsettled unsupported until up user using value version vhost
    virtual wait waiting was were while window with within without write wrong x yet
"""
WORDS: Final = frozenset(_TEXT.split())
