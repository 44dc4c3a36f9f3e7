"""One frame of a recorded connection made illegal: how a way to do so is written, and applied.

    @changes("transfer", "LNK-005")
    def on_a_handle_that_is_not_attached(scene, each):
        return changed(each, handle=scene.free_handle(each))

An operator names the units that it is for and the rules that may rightly name what it does; it
returns the illegal octets, or None where the frame at hand cannot be made illegal in that way. The
guilty peer is the sender. `changes` puts the octets in the place of the unit, `adds` behind it;
`drops` takes the unit away, so that the sender's next one is illegal; `leads` changes it so.
"""

from typing import NamedTuple

from kit.sharpness.talks import Talk

OPERATORS = []


class Mutant(NamedTuple):
    """A connection in which one frame is illegal."""

    operator: str
    talk: Talk
    frame: int
    """The number of the illegal frame."""
    guilty: str
    rules: frozenset
    """Those that may rightly name it."""
    mild: bool
    """A warning will do."""

    def __str__(self):
        return f"{self.operator} at frame {self.frame} of {self.talk.name}"


class Operator(NamedTuple):
    """A way to make a frame illegal."""

    name: str
    v0_9: bool
    units: frozenset
    rules: frozenset
    make: object
    """From the scene and the unit, its octets, or None."""
    how: str
    """`change`, `add`, `drop` or `lead`."""
    mild: bool
    """A warning will do: real peers do so, or no octet proves who is wrong."""

    def apply(self, talk, place):
        """The mutant of a connection at one place; None where it cannot be had there."""
        each = talk.said[place]
        if each.end or talk.v0_9 != self.v0_9 or not fits(self.units, each):
            return None
        scene = scene_of(talk, place)
        if scene.over:
            return None
        raw = self.make(scene, each)
        if raw is None:
            return None
        if self.how == "drop":
            made, place = talk.without(place), next_of(talk, place) - 1
        elif self.how == "lead":
            made, place = talk.replaced(place, raw), next_of(talk, place)
        elif self.how == "add":
            made, place = talk.with_extra(place, raw), place + 1
        else:
            made = talk.replaced(place, raw)
        number = sum(not other.end for other in made.said[: place + 1])
        return Mutant(self.name, made, number, each.peer, self.rules, self.mild)


def fits(units, each):
    return "any" in units or each.name in units


def next_of(talk, place):
    """Where the sender of a unit says the next one."""
    sender = talk.said[place].sender
    later = range(place + 1, len(talk.said))
    return next(at for at in later if talk.said[at].sender == sender)


def operator(how, units, rules, v0_9, mild):
    def register(make):
        name = make.__name__.replace("_", "-")
        words = frozenset(units.split()), frozenset(rules.split())
        OPERATORS.append(Operator(name, v0_9, *words, make, how, mild))
        return make

    return register


def changes(units, rules, *, v0_9=False, mild=False):
    return operator("change", units, rules, v0_9, mild)


def adds(units, rules, *, v0_9=False, mild=False):
    return operator("add", units, rules, v0_9, mild)


def drops(units, rules, *, v0_9=False, mild=False):
    return operator("drop", units, rules, v0_9, mild)


def leads(units, rules, *, v0_9=False, mild=False):
    return operator("lead", units, rules, v0_9, mild)


class Scene:
    """What has been said before a unit, as far as operators have to know."""

    def __init__(self, talk):
        self.talk = talk
        self.before = []
        self.after = []
        self.over = False
        """A peer has closed, or ended a session with an error: what follows is dropped unread."""

    def said(self, sender, *names):
        """The units of a peer by name."""
        return [each for each in self.before if each.sender == sender and each.name in names]

    def next_said(self, sender):
        """The next unit of a peer; None if there is none."""
        return next((each for each in self.after if each.sender == sender), None)


CLOSING = frozenset(("close", "connection.close", "connection.close-ok"))


def over(each):
    return each.name in CLOSING or (each.name == "end" and each.body.error is not None)


def scene_of(talk, place):
    scene = Scene(talk)
    scene.before = [each for each in talk.said[:place] if not each.end]
    scene.after = [each for each in talk.said[place + 1 :] if not each.end]
    scene.over = any(each.end or over(each) for each in talk.said[:place])
    return scene


def mutants_of(talk, chance, most):
    """Some mutants of a connection, each operator as often as possible."""
    found = []
    places = range(len(talk.said))
    for made in OPERATORS:
        tried = [place for place in places if fits(made.units, talk.said[place])]
        chance.shuffle(tried)
        found.append([m for place in tried[:8] if (m := made.apply(talk, place))])
    chance.shuffle(found)
    rounds = [each[at] for at in range(8) for each in found if at < len(each)]
    return rounds[:most]
