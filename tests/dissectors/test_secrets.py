"""What is a secret, for all protocols."""

from time import perf_counter

import pytest

from dissectors.secrets import (
    FIELDS,
    MASK,
    clean_name,
    cleaned,
    open_claim,
    secret_field,
    secret_key,
    secret_method,
    secret_node,
    suspicious,
    suspicious_body,
)
from dissectors.v0_9.dialects import NAMES, dialect
from dissectors.v1_0.tables import COMPOSITE
from dissectors.v1_0.values import Symbol


@pytest.mark.parametrize(("owner", "field"), sorted(FIELDS))
def test_each_secret_field_exists(owner, field):
    plans = [dialect(name).by_name.get(owner) for name in NAMES]
    names = [name for plan in plans if plan is not None for name in plan.names]
    names += [each.name for each in COMPOSITE[owner].fields] if owner in COMPOSITE else []
    assert field in names
    assert secret_field(owner, field)
    assert secret_method(owner)


@pytest.mark.parametrize(
    ("owner", "field"),
    [
        ("sasl-init", "mechanism"),
        ("sasl-challenge", "challenge"),
        ("open", "hostname"),
        ("connection.start-ok", "mechanism"),
        ("connection.close", "reply-text"),
    ],
)
def test_other_fields_are_no_secret(owner, field):
    assert not secret_field(owner, field)


@pytest.mark.parametrize(
    "address",
    ["$cbs", "$CBS", "$cbs/", "/$cbs", "amqps://ns.example/$cbs", "amqp://h/$Cbs/", "%24cbs",
     "$cbs?x=1", "tenant/$cbs", "$cbs/receiver"],
)  # fmt: skip
def test_nodes_that_take_tokens(address):
    assert secret_node(address)


@pytest.mark.parametrize("address", ["", "my$cbs", "orders", "$management", "q?to=$cbs"])
def test_nodes_that_take_none(address):
    assert not secret_node(address)


@pytest.mark.parametrize(
    "key",
    ["password", "Password", "passwd", "PASSWORD_1", "x-password", "user.password", "authorization",
     "Proxy-Authorization", "token", "access_token", "sas-token", "SasToken", "secret",
     "clientSecret", "api-key", "X-API-Key", "apikey", "credentials", "sharedAccessKey", "pwd",
     "db.pwd", "signature", "jwt", b"password", Symbol("token"), "com.example:secret-key"],
)  # fmt: skip
def test_keys_that_are_named_like_credentials(key):
    assert secret_key(key)


@pytest.mark.parametrize(
    "key",
    ["key", "routing-key", "x-opt-partition-key", "x-opt-lock-token", "lock-token", "product",
     "user", "username", "authentication_failure_close", "tokens-left", "passenger", "compass",
     "token-type", "SharedAccessKeyName", "continuation-token", "", None, 7, 1.5, ["password"]],
)  # fmt: skip
def test_keys_that_are_not(key):
    assert not secret_key(key)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("amqp://joe:pw@host:5672/q", f"amqp://joe:{MASK}@host:5672/q"),
        ("amqp://joe:p/w?@x@host/q", f"amqp://joe:{MASK}@host/q"),
        ("amqps://:pw@host", f"amqps://:{MASK}@host"),
        ("a amqp://j:1@h and amqp://j:2@h.", f"a amqp://j:{MASK}@h and amqp://j:{MASK}@h."),
        ("failover:(amqp://j:1@a,amqp://j:2@b)", f"failover:(amqp://j:{MASK}@a,amqp://j:{MASK}@b)"),
        ("joe:pw@host:5672/q", f"joe:{MASK}@host:5672/q"),
        ("sb://ns/q?sr=a&sig=abc%3D&se=1", f"sb://ns/q?sr=a&sig={MASK}&se=1"),
        ("SharedAccessSignature sr=a&sig=b&skn=k", f"SharedAccessSignature sr=a&sig={MASK}&skn=k"),
        ("SharedAccessKeyName=n;AccountKey=a+/b=", f"SharedAccessKeyName=n;AccountKey={MASK}"),
        ("q?key=abc", f"q?key={MASK}"),
        ("https://h/p?access_token=abc#f", f"https://h/p?access_token={MASK}"),
        ('link "q?sig=abc" is odd', f'link "q?sig={MASK}" is odd'),
        ("Authorization: Bearer abc.def-123", f"Authorization: Bearer {MASK}"),
        ("a eyJhbGciOiJub25lIn0.eyJzdWIiOiJqIn0.c2ln b", f"a {MASK} b"),
    ],
)  # fmt: skip
def test_secrets_in_texts(text, shown):
    assert cleaned(text) == shown
    assert cleaned(shown) == shown
    assert clean_name(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "orders",
        "amqp://host:5672/q@domain",
        "amqp://joe@host/q",
        "amqp://[::1]:5672/q@x",
        "topic://a.b?consumer.prefetchSize=10",
        "routing-key=abc",
        "the key=value of nothing",
        "ID:host-4711@1:2/3",
        "mailto:joe@example.org/x",
        "credit=5 delivery-count=0 drain",
        "basic authentication failed",
        "a bearer of news",
    ],
)
def test_texts_without(text):
    assert cleaned(text) is text


def test_what_is_not_suspicious_has_no_secret():
    assert not suspicious("orders/new")
    assert suspicious_body(b"see amqp://joe:pw@host")
    assert suspicious_body(b"PASSWORD=x")
    assert not suspicious_body(b'{"a": "b=c", "mail": "joe@host"}')


@pytest.mark.parametrize(
    "text",
    ["a" * 1_000_000, "=" * 1_000_000, "@" * 1_000_000, "://a:" * 200_000, "a=" * 500_000,
     "eyJ" * 300_000, "bearer:" * 150_000, "://" * 300_000, "a:@" * 300_000, '"' * 1_000_000 + "=",
     "sig=" + '"' * 1_000_000, "basic " * 150_000, "a.-%" * 250_000],
    ids=lambda text: text[:8],
)  # fmt: skip
def test_a_long_text_is_walked_in_bounded_time(text):
    start = perf_counter()
    cleaned(text)
    assert perf_counter() - start < 10


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("operation", "put-token", True),
        ("operation", "s3cret", False),
        ("type", "jwt", True),
        ("name", "sb://ns/q", True),
        ("name", "s3cret", False),
        ("status-code", 401, True),
        ("anything", "s3cret", False),
        ([1], "s3cret", False),
    ],
)
def test_claims_that_may_be_shown(key, value, shown):
    assert open_claim(key, value) is shown
