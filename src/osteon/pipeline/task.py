"""What the stages hand on: a sequence prepared for skinning, and what has been found so far."""

from __future__ import annotations

from dataclasses import dataclass

from osteon.core.animation import BoneType
from osteon.core.arrays import Int32
from osteon.core.deformer import Deformer
from osteon.core.fit_report import FitReport, Stopwatch
from osteon.core.model import SkinnedModel
from osteon.core.options import SkinOptions
from osteon.core.parallel import available_threads
from osteon.core.progress import Progress
from osteon.core.sequence import MeshSequence
from osteon.core.skeleton import Skeleton
from osteon.core.skin import Skin
from osteon.core.source_normals import SourceNormals
from osteon.fit.corrections.columns import ColumnFit, SkinState
from osteon.fit.problem import FitProblem, InputTransforms, NormalRows
from osteon.fit.skin.influences import Influences
from osteon.measure.skin_report import SkinReport

__all__ = ["SkinTask", "Solution", "Start"]


@dataclass(frozen=True, slots=True)
class Start:
    """What an earlier fit of the same sequence knows already."""

    transforms: InputTransforms
    near_rigid_fraction: float
    tolerance: float

    @staticmethod
    def from_fit(model: SkinnedModel, report: SkinReport) -> Start:
        return Start(InputTransforms.of(model.track), report.near_rigid_fraction, report.tolerance)


@dataclass(frozen=True, slots=True)
class SkinTask:
    """A sequence to skin, prepared."""

    sequence: MeshSequence  # the frames that take part
    problem: FitProblem  # of the welded vertices
    vertices: Int32  # (u,) the vertex that stands for each welded one
    welded_of_vertex: Int32  # (v,)
    options: SkinOptions
    watch: Stopwatch
    progress: Progress | None
    start: Start | None = None
    source_normals: SourceNormals | None = None  # that the model is to be shaded with; None: facets
    normals: NormalRows | None = None  # the same in all frames that take part, for the welded vertices

    @property
    def threads(self) -> int:
        return available_threads(self.options.threads)


@dataclass(frozen=True, slots=True)
class Solution:
    """Bones, influences and corrections of the welded vertices, before they become a model."""

    transforms: InputTransforms
    influences: Influences
    near_rigid_fraction: float
    tolerance: float
    labels: Int32
    stages: tuple[FitReport, ...]
    columns: ColumnFit | None = None  # in the problem's units
    bone_type: BoneType = "scaled"
    names: tuple[str, ...] = ()  # of the bones
    skeleton: Skeleton | None = None
    keeps_motion: bool = False  # transforms of all frames came with a rig
    deformer: Deformer | None = None  # of the welded vertices; None: linear blending of the influences
    fallback: Skin | None = None  # of the welded vertices, where the deformer has no stock form
    warnings: tuple[str, ...] = ()
    normals: NormalRows | None = None  # that corrections keep to, with their weight

    def skin_state(self, problem: FitProblem) -> SkinState:
        """Bones and weights in the problem's units."""
        return SkinState(problem.from_input(self.transforms), self.influences.bones, self.influences.weights)
