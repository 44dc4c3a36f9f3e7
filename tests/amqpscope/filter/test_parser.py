"""The filter language itself: what parses to what, what is refused and where, what completes."""

import pytest

from amqpscope.filter import FACTS, HELP, FilterError, compile_filter, complete
from amqpscope.filter.lexer import Is, tokens, unquote
from amqpscope.filter.names import ROOTS
from amqpscope.filter.parser import Bare, Both, Comparison, Either, Has, Not, ValueRange, parse
from dissectors.v1_0.tables import COMPOSITES


def said(tree):
    """A tree as one line, fully parenthesised."""
    match tree:
        case Not():
            return f"!{said(tree.test)}"
        case Both():
            return f"({' & '.join(map(said, tree.tests))})"
        case Either():
            return f"({' | '.join(map(said, tree.tests))})"
        case Has():
            return f"has {tree.path}"
        case Bare():
            return str(tree.path)
        case Comparison():
            return f"{tree.path}{tree.operator}{','.join(map(value, tree.values))}"


def value(literal):
    if isinstance(literal, ValueRange):
        return f"{literal.low.text}..{literal.high.text}"
    return literal.text


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a", "a"),
        ("a.b-c.d", "a.b-c.d"),
        ("a && b || c && d", "((a & b) | (c & d))"),
        ("a and (b or c) AND d", "(a & (b | c) & d)"),
        ("!a == 1", "!a==1"),
        ("not not a", "!!a"),
        ("has a && !b", "(has a & !b)"),
        ("a==1", "a==1"),
        ("a eq 1 or a ne 1 or a lt 1", "(a==1 | a!=1 | a<1)"),
        ("a gt -1 and a ge 0x1F and a le 1.5e3", "(a>-1 & a>=0x1F & a<=1.5e3)"),
        ("a contains b", "acontainsb"),
        ("a ~ 'x'", "amatchesx"),
        ("a in {1 2,3..5}", "ain1,2,3..5"),
        ("a in {1.5..2.5, 0x1..0x2}", "ain1.5..2.5,0x1..0x2"),
        ("a not in {x y}", "anot inx,y"),
        ("a == amqp:not-found", "a==amqp:not-found"),
        ("a == 10.0.0.1", "a==10.0.0.1"),
        ("a == 1b4e28ba-2fa1-11d2", "a==1b4e28ba-2fa1-11d2"),
        ('a["x y"].c[0] == "q"', "a.x y.c.0==q"),
        (r'a == "q\"\x41\n\d"', 'a==q"A\n\\d'),
        (r"a == r'\n'", r"a==\n"),
    ],
)
def test_parses_to(text, tree):
    assert said(parse(text)) == tree


@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_empty_filter_is_no_tree(text):
    assert parse(text) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("12", Is.NUMBER),
        ("0xAb", Is.NUMBER),
        ("1e-9", Is.NUMBER),
        ("0a:ff", Is.OCTETS),
        ("0a:f", Is.WORD),
        ("0a:ff:zz", Is.WORD),
        ("2030-01-31T12:00:00Z", Is.WORD),
        ("$management", Is.WORD),
        ("&&", Is.KEYWORD),
        ("Contains", Is.KEYWORD),
        ("contains.x", Is.WORD),
    ],
)
def test_one_token(text, kind):
    assert [token.kind for token in tokens(text)] == [kind, Is.END]


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ('"a"', "a"),
        (r'"\u00e9\0"', "é\0"),
        (r"'it\'s'", "it's"),
        (r'"\\d"', r"\d"),
        ("r'\\'", "\\"),
    ],
)
def test_strings_say(raw, text):
    assert unquote(raw) == text


REFUSED = [
    # filter, the wrong part (from the first ^ to the last), and what is said of it
    ("tranfer && settled", "^^^^^^^", "did you mean transfer?"),
    ("open && delivery_id == 1", "        ^^^^^^^^^^^", "did you mean delivery-id"),
    ("transfer.handl == 1", "         ^^^^^", "has no field 'handl'; did you mean handle?"),
    ("attach.source.adress", "              ^^^^^^", "did you mean address"),
    ("attach.target.credit", "              ^^^^^^", "attach.target has no field 'credit'"),
    ("packet.x", "       ^", "packet has no parts"),
    ("properties.product", "           ^^^^^^^", "open.properties.product"),
    ("client", "^^^^^^", "from == client"),
    ("transfer == 1", "         ^^", "it stands alone"),
    ('transfer.handle == "x"', "                   ^^^", "transfer.handle is a number"),
    ("kind == tranfer", "        ^^^^^^^", "kind is one of header, amqp"),
    ("name == tranfer", "        ^^^^^^^", "did you mean transfer"),
    ("role == recever", "        ^^^^^^^", "did you mean receiver?"),
    ("rcv-settle-mode == 'third'", "                   ^^^^^^^", "first, second or a number"),
    ("state == reject", "         ^^^^^^", "did you mean rejected"),
    ("settled == maybe", "           ^^^^^", "settled is true or false"),
    ("settled > 1", "        ^", "compare it with ==, != or in"),
    ("frame.size contains 1", "           ^^^^^^^^", "compare it with ==, <, > or in"),
    ("channel in {1 two}", "              ^^^", "channel is a number"),
    ("role in {sender..receiver}", "         ^^^^^^", "a range means nothing"),
    ("creation-time > soon", "                ^^^^", "a time"),
    ("link matches '('", "             ^^^", "not a regular expression"),
    ("channel = 1", "        ^", "write =="),
    ("open & begin", "     ^", "write &&"),
    ("open; begin", "    ^", "nothing in a filter begins with ';'"),
    ("link == 'x", "        ^^", "no closing quote"),
    ("channel ==", "          ^", "expected a value"),
    ("channel == && open", "           ^^", "expected a value, found &&"),
    ("(open", "     ^", "expected &&, || or )"),
    ("open)", "    ^", "expected &&, || or the end, found )"),
    ("open begin", "     ^^^^^", "expected an operator"),
    ("open &&", "       ^", "expected a field"),
    ("1 == channel", "^", "expected a field, found 1"),
    ("name in {}", "         ^", "expected a value, found }"),
    ("name in flow", "        ^^^^", "expected {, found flow"),
    ("name in {flow", "             ^", "expected a value"),
    ("open.properties[", "                ^", "expected a number"),
    ("!" * 70 + "open", " " * 64 + "^", "more than 64 levels deep"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "carets", "message"), REFUSED)
def test_refused_with_the_place(text, carets, message):
    with pytest.raises(FilterError) as caught:
        compile_filter(text)
    shown, under, said = str(caught.value).split("\n")
    assert (shown, under) == (text, carets)
    assert message in said


def test_of_a_long_filter_the_part_around_the_error_is_shown():
    with pytest.raises(FilterError) as caught:
        compile_filter("flow || " * 5000 + "tranfer" + " || flow" * 5000)
    shown, under, _ = str(caught.value).split("\n")
    assert shown[under.index("^") :].startswith("tranfer || flow || ")
    assert under.count("^") == 7
    assert shown.startswith("...")
    assert shown.endswith("...")
    assert len(shown) < 420


def test_a_number_of_thousands_of_digits_is_refused():
    with pytest.raises(FilterError, match="too long"):
        compile_filter("channel == " + "9" * 5000)


def test_carets_stand_right_under_wide_and_odd_characters():
    with pytest.raises(FilterError) as caught:
        compile_filter("link == '中'\t&& tranfer")
    assert str(caught.value).splitlines()[:2] == ["link == '中' && tranfer", " " * 16 + "^" * 7]


@pytest.mark.parametrize(
    "text",
    [
        "transfer.handle == 0x10",
        "link == 7",
        "delivery-tag == 5 && delivery-tag contains 0a:0b",
        "settled == 1",
        "attach.source == source",
        "application-properties.x == 1 || application-properties.x == 'a'",
        "open.offered-capabilities[0] == 'q'",
        "expiry-policy == 'something-new'",
        "link matches '[[a]'",
        "error.info.x.y.z > 3",
    ],
)
def test_what_could_be_true_is_not_refused(text):
    compile_filter(text)


def test_every_field_of_every_row_has_its_name():
    for row in COMPOSITES:
        for field in row.fields:
            compile_filter(f"{row.name}.{field.name}")
            compile_filter(f"has {field.name}")


def test_every_own_name_is_known_and_explained():
    for fact in FACTS:
        compile_filter(fact.name)
        assert fact.summary


def test_help_names_only_what_there_is():
    examples = HELP.split("Examples\n")[1].strip().splitlines()
    assert len(examples) == 6
    for example in examples:
        compile_filter(example)
    assert max(map(len, HELP.splitlines())) <= 100


@pytest.mark.parametrize(
    ("text", "some", "others"),
    [
        ("", ["transfer", "channel", "link"], ["link.address"]),
        ("tra", ["transfer", "transactional-state"], ["open"]),
        ("transfer.", ["transfer.handle", "transfer.delivery-id"], ["transfer.payload"]),
        ("open && link.a", ["link.address"], ["link.name"]),
        ("client.", ["client.ip", "client.port"], []),
        ("attach.source.", ["attach.source.address"], []),
        ("role == ", ["sender", "receiver"], ["transfer"]),
        ("role == rec", ["receiver"], ["sender"]),
        ("settled == ", ["true", "false"], []),
        ("name in {flow ", ["transfer", "}"], []),
        ("name in {flow tr", ["transfer"], ["flow"]),
        ("name ", ["==", "contains", "in", "&&"], ["transfer"]),
        ("channel ", ["==", ">", "&&"], ["contains"]),
        ("transfer ", ["&&", "||"], ["=="]),
        ("role == sender ", ["&&", "||"], ["=="]),
        ("name in {flow} ", ["&&", "||"], ["=="]),
        ("!", ["transfer"], ["&&"]),
        ("(", ["transfer"], ["&&"]),
        ("open &&", ["transfer"], ["&&"]),
    ],
)
def test_completes_to(text, some, others):
    found = complete(text, len(text))
    assert set(some) <= set(found)
    assert set(others).isdisjoint(found)


@pytest.mark.parametrize("text", ["link == 'a", "?", "nothing.", "link == ", "channel == 1 1 "])
def test_completes_to_no_field(text):
    assert set(complete(text, len(text))).isdisjoint(ROOTS)


def test_completes_at_the_cursor():
    assert "transfer" in complete("tran && open", 4)
