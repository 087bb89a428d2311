"""Models that a player must show as Osteon does: one per feature of a file. Only the recovered rig is fitted."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from osteon.core.animation import BoneTrack, Clip
from osteon.core.arrays import Float64
from osteon.core.character import Corrections, Skeleton
from osteon.core.mesh import Asset, Image, Material
from osteon.core.model import SkinnedModel
from osteon.core.options import drop_unused
from osteon.core.transforms import compose
from osteon.io import save_model
from osteon.io.formats.options import DEFAULT_SAVE_OPTIONS, SaveOptions
from osteon.pipeline.options import RigOptions
from osteon.synth.baked import BakeOptions, RandomOptions, bake_cylinder, bake_random_model, smooth_series
from osteon_bench.players.eigenskin_case import with_eigenskin

FRAMES = 12
BONES = 6
RANK = 5
#: Key reduction may move no vertex by more than this fraction of the diagonal.
KEY_ERROR = 1e-3


@dataclass(frozen=True, slots=True)
class Case:
    """A model and its save options."""

    name: str
    model: SkinnedModel
    options: SaveOptions = DEFAULT_SAVE_OPTIONS

    @property
    def eight(self) -> bool:
        """Whether it needs a player of more than four influences."""
        return self.model.skin.n_influences > 4

    def save(self, folder: Path, suffix: str = ".glb") -> Path:
        """Write the case to a file in `folder`."""
        path = folder / f"{self.name.replace(',', '').replace(' ', '-')}{suffix}"
        save_model(self.model, path, options=drop_unused(self.options, written=path.suffix))
        return path


def make_cases() -> tuple[Case, ...]:
    """All cases plain, quantised and compressed, and two with reduced keys."""
    flexible = _ball(4)
    models = {
        "rigid": _cylinder(),
        "flexible": flexible,
        "corrections": _corrected(flexible),
        "two clips": _corrected(flexible).with_animation(
            clips=(Clip("walk", 0, 7, 24.0), Clip("run", 7, FRAMES, 30.0))
        ),
        "eight influences": _ball(8),
        "two materials": _dressed(flexible),
        "hierarchy": jointed(_cylinder(), np.zeros(3)),
        "recovered": _recovered(),
        "flexible hierarchy": jointed(flexible, np.array([0.4, -0.3, 0.2])),
        "mirrored": _mirrored(flexible),
        "scaled": _stretched(_cylinder()),
        "scaled corrections": _corrected(_stretched(_cylinder())),
        "eigenskin": with_eigenskin(jointed(_cylinder(), np.zeros(3))),
    }
    plain = [Case(name, model) for name, model in models.items()]
    small = [Case(f"{name} quantised", model, SaveOptions(quantize=True)) for name, model in models.items()]
    packed = [Case(f"{name} compressed", model, SaveOptions(compress=True)) for name, model in models.items()]
    both = Case("corrections quantised compressed", models["corrections"], SaveOptions(quantize=True, compress=True))
    slow, few = _slow(_cylinder()), SaveOptions(key_error=KEY_ERROR)
    reduced = [Case("reduced keys", slow, few), Case("reduced keys, hierarchy", jointed(slow, np.zeros(3)), few)]
    return (*plain, *small, *packed, both, *reduced)


def _recovered() -> SkinnedModel:
    """A tube with a skeleton recovered from its motion."""
    from osteon.pipeline.skeleton import rig_sequence

    tube = bake_cylinder(2, options=BakeOptions(frames=FRAMES)).sequence
    return rig_sequence(tube, options=RigOptions(bones=3)).model


def _ball(influences: int) -> SkinnedModel:
    options = RandomOptions(max(BONES, influences + 2), FRAMES, 300, influences, "flexible")
    return bake_random_model(3, options=options).model


def _cylinder() -> SkinnedModel:
    return bake_cylinder(3, options=BakeOptions(frames=FRAMES)).model


def _corrected(model: SkinnedModel) -> SkinnedModel:
    """Add smooth corrections of positions and normals with coefficients of both signs and of different size."""
    rng = np.random.default_rng(1)
    waves = np.sin(model.rest @ rng.normal(0, 2.0, (3, 3 * RANK)) + rng.uniform(0, 6, 3 * RANK))
    basis = (0.02 * waves.reshape(model.n_vertices, RANK, 3).transpose(1, 0, 2)).astype(np.float32)
    coefficients = smooth_series(rng, model.n_frames, (RANK,)) * 2.0 ** -np.arange(RANK)
    return model.with_corrections(Corrections(basis, coefficients.astype(np.float32), 20 * basis[:, ::-1]))


def _dressed(model: SkinnedModel) -> SkinnedModel:
    """Add UVs with a seam, colours, and two materials, one of them textured."""
    corners = model.rest[model.faces].astype(np.float64)
    around = np.arctan2(corners[..., 1], corners[..., 0]) / (2 * np.pi) + 0.5
    around += (np.ptp(around, axis=1, keepdims=True) > 0.5) & (around < 0.5)
    uvs = np.stack([around / 1.5, np.clip(corners[..., 2] / 3 + 0.5, 0, 1)], axis=-1)
    materials = (
        Material("checks", (1.0, 1.0, 1.0, 1.0), textures=(("base_color", _checks()),)),
        Material("plain", (0.7, 0.2, 0.1, 1.0), metallic=0.1, roughness=0.4, double_sided=True),
    )
    top = corners[..., 2].mean(axis=1) > 0
    colors = np.concatenate([0.5 + 0.4 * np.tanh(model.rest), np.ones((model.n_vertices, 1))], axis=1)
    asset = Asset(
        uvs=uvs.astype(np.float32),
        colors=colors.astype(np.float32),
        materials=materials,
        triangle_material=np.where(top, 0, 1).astype(np.int32),
    )
    return model.with_mesh(asset=asset)


def _checks() -> Image:
    """A checkerboard image."""
    from PIL import Image as Picture

    squares = np.indices((32, 32)).sum(axis=0) // 4 % 2 * 160 + 60
    data = io.BytesIO()
    Picture.fromarray(squares.astype(np.uint8)).save(data, "PNG")
    return Image("checks", "image/png", data.getvalue())


def jointed(model: SkinnedModel, rotation: Float64) -> SkinnedModel:
    """Add a joint hierarchy, with each joint at the centre of its bone and rotated slightly against its parent."""
    weights = model.skin.dense(model.n_bones)
    placements = np.empty((model.n_bones, 3, 4))
    placements[..., 3] = weights.T @ model.rest / weights.sum(axis=0)[:, None]
    placements[..., :3] = Rotation.from_rotvec(np.arange(model.n_bones)[:, None] * rotation).as_matrix()
    parents = (np.arange(model.n_bones) - 1) // 2 if rotation.any() else np.arange(model.n_bones) - 1
    names = tuple(f"joint {b}" for b in range(model.n_bones))
    return model.with_character(skeleton=Skeleton(names, parents.astype(np.int32), placements.astype(np.float32)))


def _mirrored(model: SkinnedModel) -> SkinnedModel:
    """Make one bone a reflection."""
    transforms = model.track.transforms.astype(np.float64)
    mirror = np.concatenate([np.diag([1.0, 1.0, -1.0]), np.zeros((3, 1))], axis=1)
    transforms[:, 1] = compose(transforms[:, 1], mirror)
    return model.with_animation(track=BoneTrack(transforms.astype(np.float32), "flexible"))


def _stretched(model: SkinnedModel) -> SkinnedModel:
    """Add scales along individual axes to the bones, at 60 frames per second."""
    rng = np.random.default_rng(2)
    axes = Rotation.random(model.n_bones, random_state=3).as_matrix()
    scales = np.exp(0.2 * smooth_series(rng, model.n_frames, (model.n_bones, 3)))
    weights = model.skin.dense(model.n_bones)
    middle = weights.T @ model.rest / weights.sum(axis=0)[:, None]
    stretch = np.empty((model.n_frames, model.n_bones, 3, 4))
    stretch[..., :3] = np.einsum("bji,fbj,bjk->fbik", axes, scales, axes)
    stretch[..., 3] = middle - np.einsum("fbij,bj->fbi", stretch[..., :3], middle)
    transforms = compose(model.track.transforms.astype(np.float64), stretch)
    track = BoneTrack(transforms.astype(np.float32), "scaled")
    return model.with_animation(track=track, clips=(Clip("clip", 0, model.n_frames, 60.0),))


def _slow(model: SkinnedModel) -> SkinnedModel:
    """The first half of the motion in four times as many frames, so that keys can be removed."""
    fine = np.linspace(0, model.n_frames / 2, 2 * model.n_frames)
    before = np.minimum(fine.astype(int), model.n_frames - 2)
    part = (fine - before)[:, None, None, None]
    transforms = model.track.transforms.astype(np.float64)
    blended = (1 - part) * transforms[before] + part * transforms[before + 1]
    return model.with_animation(track=BoneTrack(blended.astype(np.float32), "flexible"), clips=())
