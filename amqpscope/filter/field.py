"""One field of frames by the name that filters have for it: its value as a few words."""

from __future__ import annotations

from amqpscope.analysis import Step
from amqpscope.filter.compiler import Compiler
from amqpscope.filter.errors import FilterError
from amqpscope.filter.parser import Bare, parse
from amqpscope.filter.view import View, leaves
from amqpscope.protocols.names import Getter
from amqpscope.protocols.shapes import Shape
from amqpscope.protocols.words import escaped, printable, text_of
from dissectors.masking import masked
from dissectors.secrets import MASK, secret_key
from dissectors.values import Uuid, Value


class Field:
    """A field that can be asked for its value in any frame."""

    def __init__(self, text: str, getter: Getter, shape: Shape) -> None:
        self.text = text
        self.getter = getter
        self.names = {value: label for label, value in shape.choices}
        """The specification's names for its values."""

    def words(self, step: Step, start: int, show_secrets: bool = False) -> str:
        """Its value, or values, in a frame; empty where it has none."""
        value = self.getter.get(View(step, start))
        if value is None:
            return ""
        if not show_secrets and secret_key(self.text.rpartition(".")[2]):
            return MASK
        found: list[Value] = []
        leaves(value if show_secrets else masked(value), found)
        said = ", ".join(map(self.word, found))
        return escaped(said) if show_secrets else printable(said)

    def word(self, value: Value) -> str:
        """One value."""
        if isinstance(value, bool):
            return self.names.get(value, "yes" if value else "no")
        if isinstance(value, int) and value in self.names:
            return self.names[value]
        if isinstance(value, range):  # the deliveries of a disposition
            return f"{value[0]}..{value[-1]}" if len(value) > 1 else "".join(map(str, value))
        if isinstance(value, float):
            return f"{value:.6g}"
        octets = isinstance(value, bytes) and not isinstance(value, Uuid)
        return text_of(value) if octets else str(value)


def compile_field(text: str) -> Field:
    """The field of a name; raises `FilterError`."""
    tree = parse(text)
    if not isinstance(tree, Bare):
        raise FilterError(text, 0, len(text), "expected the name of a field")
    compiler = Compiler(text)
    known = compiler.resolve(tree.path)
    if compiler.follows:
        message = f"{text} follows messages over connections, which no single frame can say"
        raise FilterError(text, 0, len(text), message)
    assert known.getter is not None, "a name without a value does not resolve"
    return Field(text, known.getter, known.shape)
