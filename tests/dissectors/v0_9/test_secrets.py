"""The fields that no output shows unless asked to."""

import pytest

from dissectors.v0_9.dialects import NAMES, dialect
from dissectors.v0_9.secrets import SECRET_FIELDS, secret_field, secret_method


def test_credentials_are_secret():
    assert secret_field("connection.start-ok", "response")
    assert secret_field("connection.secure-ok", "response")
    assert secret_field("connection.update-secret", "new-secret")
    assert secret_method("connection.secure-ok")


def test_other_fields_are_not():
    assert not secret_field("connection.start-ok", "mechanism")
    assert not secret_field("connection.close", "reply-text")
    assert not secret_method("connection.tune-ok")


@pytest.mark.parametrize(("method", "field"), sorted(SECRET_FIELDS))
def test_each_is_a_field_of_some_dialect(method, field):
    plans = [dialect(name).by_name.get(method) for name in NAMES]
    assert any(plan is not None and field in plan.names for plan in plans)
