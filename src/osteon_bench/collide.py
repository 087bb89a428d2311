"""Collision of skinned characters: exactness against all triangles, coal and FCL; time against skinning and refitting.

- `collide_exact`: 100,000 queries and all boxes in all frames and 1,000 new poses of seven characters.
- `collide_bodies`: rigid bodies that a character kicks; rays in the page over three-mesh-bvh.
- `collide_times`: single queries, batches and contacts over skinning all vertices, refitting the tree and the query;
  over Embree and coal; a character with 16 times the triangles; nodes visited; the cost of a call.
"""

from __future__ import annotations

from osteon_bench.collide_bodies import body_rows
from osteon_bench.collide_exact import exact_rows, peer_rows
from osteon_bench.collide_poses import collide_cases
from osteon_bench.collide_times import engine_rows, large_rows, time_rows
from osteon_bench.rows import Row
from osteon_bench.run import BenchRun


def bench_collide(run: BenchRun) -> list[Row]:
    """All rows."""
    cases = list(collide_cases(run))
    rows = time_rows(run, cases) + large_rows(run) + engine_rows(run, cases)
    return rows + exact_rows(run, cases) + peer_rows(run, cases) + body_rows(run)
