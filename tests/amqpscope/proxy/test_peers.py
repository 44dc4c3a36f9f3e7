"""Real clients and real servers through the proxy: the same results as without it."""

import json
import sys
from collections import Counter
from importlib.util import find_spec

import amqpscope as package
from amqpscope.proxy.ca import load_or_make_ca
from kit.proxy.brokers import SCRIPTS, run
from kit.proxy.tls_peers import NOW

MESSAGES = 60


def test_proton_through_the_proxy_gets_what_it_gets_directly(broker):
    exchange = (sys.executable, SCRIPTS / "exchange.py")
    direct = run(*exchange, f"127.0.0.1:{broker}", "direct", MESSAGES)
    with package.proxied(f"amqp://127.0.0.1:{broker}", fail_on="error") as proxy:
        relayed = run(*exchange, proxy.address, "relayed", MESSAGES)
        assert proxy.frames > 4 * MESSAGES
    assert relayed == direct
    # As in the guide: what real clients do is worth a remark, and fails nothing.
    assert proxy.findings


def test_rhea_through_the_proxy_gets_what_it_gets_directly(rhea, broker):
    exchange = ("node", SCRIPTS / "exchange.js", "127.0.0.1")
    direct = run(*exchange, broker, "js-direct", MESSAGES, RHEA=str(rhea))
    with package.proxied(f"amqp://127.0.0.1:{broker}", fail_on="error") as proxy:
        relayed = run(*exchange, proxy.port, "js-relayed", MESSAGES, RHEA=str(rhea))
    assert relayed == direct
    assert proxy.frames > 2 * MESSAGES


def test_rabbitmq_serves_both_families_of_clients_through_the_proxy(rabbitmq):
    publish = (sys.executable, SCRIPTS / "publish.py", "localhost")
    exchange = (sys.executable, SCRIPTS / "exchange.py")
    plain = rabbitmq.port
    with package.proxied(f"amqp://127.0.0.1:{plain}") as proxy:
        assert run(*publish, proxy.port, "a", MESSAGES) == run(*publish, plain, "b", MESSAGES)
        if find_spec("proton") is not None:
            relayed = run(*exchange, proxy.address, "/queue/relayed", MESSAGES)
            assert relayed == run(*exchange, f"127.0.0.1:{plain}", "/queue/direct", MESSAGES)
    assert "amqp-0-9-1" in proxy.checked.protocols
    assert proxy.checked.gaps == 0


def test_rabbitmq_over_tls_serves_both_families_through_the_proxy(
    rabbitmq, proxy, config, amqpscope, tmp_path
):
    recording = tmp_path / "tls.pcapng"
    upstream = f"amqps://localhost:{rabbitmq.tls}"
    own = load_or_make_ca(config, NOW).path
    command = proxy(upstream, "--cafile", rabbitmq.ca, "--write", recording, "--no-tui")
    publish = (sys.executable, SCRIPTS / "publish.py", "localhost")
    direct = run(*publish, rabbitmq.tls, "c", MESSAGES, rabbitmq.ca)
    assert run(*publish, command.address[1], "d", MESSAGES, own) == direct
    if find_spec("proton") is not None:
        exchange = (sys.executable, SCRIPTS / "tls_exchange.py")
        direct = run(*exchange, f"localhost:{rabbitmq.tls}", rabbitmq.ca, "/queue/e", MESSAGES)
        address = f"localhost:{command.address[1]}"
        assert run(*exchange, address, own, "/queue/f", MESSAGES) == direct
    assert command.end() == 0
    names = Counter(
        json.loads(line)["name"]
        for line in amqpscope("read", "--format", "jsonl", recording).stdout.splitlines()
    )
    assert names["basic.publish"] == names["basic.deliver"] == MESSAGES
    assert "malformed" not in names
    if find_spec("proton") is not None:
        assert names["transfer"] >= 2 * MESSAGES
