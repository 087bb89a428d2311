from __future__ import annotations

import numpy as np
import pytest

from osteon.core.errors import GeometryError, OptionError
from osteon.core.sticks import StickSkeleton
from osteon.core.transforms import identity
from osteon.report.picture import bone_colors, heat_colors
from osteon.report.pose_picture import (
    PosedMesh,
    PosePictureOptions,
    PoseSubject,
    Region,
    clear_view,
    pose_picture,
    shared_views,
)
from osteon.report.raster import DrawOptions, draw_mesh, frame_camera
from osteon.report.stick_overlay import BoneStyle, draw_bones, draw_edges
from osteon.synth.shapes import join_shapes, make_ball, make_grid, make_tube

TUBE = make_tube(12, 16, 0.2, 2.0)
STICK = StickSkeleton(
    np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]]), np.array([[0, 1], [1, 2]], np.int32), ("a", "b", "c")
)
HALVES = (TUBE.vertices[TUBE.faces].mean(axis=1)[:, 0] > 1).astype(np.int32)
SUBJECT = PoseSubject(TUBE.vertices, TUBE.faces, STICK, HALVES)
SMALL = PosePictureOptions(width=160, height=140)
STILL = PosedMesh("still", TUBE.vertices)
STRETCHED = PosedMesh("stretched", TUBE.vertices * (1.5, 1, 1))


def has_color(image: np.ndarray, color: np.ndarray, within: int = 3) -> bool:
    return bool((np.abs(image.astype(int) - np.round(255 * color).astype(int)).max(axis=2) <= within).any())


def test_a_column_for_each_method_and_a_row_for_the_closeup() -> None:
    one = pose_picture(SUBJECT, [STILL], STICK.joints, options=SMALL)
    two = pose_picture(SUBJECT, [STILL, STRETCHED], STICK.joints, options=SMALL)
    near = pose_picture(SUBJECT, [STILL], STICK.joints, options=PosePictureOptions(width=160, height=140, closeup="b"))
    assert one.dtype == np.uint8
    assert two.shape[1] - one.shape[1] == pytest.approx(160 + 14, abs=20)  # the numbers of the scale may be wider
    assert near.shape[1] == one.shape[1]
    assert near.shape[0] > one.shape[0] + 0.8 * 160


def test_methods_share_one_scale() -> None:
    flat = make_grid(6, 6)
    stick = StickSkeleton(np.array([[0.2, 0.5, 0], [0.8, 0.5, 0]]), np.array([[0, 1]], np.int32))
    subject = PoseSubject(flat.vertices, flat.faces, stick)
    meshes = [PosedMesh("still", flat.vertices), PosedMesh("wide", flat.vertices * (1.5, 1, 1))]
    alone, both = (
        pose_picture(subject, m, stick.joints, options=PosePictureOptions(width=160, height=160, measure="area"))
        for m in (meshes[:1], meshes)
    )
    ends = heat_colors(np.array([0.0, 1.0]), 1.0)
    panel = slice(14 + 174, 14 + 174 + 160)  # of the first method
    assert has_color(both[220:420, panel], ends[0])
    assert not has_color(both[220:420, panel], ends[1])
    assert has_color(both[220:420, 14 + 2 * 174 : 14 + 2 * 174 + 160], ends[1])
    assert alone.shape[0] == both.shape[0]


def test_segments_have_the_colours_of_their_bones() -> None:
    flat = make_grid(8, 4, 2.0, 1.0)
    stick = StickSkeleton(STICK.joints + np.array([0, 0.5, 0]), STICK.bones, STICK.names)
    halves = (flat.vertices[flat.faces].mean(axis=1)[:, 0] > 1).astype(np.int32)
    image = pose_picture(
        PoseSubject(flat.vertices, flat.faces, stick, halves),
        [PosedMesh("m", flat.vertices)],
        stick.joints,
        options=SMALL,
    )
    for color in bone_colors(2):
        assert has_color(image[180:, : 14 + 160], color)


@pytest.mark.parametrize("measure", ["area", "angle", "strain"])
@pytest.mark.parametrize("background", ["light", "dark"])
def test_every_measure_on_both_papers(measure: str, background: str) -> None:
    options = PosePictureOptions(width=160, measure=measure, view=DrawOptions(background=background), title="t")  # type: ignore[arg-type]
    ideal = identity(len(TUBE.faces))
    posed = [PosedMesh("stretched", STRETCHED.vertices, ideal)]
    image = pose_picture(SUBJECT, posed, STICK.joints * (1.5, 1, 1), options=options)
    assert (image[0, 0].max() < 60) == (background == "dark")


def test_bones_are_drawn_over_the_mesh_and_nowhere_else() -> None:
    options = DrawOptions(width=200, height=120, shadow=False)
    camera = frame_camera(TUBE.vertices, options)
    plain = draw_mesh(TUBE.vertices, TUBE.faces, options=options, camera=camera)
    colors = np.array([[1.0, 0, 0], [0, 0, 1.0]])
    image = draw_bones(plain, STICK.joints, STICK.bones, camera, style=BoneStyle(colors))
    assert has_color(image, colors[0])
    assert has_color(image, colors[1])
    changed = (image != plain).any(axis=2)
    _, columns = np.nonzero(changed)
    seen = camera.project(STICK.joints)[:, :2]
    assert columns.min() > seen[:, 0].min() - 8
    assert columns.max() < seen[:, 0].max() + 8
    assert 0.005 < changed.mean() < 0.2
    faint = draw_bones(plain, STICK.joints, STICK.bones, camera, style=BoneStyle(colors, strength=0.3))
    assert not has_color(faint, colors[0], 20)


def test_edges_leave_the_middle_of_triangles_alone() -> None:
    grid = make_grid(1, 1)
    options = DrawOptions(
        width=120, height=120, azimuth=0, elevation=0, projection="orthographic", shading="none", shadow=False
    )
    camera = frame_camera(grid.vertices, options)
    plain = draw_mesh(grid.vertices, grid.faces, (1.0, 1.0, 1.0), options=options, camera=camera)
    image = draw_edges(plain, grid.vertices, grid.faces, camera)
    middle = camera.project(grid.vertices[grid.faces].mean(axis=1))[:, :2].round().astype(int)
    for x, y in middle:
        np.testing.assert_array_equal(image[y, x], plain[y, x])
    assert image[60, 60].max() < 255  # on the diagonal


def test_panels_follow_the_shape_of_the_subject() -> None:
    tall = PoseSubject(TUBE.vertices[:, [1, 0, 2]], TUBE.faces, StickSkeleton(STICK.joints[:, [1, 0, 2]], STICK.bones))
    upright = pose_picture(
        tall, [PosedMesh("m", tall.rest)], tall.skeleton.joints, options=PosePictureOptions(width=160)
    )
    lying = pose_picture(SUBJECT, [STILL], STICK.joints, options=PosePictureOptions(width=160))
    assert upright.shape[0] - lying.shape[0] > 2 * 160 * 0.6
    assert upright.shape[1] == lying.shape[1]


def test_a_closeup_looks_past_what_stands_before_it() -> None:
    ball, wall = make_ball(200, 0.3), make_grid(8, 8, 1.6, 1.6).moved((-0.8, -0.8, 0.6))
    scene = join_shapes([ball, wall])  # the wall stands before the ball, seen from +z
    view = DrawOptions(azimuth=0, elevation=5)
    turned = clear_view(view, scene.faces, [Region(scene.vertices, np.zeros(3), 0.35)])
    assert abs(float(turned.azimuth)) >= 50
    assert clear_view(view, ball.faces, [Region(ball.vertices, np.zeros(3), 0.35)]).azimuth == 0
    with pytest.raises(OptionError, match="azimuth"):
        clear_view(DrawOptions(), ball.faces, [])


def test_rest_and_pose_have_one_scale() -> None:
    view = DrawOptions(width=200)
    rest, pose = shared_views(SUBJECT, STRETCHED.vertices, view, 160)
    assert rest.camera.zoom == pytest.approx(pose.camera.zoom)
    for shown, points in ((rest, SUBJECT.rest), (pose, STRETCHED.vertices)):
        flat = shown.camera.project(points)[:, :2]
        assert (flat > 0).all()
        assert (flat < (200, 160)).all()
    near = pose.near(STICK.joints[1], 0.5)
    np.testing.assert_allclose(near.camera.project(STICK.joints[1:2])[0, :2], (100, 80), atol=1e-6)


def test_refuses() -> None:
    with pytest.raises(OptionError, match="no joint 'x'"):
        pose_picture(SUBJECT, [STILL], STICK.joints, options=PosePictureOptions(width=160, closeup="x"))
    with pytest.raises(OptionError, match="posed"):
        pose_picture(SUBJECT, [], STICK.joints)
    with pytest.raises(GeometryError, match="joints"):
        pose_picture(SUBJECT, [STILL], STICK.joints[:2])
    with pytest.raises(GeometryError, match="segments"):
        PoseSubject(TUBE.vertices, TUBE.faces, STICK, HALVES[:3])
    with pytest.raises(GeometryError, match="no triangles"):
        PoseSubject(TUBE.vertices, np.zeros((0, 3), np.int32), STICK)
    with pytest.raises(OptionError, match="measure"):
        PosePictureOptions(measure="volume")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="width"):
        PosePictureOptions(width=10)
