import pytest

from amqpscope.proxy.keylog_tail import MAX_READ, KeyLog

LINE = b"CLIENT_RANDOM " + b"0a" * 32 + b" " + b"1b" * 48 + b"\n"
OTHER = b"CLIENT_TRAFFIC_SECRET_0 " + b"2c" * 32 + b" " + b"3d" * 32 + b"\n"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "keys.txt"


def append(path, text):
    with path.open("ab") as file:
        file.write(text)


def test_only_what_was_added_is_news(path):
    log = KeyLog(str(path))
    assert log.news() == b""  # it is not there yet
    append(path, LINE)
    assert log.news() == LINE
    assert log.news() == b""
    append(path, OTHER)
    assert log.news() == OTHER


def test_a_line_comes_when_it_is_whole(path):
    log = KeyLog(str(path))
    append(path, LINE[:20])
    assert log.news() == b""
    append(path, LINE[20:] + OTHER[:-1])
    assert log.news() == LINE
    append(path, OTHER[-1:])
    assert log.news() == OTHER


def test_what_is_no_secret_stays_out(path):
    append(path, b"# a comment\npassword=hunter2\n" + LINE.replace(b"\n", b"\r\n") + b"\xff\xfe\n")
    assert KeyLog(str(path)).news() == LINE


def test_a_log_that_is_begun_anew_is_read_from_its_beginning(path):
    log = KeyLog(str(path))
    append(path, OTHER + OTHER)
    log.news()
    path.write_bytes(LINE)
    assert log.news() == LINE
    path.unlink()
    assert log.news() == b""
    path.write_bytes(OTHER)
    assert log.news() == OTHER


def test_a_long_log_comes_in_parts_and_whole(path):
    count = MAX_READ // len(LINE) + 100
    append(path, LINE * count)
    log = KeyLog(str(path))
    assert log.news() + log.news() == LINE * count


def test_a_line_without_end_is_passed_over(path):
    append(path, b"x" * (MAX_READ + 5) + b"\n" + LINE)
    log = KeyLog(str(path))
    assert log.news() == b""
    assert log.news() == LINE


def test_a_directory_has_no_news(tmp_path):
    assert KeyLog(str(tmp_path)).news() == b""
