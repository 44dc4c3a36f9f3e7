"""What the help of the filter language says of AMQP 1.0."""

from __future__ import annotations

from typing import Final

HELP: Final = """\
AMQP 1.0, by the specification's names
  transfer.delivery-id            of this performative only
  delivery-id                     of the frame's performative, whichever it is
  attach.source.filter.color      on into composites and maps
  open.properties["a.b"]          a key that is no word; [0] is an item of a list or array
  error.condition                 of an error anywhere in the frame; also source. target. rejected.
  state, outcome                  the delivery state by name; outcome also within a transaction
  declare, discharge              transfers with such a message

Messages, on the transfer that completes them
  message, message.size           there is one; its octets
  properties, message-annotations, application-properties, data, amqp-value, footer, ...
                                  it has such a section (the header section: message.header)
  header.durable, properties.message-id, application-properties.color, annotations.x-opt-a
  body                            all that its body holds"""
