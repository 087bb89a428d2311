"""Figures of reduced skeletons (1 to 3), of dropped blends (4) and of a crowd (5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.lod.bone_order import BoneOrder
from osteon.lod.controller import SeenCharacter
from osteon.papers.drawings import curves
from osteon.papers.entries import Panels, Shown, Table
from osteon.papers.panels import CLAY, PANEL, overlaid, panels, shot
from osteon.papers.progressive_skinning.soldier import Soldier, soldier
from osteon.papers.run import PaperRun
from osteon.report.charts import Axis, Series
from osteon.report.gallery import Picture
from osteon.report.page_parts import number
from osteon.report.picture import HeatScale, bone_colors, heat_colors
from osteon.report.raster import Camera, DrawOptions, Image, frame_camera
from osteon.report.stick_overlay import draw_segments

VIEW = replace(PANEL, height=440, azimuth=35.0)
#: sRGB bytes of active and of inactive bones, and their widths in pixels.
ACTIVE, INACTIVE, WIDE, THIN = (200, 40, 30), (60, 62, 70), 5.0, 2.2
#: Parts of the bones that are active in figure 1.
PARTS = (1.0, 0.5, 0.25, 0.1)


def _busiest(body: Soldier, name: str = "") -> int:
    """The clip of that name, or else the one with the largest error at the root."""
    names = [clip.name.lower() for clip in body.model.clips]
    if name in names:
        return names.index(name)
    return int(np.argmax([order.base for order in body.levels.orders]))


def _middle(body: Soldier, clip: int) -> float:
    """The frame of a clip that is farthest from its default pose: a quarter for a walk, the middle for a pose."""
    run, order = body.model.clips[clip], body.levels.orders[clip]
    exact = body.model.animation.transforms[run.start : run.stop].astype(np.float64)
    away = np.abs(exact - order.default_pose()).sum(axis=(1, 2, 3))
    return float(away.argmax())


def _bones_drawn(body: Soldier, clip: int, count: int, frame: float, caption: str, camera: Camera) -> Picture:
    """The mesh, pale, with active bones thick and the others thin."""
    order = body.levels.orders[clip]
    points = body.posed(clip, count, body.levels.blends.n_blends, frame)
    joints, segments = body.posed_joints(clip, count, frame)
    active = np.isin(_bone_of(body, segments), order.order[:count])
    one = shot(points, body.model.faces, CLAY, caption, options=VIEW, camera=camera)

    def draw(image: Image, seen: Camera) -> Image:
        image = draw_segments(image, joints[segments[~active]], seen, INACTIVE, THIN)
        return draw_segments(image, joints[segments[active]], seen, ACTIVE, WIDE)

    return overlaid(one, draw)


def _bone_of(body: Soldier, segments: Int32) -> Int32:
    """(n,) the bone that moves each segment: the one at its first end."""
    return segments[:, 0]


def reduced_skeletons(run: PaperRun) -> Shown:
    """Figure 1: fewer and fewer active bones."""
    body = soldier(run)
    clip = _busiest(body, "run")
    order, frame = body.levels.orders[clip], _middle(body, clip)
    camera = _clip_camera(body, clip, frame)
    counts = [order.count_for_share(part) for part in PARTS]
    pictures = tuple(
        _bones_drawn(body, clip, count, frame, f"{count} bones: {number(100 * float(order.shares[count]))} % error",
                     camera)
        for count in counts
    )  # fmt: skip
    text = (
        f"The clip {order.clip} of the {body.name}. Thick lines are bones that are computed; all others follow one of "
        "them, or nothing, with a constant offset. Errors are relative to that of one bone; bones that "
        "move like another one are not counted."
    )
    return Shown(text, (Panels(pictures, 4),), numbers={"bones": counts, "shares": order.shares[counts]})


def _clip_camera(body: Soldier, clip: int, frame: float) -> Camera:
    whole = body.posed(clip, body.levels.orders[clip].n_ordered, body.levels.blends.n_blends, frame)
    return frame_camera(whole, VIEW)


def character(run: PaperRun) -> Shown:
    """Figure 2: the character and its rig at rest."""
    body = soldier(run)
    model = body.model
    assert model.skeleton is not None
    rest = model.skeleton.world_from_joint[..., 3].astype(np.float64)
    pairs = [(p, j) for j, p in enumerate(model.skeleton.parents.tolist()) if p >= 0]
    plain = shot(model.rest, model.faces, CLAY, f"{model.n_vertices:,} vertices", options=VIEW)
    lines = rest[np.array(pairs)]
    rig = overlaid(
        replace(plain, caption=f"{model.n_bones} bones"), lambda i, c: draw_segments(i, lines, c, ACTIVE, 3.0)
    )
    paint = model.skin.dense(model.n_bones).astype(np.float64) @ bone_colors(model.n_bones)
    skin = shot(
        model.rest, model.faces, paint, f"weights, up to {model.skin.n_influences} bones per vertex", options=VIEW
    )
    text = f"The {body.name} in its bind pose, with {len(model.clips)} clips: {', '.join(c.name for c in model.clips)}."
    return Shown(text, (Panels((plain.draw(), rig, skin.draw()), 3),), numbers={"bones": model.n_bones})


#: Active bones of figure 3.
KEY_BONES = 4


def hierarchy(run: PaperRun) -> Shown:
    """Figure 3: four key bones of a walk, and which of them every other bone follows."""
    body = soldier(run)
    clip = _busiest(body, "walk")
    order, frame = body.levels.orders[clip], _middle(body, clip)
    count = min(KEY_BONES, order.n_ordered)
    leaders, _ = order.leaders(count)
    names = body.model.track.names
    active = order.order[:count].tolist()
    camera = _clip_camera(body, clip, frame)
    palette = np.concatenate([bone_colors(count), [[0.80, 0.80, 0.80]]])
    place = {bone: i for i, bone in enumerate(active)}
    group = np.array([place.get(int(leader), count) for leader in leaders])
    paint = body.model.skin.dense(body.model.n_bones).astype(np.float64) @ palette[group]
    whole = body.posed(clip, order.n_ordered, body.levels.blends.n_blends, frame)
    pictures = (
        _bones_drawn(body, clip, order.n_ordered, frame, "all bones", camera),
        _bones_drawn(body, clip, count, frame, f"{count} active bones (thick)", camera),
        shot(whole, body.model.faces, paint, "the active bone that each part follows; grey: none", options=VIEW,
             camera=camera).draw(),
    )  # fmt: skip
    rows = tuple((names[b], *_followers(names, leaders, b, order)) for b in active)
    free = [names[b] for b in order.order.tolist() if leaders[b] < 0]
    rows += (("none: constant", str(len(free)), _listed(free)),)
    text = (
        f"The clip {order.clip} of the {body.name} with {count} active bones: {', '.join(names[b] for b in active)}. "
        f"{number(100 * float(order.shares[count]))} % of the error is left. Bones may follow any bone, not only their "
        "parent of the rig."
    )
    parts = (Panels(pictures, 3), Table(("active bone", "followers", "which"), rows))
    return Shown(text, parts, numbers={"active": [names[b] for b in active]})


def _followers(names: Sequence[str], leaders: Int32, bone: int, order: BoneOrder) -> tuple[str, str]:
    found = [names[b] for b in order.order.tolist() if leaders[b] == bone and b != bone]
    return str(len(found)), _listed(found)


def _listed(found: Sequence[str], most: int = 8) -> str:
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return (", ".join(found[:most]) or "-") + more


def blend_hierarchy(run: PaperRun) -> Shown:
    """Figure 4: the slot that receives the weight of a dropped one, and the skin with one to four blends."""
    body = soldier(run)
    blends = body.levels.blends
    kept = [blends.shares(k) for k in range(blends.n_blends, 0, -1)]
    rows = tuple(
        (str(blends.n_blends - i), *(_sum_of(share[:, slot]) for slot in range(blends.n_blends)))
        for i, share in enumerate(kept)
    )
    head = ("blends", *(f"slot {slot + 1}" for slot in range(blends.n_blends)))
    model = body.model
    palette = bone_colors(model.n_bones)
    shots = []
    for k in range(blends.n_blends, 0, -1):
        weights = blends.weights(k)
        paint = np.einsum("vk,vkc->vc", weights, palette[blends.bones])
        shots.append(shot(model.rest, model.faces, paint, f"{k} {'blend' if k == 1 else 'blends'}", options=VIEW))
    errors = 100 * np.sqrt(blends.errors / max(blends.errors[0], 1e-300))
    chart = curves(
        "Error of fewer blends",
        [Series("", list(range(1, blends.n_blends + 1)), errors.tolist(), dots=True)],
        Axis("blends", whole=True),
        Axis("RMS error, % of that with one blend"),
        note="All bones active, over all clips.",
    )
    text = (
        "Which slots a slot's weight is the sum of, when fewer blends are used; slots are sorted for each vertex. The "
        "paper has one table for all characters; ours is chosen among all tables by the error of the character's clips."
    )
    parts = (Table(head, rows, title="Redistribution of weights"), panels(shots, min(4, len(shots))), chart)
    return Shown(text, parts, numbers={"heirs": blends.heirs, "squared_errors": blends.errors})


def _sum_of(column: Float64) -> str:
    return " + ".join(f"w{i + 1}" for i in np.flatnonzero(column)) or "-"


#: Of figure 5: instances per side, how far apart they stand in body sizes, and the accepted error in pixels.
SIDE, APART, TOLERANCE = 4, 0.75, 1.2
CROWD = DrawOptions(width=1100, height=520, azimuth=14.0, elevation=14.0, field_of_view=70.0)


def crowd(run: PaperRun) -> Shown:
    """Figure 5: sixteen instances, each at the level for its distance."""
    body = soldier(run)
    model, levels = body.model, body.levels
    clip = _busiest(body, "walk")
    frames, size = model.clips[clip].n_frames, model.diagonal
    x, z = (axis.ravel() for axis in np.meshgrid(np.arange(SIDE), np.arange(SIDE), indexing="ij"))
    places = APART * size * np.stack([x + 0.4 * z, 0 * x, 1.6 * z], axis=1)
    camera = frame_camera(np.concatenate([places, places + np.array([0, 0.7 * size, 0])]), CROWD)
    eye = camera.center + camera.distance * camera.axes[2]
    points, faces, used, costs = [], [], [], []
    for n, place in enumerate(places):
        pixels = camera.zoom * camera.distance / float(np.linalg.norm(eye - place))
        level = SeenCharacter(levels.curves[clip], pixels).level_for(TOLERANCE)
        at = levels.curves[clip].at(level)
        points.append(body.posed(clip, at.bones, round(at.blends), (5 * n) % frames) + place)
        faces.append(model.faces + n * model.n_vertices)
        used.append((round(at.bones), round(at.blends)))
        costs.append(level)
    paint = np.repeat(heat_colors(100 * np.array(costs), 100.0), model.n_vertices, axis=0)
    whole = np.concatenate(points)
    picture = shot(whole, np.concatenate(faces), paint, f"{len(places)} instances", options=CROWD, camera=camera)
    text = (
        f"{len(places)} instances of the {body.name} in the clip {model.clips[clip].name}, each with the bones and "
        f"blends whose RMS error is {TOLERANCE:g} pixels at its distance: from {min(used)[0]} to {max(used)[0]} of "
        f"{levels.n_ordered} bones. Colour: the part of the full computation."
    )
    scale = HeatScale(100.0, "%", "cost")
    return Shown(text, (panels([picture], 1, scale=scale),), numbers={"bones_and_blends": used, "levels": costs})
