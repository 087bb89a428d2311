"""OpenEXR images: every compression and type, other windows and channels, the parts of PIZ, and what is refused."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from osteon.core.errors import FileFormatError
from osteon.io.images.exr import LINES, read_exr
from osteon.io.images.piz import decode_huffman, undo_wavelet
from osteon_bench.fuzzing.exr_seeds import PIZ, exr_bytes, sample_colors

RNG = np.random.default_rng(4)
WRITTEN = [name for name in LINES if name != "PIZ"]


def planes(pixels: np.ndarray, kind: str) -> dict[str, np.ndarray]:
    return dict(zip("RGB", np.moveaxis(pixels, -1, 0).astype(kind), strict=True))


@pytest.mark.parametrize("compression", WRITTEN)
@pytest.mark.parametrize("kind", ["<f2", "<f4", "<u4"])
def test_every_compression_and_type(compression, kind):
    pixels = np.repeat(RNG.integers(0, 9, (37, 7, 3)), 3, axis=1).astype(np.float32)
    np.testing.assert_array_equal(read_exr(exr_bytes(planes(pixels, kind), compression), "a.exr"), pixels)


def test_blocks_that_do_not_become_smaller_are_stored_plain():
    pixels = RNG.random((5, 4, 3)).astype("<f4")
    for compression in ("RLE", "ZIPS", "ZIP"):
        np.testing.assert_array_equal(read_exr(exr_bytes(planes(pixels, "<f4"), compression), "a.exr"), pixels)


@pytest.mark.parametrize("kind", ["f2", "f4"])
def test_files_with_piz_of_the_openexr_library(kind):
    np.testing.assert_array_equal(read_exr(PIZ[kind], "a.exr"), sample_colors())


def test_the_window_of_the_pixels_may_be_smaller_than_the_image_and_elsewhere():
    pixels = RNG.random((3, 4, 3)).astype("<f4")
    found = read_exr(exr_bytes(planes(pixels, "<f4"), window=(-2, 1), shown=(0, 0, 4, 2)), "a.exr")
    assert found.shape == (3, 5, 3)
    np.testing.assert_array_equal(found[1:, :2], pixels[:2, 2:])
    assert not found[0].any()
    assert not found[:, 2:].any()


def test_luminance_alone_and_the_channels_of_a_layer():
    one, two = RNG.random((2, 3, 4)).astype("<f4")
    found = read_exr(exr_bytes({"Y": one, "A": two}), "a.exr")
    np.testing.assert_array_equal(found, np.repeat(one[..., None], 3, axis=2))
    found = read_exr(exr_bytes({"sky.R": one, "sky.G": two, "sky.B": one, "depth.Z": two}), "a.exr")
    np.testing.assert_array_equal(found, np.stack([one, two, one], axis=-1))


def wavelet(plane: np.ndarray, plain: bool) -> None:
    """The inverse of `undo_wavelet`, one pair at a time."""

    def parted(a: int, b: int) -> tuple[int, int]:
        if plain:
            a, b = (int(np.uint16(x).astype(np.int16)) for x in (a, b))
            return ((a + b) >> 1) & 0xFFFF, (a - b) & 0xFFFF
        moved = (a + 0x8000) & 0xFFFF
        average, apart = (moved + b) >> 1, moved - b
        if apart < 0:
            average = (average + 0x8000) & 0xFFFF
        return average, apart & 0xFFFF

    def split(first: tuple[int, int], second: tuple[int, int]) -> None:
        plane[first], plane[second] = parted(int(plane[first]), int(plane[second]))

    height, width = plane.shape
    half = 1
    while 2 * half <= min(width, height):
        step = 2 * half
        for y in range(0, height - step + 1, step):
            for x in range(0, width - step + 1, step):
                split((y, x), (y, x + half))
                split((y + half, x), (y + half, x + half))
                split((y, x), (y + half, x))
                split((y, x + half), (y + half, x + half))
            if width & half:
                split((y, width // step * step), (y + half, width // step * step))
        if height & half:
            for x in range(0, width - step + 1, step):
                split((height // step * step, x), (height // step * step, x + half))
        half = step


@pytest.mark.parametrize("shape", [(8, 8), (1, 5), (7, 13), (16, 3), (9, 32)])
@pytest.mark.parametrize("largest", [(1 << 14) - 1, (1 << 16) - 1])
def test_the_wavelet_is_undone(shape, largest):
    plane = RNG.integers(0, largest + 1, shape).astype(np.uint16)
    stored = plane.copy()
    wavelet(stored, largest < 1 << 14)
    undo_wavelet(stored, largest)
    np.testing.assert_array_equal(stored, plane)


def bits_of(text: str) -> bytes:
    text += "0" * (-len(text) % 8)
    return bytes(int(text[at : at + 8], 2) for at in range(0, len(text), 8))


def test_codes_by_hand():
    """Symbols 3, 4, 5 and the run 6 with codes of 1, 3, 3 and 2 bits: the longest codes come first."""
    lengths = "".join(f"{length:06b}" for length in (1, 3, 3, 2))
    codes = {3: "1", 4: "000", 5: "001", 6: "01"}
    coded = codes[3] + codes[5] + codes[6] + f"{3:08b}" + codes[4]
    data = struct.pack("<IIIII", 3, 6, 0, len(coded), 0) + bits_of(lengths) + bits_of(coded)
    assert decode_huffman(data, 6).tolist() == [3, 5, 5, 5, 5, 4]
    for count in (5, 7):
        with pytest.raises(ValueError, match="numbers"):
            decode_huffman(data, count)


def test_zeros_among_the_lengths():
    """Symbols 2, 9 and the run 400; 6 zeros by a short run, 390 by two long ones."""
    packed = "000001" + f"{62:06b}" + "000000" + "000010"
    packed += f"{63:06b}{255:08b}" + f"{63:06b}{390 - 261 - 6:08b}" + "000010"
    coded = "1" + "00" + "1"
    data = struct.pack("<IIIII", 2, 400, 0, len(coded), 0) + bits_of(packed) + bits_of(coded)
    assert decode_huffman(data, 3).tolist() == [2, 9, 2]


IMAGE = planes(sample_colors(), "<f2")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"#?RADIANCE", "no OpenEXR image"),
        (exr_bytes(IMAGE)[:200], "ends early or is damaged"),
        (exr_bytes(IMAGE)[:-9], "ends early or is damaged"),
        (PIZ["f2"][:-40], "ends early or is damaged"),
        (exr_bytes(IMAGE, flags=0x200), "holds tiles"),
        (exr_bytes(IMAGE, flags=0x1000), "holds several parts"),
        (exr_bytes(IMAGE, flags=0x800), "holds deep pixels"),
        (exr_bytes(IMAGE, code=8), "compressed by DWAA"),
        (exr_bytes(IMAGE, code=77), "compressed by number 77"),
        (exr_bytes({"Z": IMAGE["R"]}), "has the channels 'Z'; expected R, G and B, or Y"),
        (exr_bytes(IMAGE, shown=(0, 0, 1 << 20, 1 << 20)), "pixels, expected 1"),
        (exr_bytes(IMAGE, shown=(0, 0, 999, 999)), "a small part"),
        (
            exr_bytes(IMAGE).replace(b"compression\0compression", b"compressiom\0compression"),
            "no attribute 'compression'",
        ),
    ],
)
def test_other_files_are_refused_in_one_line(data, words):
    with pytest.raises(FileFormatError, match=words) as refused:
        read_exr(data, "a.exr")
    assert str(refused.value).startswith("a.exr: ")
    assert "\n" not in str(refused.value)
