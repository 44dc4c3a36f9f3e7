import pytest

from dissectors.data_files import read_text


def test_a_table_beside_the_modules_is_read_as_text():
    assert "basic" in read_text("dissectors.v0_9", "tables/0-9-1.txt")


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(FileNotFoundError, match=r"nothing\.txt"):
        read_text("dissectors.v0_9", "tables/nothing.txt")
