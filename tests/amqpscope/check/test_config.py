"""The configuration file."""

import pytest

from amqpscope.check.config import KEYS, find_config, from_table, read_config
from amqpscope.check.selection import ConfigError

WHOLE = """
select = ["FLW", "transfer-without-credit"]
ignore = ["MSG-024"]
strict = true
fail-on = "warning"
[severity]
FLW-001 = "info"
[per-capture-ignores]
"legacy-*.pcap" = ["MSG"]
"""


def test_every_key_is_read(tmp_path):
    path = tmp_path / "amqpscope.toml"
    path.write_text(WHOLE)
    choice = read_config(path)
    assert choice.select == ("FLW", "FLW-016")
    assert choice.ignore == ("MSG-024",)
    assert (choice.strict, choice.fail_on) == (True, "warning")
    assert choice.severity == {"FLW-001": "info"}
    assert choice.per_capture == {"legacy-*.pcap": ("MSG",)}


def test_a_section_of_pyproject_does_the_same(tmp_path):
    path = tmp_path / "pyproject.toml"
    own = WHOLE.replace("[severity]", "[tool.amqpscope.severity]")
    own = own.replace("[per-", "[tool.amqpscope.per-")
    path.write_text(f"[tool.amqpscope]\n{own}")
    (tmp_path / "own.toml").write_text(WHOLE)
    assert read_config(path) == read_config(tmp_path / "own.toml")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('selects = ["FLW"]', "unknown key 'selects'; did you mean select?"),
        ('fail_on = "error"', "unknown key 'fail_on'; did you mean fail-on?"),
        ("zzz = 1", f"unknown key 'zzz', expected one of {', '.join(KEYS)}"),
        ('select = ["FLW-999"]', "select: 'FLW-999' is no rule or group; did you mean FLW-"),
        ('ignore = "FLW"', "ignore = 'FLW': expected a list of rule ids, names or groups"),
        ("ignore = [1]", "ignore = [1]: expected a list of rule ids, names or groups"),
        ('strict = "yes"', "strict = 'yes': expected true or false"),
        ('fail-on = "fatal"', "fail-on = 'fatal': expected one of error, warning, info, never"),
        ("fail-on = [1]", "fail-on = [1]: expected one of error, warning, info, never"),
        ("severity = 1", "severity = 1: expected a table"),
        (
            'severity = {FLW-001 = "bad"}',
            "severity.FLW-001 = 'bad': expected one of error, warning",
        ),
        ('severity = {NOPE = "info"}', "severity: 'NOPE' is no rule or group"),
        ('per-capture-ignores = ["a"]', "per-capture-ignores = ['a']: expected a table"),
        ('per-capture-ignores = {"a*" = ["NOPE"]}', "per-capture-ignores.'a*': 'NOPE' is no rule"),
        ("select = [", "no TOML: "),
    ],
)
def test_what_is_wrong_is_named_with_its_file_in_one_line(tmp_path, text, told):
    path = tmp_path / "amqpscope.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as raised:
        read_config(path)
    assert str(raised.value).startswith(f"{path}: {told}")
    assert "\n" not in str(raised.value)


def test_the_guide_describes_every_key(root):
    page = (root / "amqpscope" / "guide" / "ci.md").read_text()
    assert [key for key in KEYS if f"\n| `{key}` |" not in page] == []


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.toml: no such file or directory"):
        read_config(tmp_path / "none.toml")


@pytest.mark.parametrize("text", ["", "[tool.other]\na = 1", "tool = 3", "[tool]\namqpscope2 = 1"])
def test_a_project_without_our_section_is_not_ours(tmp_path, text):
    project = tmp_path / "pyproject.toml"
    project.write_text(text)
    assert find_config(tmp_path) != project
    with pytest.raises(ConfigError, match=r"has no \[tool\.amqpscope\]"):
        read_config(project)


def test_a_section_that_is_no_table_is_named(tmp_path):
    project = tmp_path / "pyproject.toml"
    project.write_text("[tool]\namqpscope = 1")
    with pytest.raises(ConfigError, match=r"tool\.amqpscope = 1: expected a table"):
        find_config(tmp_path)


def test_the_nearest_file_counts_and_our_own_before_the_projects(tmp_path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("[tool.amqpscope]\n")
    assert find_config(inner) == tmp_path / "pyproject.toml"
    (tmp_path / "amqpscope.toml").write_text("")
    assert find_config(inner) == tmp_path / "amqpscope.toml"
    (tmp_path / "a" / "pyproject.toml").write_text('[project]\ndependencies = ["amqpscope"]\n')
    assert find_config(inner) == tmp_path / "amqpscope.toml"


def test_an_empty_table_chooses_the_defaults():
    choice = from_table({})
    assert (choice.select, choice.ignore, choice.strict, choice.fail_on) == ((), (), False, "error")
