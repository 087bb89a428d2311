"""The four skins of table 1 of one sequence: rigid and flexible bones with TSVD and NNLS weights, on shared clusters.

Also the measurements of a skin that the paper's figures need and reports do not hold: the RMS difference of normals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.errors import OptionError
from osteon.core.model import SkinnedModel
from osteon.core.normals import vertex_normals
from osteon.core.progress import Progress
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.deform.pose import pose_vertices
from osteon.fit.clustering.cluster import Clustering, ClusterOptions, cluster_triangles
from osteon.measure.skin_report import compression_ratio
from osteon.papers.mesh_animations.printed import COMBINATIONS, RANK, Combination
from osteon.papers.run import PaperRun
from osteon.papers.subjects import find_subject
from osteon.pipeline.skin import SkinFit, skin_sequence


@dataclass(frozen=True, slots=True)
class VariantOptions:
    """How the four skins are made."""

    tolerance: float = 0.05  # eps of mean shift
    rank: int = RANK  # of the corrections
    threads: int = 0
    combinations: tuple[Combination, ...] = COMBINATIONS


@dataclass(frozen=True, slots=True)
class Variants:
    """The skins of one sequence on one set of core triangles."""

    sequence: MeshSequence
    clustering: Clustering
    fits: dict[Combination, SkinFit]

    def errors(self, which: Combination) -> list[float]:
        """E % at rank 0, 1, …"""
        by_rank = self.fits[which].report.error_percent_by_rank
        return [by_rank[key] for key in sorted(by_rank, key=int)]

    @property
    def mean_shift_seconds(self) -> float:
        return self.clustering.report.seconds

    def skin_seconds(self, which: Combination) -> float:
        """Time of bones, weights and corrections."""
        seconds = self.fits[which].report.seconds
        return sum(seconds.get(stage, 0.0) for stage in ("bones", "weights", "correct"))

    def compression(self, which: Combination) -> float:
        """Floats of the source over those of the skin without corrections."""
        return compression_ratio(self.fits[which].model.truncate(0))


def fit_variants(
    sequence: MeshSequence,
    options: VariantOptions | None = None,
    clustering: Clustering | None = None,
    progress: Progress | None = None,
) -> Variants:
    """Cluster once, unless clusters are given, then fit the skins of the paper preset."""
    options = options or VariantOptions()
    clustering = clustering or cluster_triangles(
        sequence,
        options=ClusterOptions(tolerance=options.tolerance, threads=options.threads),
        progress=progress,
    )
    if not clustering.n_bones:
        raise OptionError(f"'{sequence.name}': mean shift finds no bones at eps {options.tolerance:g}")
    fits = {}
    for bone_type, weights in options.combinations:
        skin = SkinOptions(
            preset="paper",
            bone_type=bone_type,
            weights=weights,
            rank=options.rank,
            tolerance=options.tolerance,
            threads=options.threads,
        )
        fits[bone_type, weights] = skin_sequence(sequence, options=skin, clustering=clustering, progress=progress)
    return Variants(sequence, clustering, fits)


def variants_of(run: PaperRun, name: str, tolerance: float = 0.05) -> Variants:
    """The skins of a subject; several figures share them."""
    found = find_subject(run, name)
    options = VariantOptions(tolerance, threads=run.options.threads)
    key = f"variants {name} {tolerance}"
    return run.once(key, lambda: fit_variants(found.sequence, options, progress=run.progress))


def rms_normal_error(model: SkinnedModel, sequence: MeshSequence) -> float:
    """Root mean square of the distances of unit vertex normals from those of the source, over vertices and frames."""
    total = 0.0
    for f in range(sequence.n_frames):
        source = vertex_normals(sequence.frame(f).astype(np.float64), sequence.faces)
        posed = vertex_normals(pose_vertices(model, f).astype(np.float64), sequence.faces)
        total += float(((source - posed) ** 2).sum())
    return float(np.sqrt(total / (sequence.n_frames * sequence.n_vertices)))
