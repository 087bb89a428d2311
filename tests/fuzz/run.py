"""What `scripts/fuzz [SECONDS] [READER…]` runs: other inputs every time, failing ones kept in the corpus."""

from __future__ import annotations

import sys
import time
from hashlib import sha256
from pathlib import Path

from osteon_bench.fuzzing.campaign import Campaign, fuzz_reader
from osteon_bench.fuzzing.readers import READERS, is_installed

CORPUS = Path(__file__).parent / "corpus"
SECONDS = 60.0


def main(arguments: list[str]) -> int:
    timed = bool(arguments) and arguments[0].replace(".", "", 1).isdigit()
    seconds = float(arguments[0]) if timed else SECONDS
    names = arguments[1:] if timed else arguments
    unknown = sorted(set(names) - set(READERS))
    if unknown:
        sys.stderr.write(f"no reader '{unknown[0]}'; known are {', '.join(READERS)}\n")
        return 2
    chosen = [READERS[name] for name in names or READERS if is_installed(READERS[name])]
    seed, failed = int(time.time()), 0
    for reader in chosen:
        found = fuzz_reader(reader, None, seconds / len(chosen), seed=seed)
        failed += found.crashes + found.hangs
        sys.stdout.write(
            f"{reader.name:<9}{found.inputs:>8} inputs{found.inputs / max(found.seconds, 1e-9):>8.0f} a second"
            f"{found.coverage:>6.0%} of its lines{found.crashes:>4} crashes{found.hangs:>4} hangs"
            + (f"{found.deaths:>4} deaths of its library, refused\n" if reader.package else "\n")
        )
        for line in keep_failed(found):
            sys.stdout.write(f"  {line}\n")
        sys.stdout.flush()
    return 1 if failed else 0


def keep_failed(found: Campaign, corpus: Path = CORPUS) -> list[str]:
    """Save one input for each different failure; where it lies, and what it does."""
    lines = []
    for what in sorted({one.failure.what for one in found.failed}):
        one = min((f for f in found.failed if f.failure.what == what), key=lambda f: len(f.data))
        path = corpus / found.reader.name / f"{sha256(one.data).hexdigest()[:12]}{found.reader.suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(one.data)
        lines.append(f"{path.relative_to(corpus.parent)}: {what}")
    return lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
