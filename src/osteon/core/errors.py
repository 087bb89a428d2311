"""The exceptions that Osteon raises on purpose.

OsteonError                what a caller may catch to catch all of it
├── InputError             a file or an array cannot be used (exit code 2)
│   ├── FileFormatError    a file is unreadable, truncated or has a wrong size in its header
│   └── GeometryError      the arrays were read, but they do not describe a deforming mesh
├── OptionError            an option is out of range or contradicts another (exit code 2)
└── BoundNotReached        the best result misses the requested bound (exit code 1)

A message names the file or argument, what was expected, what was found, and what to do.
"""

from __future__ import annotations

__all__ = ["BoundNotReached", "FileFormatError", "GeometryError", "InputError", "OptionError", "OsteonError"]


class OsteonError(Exception):
    """Base of all errors raised on purpose."""

    exit_code = 2


class InputError(OsteonError):
    """A file or an array cannot be used."""


class FileFormatError(InputError):
    """A file is unreadable, truncated, of an unknown format, or has a wrong size in its header."""


class GeometryError(InputError):
    """The arrays were read, but they do not describe a deforming mesh."""


class OptionError(OsteonError):
    """An option is out of range, or contradicts another."""


class BoundNotReached(OsteonError):
    """The best result found misses the requested bound."""

    exit_code = 1
