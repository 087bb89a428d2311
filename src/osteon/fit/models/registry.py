"""Deformer families that can be fitted (`--model`), and the models that `osteon compare` fits on the same bones.

A family starts from a linear blend skin: `FamilyFit` refines its bones with its own data. A contestant is fitted on
training poses to given bones and linear blend weights:

    fit(problem, transforms, influences, options) -> an object with `deformer`, optional `sweep` and `displacement`

| argument | contents |
| --- | --- |
| problem    | the training poses, welded vertices |
| transforms | (f,b,3,4) rigid bones of these poses in problem units; they do not change |
| influences | the linear blend skin of these bones |
| options    | those of the contestant's entry, with seed and threads |

`deformer` covers the vertices of the problem and takes bones in input units, as those of a `SkinnedModel` do. `sweep`
holds the results of several regularisation strengths: `strengths` (l,) and, in percent of the diagonal, the RMS of the
fitted poses, `training` (l,), and of poses held out from the fit of that strength, `held_out` (l,).

A new family is an entry in `FAMILY_FITS`, a new contestant one in `CONTESTANTS`. Both name modules as text, so that the
command line can list them without importing compiled code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.character import Deformer, Displacement, Skeleton
from osteon.core.errors import OptionError
from osteon.core.progress import FitReport
from osteon.core.skin_options import SkinModel
from osteon.fit.problem import FitProblem

if TYPE_CHECKING:
    from osteon.fit.skin.influences import Influences


@dataclass(frozen=True, slots=True)
class ModelFitOptions:
    """Options of fitting a family from a linear blend skin."""

    influences: int = 4  # bones per vertex, 1 … 8
    rounds: int = 8
    tolerance: float = 5e-3  # stop when a round lowers the error by less than this fraction
    keep_bones: bool = False  # the motion of the bones is given
    seed: int = 0
    threads: int = 1
    on_round: Callable[[float, float], None] = lambda fraction, error_percent: None


@dataclass(frozen=True, slots=True)
class ModelFit:
    """A fitted family: its deformer for the vertices of the problem, its bones, and how close it is."""

    deformer: Deformer
    transforms: Float64  # (f,b,3,4) in problem units
    errors: Float64  # (v,) squared
    report: FitReport


class FamilyFit(Protocol):
    """Fits a family, starting from the rigid or flexible bones of a linear blend skin."""

    def fit(self, problem: FitProblem, transforms: Float64, options: ModelFitOptions) -> ModelFit:
        """Fit the family's data and refine the bones (f,b,3,4, in problem units) with it."""
        ...

    def refit_bones(self, problem: FitProblem, deformer: Deformer, transforms: Float64, threads: int) -> Float64:
        """(f,b,3,4) bones for a fixed deformer, from a first guess."""
        ...


FAMILY_FITS: dict[SkinModel, str] = {
    "dqs": "osteon.fit.models.dual_quaternion:DUAL_QUATERNION_FIT",
    "as": "osteon.fit.models.animation_space:ANIMATION_SPACE_FIT",
    "mwe": "osteon.fit.models.multi_weight:MULTI_WEIGHT_FIT",
}


def family_fit(model: SkinModel) -> FamilyFit:
    """The fit of a family."""
    found: FamilyFit = _find(FAMILY_FITS[model])
    return found


def _find(place: str) -> Any:
    """The object `module:name`."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


#: The contestant that the others are measured against.
BASELINE = "ssd"


@dataclass(frozen=True, slots=True)
class ContestantSweep:
    """Results of several regularisation strengths, weakest first; RMS in percent of the diagonal."""

    strengths: tuple[float, ...]  # lambda
    training: tuple[float, ...]  # of the fitted poses
    left_out: tuple[float, ...]  # of held-out poses


@dataclass(frozen=True, slots=True)
class ContestantFit:
    """A fitted contestant."""

    deformer: Deformer
    sweep: ContestantSweep | None = None
    strength: float | None = None  # the lambda that was used; infinite: the start of the fit was kept
    displacement: Displacement | None = None  # added to the rest pose, in input units


@dataclass(frozen=True, slots=True)
class Contestant:
    """A model of a comparison, and the cost of posing a vertex."""

    title: str
    place: str  # module:function
    multiply_adds_a_slot: int  # per bone of a vertex
    multiply_adds_a_vertex: int = 0  # in addition
    options: str = "osteon.fit.models.registry:ModelFitOptions"  # module:class
    settings: tuple[tuple[str, Any], ...] = ()  # option values, besides seed and threads
    only_if_named: bool = False  # not part of the default selection
    follows_joints: bool = False  # its options take the skeleton
    regularised: bool = False  # its options take `strength` and `strengths`

    def fit(
        self,
        problem: FitProblem,
        transforms: Float64,
        influences: Influences,
        *,
        skeleton: Skeleton,
        seed: int,
        threads: int,
        strengths: tuple[float, ...] = (),
    ) -> ContestantFit:
        """Fit the model to given bones; lambda is one of `strengths`, or of those that its options have."""
        wanted: dict[str, Any] = {"skeleton": skeleton} if self.follows_joints else {}
        if self.regularised and strengths:
            wanted |= {"strength": strengths[0]} if len(strengths) == 1 else {"strengths": strengths}
        options = _find(self.options)(seed=seed, threads=threads, **wanted, **dict(self.settings))
        found: Any = _find(self.place)(problem, transforms, influences, options)
        sweep = getattr(found, "sweep", None)
        if sweep is not None:
            columns = (sweep.strengths, sweep.training, sweep.held_out)
            rows = sorted(zip(*(map(float, column) for column in columns), strict=True))
            sweep = ContestantSweep(*zip(*rows, strict=True))
        strength = getattr(found, "strength", None)
        return ContestantFit(found.deformer, sweep, strength, getattr(found, "displacement", None))

    def multiply_adds(self, n_slots: int, columns: float = 0.0) -> int:
        """Multiplications and additions per vertex; three for each of its columns."""
        return self.multiply_adds_a_slot * n_slots + self.multiply_adds_a_vertex + round(3 * columns)


# Linear blending sums matrices (12 per slot) and applies the sum (9). Dual quaternions sum 8 numbers and compare signs
# (4), then divide by the length, convert to a matrix and apply it. Multi-Weight also changes into its bone's frame.
# EigenSkin adds columns to the rest position of linear blending, three multiply-adds each. "As printed": all bones, no
# constraint, weights regularised towards zero, those of Multi-Weight for matrices in world axes (as_printed.py).
_RIDGE = "osteon.fit.models.ridge_fit:RidgeOptions"
_AS, _MWE = "osteon.fit.models.animation_space:fit_animation_space", "osteon.fit.models.multi_weight:fit_multi_weight"
_PRINTED = "osteon.fit.models.as_printed"
_HERE = "osteon.fit.models.registry"
CONTESTANTS: dict[str, Contestant] = {
    "ssd": Contestant("linear blending (SSD)", f"{_HERE}:contest_linear_blend", 12, 9),
    "dqs": Contestant("dual quaternions", f"{_HERE}:contest_dual_quaternion", 12, 53),
    "mwe": Contestant("Multi-Weight Enveloping", _MWE, 12, 27, _RIDGE, regularised=True),
    "as": Contestant("Animation Space", _AS, 12, 0, _RIDGE, regularised=True),
    "mwe-zero": Contestant(
        "Multi-Weight as printed", f"{_PRINTED}:fit_printed_multi_weight", 12, 9, _RIDGE, regularised=True
    ),
    "eigenskin": Contestant(
        "EigenSkin", f"{_HERE}:contest_eigenskin", 12, 9, f"{_HERE}:SkeletonOptions", follows_joints=True
    ),
    "as-zero": Contestant(
        "Animation Space as printed",
        f"{_PRINTED}:fit_printed_animation_space",
        12,
        0,
        _RIDGE,
        only_if_named=True,
        follows_joints=True,
        regularised=True,
    ),
}


def find_contestants(words: Sequence[str] = ()) -> dict[str, Contestant]:
    """The contestants with these names, in this order, or the default selection; refuses unknown names."""
    known = ", ".join(CONTESTANTS)
    for i, word in enumerate(words):
        if word not in CONTESTANTS:
            raise OptionError(f"models: unknown model {word!r}; known are {known}")
        if word in words[:i]:
            raise OptionError(f"models: {word} is named twice")
    all_of_them = [word for word, contestant in CONTESTANTS.items() if not contestant.only_if_named]
    return {word: CONTESTANTS[word] for word in words or all_of_them}


def contest_linear_blend(
    problem: FitProblem, transforms: Float64, influences: Influences, options: ModelFitOptions
) -> ContestantFit:
    """The skin that came with the bones."""
    from osteon.deform.linear_blend import LinearBlend

    return ContestantFit(LinearBlend(influences.to_skin()))


def contest_dual_quaternion(
    problem: FitProblem, transforms: Float64, influences: Influences, options: ModelFitOptions
) -> ContestantFit:
    """Dual quaternions with their own weights, as many per vertex as the linear blend skin has."""
    from osteon.fit.models.dual_quaternion import fit_dual_quaternion

    kept = replace(options, influences=influences.bones.shape[1], keep_bones=True)
    return ContestantFit(fit_dual_quaternion(problem, transforms, kept).deformer)


@dataclass(frozen=True, slots=True)
class SkeletonOptions:
    """Options of a contestant that needs the skeleton of the bones."""

    seed: int = 0
    threads: int = 1
    skeleton: Skeleton | None = None  # in input units


def contest_eigenskin(
    problem: FitProblem, transforms: Float64, influences: Influences, options: SkeletonOptions
) -> ContestantFit:
    """The skin that came with the bones, and displacements that follow its joints.

    Training poses move all joints at once, so `fit/eigenskin/additive_poses.py` splits them by joint.
    """
    from osteon.core.character import Character
    from osteon.core.mesh import Mesh
    from osteon.deform.linear_blend import LinearBlend
    from osteon.fit.eigenskin.fit_eigenskin import KnownPoses, fit_eigenskin
    from osteon.fit.eigenskin.options import EigenSkinOptions

    if options.skeleton is None:
        raise OptionError("eigenskin: it needs joints, and these bones have no skeleton")
    rest = problem.rest_to_input(problem.points[:, :3])
    frames = problem.targets.reshape(len(rest), -1, 3).swapaxes(0, 1).astype(np.float64)
    frames = problem.posed_scale * frames + problem.frame_centers[:, None]
    mesh = Mesh(rest.astype(np.float32), np.zeros((0, 3), np.int32), name="poses")  # without faces, no normals
    skin = LinearBlend(influences.to_skin())
    names = tuple(f"pose {f}" for f in range(len(frames)))
    hinges = np.zeros((len(options.skeleton.names), 3))
    poses = KnownPoses(frames.astype(np.float32), problem.to_input(transforms).values, names, hinges)
    character = Character(mesh, skin, (), options.skeleton)
    fit = fit_eigenskin(character, poses, options=EigenSkinOptions(threads=options.threads))
    return ContestantFit(skin, displacement=fit.displacement)
