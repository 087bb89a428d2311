"""Figures about uses of a skinned animation: simplification (14), edits of the rest pose (15), collision (18)."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from osteon.apply.collide.bodies import place_scene, simulate_bodies
from osteon.apply.collide.bodies_options import BodyOptions
from osteon.apply.collide.regions import Regions, partition
from osteon.apply.collide.scene import Scene, load_scene
from osteon.apply.edit.edit_rest import edit_rest
from osteon.apply.edit.subdivide import subdivide_model
from osteon.core.arrays import Float64, Int32
from osteon.core.mesh import Mesh
from osteon.core.model import SkinnedModel
from osteon.core.normals import vertex_normals
from osteon.deform.edits import edited_model
from osteon.deform.pose import pose_vertices
from osteon.io.save.atomic import scratch_folder
from osteon.lod.mesh.simplify import simplify_model
from osteon.papers.entries import Compared, Panels, Shown
from osteon.papers.mesh_animations.corrections import BEST
from osteon.papers.mesh_animations.variants import variants_of
from osteon.papers.panels import CLAY, PANEL, edged, panels, shot
from osteon.papers.run import PaperRun
from osteon.papers.subjects import find_subject
from osteon.report.picture import bone_colors
from osteon.report.raster import frame_camera
from osteon.report.scene_picture import scene_points, scene_shapes
from osteon.report.views import distinct_frames
from osteon.synth.fox_edits import fox_edits
from osteon.synth.fox_scene import SCENE

#: The part of the triangles that figure 14 keeps, as printed: 2,100 of 16,843.
KEPT = 2100 / 16843


def skin_of(run: PaperRun, name: str) -> SkinnedModel:
    """The recommended skin of a subject without corrections: flexible bones, NNLS weights, four influences."""
    return variants_of(run, name).fits[BEST].model.truncate(0)


def far_frame(run: PaperRun, name: str) -> int:
    """The frame that differs most from the rest pose."""
    return int(distinct_frames(find_subject(run, name).sequence, 1)[0])


def simplified(run: PaperRun) -> Shown:
    """Figure 14: all triangles and an eighth of them, at rest and posed."""
    found, model = find_subject(run, "horse"), skin_of(run, "horse")
    wanted = round(KEPT * model.mesh.n_triangles)
    level = simplify_model(model, triangles=[wanted], progress=run.progress).levels[0]
    frame = far_frame(run, "horse")
    flat = replace(PANEL, shading="flat")
    cameras = frame_camera(model.rest, flat), frame_camera(pose_vertices(model, frame), flat)
    shots = []
    for camera, words, pose in ((cameras[0], "rest pose", None), (cameras[1], f"frame {frame}", frame)):
        for one in (model, level.model):
            points = one.rest if pose is None else pose_vertices(one, pose)
            caption = f"{words}, {one.mesh.n_triangles:,} triangles"
            shots.append(shot(points, one.faces, CLAY, caption, options=flat, camera=camera))
    why = f"The {found.name} has fewer triangles; the same part of them is kept."
    triangles = model.mesh.n_triangles
    compared = (
        Compared("triangles", 16843, triangles, "Figure 14", why=why),
        Compared("triangles, simplified", 2100, level.n_triangles, "Figure 14", why=why),
    )
    text = f"The {found.name}: the simplified mesh keeps the weights, and the same bones pose both."
    return Shown(text, (panels(shots, 4),), compared)


def edited(run: PaperRun) -> Shown:
    """Figure 15: an edit of the rest pose, seen in a frame."""
    found, model = find_subject(run, "horse"), subdivide_model(skin_of(run, "horse"))
    frame = far_frame(run, "horse")
    base = pose_vertices(model, frame)
    edits = {"waves": _waves(model.mesh)} if found.measured else fox_edits(model.mesh)
    moved = sum(edits.values(), np.zeros_like(model.rest, np.float64))
    made = edit_rest(model, (model.rest + moved).astype(np.float32)).model
    posed = pose_vertices(made, frame)
    rest = edited_model(made).rest
    cameras = (
        frame_camera(np.concatenate([model.rest, rest]), PANEL),
        frame_camera(np.concatenate([base, posed]), PANEL),
    )
    shots = [
        shot(model.rest, model.faces, CLAY, "rest pose", camera=cameras[0]),
        shot(rest, model.faces, CLAY, "rest pose, edited", camera=cameras[0]),
        shot(posed, model.faces, CLAY, f"frame {frame} of the edited model", camera=cameras[1]),
    ]
    size = np.linalg.norm(moved, axis=1) > 1e-4 * model.diagonal
    text = (
        f"The {found.name}, subdivided once and edited at rest: {', '.join(edits)}; {int(size.sum()):,} vertices move. "
        "Nothing is fitted again."
    )
    return Shown(text, (panels(shots),), numbers={"edited_vertices": int(size.sum())})


def _waves(mesh: Mesh) -> Float64:
    """(v,3) waves along the body on everything that faces up, for subjects without an edit of their own."""
    rest = mesh.rest.astype(np.float64)
    normals = vertex_normals(rest, mesh.faces)
    length = rest[:, int(np.ptp(rest, axis=0).argmax())]
    wave = np.sin(2 * np.pi * 14 * (length - length.min()) / np.ptp(length)) ** 2
    upward = np.clip((normals[:, 1] - 0.2) / 0.5, 0, 1)
    return np.asarray(0.03 * mesh.diagonal * (wave * upward)[:, None] * np.array([0.0, 1.0, 0.0]))


#: Parts of the simulated time that are drawn, and gallops that are simulated.
MOMENTS, LOOPS = (0.0, 0.2, 0.35, 0.6), 3
#: Bodies farther from the character than so many diagonals are outside of the pictures.
NEAR = 0.75


def collisions(run: PaperRun) -> Shown:
    """Figure 18: regions of bones with their boxes, and bodies that the character kicks."""
    found, model = find_subject(run, "horse"), skin_of(run, "horse")
    regions = partition(model.mesh, model.skin, model.n_bones)
    frames = distinct_frames(find_subject(run, "horse").sequence, 2)
    top = _region_panels(model, regions, [int(f) for f in frames])
    scene = _scene()
    loops = run.size(LOOPS, 1)
    track = simulate_bodies(model, scene, options=BodyOptions(loops=loops), progress=run.progress)[0]
    shapes = scene_shapes(model, place_scene(model, scene))
    keys = [round(part * (len(track.seconds) - 1)) for part in MOMENTS]
    shown = [scene_points(model, shapes, track, key) for key in keys]
    near = np.concatenate(shown)
    middle = model.rest.astype(np.float64).mean(axis=0)
    view = replace(PANEL, height=PANEL.width)
    camera = frame_camera(near[np.linalg.norm(near - middle, axis=1) < NEAR * model.diagonal], view)
    shots = [
        shot(points, shapes.faces, shapes.colors, f"{track.seconds[key]:.2f} s", options=view, camera=camera)
        for points, key in zip(shown, keys, strict=True)
    ]
    text = (
        f"Top: the triangles of the {found.name} by the bone that moves them most, and the box of each of "
        f"{len(regions.bones)} regions, which moves with its bone. Bottom: {len(scene.bodies)} rigid bodies around it; "
        f"{int((track.touched > 0).sum())} of them are hit by the character."
    )
    facts = {"regions": len(regions.bones), "bodies": len(scene.bodies), "hit": int((track.touched > 0).sum())}
    return Shown(text, (top, panels(shots, 4, title="Collisions that drive a simulation")), numbers=facts)


def _scene() -> Scene:
    """The built-in bodies, in diagonals of the character."""
    with scratch_folder() as folder:
        path = folder / "scene.json"
        path.write_text(json.dumps(SCENE))
        return load_scene(path)


def _region_panels(model: SkinnedModel, regions: Regions, frames: list[int]) -> Panels:
    """The rest pose and frames in the colours of the regions, with their boxes."""
    paint = bone_colors(len(regions.bones))[regions.of_triangle]
    tracks = model.animation.transforms[frames]
    placed = regions.frames(np.concatenate([np.eye(3, 4)[None, None].repeat(model.n_bones, 1), tracks]))
    poses = [model.rest, *(pose_vertices(model, f) for f in frames)]
    words = ["rest pose", *(f"frame {f}" for f in frames)]
    pictures = []
    for points, frame, caption in zip(poses, placed, words, strict=True):
        one = shot(points, model.faces, paint, caption)
        pictures.append(edged(one, _box_edges(model.faces, regions, points.astype(np.float64), frame)))
    return Panels(tuple(pictures), 3, title="Regions and their boxes")


def _box_edges(faces: Int32, regions: Regions, points: Float64, world_from_region: Float64) -> Float64:
    """(n,2,3) the edges of the box of every region in its own frame."""
    corners = np.array(np.meshgrid([0, 1], [0, 1], [0, 1], indexing="ij")).reshape(3, -1).T
    pairs = [(a, b) for a in range(8) for b in range(a) if np.abs(corners[a] - corners[b]).sum() == 1]
    edges = []
    for region, placed in enumerate(world_from_region):
        own = points[np.unique(faces[regions.of_triangle == region])]
        local = (own - placed[:, 3]) @ placed[:, :3]
        low, high = local.min(axis=0), local.max(axis=0)
        box = (low + corners * (high - low)) @ placed[:, :3].T + placed[:, 3]
        edges += [box[list(pair)] for pair in pairs]
    return np.stack(edges)
