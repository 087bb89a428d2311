"""Text parsed by NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from osteon.core.errors import FileFormatError
from osteon.io.load.source import Source
from osteon.io.meshes.text import Lines, parse_numbers, parse_table, token_starts

SOURCE = Source(Path("some.txt"))


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_of_every_kind(end):
    data = end.join([b"", b"  one 1", b"\ttwo", b"   ", b"#three", b"four # five", b"six#7", b"last"])
    lines = Lines.of(data, comments=True)
    assert [lines.line(i).strip() for i in range(len(lines))] == [b"one 1", b"two", b"four", b"six#7", b"last"]
    assert lines.first_bytes(0).tobytes() == b"otfsl"


def test_nothing_but_blanks():
    assert len(Lines.of(b" \n\t\n\n", comments=True)) == 0
    assert len(Lines.of(b"# only\n", comments=True)) == 0


def test_picking_lines():
    lines = Lines.of(b"a\nb\nc\n\nd\ne\n", comments=False)
    assert lines.pick(np.array([0, 2, 3])) == b"a\nc\n\nd\n"
    assert lines.pick(np.array([], int)) == b""
    assert lines.block(1, 3) == b"b\nc\n"
    assert lines.block(2, 2) == b""


def test_words_are_counted_line_by_line():
    starts, counts = token_starts(b"1 22  3\n\n \n 4\t5\n")
    assert starts.tolist() == [0, 2, 6, 12, 14]
    assert counts.tolist() == [3, 2]


def test_numbers_and_what_is_none():
    assert parse_numbers(b" 1 -2.5e1 +3 nan ", 4, SOURCE, "row")[:3].tolist() == [1, -25, 3]
    assert parse_numbers(b"   ", 0, SOURCE, "row").size == 0
    for bad in (b"1 two 3", b"1 2 0x3", b"1 2,5 3", b"1 \x00 3"):
        with pytest.raises(FileFormatError, match=r"some\.txt: expected a number"):
            parse_numbers(bad, 3, SOURCE, "row")


def test_ragged_tables_are_filled_with_nan_and_cut():
    table = parse_table(b"1 2 3\n\n4 5 6 7 8\n", 2, SOURCE, "row", least=3, most=4)
    assert np.array_equal(table, [[1, 2, 3, np.nan], [4, 5, 6, 7]], equal_nan=True)
    assert parse_table(b"1 2 3 4\n", 1, SOURCE, "row", least=2, most=3).tolist() == [[1, 2, 3]]
    with pytest.raises(FileFormatError, match="row 1 has 2 of 3 numbers"):
        parse_table(b"1 2 3\n1 2\n", 2, SOURCE, "row", least=3, most=4)
    with pytest.raises(FileFormatError, match="a row line has no numbers"):
        parse_table(b"1 2 3\n \n", 2, SOURCE, "row", least=3, most=4)
