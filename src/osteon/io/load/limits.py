"""How much memory a file may need: one rule and one message for every reader.

A file of a few kilobytes can unpack to terabytes, or name the same numbers a million times. Whatever a reader makes
beyond the bytes that it was given is claimed here before it is made; the claims of a file add up. Refused is

- what needs more memory than is free;
- what was stored and unpacks to both more than 1 GiB and more than a hundred times what is on the disk: positions
  shrink to a tenth at best. Frames that are sampled from keys are not stored, and may be many more than that.

A count that rows of a known size must follow (PLY, OFF, MEDIT, .npy, accessors, Ogawa) needs no claim: it is compared
with the bytes that do follow. A key time that is damaged makes hours of a file of a few bytes; its frames are counted
before they are sampled.
"""

from __future__ import annotations

import os
from pathlib import Path

from osteon.io.load.source import Source

__all__ = ["LARGEST_RATIO", "LARGEST_UNPACKED", "MEMORY", "MOST_FRAMES", "Claims", "check_frames", "free_memory"]


def _memory() -> int:
    """Bytes of memory of this machine; 64 GiB where the system does not report it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 64 << 30


def free_memory() -> int:
    """Bytes of memory and swap that are free on this machine; all of its memory where the system does not report it."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        kilobytes = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
        return (kilobytes["MemAvailable"] + kilobytes["SwapFree"]) << 10
    except (OSError, KeyError, ValueError, IndexError):
        return MEMORY


MEMORY = _memory()  # bytes
LARGEST_UNPACKED = 1 << 30  # bytes
LARGEST_RATIO = 100
#: Nine hours at 30 frames a second; a key time beyond that is a damaged file.
MOST_FRAMES = 1_000_000
#: Ten minutes at 25 frames a second, of a file of any size, where a library poses them one by one; a larger file may
#: have as many as it has bytes.
FEW_FRAMES = 15_000


def check_frames(source: Source, stored: int, count: int, fps: float | str, few: int = FEW_FRAMES) -> None:
    """Refuse clips that last longer than a file of `stored` bytes can mean; who names a rate may have more."""
    most = min(MOST_FRAMES, max(few, stored)) if fps == "file" else MOST_FRAMES
    if count > most:
        raise source.format_error(
            f"lasts {count} frames, and no more than {most} are plausible for its size; check its key times, "
            "or name a frame rate if they are meant"
        )


class Claims:
    """The memory that one file has claimed so far."""

    def __init__(self, source: Source, stored: int) -> None:
        self.source = source
        self.stored = stored  # bytes on the disk, of the file and of those it refers to
        self._free = free_memory()  # before anything is unpacked
        self._unpacked = 0
        self._sampled = 0

    def unpack(self, n_bytes: int, what: str) -> None:
        """Bytes that are stored in another form."""
        self._unpacked += n_bytes
        if self._unpacked > max(LARGEST_UNPACKED, LARGEST_RATIO * self.stored):
            self._refuse(what, f"more than {LARGEST_RATIO} times its size")
        self._check_memory(what)

    def sample(self, n_bytes: int, what: str) -> None:
        """Bytes that are computed from what is stored, as many as the options of the caller require."""
        self._sampled += n_bytes
        self._check_memory(what)

    def _check_memory(self, what: str) -> None:
        if self._unpacked + self._sampled > self._free:
            self._refuse(what, f"more than the {self._free // 10**6} MB of memory that are free")

    def _refuse(self, what: str, reason: str) -> None:
        megabytes = min(self._unpacked + self._sampled, 1 << 80) // 10**6
        raise self.source.format_error(
            f"with {what} it unpacks to {megabytes} MB, {reason}; "
            "load fewer clips, a lower frame rate, or parts of the scene"
        )
