"""The rows: complete, consistent, and as the specifications number them."""

import pytest

from dissectors.v0_9.dialects import NAMES, dialect
from dissectors.v0_9.tables import table

COUNTS = {
    # dialect: classes, methods
    "10-3": (13, 85),
    "0-8": (12, 89),
    "0-8-qpid": (12, 92),
    "0-9": (12, 101),
    "0-9-qpid": (12, 105),
    "0-9-1": (6, 53),
    "0-9-1-qpid": (6, 55),
    "0-9-1-rabbit": (8, 66),
}


@pytest.mark.parametrize(("name", "counts"), COUNTS.items())
def test_each_dialect_has_all_its_classes_and_methods(name, counts):
    rows = table(name)
    assert (len(rows), sum(len(row.methods) for row in rows)) == counts
    assert tuple(COUNTS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_numbers_and_names_are_unique_and_replies_exist(name):
    methods = [method for row in table(name) for method in row.methods]
    assert len({method.code for method in methods}) == len(methods)
    names = {method.name for method in methods}
    assert len(names) == len(methods)
    for method in methods:
        assert method.sender in {"client", "server", "both"}
        assert set(method.replies) <= names
        assert len({field.name for field in method.fields}) == len(method.fields)
    assert all(len(row.properties) <= 14 for row in table(name))


COLLISIONS = {
    # number: what it is in which dialect
    (10, 50): {"10-3": "tune", "0-8": "redirect", "0-9": "close", "0-9-1-rabbit": "close"},
    (10, 60): {"10-3": "tune-ok", "0-8": "close", "0-9-1-rabbit": "blocked"},
    (10, 61): {"0-8": "close-ok", "0-9-1-rabbit": "unblocked"},
    (20, 30): {"10-3": "flow", "0-8": "alert"},
    (20, 60): {"10-3": "close", "0-9": "ping"},
    (40, 51): {"0-9-1-rabbit": "unbind-ok"},
    (60, 10): {"10-3": "consume", "0-8": "qos", "0-9-1": "qos"},
    (60, 100): {"10-3": "get-empty", "0-8": "recover", "0-9-1": "recover-async"},
    (60, 101): {"0-8-qpid": "recover-ok", "0-9-qpid": "recover-sync-ok"},
    (60, 120): {"10-3": "reject", "0-9-1-rabbit": "nack"},
    (120, 10): {"10-3": "integer", "0-8": "integer", "0-9": "transfer"},
}


@pytest.mark.parametrize("number", COLLISIONS)
def test_one_number_is_another_method_in_another_dialect(number):
    class_id, method_id = number
    for name, method in COLLISIONS[number].items():
        assert dialect(name).methods[class_id << 16 | method_id].row.method == method


def test_contents_follow_only_the_methods_that_carry_them():
    carriers = {m.name for row in table("0-9-1-rabbit") for m in row.methods if m.content}
    assert carriers == {"basic.publish", "basic.return", "basic.deliver", "basic.get-ok"}
    oldest = {m.name for row in table("10-3") for m in row.methods if m.content}
    assert "file.stage" in oldest
    assert "connection.tune" not in oldest


def test_the_properties_of_basic_stand_in_the_order_of_their_flags():
    basic = dialect("0-9-1").contents[60]
    assert basic.names == [
        "content-type", "content-encoding", "headers", "delivery-mode", "priority",
        "correlation-id", "reply-to", "expiration", "message-id", "timestamp", "type",
        "user-id", "app-id", "reserved",
    ]  # fmt: skip
