"""The pages' own files, as hatch_build.py bundled them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from osteon.core.errors import FileFormatError

__all__ = ["BUNDLE", "POLICY", "STUDY_BUNDLE", "check_bundle", "read_bundle"]

STATIC = Path(__file__).parent / "static"

#: All files of the page, and what they are.
BUNDLE = {
    "index.html": "text/html; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "app.css": "text/css; charset=utf-8",
}
#: The same of the page that raters of a study see.
STUDY_BUNDLE = {
    "study.html": "text/html; charset=utf-8",
    "study.js": "text/javascript; charset=utf-8",
    "study.css": "text/css; charset=utf-8",
}

#: What a page may load: its own origin, pictures it carries in a pack (blob:), and its empty icon (data:).
POLICY = (
    "default-src 'self'; img-src 'self' blob: data:; connect-src 'self' blob:; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'none'"
)


def read_bundle(name: str) -> bytes:
    """One of the files in BUNDLE or STUDY_BUNDLE."""
    try:
        return (STATIC / name).read_bytes()
    except OSError as error:
        raise FileFormatError(f"{STATIC / name}: the page was not built; install Osteon again") from error


def check_bundle(bundle: Mapping[str, str] = BUNDLE) -> None:
    """Refuse an installation without the page before anything is read."""
    for name in bundle:
        read_bundle(name)
