"""Passwords and tokens are in no output unless they are asked for."""

import pytest

PASSWORD, TOKEN = "pa55w0rd", "t0ken-of-joe"
SPELLINGS = [
    spelled
    for secret in (PASSWORD, TOKEN)
    for spelled in (secret, secret.encode().hex(), secret.encode().hex(" "), secret[:5])
]

LOGIN = f"""
client: header SASL 1.0.0
server: header SASL 1.0.0
server: sasl-mechanisms sasl-server-mechanisms=[:PLAIN]
client: sasl-init mechanism=:PLAIN initial-response=b"\\0joe\\0{PASSWORD}"
server: sasl-challenge challenge=b"more"
client: sasl-response response=b"{PASSWORD}"
"""
CBS = """
client: header AMQP 1.0.0
server: header AMQP 1.0.0
client: open container-id="c"
client: begin next-outgoing-id=0 incoming-window=100 outgoing-window=100
client: attach name="cbs" handle=0 role=sender source=source() target=target(address="$cbs")
               initial-delivery-count=0
"""
PUT = f"""
client: transfer handle=0 delivery-id=0 delivery-tag=b"1"
      | application-properties({{"operation"="put-token"}}) amqp-value("{TOKEN}")
"""
WHOLE = (b"\0Sw\xa1" + bytes([len(TOKEN)]) + TOKEN.encode()).hex()
SPLIT = f"""
client: transfer handle=0 delivery-id=0 delivery-tag=b"1" more=true | raw 0x{WHOLE[:22]}
client: transfer handle=0 | raw 0x{WHOLE[22:]}
"""
WAYS = [
    {},
    {"tree": True},
    {"octets": True},
    {"tree": True, "octets": True, "width": 80},
    {"form": "jsonl"},
    {"form": "csv"},
]
ELSEWHERE = CBS.replace('address="$cbs"', 'address="amqps://ns.example/$cbs"')
SASL = "client: header SASL 1.0.0\n"
CONVERSATIONS = {
    "login": LOGIN,
    "token": CBS + PUT,
    "token-in-parts": CBS + SPLIT,
    "token-to-a-longer-address": ELSEWHERE + PUT,
    "wrong-type": SASL + f'client: sasl-init mechanism=:PLAIN initial-response="{PASSWORD}"\n',
}


def test_the_test_would_notice(show, recorded):
    shown = show(recorded(LOGIN + CBS + PUT), tree=True, octets=True, show_secrets=True).text
    assert PASSWORD in shown
    assert TOKEN in shown


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("name", CONVERSATIONS)
def test_secrets_are_masked(show, recorded, name, way):
    shown = show(recorded(CONVERSATIONS[name]), **way).text
    assert [spelled for spelled in SPELLINGS if spelled in shown] == []


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_token_on_a_link_whose_attach_was_not_seen(show, recorded, way):
    shown = show(recorded(PUT, handshake=False), **way).text
    assert "transfer" in shown
    assert [spelled for spelled in SPELLINGS if spelled in shown] == []


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("missing", range(1, 12))
def test_a_password_that_was_not_captured_whole(show, recorded, missing, way):
    path = recorded(f"""
client: header SASL 1.0.0
client: sasl-init mechanism=:PLAIN initial-response=b"\\0joe\\0{PASSWORD}"
""")
    cut = path.with_name("cut.pcapng")
    cut.write_bytes(path.read_bytes()[: -(missing + 8)])  # the last block, and its size, are cut
    text = show(path, **way).text + show(cut, **way).text
    assert [spelled for spelled in SPELLINGS if spelled in text] == []


@pytest.mark.parametrize("size", range(14, 45))
def test_a_password_in_a_damaged_frame(show, recorded, size):
    from dissectors.notation import parse

    frame = bytearray(parse(f'sasl-init mechanism=:PLAIN initial-response=b"\\0joe\\0{PASSWORD}"'))
    frame[size % len(frame)] ^= 0x5A
    frame[:8] = len(frame).to_bytes(4, "big") + b"\x02\x01\0\0"
    path = recorded(f"client: header SASL 1.0.0\nclient: octets 0x{frame.hex()}\n")
    for way in WAYS:
        text = show(path, **way).text
        assert PASSWORD not in text, way
        assert PASSWORD.encode().hex(" ") not in text, way


def test_json_says_how_much_is_masked(show, recorded):
    shown = show(recorded(LOGIN), form="jsonl").text
    assert '"initial-response": {"masked": 13}' in shown
    assert '"response": {"masked": 8}' in shown


def test_shown_when_asked_for(show, recorded):
    shown = show(recorded(CBS + PUT), form="jsonl", show_secrets=True).text
    assert TOKEN in shown
    assert TOKEN in show(recorded(CBS + PUT), show_secrets=True).text
