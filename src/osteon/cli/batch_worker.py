"""The worker process of `osteon batch`: runs commands one after the other, so that imports and kernels stay warm.

python -m osteon.cli.batch_worker PARENT      requests on standard input, answers on standard output
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Sequence
from importlib import import_module

from osteon.cli.main import run_command
from osteon.core.parallel import end_with, leave_no_dump
from osteon.scale.child import serve

#: Imported before the first command: what all commands of a batch need.
_WARM = ("numpy", "osteon.io", "osteon.deform.pose")


def command(parent: int) -> tuple[str, ...]:
    """The command that starts a worker of a process."""
    return (sys.executable, "-P", "-m", "osteon.cli.batch_worker", str(parent))


def main() -> None:
    """Serve until the requests end."""
    end_with(int(sys.argv[1]))
    leave_no_dump()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the batch decides what Ctrl-C ends
    for module in _WARM:
        import_module(module)
    serve(_run)


def _run(arguments: Sequence[str]) -> tuple[int, str]:
    ended = run_command(arguments, time.perf_counter())
    return ended.exit_code, ended.message


if __name__ == "__main__":
    main()
