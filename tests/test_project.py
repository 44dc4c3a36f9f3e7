"""The promises of the project as a whole: builds, imports, start-up time, a tidy checkout."""

import ast
import importlib
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from amqpscope.rules.all import load
from amqpscope.rules.registry import signature_of
from kit import ROOT
from kit.project import compiled_modules, load_compiler

EXPECT = os.environ.get("AMQPSCOPE_EXPECT")

HEAVY = {"click", "cryptography", "pyshark", "pyspark", "rich", "scapy", "textual"}
TOP_LEVEL = {"amqpscope", "captures", "dissectors", "pyproject.toml", "README.md", "tests"}
HOSTS = ("pypi.org", "pythonhosted.org", "registry.npmjs.org", "ghcr.io", "docker.io")
HELP_SECONDS = 0.4


def run(*command):
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    ).stdout


def loaded_by(statement):
    """Top-level packages in memory after a statement, in a fresh interpreter."""
    code = f"import sys\n{statement}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    return set(run(sys.executable, "-c", code).split())


def files():
    """Every file that git keeps or would keep."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return [path for path in map(ROOT.joinpath, listed.split("\0")) if path.is_file()]


def imported(node):
    """Names of the modules imported when the code runs: not those for the type checker alone."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield node.module
    elif not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
        for child in ast.iter_child_nodes(node):
            yield from imported(child)


@pytest.mark.skipif(EXPECT is None, reason="AMQPSCOPE_EXPECT does not say which build this is")
@pytest.mark.parametrize("name", compiled_modules())
def test_this_run_is_of_the_build_it_claims(name):
    suffix = Path(importlib.import_module(name).__file__).suffix
    assert suffix == {"compiled": ".so", "pure": ".py"}[EXPECT]


def test_a_pattern_that_names_no_module_to_compile_is_an_error():
    compiler = load_compiler()
    assert "amqpscope/model/serial.py" in compiler.matching(["amqpscope/model/**/*.py"])
    with pytest.raises(SystemExit, match=r"amqpscope/moddel"):
        compiler.matching(["amqpscope/model/*.py", "amqpscope/moddel/*.py"])


def test_parameters_of_rules_are_written_down_for_the_compiled_build():
    compiler = load_compiler()
    rows = {
        function: list(zip(words[::2], words[1::2], strict=True))
        for function, *words in (
            line.split("\t")
            for line in compiler.signatures(compiler.compiled_groups()["rules"]).splitlines()
        )
    }
    checks = [rule.check for rule in load().values() if rule.family.name != "broker"]
    assert len(checks) > 500
    for check in checks:
        assert rows[f"{check.__module__}.{check.__name__}"] == signature_of(check)


def test_code_that_is_compiled_begins_in_the_first_column(tmp_path):
    source = tmp_path / "a.c"
    source.write_text("int a;\n" + " " * 900 + 'char *b = "  c";\n\treturn;\n')
    load_compiler().prepare(source)
    assert source.read_text() == 'int a;\nchar *b = "  c";\nreturn;\n'


def test_code_that_runs_once_is_not_optimised(tmp_path):
    source = tmp_path / "a.c"
    source.write_text("char CPyDef_a_____top_level__(void) {\nreturn 2;\n}\n")
    load_compiler().prepare(source)
    assert source.read_text().startswith("RUN_ONCE char CPyDef_a_____top_level__(void) {\n")


def test_only_what_is_compiled_is_left_without_optimisation():
    compiler = load_compiler()
    rarely = compiler.matching(compiler.patterns()["rarely"])
    without_code = {file for file in rarely if file.endswith("__init__.py")}
    assert rarely - without_code <= set(compiler.compiled_modules())


@pytest.mark.skipif(EXPECT != "compiled", reason="only the installed package has a build")
def test_version_says_that_it_is_compiled(amqpscope):
    assert amqpscope("--version").stdout.rstrip().endswith("(compiled)")


def test_analysis_needs_no_heavy_library():
    assert loaded_by("import amqpscope.analysis") & HEAVY == set()


def test_command_line_starts_with_click_alone():
    assert loaded_by("import amqpscope.cli") & HEAVY == {"click"}


def test_help_starts_at_once():
    def seconds():
        # Of processor time: on a busy machine the clock says more about the others.
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(sys.executable, "-m", "amqpscope", "--help")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(seconds() for _ in range(5)) < HELP_SECONDS


def test_a_command_loads_nothing_that_only_others_need():
    """Each of these takes milliseconds and megabytes at every start."""
    code = (
        "import atexit, os, sys\n"
        "atexit.register(lambda: print(*sys.modules, file=sys.__stdout__))\n"
        "sys.stdout = open(os.devnull, 'w')\n"
        "from amqpscope.cli import cli\n"
        "cli(['lint', '--fail-on', 'never', 'captures/demo.pcapng'])\n"
    )
    loaded = set(run(sys.executable, "-c", code).split())
    spared = {
        "_hashlib", "asyncio", "importlib.resources", "multiprocessing", "rich", "ssl",
        "subprocess", "tempfile", "amqpscope.cli.read", "amqpscope.protocols.replay",
    }  # fmt: skip
    assert "amqpscope.cli.lint" in loaded
    assert loaded & spared == set()


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("dissectors/**/*.py")), ids=lambda path: str(path.relative_to(ROOT))
)
def test_dissectors_import_the_standard_library_alone(path):
    allowed = sys.stdlib_module_names | {"dissectors"}
    if path.name.startswith("scapy"):
        allowed |= {"scapy"}
    tree = ast.parse(path.read_text())
    assert {name.partition(".")[0] for name in imported(tree)} <= allowed


def test_top_level_is_tidy():
    names = {path.relative_to(ROOT).parts[0] for path in files()}
    assert {name for name in names if not name.startswith(".")} <= TOP_LEVEL


def test_files_name_no_place_of_one_machine():
    places = re.compile(rb"(?<![\w.~*-])/(?:work|root|home)/")
    hosts = re.compile("|".join(map(re.escape, HOSTS)).encode())
    texts = {path: path.read_bytes() for path in files() if path != Path(__file__)}
    found = [
        str(path.relative_to(ROOT))
        for path, text in texts.items()
        if b"\0" not in text and (places.search(text) or hosts.search(text))
    ]
    assert found == []


def height(way):
    """How many directories `.parent.parent` or `.parents[1]` goes up."""
    return way.count(".parent") + sum(map(int, re.findall(r"\[(\d+)\]", way)))


def test_no_file_looks_beside_the_checkout():
    # What lies there differs from place to place, and the result would differ with it.
    beside = re.compile(r"\b(?:ROOT|root)\.parent")
    ways = re.compile(r"__file__\)(?:\.resolve\(\))?((?:\.parent\b|\.parents\[\d+\])+)")
    found = []
    for path in files():
        if path.suffix == ".py" and path != Path(__file__):
            place, text = path.relative_to(ROOT), path.read_text()
            if beside.search(text) or any(height(w) > len(place.parts) for w in ways.findall(text)):
                found.append(str(place))
    assert found == []


def test_tests_are_no_packages():
    # The folder of the kit is on the path: tests/dissectors as a package would hide the real one.
    assert list(ROOT.glob("tests/**/__init__.py")) == [ROOT / "tests" / "kit" / "__init__.py"]


def test_pages_lead_to_what_exists():
    pages = [ROOT / "README.md", *ROOT.glob("amqpscope/**/*.md"), ROOT / "captures" / "README.md"]
    broken = [
        (page.name, link)
        for page in pages
        for link in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
        if "://" not in link and not (page.parent / link).exists()
    ]
    assert broken == []


def test_ci_runs_the_command_that_the_readme_names():
    command = (ROOT / ".ci" / "run").read_text().split("exec ")[1].strip()
    assert f"\n{command}\n" in (ROOT / "README.md").read_text()
