"""Queries of a collider agree with a search over all triangles, in stored frames and new poses, for every family."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import osteon
from osteon.apply.collide.collider import Collider, ColliderPose
from osteon.apply.collide.deformation_bounds import first_triangles
from osteon.apply.collide.tree_table import BOUND, REGION
from osteon.core.errors import GeometryError, OptionError
from osteon.core.model import SkinnedModel
from osteon.deform.pose import pose_character, pose_points, pose_vertices
from osteon_bench.collide_exact import count_escapes

from ....brute_collision import box_gaps, point_distances, random_queries, ray_distances, segment_distances
from ....contract.families import DEFORMER_CASES, DISPLACEMENT_CASES
from ....subjects import bent_tube

CASES = {**DEFORMER_CASES, **DISPLACEMENT_CASES, "tube": lambda: bent_tube(3).model}
#: Rounding of float32 positions, as a fraction of the diagonal.
SAME = 1e-6


@cache
def subject(name: str) -> tuple[SkinnedModel, Collider]:
    model = CASES[name]()
    return model, Collider.of(model)


def poses(name: str) -> list[tuple[ColliderPose, np.ndarray]]:
    """Two frames and a new pose, and the corners of all triangles there."""
    model, collider = subject(name)
    found = [(collider.at(f), pose_vertices(model, f)) for f in (0, model.n_frames - 1)]
    moved = new_pose(model)
    found.append((collider.at(moved), posed(model, moved)))
    return [(pose, vertices.astype(np.float64)[model.faces]) for pose, vertices in found]


def new_pose(model: SkinnedModel, seed: int = 3) -> np.ndarray:
    """(b,3,4) every bone of a frame, rotated a little on its own."""
    rng = np.random.default_rng(seed)
    transforms = model.animation.transforms[model.n_frames // 2].astype(np.float64)
    turns = Rotation.from_rotvec(0.2 * rng.normal(size=(len(transforms), 3))).as_matrix()
    return np.einsum("bij,bjk->bik", turns, transforms)


def posed(model: SkinnedModel, transforms: np.ndarray, coefficients: np.ndarray | None = None) -> np.ndarray:
    if coefficients is None:
        return pose_character(model.character, transforms[None])[0]
    rest = model.rest + np.einsum("r,rvi->vi", coefficients, model.corrections.basis)
    return pose_points(model.deformer, rest.astype(np.float64)[None], transforms[None])[0]


@pytest.mark.parametrize("name", CASES)
def test_corners_are_those_of_the_posed_model(name: str) -> None:
    model, _ = subject(name)
    for pose, corners in poses(name):
        apart = np.abs(pose.corners(np.arange(len(corners))) - corners).max()
        assert apart <= SAME * model.diagonal


@pytest.mark.parametrize("name", CASES)
def test_rays_agree_with_all_triangles(name: str) -> None:
    model, _ = subject(name)
    for pose, corners in poses(name):
        origins, targets = random_queries(corners, 40, 1)
        expected = np.stack([ray_distances(corners, o, t - o) for o, t in zip(origins, targets, strict=True)])
        batch = pose.rays(origins, targets - origins)
        assert np.isfinite(batch.values).all()  # each is aimed at the surface
        np.testing.assert_allclose(batch.values, expected.min(axis=1), atol=10 * SAME * model.diagonal)
        for n, (o, t) in enumerate(zip(origins, targets, strict=True)):
            hit = pose.ray(o, t - o)
            assert hit is not None
            assert hit.distance == batch.values[n]
            assert hit.triangle == batch.triangles[n]
            np.testing.assert_array_equal(hit.point, batch.points[n])
            assert pose.is_hit(o, t - o)
            assert not pose.is_hit(o, t - o, 0.999 * hit.distance)
            assert pose.ray(o, t - o, 0.999 * hit.distance) is None
            through = pose.all_hits(o, t - o)
            assert len(through) == np.isfinite(expected[n]).sum()
            assert [h.distance for h in through] == sorted(h.distance for h in through)
            assert through[0].distance == hit.distance


@pytest.mark.parametrize("name", CASES)
def test_closest_points_agree_with_all_triangles(name: str) -> None:
    model, _ = subject(name)
    for pose, corners in poses(name):
        points, _ = random_queries(corners, 40, 2)
        expected = np.array([point_distances(corners, p).min() for p in points])
        batch = pose.closest_points(points)
        np.testing.assert_allclose(np.abs(batch.values), expected, atol=SAME * model.diagonal)
        for n, p in enumerate(points):
            near = pose.closest_point(p)
            assert near is not None
            assert near.distance == batch.values[n]
            assert math.dist(near.point, p) == pytest.approx(abs(near.distance))
            assert pose.closest_point(p, 0.99 * abs(near.distance)) is None
            sphere = pose.sphere(p, 1.5 * abs(near.distance))
            assert sphere is not None
            assert sphere.depth == pytest.approx(1.5 * abs(near.distance) - near.distance)


@pytest.mark.parametrize("name", ["linear_blend", "corrections", "dual_quaternion", "tube"])
def test_shapes_agree_with_all_triangles(name: str) -> None:
    model, _ = subject(name)
    size = 0.15 * model.diagonal
    rng = np.random.default_rng(5)
    for pose, corners in poses(name):
        points, on = random_queries(corners, 12, 4)
        for p, q in zip(points, on, strict=True):
            up = rng.normal(size=3)
            heights = (corners @ up).min(axis=1)
            height = np.quantile(heights, 0.1) + 1e-5 * size  # not through a corner
            contact = pose.plane(up, height)
            assert contact is not None
            assert contact.depth == pytest.approx((height - heights.min()) / np.linalg.norm(up), abs=SAME * size)
            assert set(pose.plane_contacts(up, height).triangles) == set(np.flatnonzero(heights <= height))
            assert pose.plane(up, heights.min() - 0.01 * size) is None
            distances = point_distances(corners, q)
            touched = pose.sphere_contacts(q, size)
            sure = np.flatnonzero(np.abs(distances - size) > 10 * SAME * size)
            assert set(touched.triangles) & set(sure) == set(np.flatnonzero(distances <= size)) & set(sure)
            turn = Rotation.random(random_state=int(1e6 * abs(p[0]))).as_matrix()
            gaps = box_gaps(corners, q, (size, size / 2, size / 3), turn)
            boxed = pose.box_contacts(q, (size, size / 2, size / 3), turn)
            sure = np.flatnonzero(np.abs(gaps) > 10 * SAME * size)
            assert set(boxed.triangles) & set(sure) == set(np.flatnonzero(gaps <= 0)) & set(sure)
            deepest = pose.box(q, (size, size / 2, size / 3), turn)
            assert deepest is not None
            assert deepest.depth == pytest.approx(-gaps.min(), abs=10 * SAME * size)
            distances = segment_distances(corners, p, q)
            capsule = pose.capsule(p, q, size)
            assert capsule is not None
            assert set(np.flatnonzero(distances < 0.99 * size)) <= set(pose.capsule_contacts(p, q, size).triangles)
            assert not set(np.flatnonzero(distances > 1.05 * size)) & set(pose.capsule_contacts(p, q, size).triangles)


def test_points_of_box_contacts_are_in_the_box_and_on_the_surface() -> None:
    model, collider = subject("tube")
    corners = pose_vertices(model, 0).astype(np.float64)[model.faces]
    center, half = corners[30, 0], np.array([0.1, 0.2, 0.05])
    contacts = collider.at(0).box_contacts(center, half)
    assert len(contacts) > 2
    assert (np.abs(contacts.points - center) <= half + 1e-6).all()
    for triangle, point in zip(contacts.triangles, contacts.points, strict=True):
        assert point_distances(corners[[triangle]], point)[0] < 1e-6


def test_signs_of_distances() -> None:
    model, collider = subject("tube")
    corners = pose_vertices(model, 2).astype(np.float64)[model.faces]
    middle = corners.reshape(-1, 3).mean(axis=0)
    points, _ = random_queries(corners, 300, 8)
    found = collider.at(2).closest_points(points)
    up = np.array([0.3, 0.5, 0.81])
    crossings = np.array([np.isfinite(ray_distances(corners, p, up)).sum() for p in points])
    closed = len(np.unique(np.sort(model.faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1), axis=0)) * 2
    assert closed == 3 * len(model.faces)  # the tube is closed, so that it has an inside
    assert (crossings % 2 == (found.values < 0)).all()
    assert np.linalg.norm(middle - points, axis=1).min() > 0


def test_batches_over_frames_are_single_queries() -> None:
    model, collider = subject("linear_blend")
    frames = np.array([3, 0, 0, 5, 3])
    corners = pose_vertices(model, 0).astype(np.float64)[model.faces]
    origins, targets = random_queries(corners, len(frames), 6)
    hits = collider.rays(frames, origins, targets - origins)
    near = collider.closest_points(frames, origins)
    deep = collider.spheres(frames, targets, 0.1)
    low = collider.planes(frames, targets, 0.0)
    for n, f in enumerate(frames):
        pose = collider.at(int(f))
        hit, point = pose.ray(origins[n], targets[n] - origins[n]), pose.closest_point(origins[n])
        assert hits.triangles[n] == (-1 if hit is None else hit.triangle)
        assert point is not None
        assert near.values[n] == point.distance
        sphere, plane = pose.sphere(targets[n], 0.1), pose.plane(targets[n], 0.0)
        assert deep.values[n] == (-math.inf if sphere is None else sphere.depth)
        assert low.values[n] == (-math.inf if plane is None else pytest.approx(plane.depth))


def test_poses_that_alternate_do_not_mix() -> None:
    model, collider = subject("corrections")
    corners = pose_vertices(model, 0).astype(np.float64)[model.faces]
    point = random_queries(corners, 1, 9)[0][0]
    others = [collider.at(f) for f in range(4)] + [collider.at(new_pose(model, seed)) for seed in range(3)]
    alone = [pose.closest_point(point) for pose in others]
    assert alone == [pose.closest_point(point) for pose in others]
    assert alone == [pose.closest_point(point) for pose in others[::-1]][::-1]


def test_coefficients_of_a_new_pose() -> None:
    model, collider = subject("corrections")
    moved, q = new_pose(model), np.array([1.5, -2.0, 0.5])
    pose = collider.at(moved, q)
    corners = posed(model, moved, q)[model.faces]
    assert np.abs(pose.corners(np.arange(len(corners))) - corners).max() <= SAME * model.diagonal
    assert np.abs(collider.at(moved).corners(np.arange(len(corners))) - corners).max() > 0.01 * model.diagonal


def test_rigid_motion_and_units_of_the_scene() -> None:
    model, collider = subject("linear_blend")
    turn = Rotation.random(random_state=1).as_matrix()
    shift, scale = np.array([3.0, -2.0, 5.0]), 100.0
    transforms = model.animation.transforms[2].astype(np.float64)
    moved = scale * np.einsum("ij,bjk->bik", turn, transforms)
    moved[..., 3] += shift
    corners = pose_vertices(model, 2).astype(np.float64)[model.faces]
    points, _ = random_queries(corners, 20, 11)
    here = collider.at(2).closest_points(points)
    there = collider.at(moved).closest_points(scale * points @ turn.T + shift)
    np.testing.assert_allclose(there.values, scale * here.values, atol=SAME * scale * model.diagonal)


def brute_pairs(first: np.ndarray, second: np.ndarray) -> set[tuple[int, int]]:
    """Pairs of triangles (t,3,3) of which an edge of one crosses the inside of the other."""
    found: set[tuple[int, int]] = set()
    for flip, (edges_of, faces) in enumerate([(first, second), (second, first)]):
        for e in range(3):
            p, q = edges_of[:, None, e], edges_of[:, None, (e + 1) % 3]
            a, b, c = faces[None, :, 0], faces[None, :, 1], faces[None, :, 2]
            d = np.broadcast_to(q - p, (len(edges_of), len(faces), 3))
            volumes = [np.einsum("sti,sti->st", d, np.cross(x - p, y - p)) for x, y in ((b, c), (c, a), (a, b))]
            inside = np.all([v > 0 for v in volumes], axis=0) | np.all([v < 0 for v in volumes], axis=0)
            n = np.cross(b - a, c - a)
            sides = np.einsum("sti,sti->st", n + 0 * p, p - a) * np.einsum("sti,sti->st", n + 0 * q, q - a)
            rows, columns = np.nonzero(inside & (sides < 0))
            found |= {(int(c), int(r)) if flip else (int(r), int(c)) for r, c in zip(rows, columns, strict=True)}
    return found


@pytest.mark.parametrize("name", ["linear_blend", "corrections", "multi_weight"])
def test_contacts_of_two_surfaces_agree_with_all_pairs(name: str) -> None:
    model, _ = subject(name)
    other, its = subject("tube")
    shifted = its.model.animation.transforms[1].astype(np.float64)
    shifted[..., 3] += model.rest.mean(axis=0) - other.rest.mean(axis=0)
    for pose, corners in poses(name):
        there = its.at(shifted)
        expected = brute_pairs(corners, there.corners(np.arange(len(other.faces))))
        found = pose.contacts(its.at(shifted))
        assert set(zip(found.triangles.tolist(), found.others.tolist(), strict=True)) == expected
        back = its.at(shifted).contacts(pose)
        assert set(zip(back.others.tolist(), back.triangles.tolist(), strict=True)) == expected
        assert len(pose.contacts(its.at(shifted), only_first=True)) == min(1, len(expected))
        for k in range(len(found)):
            own = point_distances(corners[found.triangles[[k]]], found.points[k])
            assert own[0] <= 1e-6 * model.diagonal
            assert 0 <= found.depths[k] <= model.diagonal
        assert expected


def test_two_poses_of_one_collider() -> None:
    model, collider = subject("linear_blend")
    corners = [pose_vertices(model, f).astype(np.float64)[model.faces] for f in (1, 4)]
    expected = brute_pairs(corners[0], corners[1])
    for first, second in ((1, 4), (1, 4)):
        found = collider.at(first).contacts(collider.at(second))
        assert set(zip(found.triangles.tolist(), found.others.tolist(), strict=True)) == expected
    moved = [collider.at(model.animation.transforms[f]) for f in (1, 4)]
    assert len(moved[0].contacts(moved[1], only_first=True)) == 1
    found = moved[0].contacts(moved[1])
    assert set(zip(found.triangles.tolist(), found.others.tolist(), strict=True)) == expected


@pytest.mark.parametrize("name", ["linear_blend", "tube"])
def test_contacts_with_itself_agree_with_all_pairs(name: str) -> None:
    model, _ = subject(name)
    for pose, corners in poses(name):
        pairs = {(s, t) for s, t in brute_pairs(corners, corners) if not set(model.faces[s]) & set(model.faces[t])}
        found = pose.self_contacts()
        assert {frozenset(p) for p in zip(found.triangles.tolist(), found.others.tolist(), strict=True)} == {
            frozenset(pair) for pair in pairs
        }
        assert len(found) * 2 == len(pairs)
        assert len(pose.self_contacts(only_first=True)) == min(1, len(pairs))


def test_batches_in_new_poses_refit_and_agree() -> None:
    model, collider = subject("corrections")
    moved = new_pose(model)
    corners = posed(model, moved)[model.faces].astype(np.float64)
    points, targets = random_queries(corners, 200, 13)
    single = [collider.at(moved).closest_point(p) for p in points]
    for n in (200, 20):
        found = collider.at(moved).closest_points(points[:n])
        np.testing.assert_allclose(found.values, [s.distance for s in single[:n]], rtol=1e-9)
        hits = collider.at(moved).rays(points[:n], targets[:n] - points[:n])
        alone = [collider.at(moved).ray(p, t - p) for p, t in zip(points[:n], targets[:n], strict=True)]
        np.testing.assert_allclose(hits.values, [h.distance for h in alone], rtol=1e-9)


@pytest.mark.parametrize("name", ["corrections", "dual_quaternion"])
def test_a_bounded_deformation_tree_gives_the_same_answers(name: str) -> None:
    model, collider = subject(name)
    compact = Collider.of(model, compact=True)
    for f in range(0, model.n_frames, 3):
        corners = pose_vertices(model, f)[model.faces].astype(np.float64)
        points, targets = random_queries(corners, 20, 14 + f)
        plain, small = collider.at(f), compact.at(f)
        for p, t in zip(points, targets, strict=True):
            assert small.closest_point(p).distance == pytest.approx(plain.closest_point(p).distance, rel=1e-12)
            assert small.ray(p, t - p) == plain.ray(p, t - p)
            lowest = small.plane(t, 0.0), plain.plane(t, 0.0)  # of a vertex: any of its triangles
            assert [c and c.depth for c in lowest] == [lowest[0] and lowest[0].depth] * 2
        pairs = [
            set(zip(c.triangles.tolist(), c.others.tolist(), strict=True))
            for c in (small.self_contacts(), plain.self_contacts())
        ]
        assert pairs[0] == pairs[1]
    twice = compact.at(1).contacts(compact.at(2)), collider.at(1).contacts(collider.at(2))
    assert len(twice[0]) == len(twice[1])
    near = compact.closest_points([0, 1, 0], points[:3])
    np.testing.assert_allclose(near.values, collider.closest_points([0, 1, 0], points[:3]).values)
    assert compact.at(new_pose(model)).closest_point(points[0]) == collider.at(new_pose(model)).closest_point(points[0])


def test_a_bounded_deformation_tree_is_smaller_for_long_animations() -> None:
    model, _ = subject("tube")
    frames = np.tile(np.arange(model.n_frames, dtype=np.int32), 20)
    long = model.take_frames(frames)
    assert Collider.of(long, compact=True).n_bytes < 0.3 * Collider.of(long).n_bytes


def every_escape(pose: ColliderPose) -> int:
    """Vertices outside of the box of any node above them."""
    counts = np.zeros(2, np.int64)
    count_escapes(pose._table, pose._frame, counts)
    assert counts[0] == pose.collider.tree.n_nodes
    return int(counts[1])


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("compact", [False, True])
def test_no_vertex_escapes(name: str, compact: bool) -> None:
    model, _ = subject(name)
    collider = Collider.of(model, compact=compact)
    assert [every_escape(collider.at(f)) for f in range(model.n_frames)] == [0] * model.n_frames
    for seed in range(3):
        assert every_escape(collider.at(new_pose(model, seed))) == 0
        far = 1e3 * new_pose(model, seed)
        far[..., 3] += 1e4
        if model.deformer.bone_types != ("rigid",):
            assert every_escape(collider.at(far)) == 0


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name]().corrections is not None])
def test_no_vertex_escapes_with_corrections_of_any_size(name: str) -> None:
    model, collider = subject(name)
    rng = np.random.default_rng(5)
    for size in (1.0, 30.0):
        q = size * rng.normal(size=model.rank)
        stretched = np.array([4.0, 1.0, 0.1])[:, None] * new_pose(model)
        assert every_escape(collider.at(new_pose(model), q)) == 0
        assert every_escape(collider.at(stretched, q)) == 0


def test_no_vertex_escapes_where_some_vertices_have_offsets() -> None:
    model, _ = subject("animation_space")
    offsets = model.deformer.offsets.copy()
    offsets[model.rest[:, 0] > np.median(model.rest[:, 0])] = 0
    deformer = replace(model.deformer, offsets=offsets)
    partly = SkinnedModel(replace(model.character, deformer=deformer), model.animation)
    collider = Collider.of(partly)
    for seed in range(3):
        assert every_escape(collider.at(new_pose(partly, seed))) == 0


def test_a_bound_is_exact_where_all_bones_move_alike() -> None:
    model, _ = subject("tube")
    collider = Collider.of(model)
    turn = Rotation.random(random_state=4).as_matrix()
    same = np.repeat(np.concatenate([2 * turn, [[1.0], [2.0], [3.0]]], axis=1)[None], model.n_bones, axis=0)
    pose = collider.at(same)
    pose.closest_point((0, 0, 0))
    assert every_escape(pose) == 0
    nodes, boxes = collider._lazy["nodes"], collider._lazy["boxes"].astype(np.float64)
    recorded = np.flatnonzero(nodes[:, BOUND] >= 0)
    sizes = boxes[recorded, 3:] - boxes[recorded, :3]
    starts, count = first_triangles(nodes), collider.tree.node_triangles
    corners = collider.tree.arrays["rest"][collider.tree.arrays["triangles"]]
    for node, size in zip(recorded, sizes, strict=True):
        axes = collider.tree.regions.axes[nodes[node, REGION] - 1]
        local = corners[starts[node] : starts[node] + count[node]].reshape(-1, 3) @ axes
        np.testing.assert_allclose(size, 2 * np.ptp(local, axis=0), rtol=1e-5, atol=1e-5)


def test_velocities() -> None:
    model, collider = subject("linear_blend")
    triangles = np.arange(len(model.faces))
    frames = pose_vertices(model, 1), pose_vertices(model, 2), pose_vertices(model, 3)
    centers = frames[1][model.faces].mean(axis=1)
    expected = (frames[2] - frames[0])[model.faces].mean(axis=1) * model.clips[0].fps / 2
    found = collider.at(2).velocities(triangles, centers)
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())
    earlier, now = (collider.at(model.animation.transforms[f]) for f in (1, 2))
    found = now.velocities(triangles, centers, since=earlier, seconds=0.5)
    expected = (frames[1] - frames[0])[model.faces].mean(axis=1) / 0.5
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())
    with pytest.raises(OptionError, match="a new pose has no neighbours"):
        now.velocities(triangles, centers)


def test_bad_numbers_are_refused() -> None:
    model, collider = subject("tube")
    pose = collider.at(0)
    with pytest.raises(OptionError, match=f"frame: expected 0 … {model.n_frames - 1}, got {model.n_frames}"):
        collider.at(model.n_frames)
    with pytest.raises(OptionError, match="got -1"):
        collider.rays([-1], [[0, 0, 0]], [[0, 0, 1]])
    with pytest.raises(GeometryError, match="ray: expected a finite origin"):
        pose.ray((0, math.nan, 0), (0, 0, 1))
    with pytest.raises(GeometryError, match="direction that is not zero"):
        pose.ray((0, 0, 0), (0, 0, 0))
    with pytest.raises(GeometryError, match="closest_point: expected a finite point"):
        pose.closest_point((0, 0, math.inf))
    with pytest.raises(GeometryError, match="not finite"):
        collider.at(np.full((model.n_bones, 3, 4), np.nan))
    with pytest.raises(GeometryError, match="transforms: expected shape"):
        collider.at(np.zeros((model.n_bones + 1, 3, 4)))
    with pytest.raises(OptionError, match="has no corrections"):
        collider.at(model.animation.transforms[0], [1.0])
    with pytest.raises(GeometryError, match="as many rows"):
        collider.rays([0], [[0, 0, 0], [0, 0, 0]], [[0, 0, 1], [0, 0, 1]])
    with pytest.raises(GeometryError, match="without triangles cannot collide"):
        Collider.of(model.with_mesh(faces=np.zeros((0, 3), np.int32)))


def test_public_name() -> None:
    assert osteon.Collider is Collider
