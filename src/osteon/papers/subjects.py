"""The subjects of a run: measured sequences where the folder of data has them, else built-in ones of the same kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from osteon.core.animation import Clip
from osteon.core.sequence import MeshSequence
from osteon.papers.run import PaperRun


@dataclass(frozen=True, slots=True)
class Subject:
    """A sequence, and what it is called in sentences."""

    sequence: MeshSequence
    name: str
    measured: bool  # from the folder of data


def find_subject(run: PaperRun, name: str) -> Subject:
    """The subject for a model of the papers, by its name in small letters: 'horse', 'chicken', 'hands' …"""
    measured = run.measured(name)
    if measured is not None:
        return Subject(measured, name, True)
    title, make = BUILT_IN[name]
    return Subject(run.once(f"subject {title}", lambda: make(run)), title, False)


def _fox(run: PaperRun, seed: int = 0, resolution: int = 56, travel: float = 0.0) -> MeshSequence:
    from osteon.synth.creature import CreatureOptions, make_creature

    frames, cells = run.size(48, 8), run.size(resolution, 40)
    return make_creature(CreatureOptions(frames=frames, resolution=cells, seed=seed, travel=travel))


def _dance(run: PaperRun) -> MeshSequence:
    """The figure in poses that repeat after their frames, posed without weights."""
    from osteon.simplex.poser import Poser
    from osteon.synth.figure import figure_poses, make_figure

    vertices, faces, skeleton = make_figure(run.size(44, 30))
    track = figure_poses(skeleton, run.size(40, 6))
    posed = Poser.of(vertices, faces, skeleton).pose(track, progress=run.progress)
    clip = Clip("dance", 0, len(posed), 30.0)
    return MeshSequence(posed.astype(np.float32), faces, vertices.astype(np.float32), (clip,), name="dancing figure")


def _hands(run: PaperRun) -> MeshSequence:
    """The hand in poses that bend all fingers by different amounts, posed without weights."""
    from osteon.core.kinematics import JointLimit
    from osteon.simplex.poser import Poser
    from osteon.synth.hand import hand_limits, make_hand
    from osteon.synth.posing import rotate_joints

    vertices, faces, skeleton = make_hand(run.size(46, 30))
    n_frames = run.size(27, 6)
    rng = np.random.default_rng(2)

    def bend(limit: JointLimit) -> np.ndarray:
        share = rng.uniform(0, 1, n_frames) ** 1.5
        share[0] = 0
        return np.stack([limit.rotation(float(s * (limit.high if limit.name != "spread" else 0))) for s in share])

    rotations: dict[str, np.ndarray] = {}
    for limit in hand_limits():
        found = bend(limit)
        rotations[limit.joint] = found if limit.joint not in rotations else rotations[limit.joint] @ found
    track = rotate_joints(skeleton, rotations, np.zeros((n_frames, 3)))
    posed = Poser.of(vertices, faces, skeleton).pose(track, progress=run.progress)
    clip = Clip("poses", 0, n_frames, 1.0)
    return MeshSequence(posed.astype(np.float32), faces, vertices.astype(np.float32), (clip,), name="hand")


def _ball(run: PaperRun) -> MeshSequence:
    from osteon.synth.soft_bodies import SoftBodyOptions, make_bouncing_ball

    return make_bouncing_ball(SoftBodyOptions(frames=run.size(48, 8)))


def _collapse(run: PaperRun) -> MeshSequence:
    from osteon.synth.soft_bodies import SoftBodyOptions, make_collapse

    return make_collapse(SoftBodyOptions(frames=run.size(53, 10), resolution=run.size(50, 40)))


def _flag(run: PaperRun) -> MeshSequence:
    from osteon.synth.cloth import ClothOptions, make_cloth

    columns = run.size(45, 16)
    return make_cloth(ClothOptions(frames=run.size(48, 8), columns=columns, rows=2 * columns // 3))


def _baked(name: str, run: PaperRun) -> MeshSequence:
    from osteon.synth.baked import BakeOptions, RandomOptions, bake_chain, bake_cylinder, bake_random_model

    frames = run.size(48, 8)
    if name == "snake":
        return bake_cylinder(run.size(12, 4), options=BakeOptions(frames=frames)).sequence
    if name == "bridge":
        return bake_chain(options=BakeOptions(frames=frames, bend=30.0)).sequence
    return bake_random_model(
        options=RandomOptions(frames=frames, vertices=run.size(1500, 300), bones=12, bone_type="flexible")
    ).sequence


#: What replaces each model of the papers: its name in sentences, and its maker.
BUILT_IN: dict[str, tuple[str, Callable[[PaperRun], MeshSequence]]] = {
    "ball": ("bouncing ball", _ball),
    "snake": ("bending tube", partial(_baked, "snake")),
    "dance": ("dancing figure", _dance),
    "bridge": ("chain of rings", partial(_baked, "bridge")),
    "camel": ("second galloping fox", partial(_fox, seed=1, resolution=50)),
    "elephant": ("third galloping fox", partial(_fox, seed=2, resolution=50)),
    "horse": ("galloping fox", _fox),
    "chicken": ("fox that runs across the scene", partial(_fox, seed=3, resolution=50, travel=4.0)),
    "hands": ("hand in poses", _hands),
    "elasticcow": ("wobbling ball", partial(_baked, "elasticcow")),
    "clothhorse": ("collapsing cloth fox", _collapse),
    "flag": ("flag in the wind", _flag),
}
