"""Stick skeletons in files, by suffix: text formats, and rigs of glTF scenes and skinned models.

For joint j of a glTF skin, B the inverse bind matrix and M the matrix from the stored mesh to the rest pose
(`gltf.bind_pose`), the joint rests at M B^-1 and moves by W B M^-1, with W the world matrix of its node. So joints and
vertices share their space.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.errors import FileFormatError, OptionError
from osteon.core.model import SkinnedModel
from osteon.core.sticks import StickSkeleton
from osteon.core.transforms import compose, invert
from osteon.io.formats.format_types import SkeletonFormat
from osteon.io.formats.options import LoadOptions
from osteon.io.formats.registry import MODEL_FORMATS
from osteon.io.gltf.formats import GLTF_SUFFIXES
from osteon.io.gltf.read.animations import plan_clips, sample_blocks
from osteon.io.gltf.read.bones import rest_placements
from osteon.io.gltf.read.document import Document, open_document
from osteon.io.gltf.read.metadata import read_metadata
from osteon.io.gltf.read.scene import GltfScene, SkinJoints, parents_of_joints, read_scene
from osteon.io.load.source import PathLike, Source, numbered, quote
from osteon.io.models import load_model
from osteon.io.save.atomic import atomic_file
from osteon.io.skeletons.parsing import LARGEST, nearest_of
from osteon.io.skeletons.rig import Flesh, Rig, RigMotion, complete_rig, end_all, printable_names, sticks_of_rig
from osteon.io.skeletons.skeleton_json import SKELETON_JSON
from osteon.io.skeletons.text import SKEL, TGF

RIG_SUFFIXES = (*GLTF_SUFFIXES, *(suffix for suffix in MODEL_FORMATS.own if suffix not in GLTF_SUFFIXES))
_TEXTS: tuple[SkeletonFormat, ...] = (
    TGF,
    SKEL,
    SKELETON_JSON,
)
TEXT_FORMATS: dict[str, SkeletonFormat] = {text.suffix: text for text in _TEXTS}
SKELETON_SUFFIXES = (*TEXT_FORMATS, *RIG_SUFFIXES)


def load_skeleton(path: PathLike, *, skin: str | int = 0) -> StickSkeleton:
    """The stick skeleton in a file; of a glTF with several skins the one with that name or number."""
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix in TEXT_FORMATS:
        return TEXT_FORMATS[suffix].read(Source(file))
    if suffix not in RIG_SUFFIXES and suffix not in MODEL_FORMATS:
        known = ", ".join(SKELETON_SUFFIXES)
        raise FileFormatError(f"{file}: not a suffix for a skeleton; known are {known}")
    return sticks_of_rig(read_rig(file, skin), Source(file))


def save_skeleton(skeleton: StickSkeleton, path: PathLike) -> None:
    """Write `skeleton` in the format its suffix names, whole or not at all; `load_skeleton` returns the same."""
    found = TEXT_FORMATS.get(Path(path).suffix.lower())
    if found is None:
        raise FileFormatError(f"{path}: a skeleton is saved as {', '.join(TEXT_FORMATS)}; choose one of these")
    names = skeleton.names
    if len(set(names)) < len(names) or not all(name.strip() and name.isprintable() for name in names):
        raise OptionError(f"{path}: two joints share a name, or a name cannot be shown; rename them before saving")
    try:
        text = found.text(skeleton)
    except OptionError as error:
        raise OptionError(f"{path}: {error}") from error
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


#: A bind matrix that squeezes more than this has lost its digits in float32.
WORST_CONDITION = 1e6


def sticks_of_model(model: SkinnedModel, path: Path) -> StickSkeleton:
    """The sticks of a model from this file, with an end for each of its last joints: all of them can be rotated."""
    source = Source(path)
    return sticks_of_rig(end_all(_completed(_model_rig(model, source), [_model_flesh(model)])), source)


def tips_of_joints(model: SkinnedModel) -> Float64:
    """(j,3) the far end of the vertices that a leaf joint moves; of all other joints, and of single ones, the place."""
    rig = _model_rig(model, Source(Path(model.name)))
    ended = end_all(complete_rig(rig, _model_flesh(model), handles=True))
    tips = rig.places.copy()
    for j in range(len(rig.names), len(ended.names)):
        tips[ended.parents[j]] = ended.places[j]
    return tips


def read_rig(path: Path, skin: str | int) -> Rig:
    """The joints of one skin at rest, by its name or its number among the skins that are shown."""
    document = open_document(path) if path.suffix.lower() in GLTF_SUFFIXES else None
    if document is None or read_metadata(document) is not None:
        model = load_model(path)
        return _completed(_model_rig(model, Source(path)), [_model_flesh(model)])
    scene = read_scene(document)
    chosen = _chosen(document, _skins(document, scene), skin)
    return _completed(_skin_rig(document, scene, chosen), _skin_flesh(scene, chosen))


def read_rig_motions(path: Path, options: LoadOptions) -> list[RigMotion]:
    """Every skin of the file with its motion."""
    document = open_document(path) if path.suffix.lower() in GLTF_SUFFIXES else None
    if document is None or read_metadata(document) is not None:
        model = load_model(path, options=options)
        return [_model_motion(model, Source(path))]
    scene = read_scene(document)
    skins = _skins(document, scene)
    planned = plan_clips(document, scene, options)
    n_frames, n_joints = planned[-1].clip.stop, sum(len(skin.nodes) for skin in skins)
    document.claim(96 * n_frames * n_joints, f"its {n_frames} frames of {n_joints} joints", sampled=True)
    blocks: list[list[Float64]] = [[] for _ in skins]
    bound = [skin.joint_from_mesh @ np.linalg.inv(_placement(scene, skin)) for skin in skins]
    for pose in sample_blocks(scene, planned):
        for skin, joint_from_rest, found in zip(skins, bound, blocks, strict=True):
            with np.errstate(over="ignore", invalid="ignore"):  # overflows are reported below
                world = np.stack([pose.world[node] for node in skin.nodes], axis=1)
                found.append((world @ joint_from_rest)[:, :, :3])
    clips = tuple(sampled.clip for sampled in planned)
    rigs = [_skin_rig(document, scene, skin) for skin in skins]
    return [RigMotion(rig, np.concatenate(found), clips) for rig, found in zip(rigs, blocks, strict=True)]


def _skins(document: Document, scene: GltfScene) -> list[SkinJoints]:
    """The skins that the scene shows, in the order of the file."""
    shown = {instance.skin.number: instance.skin for instance in scene.instances if instance.skin is not None}
    if not shown:
        raise document.source.geometry_error("has no skin, so it has no joints; export the mesh with its armature")
    return [shown[number] for number in sorted(shown)]


def _chosen(document: Document, skins: list[SkinJoints], wanted: str | int) -> SkinJoints:
    if isinstance(wanted, int):
        if not 0 <= wanted < len(skins):
            shown = numbered(len(skins), "skin")
            raise OptionError(f"skin: {document.source} shows {shown}, counted from 0; there is no {wanted}")
        return skins[wanted]
    json_values = document.items("skins")
    names = [document.text(json_values[skin.number], "name", f"skin_{skin.number}") for skin in skins]
    if wanted not in names:
        raise OptionError(f"skin: {document.source} has no skin {quote(wanted)}; {nearest_of(wanted, names)}")
    return skins[names.index(wanted)]


def _placement(scene: GltfScene, skin: SkinJoints) -> Float64:
    """(4,4) from the stored mesh to the rest pose, for the first part on this skin."""
    for instance, matrix in zip(scene.instances, rest_placements(scene), strict=True):
        if instance.skin is not None and instance.skin.number == skin.number:
            return matrix
    return np.eye(4)


def _skin_rig(document: Document, scene: GltfScene, skin: SkinJoints) -> Rig:
    json_values = document.items("nodes")
    names = printable_names(tuple(document.text(json_values[node], "name", f"node_{node}") for node in skin.nodes))
    bind = skin.joint_from_mesh[:, :3, :3]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        condition = np.linalg.cond(bind) if np.isfinite(skin.joint_from_mesh).all() else np.full(len(bind), np.inf)
    if not (condition <= WORST_CONDITION).all():
        flat = quote(names[int(np.argmax(~(condition <= WORST_CONDITION)))])
        raise document.source.geometry_error(f"the bind matrix of joint {flat} has no inverse; bind it again")
    with np.errstate(over="ignore", invalid="ignore"):
        places = compose(_placement(scene, skin)[:3], invert(skin.joint_from_mesh[:, :3]))[..., 3]
    return Rig(names, parents_of_joints(scene, skin.nodes), places)


def _completed(rig: Rig, flesh: list[Flesh]) -> Rig:
    """The rig with ends and without handles, unless its numbers are such that `sticks_of_rig` will refuse it."""
    sound = [one for one in flesh if np.isfinite(one.points).all() and (np.abs(one.points) <= LARGEST).all()]
    if not sound or len(sound) < len(flesh) or not (np.abs(rig.places) <= LARGEST).all():
        return rig
    width = max(one.joints.shape[1] for one in sound)
    joints, weights = (
        [np.pad(array, ((0, 0), (0, width - array.shape[1]))) for array in arrays]
        for arrays in ([one.joints for one in sound], [one.weights for one in sound])
    )
    points = np.concatenate([one.points for one in sound])
    return complete_rig(rig, Flesh(points, np.concatenate(joints), np.concatenate(weights)))


def _skin_flesh(scene: GltfScene, skin: SkinJoints) -> list[Flesh]:
    """The vertices of all parts on a skin, where the rest pose is."""
    found: list[Flesh] = []
    for instance, matrix in zip(scene.instances, rest_placements(scene), strict=True):
        influences = instance.geometry.influences
        if instance.skin is None or instance.skin.number != skin.number or influences is None:
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            shape = instance.geometry.positions + np.tensordot(instance.weights, instance.geometry.deltas, axes=1)
            points = shape @ matrix[:3, :3].T + matrix[:3, 3]
        found.append(Flesh(points, influences.joints.astype(np.int32), influences.weights))
    return found


def _model_rig(model: SkinnedModel, source: Source) -> Rig:
    if model.skeleton is None or not len(model.skeleton.names):
        raise source.geometry_error("its bones form no tree; take the skeleton from a file with a rig")
    places = np.asarray(model.skeleton.world_from_joint[:, :, 3], np.float64)
    return Rig(printable_names(model.skeleton.names), model.skeleton.parents.tolist(), places)


def _model_flesh(model: SkinnedModel) -> Flesh:
    return Flesh(model.rest.astype(np.float64), model.skin.bones, model.skin.weights.astype(np.float64))


def _model_motion(model: SkinnedModel, source: Source) -> RigMotion:
    rig = _model_rig(model, source)
    transforms = np.asarray(model.track.transforms, np.float64)
    if transforms.shape[1] != len(rig.names):
        counts = f"{numbered(len(rig.names), 'joint')} but {numbered(model.n_bones, 'bone')}"
        raise source.geometry_error(f"has {counts}; its joints cannot be followed")
    return RigMotion(rig, transforms, model.clips)
