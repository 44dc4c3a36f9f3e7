"""Why something is stuck, in sentences that the screen, `stuck` and the HTML report share."""

import pytest

from amqpscope.insight.explanation import brief, explain, holding_words, title, with_frame
from amqpscope.insight.stuck import IRREGULAR, gravity, is_held, standing
from amqpscope.model.constraint import CLOSED, IDLE, UNKNOWN
from amqpscope.model.ending import Ending
from amqpscope.model.mark import Mark
from amqpscope.model.refusal import Refusal
from amqpscope.protocols.stuck import Bound, Held, Refused

SECOND = 1_000_000_000
NOW = 9 * SECOND
AT = Mark(12, 34, 6 * SECOND, 0)
NO_CREDIT = Bound("no credit", 10, SECOND, 1, "after 1 delivery")
SETTLING = Bound("waiting for settlement", 11, 2 * SECOND, 1, "")
CLOSE = Ending("connection", "close", 0, AT)
RESET = Ending("connection", "rst", 1, AT)
HALF = Ending("link", "detach", 0, AT, half=True)
FAILED = Ending("session", "end", 0, AT, "amqp:internal-error")
STUCK = Held(1, "link", "s", "q", 0, 0, NO_CREDIT)
WAITS = STUCK._replace(bound=SETTLING)
IDLES = STUCK._replace(bound=Bound(IDLE, 0, 0, 0, ""))
UNSEEN = STUCK._replace(bound=Bound(UNKNOWN, 0, 0, 0, ""))
OVER = STUCK._replace(bound=Bound(CLOSED, 12, AT.time, 0, "", CLOSE))
RESETS = STUCK._replace(bound=Bound(CLOSED, 12, AT.time, 1, "", RESET))
HALVES = STUCK._replace(bound=Bound("detached", 12, AT.time, 0, "", HALF))
FAILS = STUCK._replace(bound=Bound("ended", 12, AT.time, 0, "", FAILED))
HAD_NONE = OVER._replace(before=NO_CREDIT)
STOLEN = Refused(Refusal("detached", "amqp:link:stolen", "gone", "It is elsewhere."), 8, 3, 1,
                 thief=5)  # fmt: skip
REFUSED = OVER._replace(refused=STOLEN)
ABORTS = OVER._replace(refused=Refused(Refusal("aborted", "", ""), 9, 3, 0))

STANDINGS = [
    # what: how it stands, whether it counts as held
    (STUCK, "stuck", True),
    (REFUSED, "refused", True),
    (ABORTS, "given up", True),
    (RESETS, "broken off", True),
    (HALVES, "half closed", False),
    (FAILS, "ended with an error", True),
    (WAITS, "waiting", True),
    (UNSEEN, "unknown", False),
    (IDLES, "idle", False),
    (HAD_NONE, "over", True),
    (OVER, "over", False),
]


@pytest.mark.parametrize(("held", "word", "counts"), STANDINGS)
def test_each_has_a_word_for_how_it_stands(held, word, counts):
    assert (standing(held), is_held(held)) == (word, counts)


def test_the_worst_comes_first():
    stuck, *irregular, waits, unseen, idles, had_none, over = sorted(
        (row[0] for row in STANDINGS), key=gravity
    )
    assert (stuck, waits, unseen, idles) == (STUCK, WAITS, UNSEEN, IDLES)
    assert {standing(held) for held in irregular} == IRREGULAR
    assert (had_none, over) == (HAD_NONE, OVER)


def sentences(held, findings=()):
    return [
        with_frame(each.text, each.frame, each.lead) for each in explain(held, NOW, 0, findings)
    ]


def test_what_holds_it_comes_with_its_duration_and_who_is_waited_for():
    assert sentences(STUCK) == [
        "No credit (after 1 delivery) for 8 s: waiting for the server, since frame 10",
        "No delivery may begin until a flow grants link-credit.",
    ]


def test_what_lasts_no_time_has_no_duration():
    assert (
        holding_words(NO_CREDIT, SECOND) == "no credit (after 1 delivery): waiting for the server"
    )


def test_of_what_is_over_it_says_what_held_it_until_then():
    brief_stall = NO_CREDIT._replace(time=AT.time - SECOND // 2)
    assert sentences(OVER._replace(before=brief_stall)) == [
        "Connection closed by the client at 6.000 s, frame 12",
        "Until then: no credit (after 1 delivery) for 500 ms, since frame 10",
    ]


def test_a_long_stall_comes_before_the_close_of_the_client_that_waited():
    assert sentences(HAD_NONE) == [
        "No credit (after 1 delivery) for 5 s: waiting for the server, since frame 10",
        "No delivery may begin until a flow grants link-credit.",
        "Then the connection was closed by the client at 6.000 s, frame 12",
    ]
    assert brief(HAD_NONE, NOW) == ("no credit, then connection closed", 5 * SECOND, "server")


def test_a_link_that_is_closed_after_a_stall_is_it():
    ending = Ending("link", "detach", 0, AT, closed=True)
    held = HAD_NONE._replace(bound=OVER.bound._replace(ending=ending))
    assert sentences(held)[-1] == "Then it was closed by the client at 6.000 s, frame 12"


def test_a_stall_after_which_the_client_gave_up_comes_first():
    gone = OVER.bound._replace(ending=Ending("connection", "fin", 0, AT))
    held = OVER._replace(bound=gone, before=NO_CREDIT)
    assert sentences(held)[:3] == [
        "No credit (after 1 delivery) for 5 s: waiting for the server, since frame 10",
        "No delivery may begin until a flow grants link-credit.",
        "Then the client closed TCP without a close at 6.000 s, packet 34, after frame 12",
    ]
    assert brief(held, NOW) == ("no credit, then TCP closed by client", 5 * SECOND, "server")


def test_what_held_it_when_the_server_went_away_comes_last():
    assert sentences(RESETS._replace(before=NO_CREDIT))[-1].startswith("Until then: no credit")


def test_a_stolen_link_names_the_attach_that_took_it():
    assert sentences(REFUSED)[:3] == [
        "Detached by the server: amqp:link:stolen gone, frame 8",
        "It is elsewhere.",
        "This attach took it: frame 5",
    ]


def test_refused_messages_are_counted():
    refused = Refused(Refusal("rejected", "", ""), 8, 3, 1, times=1200)
    assert sentences(STUCK._replace(refused=refused))[0] == (
        "1,200 messages rejected by the server, the last in frame 8"
    )


def test_after_a_reset_the_last_frame_that_was_received_is_named():
    assert sentences(RESETS) == [
        "The server reset TCP without a close at 6.000 s, packet 34, after frame 12",
        "The last frame that the server had received: frame 12",
    ]


def test_a_list_has_it_in_a_few_words():
    assert brief(STUCK, NOW) == ("no credit", 8 * SECOND, "server")
    assert brief(RESETS, NOW) == ("TCP reset by server", 0, "")
    assert brief(REFUSED, NOW) == ("detached: stolen", 0, "")


def test_the_title_names_it_and_its_connection():
    assert title(STUCK) == "link s, q, connection 1"
    assert title(STUCK._replace(what="channel", name="channel 3")) == "channel 3, q, connection 1"
    assert title(STUCK._replace(what="connection", name="connection 1")) == "connection 1, q"


def test_what_began_only_with_the_end_held_nothing_until_then():
    held = OVER._replace(before=NO_CREDIT._replace(time=AT.time))
    assert not [each for each in explain(held, NOW, 0, []) if "Until then" in each.text]
    held = OVER._replace(before=NO_CREDIT._replace(time=AT.time - SECOND // 2))
    assert [each for each in explain(held, NOW, 0, []) if "Until then" in each.text]
