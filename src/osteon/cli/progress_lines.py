"""Progress where nobody draws a bar, in a log or a pipe: one line for each stage when it begins, and one per minute.

Work that is done, or refused, within two seconds says nothing: lines are held back until a step comes later than that,
or a minute is over. Seconds count from the beginning of the work.

       0.4 s  load
       1.9 s  refine
      61.9 s  refine, 40 % done, E 1.204 %, about 1 min 30 s left in this stage
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from osteon.core.progress import Progress, ProgressEvent
from osteon.core.progress_time import RemainingTime, duration_text

__all__ = ["ProgressLines", "progress_lines"]

#: Seconds between two lines about a stage, and for which lines are held back.
INTERVAL, PATIENCE = 60.0, 2.0


class ProgressLines:
    """Says each stage once, and how far it is when asked; what comes earlier than `patience` is said later."""

    def __init__(
        self, say: Callable[[str], None], patience: float = PATIENCE, now: Callable[[], float] = time.perf_counter
    ) -> None:
        self._say, self._patience, self._now = say, patience, now
        self._began = now()
        self._remaining = RemainingTime(now)
        self._seen: set[str] = set()
        self._last: ProgressEvent | None = None
        self._held: list[str] | None = []  # lines until the work is long
        self._lock = threading.Lock()

    def listen(self, event: ProgressEvent) -> None:
        """One step of the work."""
        self._remaining.hear(event)
        self._last = event
        stage = re.sub(r"\d+", "#", event.stage)  # "compiling 3 of 20" is the stage that "compiling 2 of 20" was
        if stage not in self._seen:
            self._seen.add(stage)
            self._line(event.stage)
        if self._held is not None and self._now() - self._began >= self._patience:
            self._release()

    def _release(self) -> None:
        """From now on lines are said at once."""
        with self._lock:
            held, self._held = self._held or [], None
            for line in held:
                self._say(line)

    def tick(self) -> None:
        """A line on the stage that is under way, if there is one."""
        self._release()
        event = self._last
        if event is None:
            return
        error = "" if event.error_percent is None else f", E {event.error_percent:.3f} %"
        left = self._remaining.left()
        more = "" if left is None else f", about {duration_text(left)} left in this stage"
        self._line(f"{event.stage}, {event.fraction:.0%} done{error}{more}")

    def _line(self, text: str) -> None:
        line = f"{self._now() - self._began:8.1f} s  {text}"
        with self._lock:
            if self._held is None:
                self._say(line)
            else:
                self._held.append(line)


@contextmanager
def progress_lines(
    say: Callable[[str], None], interval: float = INTERVAL, patience: float = PATIENCE
) -> Iterator[Progress]:
    """A listener for the work inside the block, and a clock that tells of it every so many seconds."""
    lines, done = ProgressLines(say, patience), threading.Event()

    def tick() -> None:
        while not done.wait(interval):
            lines.tick()

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield lines.listen
    finally:
        done.set()
        thread.join()
