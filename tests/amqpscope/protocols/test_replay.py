"""Each recorded client meets its recorded server again, and nobody notices a difference."""

import pytest

from amqpscope.protocols.replay_acts import Choices
from dissectors.notation import parse
from kit import ROOT
from kit.rehearsal import conversations, rehearse

CAPTURES = ROOT / "captures"
NAMES = sorted(
    path.name
    for path in CAPTURES.iterdir()
    if path.name.startswith(("v10_", "v091_")) and path.suffix in (".pcap", ".pcapng", ".gz")
)


UNGRANTED = "v10_uamqp-skrouterd-tls_basic.pcapng"
"""Its client sends without credit, and never gets any."""
ILLEGAL = (
    "v091_pika_chanerr-rabbitmq.pcap",
    "v10_proton-labbroker_filters.pcap",
    "v10_proton-labbroker_received_state.pcap",
    "v10_proton-labbroker_tx.pcap",
    "v10_proton-labbroker_types.pcap",
    "v10_proton-rhea_filters.pcap",
    "v10_proton-rhea_tx.pcap",
    "v10_proton-rhea_types.pcap",
    "v10_protoncpp-qpidd_tx.pcapng",
    "v10_rhea-rabbitmq_types.pcap",
)
"""Parts of these are only played when that is asked for."""
KEYS = {
    "v10_tls-proton-rabbitmq.pcap": "v10_tls-proton-rabbitmq.keys",
    "v091_tls-TLSv1_2-pika-rabbitmq.pcap": "v091_tls-TLSv1_2-pika-rabbitmq.keys",
}


def keys_of(name):
    return [(CAPTURES / KEYS[name]).read_bytes()] if name in KEYS else []


@pytest.mark.parametrize("name", [name for name in NAMES if name != UNGRANTED])
def test_both_sides_of_a_recording_play_it_to_its_end(name):
    for recorded in conversations(CAPTURES / name, *keys_of(name)):
        exact = name in ILLEGAL
        client, server = rehearse(
            recorded, recorded, Choices(secrets=True, exact=exact), Choices(exact=exact)
        )
        assert client.divergences == []
        assert server.divergences == []
        assert client.over
        assert server.over


def test_a_message_that_never_gets_credit_is_reported_with_what_it_waits_for():
    recorded = conversations(CAPTURES / UNGRANTED)[0]
    client, _ = rehearse(recorded, recorded)
    assert [each.kind for each in client.divergences] == ["stuck"]
    assert "waits for credit on link" in client.divergences[0].where


def test_exactly_played_it_is_sent_without_credit():
    recorded = conversations(CAPTURES / UNGRANTED)[0]
    client, server = rehearse(recorded, recorded, Choices(secrets=True, exact=True))
    assert client.divergences == []
    assert server.divergences == []


@pytest.mark.parametrize(
    "text",
    [
        'transfer[0] handle=0 | amqp-value("SharedAccessSignature sr=x&sig=5ecret5ecret&se=1")',
        'transfer[0] handle=0 | application-properties({"password"="5ecret"}) amqp-value("x")',
        'transfer[0] handle=0 | properties(to="$cbs") amqp-value("5ecret")',
    ],
)
def test_a_frame_that_is_shown_does_not_show_its_secrets(text):
    recorded = conversations(CAPTURES / "v10_proton-labbroker_simple.pcap")[0]
    raw = parse(text)
    assert "5ecret" not in recorded.part(0, Choices()).show(raw)
    assert "5ecret" in recorded.part(0, Choices(show_secrets=True)).show(raw)
