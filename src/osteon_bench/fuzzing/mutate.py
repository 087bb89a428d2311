"""Mutations of bytes and words: functions of a random generator and a file that return another file."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from random import Random

Mutation = Callable[[Random, bytes], bytes]

#: Words that text readers often mishandle.
WORDS = [
    *(
        b"nan",
        b"-nan",
        b"inf",
        b"-inf",
        b"1e999",
        b"-1e999",
        b"1e38",
        b"1e-400",
        b"1e308",
        b"0",
        b"-0",
        b"-1",
        b"1",
        b"2",
    ),
    *(b"255", b"256", b"65536", b"2147483647", b"2147483648", b"-2147483649", b"4294967296", b"9223372036854775808"),
    *(b"99999999999999999999", b"9" * 400, b"9" * 5000, b"0x10", b"1_0", b"1.5", b".", b"-", b"+", b"e", b"1e", b"--1"),
    *(
        b"",
        b"\0",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        "²".encode(),
        "٣".encode(),
        b"\xed\xa0\x80",
        b'"',
        b"'",
        b"\\",
        b"#",
        b"/",
    ),
    *(b"{", b"}", b"[", b"]", b"(", b")", b",", b":", b"true", b"null", b"x", b"x" * 3000, b"%s", b"../x", b"\x1b[31m"),
]
#: Numbers as they are stored, little-endian.
NUMBERS = [
    *(struct.pack("<f", value) for value in (float("nan"), float("inf"), -float("inf"), 3e38, 1e-45, -0.0, 1.0, 1e20)),
    *(struct.pack("<d", value) for value in (float("nan"), float("inf"), 1.7e308, 5e-324, 1e300)),
    *(struct.pack("<I", value) for value in (0, 1, 2, 3, 255, 65535, 65536, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)),
    *(struct.pack("<Q", value) for value in (0, 1, 8, 16, 1 << 31, 1 << 32, 1 << 62, 1 << 63, (1 << 64) - 1)),
    *(struct.pack("<H", value) for value in (0, 1, 255, 256, 0x7FFF, 0x8000, 0xFFFF)),
    *(struct.pack(">I", value) for value in (1, 3, 0x7FFFFFFF)),
]
_TOKENS = re.compile(rb"[\w.+\-]+|\s+|[^\w\s]")
_BLANK = re.compile(rb"\s+")


def mutate_bytes(rng: Random, data: bytes) -> bytes:
    """Flip, delete, insert or repeat a few bytes."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randint(0, len(out))
        how = rng.randrange(6)
        if how == 0 and at < len(out):
            out[at] ^= 1 << rng.randrange(8)
        elif how == 1 and at < len(out):
            out[at] = rng.randrange(256)
        elif how == 2:
            del out[at : at + rng.choice((1, 2, 4, 16, 10**6))]
        elif how == 3:
            out[at:at] = rng.randbytes(rng.choice((1, 2, 4, 8)))
        elif how == 4:
            out[at:at] = out[at : at + rng.choice((1, 4, 16, 64))] * rng.choice((1, 2, 20))
        else:
            word = rng.choice(WORDS)
            out[at : at + len(word)] = word
    return bytes(out)


def mutate_numbers(rng: Random, data: bytes) -> bytes:
    """Replace a few stored numbers by extreme values; the length stays."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        number = rng.choice(NUMBERS)
        at = rng.randint(0, max(0, len(out) - len(number)))
        at -= at % rng.choice((1, 2, 4, len(number)))
        if rng.random() < 0.25 and at < len(out):
            out[at] = (out[at] + rng.choice((1, 255))) % 256
        else:
            out[at : at + len(number)] = number[: len(out) - at]
    return bytes(out)


def mutate_text(rng: Random, data: bytes) -> bytes:
    """Replace, move, delete or repeat a few words or lines."""
    tokens = _TOKENS.findall(data)
    for _ in range(rng.randint(1, 3)):
        if not tokens:
            return rng.choice(WORDS)
        tokens = rng.choice(_TEXT_STEPS)(rng, tokens)
    return b"".join(tokens)


def _replace(rng: Random, tokens: list[bytes]) -> list[bytes]:
    at = _word_at(rng, tokens)
    tokens[at] = rng.choice(WORDS)
    return tokens


def _nudge(rng: Random, tokens: list[bytes]) -> list[bytes]:
    """Change an integer by one, negate it or multiply it by a thousand."""
    places = [i for i, token in enumerate(tokens) if token.isdigit() and len(token) < 12]
    if places:
        at = rng.choice(places)
        value = int(tokens[at])
        tokens[at] = str(rng.choice((value + 1, value - 1, -value, value * 1000, value << 32))).encode()
    return tokens


def _exchange(rng: Random, tokens: list[bytes]) -> list[bytes]:
    a, b = _word_at(rng, tokens), _word_at(rng, tokens)
    tokens[a], tokens[b] = tokens[b], tokens[a]
    return tokens


def _drop(rng: Random, tokens: list[bytes]) -> list[bytes]:
    at = rng.randrange(len(tokens))
    del tokens[at : at + rng.choice((1, 1, 2, 5, len(tokens)))]
    return tokens


def _repeat(rng: Random, tokens: list[bytes]) -> list[bytes]:
    """Repeat a line or a part of one."""
    at = rng.randrange(len(tokens))
    stop = min(len(tokens), at + rng.choice((1, 2, 6, 20)))
    tokens[at:at] = tokens[at:stop] * rng.choice((1, 1, 3, 200))
    return tokens


def _break(rng: Random, tokens: list[bytes]) -> list[bytes]:
    """Replace or insert white space."""
    at = rng.randrange(len(tokens))
    blank = rng.choice((b"\n", b"\r", b"\r\n", b"\\\n", b"\t", b"\v\f", b" " * 2000, b"", b"\xc2\xa0", b"\xe2\x80\xa8"))
    if _BLANK.fullmatch(tokens[at]):
        tokens[at] = blank
    else:
        tokens.insert(at, blank)
    return tokens


def _nest(rng: Random, tokens: list[bytes]) -> list[bytes]:
    tokens.insert(rng.randrange(len(tokens)), rng.choice((b"[", b"{", b"(", b'{"a":')) * rng.choice((1, 50, 3000)))
    return tokens


def _word_at(rng: Random, tokens: list[bytes]) -> int:
    at = rng.randrange(len(tokens))
    return at + 1 if _BLANK.fullmatch(tokens[at]) and at + 1 < len(tokens) else at


_TEXT_STEPS = (_replace, _replace, _replace, _nudge, _nudge, _exchange, _drop, _repeat, _break, _nest)
