"""Shows default files in every engine and prints how far each is off; exit code 1 if one is, 2 if an engine is missing.

`play_defaults.py [DATA]`: a folder of sequences, for the horse beside the built-in fox.
"""

from __future__ import annotations

import sys
from pathlib import Path

from osteon_bench.engine_files import file_rows
from osteon_bench.rows import Row
from osteon_bench.run import BenchRun


def main(data: Path) -> int:
    run = BenchRun(data, 1)
    rows = file_rows(run)
    print("farthest corner from `osteon play`, as part of the diagonal")  # noqa: T201
    case = ""
    for row in rows:
        if row.case != case:
            case = row.case
            print(case.removesuffix(", from osteon play, part of the diagonal"))  # noqa: T201
        print(f"  {row.metric:110}{row.value:10.1e}{bound(row)}")  # noqa: T201
    engines = [line for line in run.missing if "omitted" in line]
    for line in engines:
        print(line, file=sys.stderr)  # noqa: T201
    return 2 if engines else int(not all(row.ok for row in rows))


def bound(row: Row) -> str:
    return "" if row.bound is None else f"  <= {row.bound:.0e}  {'ok' if row.ok else 'MISSED'}"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "data")))
