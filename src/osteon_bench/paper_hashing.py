"""Mean shift with hashed neighbours (`--search lsh`) beside the exact one: agreement and time."""

from __future__ import annotations

import time

import numpy as np

from osteon.core.arrays import Int32
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import NeighborSearch
from osteon_bench.rows import Row, at_least, figure
from osteon_bench.run import BenchRun

SEARCHES: tuple[NeighborSearch, ...] = ("exact", "lsh")
#: Least fraction of the triangles that get the same bone.
SAME_BONE = 0.9


def hashing_rows(run: BenchRun, name: str, sequence: MeshSequence) -> list[Row]:
    """Rows of one sequence."""
    from osteon.fit.clustering.cluster import ClusterOptions, cluster_triangles

    run.report(f"{name}: mean shift by hashing")
    seconds, found = {}, {}
    for search in SEARCHES:
        begin = time.process_time()
        found[search] = cluster_triangles(sequence, options=ClusterOptions(search=search, threads=run.threads))
        seconds[search] = time.process_time() - begin
    same = same_bone(found["exact"].labels, found["lsh"].labels)
    time_over = seconds["lsh"] / seconds["exact"]
    return [
        at_least(name, "mean shift by hashing, triangles with the same bone as by the exact search", same, SAME_BONE),
        figure(name, "mean shift by hashing, bones", found["lsh"].n_bones),
        figure(name, "mean shift by hashing, processor time over that of the exact search", time_over),
    ]


def same_bone(one: Int32, other: Int32) -> float:
    """Fraction of the triangles with the same bone, -1 for outliers, under the best matching of bones."""
    from scipy.optimize import linear_sum_assignment

    table = np.zeros((int(one.max()) + 2, int(other.max()) + 2), np.int64)
    np.add.at(table, (one + 1, other + 1), 1)
    rows, columns = linear_sum_assignment(-table[1:, 1:])
    return float((table[1:, 1:][rows, columns].sum() + table[0, 0]) / max(1, len(one)))
