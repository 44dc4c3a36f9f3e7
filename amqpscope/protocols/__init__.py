"""One package a protocol family: recognise, frame, follow, and describe what its frames say.

A family is an object of `protocol.Protocol` in the registry. It makes a `talk.Talk` for each of its
connections and has one `voice.Voice`. What it does not override has a plain default, so a new one
can begin with little (`tests/kit/toy.py` is whole, in one module):

    Framer    measure, made         how large a frame is, and what its octets say
    Event     begins, settles, ...  what a frame means for messages, in `model.event`'s words
    Talk      locate, apply         where a frame belongs, and what the model learns from it
    Voice     fields, field_shapes  what a frame says by name, and what a filter may ask for
    Protocol  talk                  its names, the octets and versions of its header

Its rules are registered as those of any family (`rules.registry`). Nothing else has to change: what
shows, filters, counts or checks frames asks these objects, and never which family it is.
"""
