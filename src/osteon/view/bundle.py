"""The bundled files of the pages, which hatch_build.py builds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from osteon.core.errors import FileFormatError

STATIC = Path(__file__).parent / "static"

#: Files of the page and their media types.
BUNDLE = {
    "index.html": "text/html; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "app.css": "text/css; charset=utf-8",
}
#: Files of the page for the raters of a study.
STUDY_BUNDLE = {
    "study.html": "text/html; charset=utf-8",
    "study.js": "text/javascript; charset=utf-8",
    "study.css": "text/css; charset=utf-8",
}

#: Content the page may load: from its own origin, images in a pack (blob:), and its empty icon (data:).
POLICY = (
    "default-src 'self'; img-src 'self' blob: data:; connect-src 'self' blob:; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'none'"
)


def read_bundle(name: str) -> bytes:
    """The content of a file in BUNDLE or STUDY_BUNDLE."""
    try:
        return (STATIC / name).read_bytes()
    except OSError as error:
        raise FileFormatError(f"{STATIC / name}: the page is missing; install Osteon again") from error


def check_bundle(bundle: Mapping[str, str] = BUNDLE) -> None:
    """Raise an error if a file of the page is missing."""
    for name in bundle:
        read_bundle(name)
