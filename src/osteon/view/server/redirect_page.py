"""Opening the page in a browser without telling its address to everybody on the machine.

The command line of a program can be listed by all users, and the address holds the token. So the browser is given a
file that leads there, which only its owner can read. A browser that may not read it (some run in a box of their own)
shows nothing; the printed address still opens the page.
"""

from __future__ import annotations

import os
import webbrowser
from html import escape
from pathlib import Path

__all__ = ["open_browser", "write_redirect_page"]

_PAGE = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>Osteon</title>
<a href="{address}">Osteon</a>
"""


def write_redirect_page(address: str, folder: Path) -> Path:
    """A file in `folder` that leads a browser to the address."""
    path = folder / "osteon.html"
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(_PAGE.format(address=escape(address)))
    return path


def open_browser(address: str, folder: Path) -> bool:
    """Whether a browser was started that can show the page; those of a terminal cannot."""
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    if type(browser) is webbrowser.GenericBrowser and "BROWSER" not in os.environ:
        return False
    return browser.open(write_redirect_page(address, folder).resolve().as_uri())
