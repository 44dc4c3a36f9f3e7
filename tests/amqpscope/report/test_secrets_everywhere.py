"""No output shows a secret, wherever in a conversation it is: a table of secrets by outputs."""

import base64
from itertools import pairwise

import pytest
from click.testing import CliRunner

from amqpscope.analysis import Analyzer
from amqpscope.capture.pieces import Pieces
from amqpscope.check.selection import Selection
from amqpscope.cli import cli
from amqpscope.insight.state import StateRenderer
from amqpscope.spark.gather import Gatherer
from amqpscope.tui.fields import picture
from amqpscope.tui.indexing import Indexer
from amqpscope.tui.spool import Spool
from amqpscope.tui.step_cache import StepCache
from dissectors.notation import parse
from dissectors.v1_0.framing import decode_unit

SECRET = "hUnt3r2pa55w0rdOfJoe"
JWT = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJodW50ZXIifQ.c2VjcmV0LXNpZ25hdHVyZQ"
URL = f"amqps://joe:{SECRET}@broker.example:5671/orders"
SAS = f"sb://ns.example/orders?sr=sb%3a%2f%2fns&sig={SECRET}&se=1700000000&skn=send"

OPEN = """
client: header AMQP 1.0.0
server: header AMQP 1.0.0
client: open container-id="c" {client}
server: open container-id="s" {server}
client: begin next-outgoing-id=0 incoming-window=100 outgoing-window=100
server: begin remote-channel=0 next-outgoing-id=0 incoming-window=100 outgoing-window=100
"""
LINK = """
client: attach name={name} handle=0 role=sender {source} {target} initial-delivery-count=0 {more}
server: attach name={name} handle=0 role=receiver {source} {target} {more}
server: flow next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100
        handle=0 delivery-count=0 link-credit=1
"""
SEND = """
client: transfer handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 | {message}
client: transfer handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 | {message}
"""


def opened(client="", server=""):
    return OPEN.format(client=client, server=server)


def sent(message='data(b"0")', name='"s"', source="", target='target=target(address="q")', more=""):
    source = source or "source=source()"
    link = LINK.format(name=name, source=source, target=target, more=more)
    return opened() + link + SEND.format(message=message)


def put(address, to=""):
    terminus = f'target=target(address="{address}")' if address else "target=target()"
    to = f'properties(to="{to}")' if to else ""
    claims = 'application-properties({"operation"="put-token" "type"="jwt" "name"="sb://ns/q"})'
    return sent(f'{to} {claims} amqp-value("{SECRET}")', target=terminus,
                source='source=source(address="replies")')  # fmt: skip


def refused(error):
    return opened() + f"server: close error=error({error})\n"


V0_9 = """
client: header AMQP 0.9.1
server: connection.start version-minor=9 server-properties={server} mechanisms="PLAIN"
        locales="en_US"
client: connection.start-ok client-properties={client} mechanism="PLAIN"
        response="\\0joe\\0{secret}" locale="en_US"
server: connection.tune channel-max=2047 frame-max=131072 heartbeat=60
client: connection.tune-ok channel-max=2047 frame-max=131072 heartbeat=60
client: connection.open virtual-host="/"
server: connection.open-ok
client: channel.open[1]
server: channel.open-ok[1]
{work}
"""


def v0_9(work="", client='{product="c"}', server='{product="s"}'):
    return V0_9.format(work=work, client=client, server=server, secret=SECRET)


def published(headers, body="x", exchange="e", key="k"):
    return v0_9(f"""
client: basic.publish[1] exchange="{exchange}" routing-key="{key}"
client: content-header[1] class=basic body-size={len(body)} headers={headers}
client: content-body[1] "{body}"
""")


PAIR = f'{{"colour"="red" "password"="{SECRET}" "size"=1}}'
SYMBOLS = f'{{:product="p" :"x-api-key"="{SECRET}"}}'
LONG = "x" * 150
DAMAGED = (
    b"\0\x53\x74\xc1\x50\x04\xa1\x08password\xa1" + bytes([len(SECRET)]) + SECRET.encode() + b"\xa1"
).hex()
CONVERSATIONS = {
    # claims-based security
    "token-to-cbs": put("$cbs"),
    "token-to-upper-cbs": put("$CBS"),
    "token-to-cbs-with-a-slash": put("$cbs/"),
    "token-to-a-longer-cbs": put("amqps://ns.example/$cbs"),
    "token-to-an-escaped-cbs": put("%24cbs"),
    "token-through-a-nameless-target": put("", to="$cbs"),
    "token-through-a-nameless-target-in-capitals": put("", to="amqp://h/$CBS/"),
    "token-to-another-node": put("gateway"),
    "claim-of-cbs": sent(f'application-properties({{"any"="{SECRET}"}}) amqp-value(null)',
                         target='target=target(address="$cbs")'),
    "name-in-a-claim": sent(f'application-properties({{"name"="{SECRET}"}}) amqp-value(null)',
                            target='target=target(address="$cbs")'),
    # passwords and signatures in texts
    "url-as-address": sent(target=f'target=target(address="{URL}")'),
    "url-as-source": sent(source=f'source=source(address="{URL}")'),
    "url-as-link": sent(name=f'"{URL}"'),
    "long-url-as-link": sent(name=f'"{LONG}amqp://joe:{SECRET}{LONG}@h"'),
    "url-as-container": opened(f'hostname="{URL}"').replace('"c"', f'"{URL}"') + "client: close",
    "sas-as-address": sent(target=f'target=target(address="{SAS}")'),
    "sas-as-link": sent(name=f'"{SAS}"'),
    "sas-in-properties": sent(f'properties(to="{SAS}" reply-to="{SAS}" subject="{SAS}") data(b"")'),
    "sas-in-annotations": sent(f'message-annotations({{:x="{SAS}"}}) amqp-value("{SAS}")'),
    "connection-string": opened(
        f'properties={{:x="Endpoint=sb://ns/;SharedAccessKeyName=a;SharedAccessKey={SECRET}="}}'
    ),
    "bearer": sent(f'application-properties({{"a"="Bearer {SECRET}"}}) data(b"")'),
    "web-token": sent(f'application-properties({{"a"="{JWT}"}}) amqp-value("{JWT}")'),
    "url-in-a-body": sent(f'data(b"see {URL} for more")'),
    "url-in-a-long-body": sent(f'data(b"see {URL}{LONG}")'),
    "url-in-a-binary": sent(f'application-properties({{"a"=b"{URL}"}}) data(b"")'),
    "url-as-key": sent(f'application-properties({{"{URL}"=1}}) data(b"")'),
    # keys that are named like credentials
    "open-properties": opened(f"properties={SYMBOLS}", f"properties={SYMBOLS}"),
    "attach-properties": sent(more=f'properties={{:Authorization="{SECRET}"}}'),
    "filter": sent(source=f'source=source(filter={{:token="{SECRET}"}})'),
    "application-properties": sent(f'application-properties({PAIR}) data(b"x")'),
    "annotations": sent(
        f'delivery-annotations({{:passwd="{SECRET}"}}) message-annotations({{:"sas-token"='
        f'"{SECRET}"}}) data(b"") footer({{:"client-secret"=b"{SECRET}"}})'
    ),
    "nested": sent(f'amqp-value({{"login"={{"user"="joe" "passWord"="{SECRET}"}}}})'),
    "list-under-a-key": sent(f'amqp-value({{"credentials"=["{SECRET}" 1]}})'),
    "sequence": sent(f'amqp-sequence([{{"secret"="{SECRET}"}}])'),
    "under-a-descriptor": sent(f'amqp-value(@:thing {{"secret"="{SECRET}"}})'),
    # errors
    "redirect": refused(
        f'condition=:"amqp:connection:redirect" description="go to {URL}"'
        f' info={{:"network-host"="{URL}" :token="{SECRET}"}}'
    ),
    "rejected": sent() + f"""
server: disposition role=receiver first=0 settled=true state=rejected(
        error=error(condition=:"x:y" description="{SAS}" info={{:password="{SECRET}"}}))
server: detach handle=0 closed=true error=error(condition=:"x:y" description="{SAS}")
""",
    # what nobody can decode
    "damaged-map": sent(f"raw 0x{DAMAGED}"),
    "damaged-key": sent(f"raw 0x{DAMAGED[12:]}"),
    "damaged-frame": opened() + f"client: octets 0x{len(DAMAGED) // 2 + 8:08x}02000000{DAMAGED}",
    "damaged-table": v0_9(
        "client: octets 0x0100010000003400320012000a0001710000000020"
        f"0870617373776f726453000000{len(SECRET):02x}{SECRET.encode().hex()}ce"
    ),
    # AMQP 0-9
    "client-properties": v0_9(client=f'{{product="c" password="{SECRET}"}}'),
    "server-properties": v0_9(server=f'{{product="{URL}" nested={{api_key="{SECRET}"}}}}'),
    "queue-arguments": v0_9(
        f'client: queue.declare[1] queue="{URL}" arguments={{x-token="{SECRET}"}}'
    ),
    "consumer": v0_9(f'client: basic.consume[1] queue="{URL}" consumer-tag="{SAS}"'),
    "headers": published(f'{{Authorization="{SECRET}" a="b"}}'),
    "headers-in-a-list": published(f'{{list=[{{pwd="{SECRET}"}} "Bearer {SECRET}"]}}'),
    "routing-key": published("{}", exchange=URL, key=SAS),
    "v0_9-body": published("{}", body=f"see {URL}"),
    "reply-text": v0_9(f'server: connection.close reply-code=320 reply-text="{SAS}"'),
}  # fmt: skip


def split(message, *cuts):
    """A message in as many transfers as there are cuts and one more."""
    frame = parse(f'transfer handle=0 delivery-id=0 delivery-tag=b"0" | {message}')
    payload = frame[decode_unit(frame).payload :]
    edges = sorted([0, *(cut % len(payload) for cut in cuts), len(payload)])
    parts = [payload[a:b].hex() for a, b in pairwise(edges)]
    first = ['delivery-id=0 delivery-tag=b"0"'] + [""] * len(parts)
    more = ["true"] * (len(parts) - 1) + ["false"]
    lines = [
        f"client: transfer handle=0 {first[n]} more={more[n]} | raw 0x{part}"
        for n, part in enumerate(parts)
    ]
    return "\n".join(lines) + "\n"


def attached(target):
    return opened() + LINK.format(name='"s"', source="source=source()", target=target, more="")


ANONYMOUS = (
    'properties(to="$cbs") application-properties({"operation"="put-token"})'
    f' amqp-value("{SECRET}")'
)
for number, cuts in enumerate([(20,), (40, 70), (-15,), (-30, -12)]):
    CONVERSATIONS[f"properties-in-parts-{number}"] = attached('target=target(address="q")') + split(
        f'application-properties({PAIR}) data(b"x")', *cuts
    )
    CONVERSATIONS[f"token-in-parts-{number}"] = attached("target=target()") + split(
        ANONYMOUS, *cuts
    )

COMMANDS = {
    "read": ["read"],
    "tree": ["read", "-V"],
    "octets": ["read", "-x"],
    "both": ["read", "-V", "-x"],
    "jsonl": ["read", "--format", "jsonl"],
    "csv": ["read", "--format", "csv"],
    "html": ["read", "--format", "html"],
    "lint": ["lint", "--select", "ALL"],
    "lint-json": ["lint", "--select", "ALL", "--format", "json"],
    "lint-sarif": ["lint", "--select", "ALL", "--format", "sarif"],
    "lint-junit": ["lint", "--select", "ALL", "--format", "junit"],
    "lint-github": ["lint", "--select", "ALL", "--format", "github"],
    "lint-html": ["lint", "--select", "ALL", "--format", "html"],
    "stats": ["stats"],
    "stats-json": ["stats", "--format", "json"],
    "state": ["state"],
    "state-json": ["state", "--format", "json"],
    "ladder": ["ladder", "--all"],
    "ladder-svg": ["ladder", "--all", "--format", "svg"],
    "ladder-mermaid": ["ladder", "--all", "--format", "mermaid"],
}


def spellings(secret):
    """A secret as outputs may spell it; half of it is too much too."""
    octets = secret.encode()
    found = {secret, secret[:9], octets.hex(), octets.hex(" ")[:26], octets[:9].hex().upper()}
    found.add(secret.encode("utf-16-le").decode("latin-1"))
    for shift in range(3):
        coded = base64.b64encode(b"-" * shift + octets).decode()
        found.add(coded[4:-4])
    return found


FORBIDDEN = spellings(SECRET) | {JWT[20:], JWT.encode().hex()[40:]}


def leaked(text):
    return sorted(word for word in FORBIDDEN if word in text)


def run(*arguments):
    result = CliRunner().invoke(cli, [*map(str, arguments)])
    assert not result.exception or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result.output


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_no_command_shows_a_secret(name, recorded):
    path = recorded(CONVERSATIONS[name])
    shown = {each: leaked(run(*words, path)) for each, words in COMMANDS.items()}
    assert {each: words for each, words in shown.items() if words} == {}


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_a_baseline_has_no_secret(name, recorded, tmp_path):
    run("lint", "--select", "ALL", "--write-baseline", tmp_path / "b.json",
        recorded(CONVERSATIONS[name]))  # fmt: skip
    assert leaked((tmp_path / "b.json").read_text()) == []


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_the_screen_shows_no_secret(name, recorded):
    files = Spool.create()
    try:
        Indexer(files, str(recorded(CONVERSATIONS[name])), {}).run(
            follow=False, keylogs=[], ports={}
        )
        steps = StepCache(files)
        steps.update()
        text = ""
        for number in range(1, steps.count + 1):
            text += f"{steps.row(number)}\n"
            drawn = picture(steps.step(number))
            text += "\n".join(lines_of(drawn.fields))
            text += "".join(f"\n{octets_of(part)}" for part in drawn.parts)
    finally:
        files.close()
    assert leaked(text) == []


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_the_screen_of_states_shows_no_secret(name, recorded):
    seen, text = StateRenderer(), ""
    for step in steps_of(recorded(CONVERSATIONS[name])):
        text += "\n".join(words_of(seen(step.conversation)))
    assert leaked(text) == []


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_tables_have_no_secret(name, recorded):
    gatherer = Gatherer("ring", Selection(select=("ALL",)), None, frames=True)
    for step in steps_of(recorded(CONVERSATIONS[name])):
        gatherer.take(step)
    gatherer.finish()
    rows = [
        f"{block.table} {block.rows.place_rows() if block.table == 'deliveries' else block.rows}"
        for block in gatherer.blocks()
    ]
    assert len(rows) > 2
    assert leaked("\n".join(rows)) == []


HIDDEN_KEYS = [name for name in CONVERSATIONS if "token-in-parts" not in name]


@pytest.mark.parametrize("name", HIDDEN_KEYS)
def test_secrets_are_shown_when_asked_for(name, recorded):
    path = recorded(CONVERSATIONS[name])
    shown = run("read", "--show-secrets", "--format", "jsonl", path)
    shown += run("read", "-V", "-x", "--show-secrets", path)
    assert leaked(shown) != []


def steps_of(path):
    analyzer = Analyzer(rules=Selection(select=("ALL",)).rules())
    with Pieces(str(path)) as pieces:
        for batch in pieces:
            for piece in batch:
                yield from analyzer.feed(piece)


def lines_of(fields):
    for field in fields:
        yield field.text
        yield from lines_of(field.children)


def words_of(node):
    yield " ".join(filter(None, node.words))
    for child in node.children:
        yield from words_of(child)


def octets_of(part):
    octets = bytearray(part.data)
    for start, end in part.covered:
        octets[start:end] = b"*" * (end - start)
    return octets.hex() + octets.hex(" ") + octets.decode("latin-1")
