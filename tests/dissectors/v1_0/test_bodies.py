import pickle
from pathlib import Path

import pytest

import dissectors.v1_0
from dissectors.v1_0 import generate
from dissectors.v1_0.bodies import BODIES, Accepted, Flow, Open, Transfer
from dissectors.v1_0.codec import decode
from dissectors.v1_0.tables import COMPOSITES
from dissectors.v1_0.values import Ulong


@pytest.mark.parametrize("row", COMPOSITES, ids=lambda row: row.name)
def test_each_row_has_a_class_with_its_fields(row):
    made = BODIES[row.name]
    body = made()
    assert body.row is row
    assert list(body) == [None] * len(row.fields)
    for place, field in enumerate(row.fields):
        arguments = {field.name.replace("-", "_"): place}
        assert made(**arguments)[place] == place


def test_bodies_of_different_types_are_not_equal():
    assert Accepted() != BODIES["released"]()
    assert Accepted() == Accepted()
    assert Transfer(handle=1) != Transfer(handle=True)


def test_repr_shows_only_what_is_there():
    assert repr(Flow(link_credit=10)) == "Flow(link_credit=10)"


def test_a_wrong_typed_field_keeps_what_was_on_the_wire_through_pickle():
    body, _ = decode(bytes.fromhex("00 53 14 c0 03 01 53 07"))
    assert body.handle == 7
    assert type(body.wire(0)) is Ulong
    again = pickle.loads(pickle.dumps(body))
    assert again == body
    assert type(again.wire(0)) is Ulong


def test_bodies_compare_their_wrong_fields_too():
    wrong, _ = decode(bytes.fromhex("00 53 14 c0 03 01 53 07"))
    right, _ = decode(bytes.fromhex("00 53 14 c0 03 01 52 07"))
    assert wrong != right


def test_a_body_has_no_room_for_fields_that_the_row_does_not_have():
    with pytest.raises(TypeError):
        Open(nonsense=1)


def test_the_classes_are_those_of_the_rows():
    path = Path(dissectors.v1_0.__file__).with_name("bodies.py")
    assert path.read_text() == generate.text()
