"""Commands that are printed to be copied: every word as a shell takes it, whatever a file is called."""

from __future__ import annotations

import os
import shlex
import subprocess

__all__ = ["command_text"]


def command_text(*words: object) -> str:
    """The words of a command, quoted where a shell would split or change them: osteon view 'my walk.glb'."""
    named = [str(word) for word in words]
    return subprocess.list2cmdline(named) if os.name == "nt" else shlex.join(named)
