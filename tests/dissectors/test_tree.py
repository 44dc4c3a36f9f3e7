"""The tree of octets that both families make."""

from dissectors.notation import parse
from dissectors.tree import Node, header_tree, number_nodes
from dissectors.v0_9 import span as v0_9
from dissectors.v0_9.dialects import DEFAULT, dialect
from dissectors.v1_0 import span as v1_0
from dissectors.wire import Header

HEADER = parse("header SASL 1.0.0")


def test_both_families_make_the_same_tree_of_a_protocol_header():
    tree = header_tree(HEADER, Header(3, 1, 0, 0))
    assert [(n.label, n.start, n.end, n.value) for n in tree.children] == [
        ("protocol", 0, 4, b"AMQP"), ("id", 4, 5, "SASL"), ("major", 5, 6, 1), ("minor", 6, 7, 0),
        ("revision", 7, 8, 0),
    ]  # fmt: skip
    assert v1_0.unit_tree(HEADER) == v0_9.unit_tree(HEADER, dialect(DEFAULT)) == tree


def test_the_path_to_an_octet_goes_from_the_root_to_the_deepest_node():
    inner = Node("b", "octets", -1, 2, 3, None)
    tree = Node("a", "octets", -1, 0, 4, None, (inner,))
    assert tree.at(2) == [tree, inner]
    assert tree.at(3) == [tree]
    assert list(tree.walk()) == [(0, tree), (1, inner)]


def test_numbers_lie_at_their_places():
    nodes = number_nodes(bytes(range(8)), (("x", 0, 1), ("y", 1, 3)), at=2)
    assert [(n.label, n.start, n.end, n.value) for n in nodes] == [
        ("x", 2, 3, 0x02),
        ("y", 3, 5, 0x0304),
    ]
