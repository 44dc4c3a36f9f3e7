"""Captures with one thing changed: a frame left out, other octets, another time."""

from dataclasses import replace

from amqpscope.capture.synthetic import write_exchanges
from amqpscope.runs.exchanges import Exchanges
from amqpscope.runs.run import Run


class Edited:
    """The connections of a capture, to be written with changes."""

    def __init__(self, path):
        collected, self.steps = Exchanges(), []
        with Run(str(path), tap=collected.tap) as run:
            for batch in run:
                collected.take(batch)
                self.steps += batch.steps
        numbered = collected.finish()
        self.exchanges = list(numbered.values())
        places = {
            each.order: (at, place)
            for at, exchange in enumerate(self.exchanges)
            for place, each in enumerate(exchange.sent)
        }
        self.places = {
            frame.number: places[order]
            for frames in collected.frames.values()
            for order, frame in frames
        }
        """Where each frame is, by its number."""

    def frame(self, name, place=0):
        """The steps of a frame by its name, the first by default."""
        return [step for step in self.steps if step.talk.voice.name(step.event) == name][place]

    def without(self, step):
        at, gone = self.places[step.frame.number]
        exchange = self.exchanges[at]
        self.exchanges[at] = exchange.with_only(
            place for place in range(len(exchange.sent)) if place != gone
        )

    def with_octets(self, step, octets):
        at, place = self.places[step.frame.number]
        self.exchanges[at] = self.exchanges[at].with_octets({place: octets})

    def later(self, seconds):
        """As if it had been recorded another time."""
        late = int(seconds * 1e9)
        self.exchanges = [
            replace(
                each,
                opened=each.opened and each.opened + late,
                sent=tuple(replace(one, time=one.time + late) for one in each.sent),
            )
            for each in self.exchanges
        ]

    def write(self, path):
        with open(path, "wb") as file:
            write_exchanges(self.exchanges, file)
        return path
