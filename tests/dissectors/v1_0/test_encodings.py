import pytest

from dissectors.v1_0.encodings import BY_CODE, CODES, ENCODINGS, TYPE_NUMBER, TYPE_OF, TYPES, label
from dissectors.v1_0.rows import Encoding


def test_there_are_39_encodings_of_24_types_with_codes_of_their_own():
    assert len(ENCODINGS) == 39
    assert len(BY_CODE) == 39
    assert len(TYPES) == 24


@pytest.mark.parametrize("row", ENCODINGS, ids=lambda row: f"{row.code:02x}")
def test_the_high_half_of_a_code_tells_the_width(row: Encoding):
    widths = {4: 0, 5: 1, 6: 2, 7: 4, 8: 8, 9: 16, 0xA: 1, 0xB: 4, 0xC: 1, 0xD: 4, 0xE: 1, 0xF: 4}
    assert row.width == widths[row.code >> 4]


def test_type_of_is_zero_for_codes_that_nothing_is_assigned_to():
    assert {code for code in range(256) if TYPE_OF[code]} == set(BY_CODE)
    assert TYPE_OF[0x52] == TYPE_OF[0x70] == TYPE_NUMBER["uint"]


def test_the_plain_encoding_of_a_type_comes_first():
    assert [row.code for row in CODES["uint"]] == [0x70, 0x52, 0x43]
    assert [row.code for row in CODES["boolean"]] == [0x56, 0x41, 0x42]


@pytest.mark.parametrize(
    ("code", "text"),
    [(0xC0, "list8"), (0x52, "smalluint"), (0x70, "uint"), (0x41, "boolean"), (0x46, "0x46")],
)
def test_label_is_how_people_say_it(code, text):
    assert label(code) == text
