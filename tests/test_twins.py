"""Every module has its tests where one looks for them, or a row here that says where they are.

`amqpscope/stream/reassembly.py` is tested by `tests/amqpscope/stream/test_reassembly.py`. A module
whose name begins with that of another, as `html_plot` does, belongs to it and is tested with it; a
package with code of its own has a test of its name, inside or beside its folder.
"""

import ast

import pytest

from kit import ROOT, TESTS

ELSEWHERE = (
    # folder, modules in it, the test in tests/ that tests them; the first row that names one counts
    ("amqpscope", "__init__", "amqpscope/runs/test_api.py"),
    ("amqpscope", "__main__", "amqpscope/cli/test_read.py"),
    ("amqpscope", "wording", "amqpscope/report/test_lint_text.py"),
    ("amqpscope/analysis", "*", "amqpscope/test_analysis.py"),
    ("amqpscope/capture", "synthetic", "amqpscope/runs/test_exchanges.py"),
    ("amqpscope/check", "result", "amqpscope/runs/test_lint.py"),
    # The command line is tested as users run it.
    ("amqpscope/cli", "__init__ inputs options output progress", "amqpscope/cli/test_read.py"),
    ("amqpscope/cli", "trace", "amqpscope/cli/test_broker.py"),
    ("amqpscope/cli", "pipeline_tables", "amqpscope/spark/test_query.py"),
    ("amqpscope/cli", "pipeline", "amqpscope/spark/test_remote.py"),
    ("amqpscope/cli", "pipeline_compare", "amqpscope/spark/test_report.py"),
    ("amqpscope/cli", "rules", "amqpscope/cli/test_lint.py"),
    ("amqpscope/cli", "tls_options", "amqpscope/proxy/test_tls_peers.py"),
    # The filter language is tested as a whole: by texts, and on real traffic.
    ("amqpscope/filter", "field", "amqpscope/tui/test_looks.py"),
    ("amqpscope/filter", "durations", "amqpscope/filter/test_messages.py"),
    ("amqpscope/filter", "completion errors lexer", "amqpscope/filter/test_parser.py"),
    ("amqpscope/filter", "__init__ facts names operands view", "amqpscope/filter/test_compiler.py"),
    ("amqpscope/insight/bodies", "*", "amqpscope/insight/test_bodies.py"),
    ("amqpscope/insight/diff", "*", "amqpscope/runs/test_diff.py"),
    ("amqpscope/insight", "counters", "amqpscope/insight/test_statistics.py"),
    ("amqpscope/insight", "link_words", "amqpscope/tui/test_looks.py"),
    ("amqpscope/insight", "message_*", "amqpscope/insight/test_messages.py"),
    ("amqpscope/insight", "state", "amqpscope/cli/test_state.py"),
    ("amqpscope/insight", "stuck", "amqpscope/insight/test_refusals.py"),
    ("amqpscope/insight/journeys", "profile trace", "amqpscope/cli/test_broker.py"),
    ("amqpscope/insight/journeys", "*", "amqpscope/insight/journeys/test_journeys.py"),
    ("amqpscope/insight/series", "*", "amqpscope/insight/test_series.py"),
    # State that frames change is tested by the exchanges that change it.
    ("amqpscope/model/v0_9", "*", "amqpscope/rules/v0_9/test_examples.py"),
    ("amqpscope/model/v1_0", "*", "amqpscope/rules/v1_0/test_examples.py"),
    ("amqpscope/model/broker", "*", "amqpscope/rules/broker/test_examples_broker.py"),
    ("amqpscope/model", "*", "amqpscope/rules/v1_0/test_examples.py"),
    # What a family says of its frames is tested where it is shown.
    ("amqpscope/protocols/**", "broker*", "amqpscope/insight/journeys/test_journeys.py"),
    ("amqpscope/protocols/v1_0", "bodies", "amqpscope/tui/test_fields.py"),
    ("amqpscope/protocols/**", "comparison", "amqpscope/runs/test_diff.py"),
    ("amqpscope/protocols/**", "simpler", "amqpscope/runs/test_minimise.py"),
    (
        "amqpscope/protocols/**",
        "media_types prose scrub scrub_words",
        "amqpscope/runs/test_scrub.py",
    ),
    ("amqpscope/report", "scrub", "amqpscope/cli/test_scrub.py"),
    ("amqpscope/protocols", "ending_words", "amqpscope/report/test_endings.py"),
    (
        "amqpscope/protocols/**",
        "facts filter_names names shapes",
        "amqpscope/filter/test_compiler.py",
    ),
    ("amqpscope/protocols/v1_0", "filter_help", "amqpscope/filter/test_parser.py"),
    ("amqpscope/protocols/**", "json", "amqpscope/report/test_jsonl.py"),
    ("amqpscope/protocols/v0_9", "ladder", "amqpscope/insight/test_ladder_v0_9.py"),
    ("amqpscope/protocols/v1_0", "ladder", "amqpscope/runs/test_illustrate.py"),
    ("amqpscope/protocols", "hex_log logs", "amqpscope/capture/test_log.py"),
    (
        "amqpscope/protocols/v1_0/logs",
        "goamqp netlite printed proton proton_values protonj pyamqp rhea uamqp",
        "amqpscope/capture/test_log.py",
    ),
    ("amqpscope/protocols/**", "places", "amqpscope/insight/test_series.py"),
    ("amqpscope/protocols/**", "secrets", "amqpscope/report/test_secrets_everywhere.py"),
    ("amqpscope/protocols/**", "sketch", "amqpscope/tui/test_store.py"),
    ("amqpscope/protocols/**", "state state_link", "amqpscope/cli/test_state.py"),
    ("amqpscope/protocols/**", "stuck", "amqpscope/insight/test_refusals.py"),
    ("amqpscope/protocols/v0_9", "summary", "amqpscope/report/test_units_v0_9.py"),
    ("amqpscope/protocols/**", "summary voice words", "amqpscope/report/test_text.py"),
    ("amqpscope/protocols/**", "templates", "amqpscope/spark/test_state_templates.py"),
    ("amqpscope/protocols/**", "tree", "amqpscope/report/test_tree.py"),
    ("amqpscope/protocols/**", "protocol registry talk versions", "amqpscope/test_analysis.py"),
    # A replay is tested by what the recorded peers, and real ones, see of it.
    ("amqpscope/protocols/v*", "replay replay_*", "amqpscope/protocols/test_replay.py"),
    ("amqpscope/replay", "*", "amqpscope/cli/test_replay.py"),
    # Faults are tested by what they do to frames between two sockets, and to real peers.
    ("amqpscope/cli", "faults", "amqpscope/proxy/faults/test_commands.py"),
    ("amqpscope/protocols", "peers_numbers", "amqpscope/proxy/faults/test_numbers.py"),
    ("amqpscope/protocols/**", "peers peers_*", "amqpscope/proxy/faults/test_layer.py"),
    (
        "amqpscope/proxy",
        "bridge history layered_connection",
        "amqpscope/proxy/faults/test_layer.py",
    ),
    ("amqpscope/proxy/faults", "__init__ acting lane", "amqpscope/proxy/faults/test_layer.py"),
    ("amqpscope/proxy/faults", "backlog", "amqpscope/proxy/faults/test_held.py"),
    ("amqpscope/proxy", "loading", "amqpscope/proxy/faults/test_commands.py"),
    ("amqpscope/proxy/faults", "quick", "amqpscope/proxy/faults/test_any_traffic.py"),
    (
        "amqpscope/proxy/faults",
        "actions errors fault notation presets quantities",
        "amqpscope/proxy/faults/test_parser.py",
    ),
    ("amqpscope/proxy/faults", "websocket", "amqpscope/proxy/faults/test_carriers.py"),
    # The relay is one process, tested between real sockets.
    ("amqpscope/proxy", "clock lines", "amqpscope/proxy/test_limits.py"),
    ("amqpscope/proxy", "listening resolver", "amqpscope/proxy/test_route.py"),
    ("amqpscope/runs", "bodies", "amqpscope/cli/test_bodies.py"),
    ("amqpscope/runs", "tally", "amqpscope/proxy/test_metrics.py"),
    ("amqpscope/proxy", "connection dial entrance flow process", "amqpscope/proxy/test_relay.py"),
    ("amqpscope/proxy", "files", "amqpscope/proxy/test_record.py"),
    ("amqpscope/report", "formats look", "amqpscope/cli/test_read.py"),
    ("amqpscope/report", "broker* trace", "amqpscope/cli/test_broker.py"),
    ("amqpscope/report", "diff_*", "amqpscope/cli/test_diff.py"),
    ("amqpscope/report", "illustration", "amqpscope/report/test_html.py"),
    ("amqpscope/report", "stuck", "amqpscope/cli/test_stuck.py"),
    # A rule is tested by the exchanges of its own docstring.
    ("amqpscope/rules", "coverage", "amqpscope/report/test_catalogue.py"),
    ("amqpscope/rules/broker", "declarations", "amqpscope/insight/journeys/test_journeys.py"),
    ("amqpscope/rules/broker/**", "*", "amqpscope/rules/broker/test_examples_broker.py"),
    ("amqpscope/rules/v0_9/**", "*", "amqpscope/rules/v0_9/test_examples.py"),
    ("amqpscope/rules/**", "*", "amqpscope/rules/v1_0/test_examples.py"),
    ("amqpscope/runs", "collector input", "amqpscope/runs/test_run.py"),
    ("amqpscope/runs", "ddmin", "amqpscope/runs/test_minimise.py"),
    # What workers do is tested without Spark, and the whole with it.
    ("amqpscope/spark", "__init__ outcome stages", "amqpscope/spark/test_job.py"),
    ("amqpscope/spark", "stream_numbering stream_rows", "amqpscope/spark/test_follow.py"),
    ("amqpscope/spark", "delta", "amqpscope/spark/test_directory.py"),
    ("amqpscope/spark", "cells deliveries gather", "amqpscope/spark/test_tables.py"),
    ("amqpscope/spark", "messages minutes", "amqpscope/spark/test_tables.py"),
    ("amqpscope/spark", "sides significance", "amqpscope/spark/test_compare.py"),
    ("amqpscope/spark", "numbering", "amqpscope/spark/test_parts.py"),
    ("amqpscope/spark", "records replay", "amqpscope/spark/test_shares.py"),
    ("amqpscope/spark", "state_classes work worker", "amqpscope/spark/test_unpickling.py"),
    ("amqpscope/spark", "submit", "amqpscope/spark/test_elsewhere.py"),
    (
        "amqpscope/stream",
        "causality flow ordering roles types",
        "amqpscope/stream/test_reassembly.py",
    ),
    ("amqpscope/stream", "framer", "amqpscope/protocols/v1_0/test_framer.py"),
    # Screens are tested as users see them: by keys, and by what is painted.
    ("amqpscope/tui", "__init__", "amqpscope/cli/test_read.py"),
    ("amqpscope/tui", "edit_frame fault_list interception", "amqpscope/tui/test_proxy_app.py"),
    ("amqpscope/tui", "bars connections", "amqpscope/tui/test_app.py"),
    ("amqpscope/tui", "leaving", "amqpscope/tui/test_bookmarks.py"),
    ("amqpscope/tui", "web", "amqpscope/cli/test_web.py"),
    ("amqpscope/tui", "keys", "amqpscope/tui/test_help.py"),
    ("amqpscope/tui", "colours columns profiles row_values", "amqpscope/tui/test_looks.py"),
    ("amqpscope/tui", "message*", "amqpscope/tui/screens/test_messages.py"),
    ("amqpscope/tui", "processes prompts search themes", "amqpscope/tui/test_app.py"),
    ("amqpscope/tui", "export ladder_worker", "amqpscope/tui/screens/test_ladder.py"),
    ("amqpscope/tui", "indexing opening replay scanning spool", "amqpscope/tui/test_store.py"),
    ("amqpscope/tui", "refusal_index", "amqpscope/tui/test_stories.py"),
    ("amqpscope/tui", "replayed_steps", "amqpscope/tui/test_store.py"),
    ("amqpscope/tui", "stats_worker", "amqpscope/tui/screens/test_stats.py"),
    ("amqpscope/tui", "step_cache* time_travel", "amqpscope/tui/test_store.py"),
    ("amqpscope/tui/screens", "__init__ panes stepping view", "amqpscope/tui/test_app.py"),
    ("amqpscope/tui/screens", "dividers", "amqpscope/tui/test_looks.py"),
    ("amqpscope/tui/screens", "measured", "amqpscope/tui/screens/test_stuck.py"),
    ("amqpscope/tui/widgets", "*", "amqpscope/tui/test_app.py"),
    # Decoding is tested from the outside: whole units, decoded and encoded again.
    ("dissectors", "composite errors native rows", "dissectors/v1_0/test_codec.py"),
    ("dissectors", "scapy_units", "dissectors/test_scapy_layers.py"),
    ("dissectors", "secret_signs", "dissectors/test_masking.py"),
    ("dissectors/v*", "versions", "dissectors/test_versions.py"),
    ("dissectors/v0_9", "encodings plans primitives values", "dissectors/v0_9/test_codec.py"),
    ("dissectors/v0_9", "rows", "dissectors/v0_9/test_tables.py"),
    ("dissectors/v1_0", "body compounds plans primitives", "dissectors/v1_0/test_codec.py"),
    ("dissectors/v1_0", "generate", "dissectors/v1_0/test_bodies.py"),
    ("dissectors/v1_0", "rows", "dissectors/v1_0/test_tables.py"),
)


def has_code(path):
    """Whether there is more in a module than its docstring."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return any(not isinstance(part, ast.Expr) for part in body)


def twins(path):
    """Where the tests of a module are looked for."""
    folder = TESTS / path.parent.relative_to(ROOT)
    if path.stem == "__init__":
        return [folder / f"test_{folder.name}.py", folder.parent / f"test_{folder.name}.py"]
    words = path.stem.split("_")
    return [folder / f"test_{'_'.join(words[:n])}.py" for n in range(len(words), 0, -1)]


def alone():
    """Modules without a test in the mirrored place."""
    modules = [*ROOT.glob("amqpscope/**/*.py"), *ROOT.glob("dissectors/**/*.py")]
    return {m for m in modules if has_code(m) and not any(test.exists() for test in twins(m))}


def named(folder, names):
    """The modules that a row names, by name."""
    return {name: set(ROOT.glob(f"{folder}/{name}.py")) for name in names.split()}


def test_every_module_has_its_test_or_a_row():
    rest = alone()
    for folder, names, _ in ELSEWHERE:
        rest -= set().union(*named(folder, names).values())
    assert sorted(str(path.relative_to(ROOT)) for path in rest) == []


def test_every_name_in_a_row_is_needed():
    rest, idle = alone(), []
    for folder, names, _ in ELSEWHERE:
        for name, modules in named(folder, names).items():
            if not rest & modules:
                idle.append(f"{folder}/{name}")
            rest -= modules
    assert idle == []


@pytest.mark.parametrize("test", sorted({test for _, _, test in ELSEWHERE}))
def test_the_test_that_a_row_names_exists(test):
    assert (TESTS / test).is_file()
