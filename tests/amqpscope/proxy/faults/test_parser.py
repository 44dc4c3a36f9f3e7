"""Faults from text: what is wrong is shown with a caret, before anything listens."""

import pytest

from amqpscope.proxy.faults import FaultError, FaultSet, parse_fault
from amqpscope.proxy.faults.acting import ACTIONS
from amqpscope.proxy.faults.actions import FORMS
from amqpscope.proxy.faults.presets import PRESETS


@pytest.mark.parametrize(
    "text",
    [
        "transfer => drop",
        "transfer && !settled => delay 2s jitter=500ms skip=3 times=2",
        "flow => set link-credit=0 drain=true",
        "disposition => set state=released chance=0.25 seed=9",
        'link.name == "a => b" => drop connection=3',
        'attach => replace attach name="x" handle=1 role=sender',
        "transfer => inject empty to=client when=before every=2",
        'transfer => detach condition=amqp:link:stolen description="so it goes"',
        "basic.publish => return code=313 text=NO_CONSUMERS",
        "transfer => slice 100 pause=5ms",
        "transfer => rate 1.5kB/s",
        "frame => stall 10min",
    ],
)
def test_a_fault_reads_back_as_it_was_written(text):
    fault = parse_fault(text)
    assert str(fault) == text
    assert str(parse_fault(str(fault))) == text


@pytest.mark.parametrize(
    ("text", "marked", "reason"),
    [
        ("transfer", "", "expected FILTER => ACTION"),
        ("=> drop", "", "expected a filter"),
        ("transfre => drop", "transfre", "did you mean transfer"),
        ("message.latency > 1s => drop", "message.latency > 1s", "does not follow messages"),
        ("transfer => dorp", "dorp", "did you mean drop"),
        ("transfer =>", "", "expected an action"),
        ("transfer => drop now", "now", "expected the end or an option: drop"),
        ("transfer => delay", "", "delay 2s [jitter=500ms]"),
        ("transfer => delay 2parsecs", "2parsecs", "is not a time"),
        ("transfer => delay 2s jitter=x", "x", "is not a time"),
        ("transfer => delay 2s pause=1s", "pause=1s", "delay 2s [jitter=500ms]"),
        ("transfer => rate 10", "10", "is not a rate"),
        ("transfer => slice 0", "0", "is not a whole number from 1 on"),
        ("transfer => drop times=0", "0", "is not a whole number from 1 on"),
        ("transfer => drop skip=-1", "-1", "is not a whole number from 0 on"),
        ("transfer => drop times=1 skip=1 times=2", "times", "times is given twice"),
        ("flow => set link-credit=5000000000", "5", "too big for its type"),
        ("flow => set link-credit=-1", "-", "too small for its type"),
        ("flow => set link-credit=" + "9" * 370, "9", "too big for its type"),
        ("basic.qos => set prefetch-count=70000", "7", "too big for its type"),
        ('basic.publish => set routing-key="' + "é" * 200 + '"', '"', "at most 255 octets"),
        (r'attach => set name="\ud800"', '"', r"'\ud800' is not a character"),
        ("transfer => drop chance=1.5", "1.5", "is not a probability"),
        ("flow => set link-credits=0", "l", "no frame has such a field"),
        ("flow => set link-credit=", "", "expected a number"),
        ("transfer => inject", "", "inject NOTATION"),
        ("transfer => inject transfre", "t", "a performative's name"),
        ("transfer => inject empty to=nobody", "nobody", "expected client or server"),
        ("transfer => replace open container-id=", "", "expected a value"),
        ("transfer => modify delivery-failed=perhaps", "perhaps", "expected true or false"),
        ("queue.declare-ok => close times=1 code=541", "code=541", "or an option: close"),
        ("basic.publish => set routing-key=nosuch", "n", 'expected text as "..."'),
        ("@flakey", "@flakey", "did you mean @flaky"),
        ("@flaky now", "now", "expected skip="),
        ("@flaky @flaky", "@flaky", "expected skip="),
        ("@flaky chance=2", "2", "is not a probability"),
    ],
)
def test_what_is_wrong_is_marked(text, marked, reason):
    with pytest.raises(FaultError) as caught:
        parse_fault(text)
    shown, carets, message = str(caught.value).split("\n")
    assert shown == text
    assert reason in message
    at = carets.index("^")
    assert text[at : at + len(marked)] == marked
    assert len(carets) - at == max(1, len(marked))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (
            'transfer => detach times=1 condition="x" skip=2',
            'transfer => detach condition="x" skip=2 times=1',
        ),
        (
            "transfer => inject empty times=1 to=client skip=2 when=before",
            "transfer => inject empty to=client when=before skip=2 times=1",
        ),
    ],
)
def test_counts_and_options_are_in_any_order(text, written):
    fault = parse_fault(text)
    assert (fault.counts.skip, fault.counts.times) == (2, 1)
    assert str(fault) == str(parse_fault(written)) == written


def test_every_action_can_be_written_and_done():
    # A frame that is held is not acted on before somebody decides.
    assert set(FORMS) == {*ACTIONS, "hold"}


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_a_fault_under_its_own_name(name):
    fault = parse_fault(name)
    assert fault.name == name
    assert parse_fault(f"{name} seed=5 times=3").counts.seed == 5


def test_hostile_texts_are_refused_in_little_time():
    for text in (
        "transfer => set properties=" + "[" * 5000,
        "transfer => inject open properties=" + "{" * 5000,
        "(" * 5000 + "transfer => drop",
        "transfer => " + "x" * 200_000,
        "transfer => inject octets 0x" + "00" * 60_000,
        "transfer => delay 9" + "9" * 300 + "s",
        'transfer => detach description="' + "\\" * 999,
        "\0 => \0",
        "flow => set link-credit=" + "9" * 5000,
        "basic.publish => inject basic.qos[1] prefetch-count=" + "9" * 5000,
        'queue.declare => set arguments={"a"=' + "9" * 5000 + "}",
        " || ".join(["transfer"] * 9000) + " || transfre => drop",
        "transfer => drop times=" + "9" * 50,
    ):
        with pytest.raises(FaultError) as caught:
            parse_fault(text)
        assert len(str(caught.value)) < 1500


def test_faults_without_a_name_get_one_each_and_names_are_not_taken_twice():
    faults = FaultSet([parse_fault("flow => drop"), parse_fault("open => drop")])
    assert [fault.name for fault in faults.faults] == ["fault-1", "fault-2"]
    with pytest.raises(ValueError, match="there is a fault fault-1 already"):
        faults.add(parse_fault("flow => drop", "fault-1"))
    faults.remove("fault-1")
    assert faults.add(parse_fault("end => drop")).name == "fault-1"
    with pytest.raises(ValueError, match="there is no fault x"):
        faults.remove("x")
