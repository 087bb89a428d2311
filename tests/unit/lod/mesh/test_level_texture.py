"""Attributes that are fitted to the source: what is linear is found exactly, and other charts do not count."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.mesh import Asset, Image, Material, Mesh
from osteon.lod.mesh.level_samples import SHARES, LevelSamples
from osteon.lod.mesh.level_texture import HELD, charts_of, fit_texture
from osteon.lod.mesh.quadrics import attribute_quadrics
from osteon.lod.mesh.simplify import SimplifyOptions, simplify_model
from tests.small_meshes import grid, start, still

_PLACES, _FACES = grid(6)
REST, FACES = np.array(_PLACES, np.float32), np.array(_FACES, np.int32)
COARSE = np.array([[0, 6, 48], [0, 48, 42]], np.int32)  # the same square in two triangles
OWNERS = np.array([[0, 1, 2], [0, 2, 3]], np.int32)
SWAPPED = [1, 0, 2]
IMAGE = Image("picture", "image/png", b"")


def linear(places):
    return (np.asarray(places)[..., :2] @ [[0.1, 0.02], [-0.03, 0.12]] + 0.1).astype(np.float32)


def samples() -> LevelSamples:
    return LevelSamples.of(Mesh(REST, FACES), REST, COARSE)


def fitted(uvs, begin, same, free):
    return fit_texture(Mesh(REST, FACES), samples(), uvs, begin, OWNERS, same, free)


def test_samples_are_on_the_source_and_face_as_it_does():
    found = samples()
    points = np.einsum("kc,tci->tki", SHARES, REST[COARSE]).reshape(-1, 3)
    assert found.targets(REST[FACES]) == pytest.approx(points, abs=1e-6)
    up, down = np.tile([0.0, 0, 1], (len(points), 1)), np.tile([0.0, 0, -1], (len(points), 1))
    assert found.facing(up).all()
    assert not found.facing(down).any()
    assert found.areas(found.facing(up)).sum() == pytest.approx(len(SHARES) * 2 * 36)


def test_a_linear_texture_is_found_wherever_the_fit_starts():
    """Up to the weight that holds it at the start."""
    every, begin = np.ones(2 * len(SHARES), bool), linear(REST[COARSE])
    found = fitted(linear(REST[FACES]), begin, every, np.ones(4, bool))
    assert found == pytest.approx(begin, abs=1e-5)
    moved = begin + np.float32(0.2)
    near = fitted(linear(REST[FACES]), moved, every, np.ones(4, bool))
    assert np.abs(near - begin).max() == pytest.approx(0.2 * HELD / (1 + HELD), rel=0.01)


def test_other_charts_and_unchanged_wedges_do_not_count():
    """Coordinates on the source's right half are those of another chart, far away in the texture."""
    uvs = linear(REST[FACES])
    right = REST[FACES][:, :, 0].mean(axis=1) > 3
    uvs[right] += 5
    same = ~right[samples().triangles]
    begin = linear(REST[COARSE])
    assert fitted(uvs, begin, same, np.ones(4, bool)) == pytest.approx(begin, abs=1e-3)
    assert np.abs(fitted(uvs, begin, np.ones_like(same), np.ones(4, bool)) - begin).max() > 1
    kept = fitted(uvs, begin, np.ones_like(same), np.array([True, False, True, False]))
    assert np.array_equal(kept[OWNERS == 1], begin[OWNERS == 1])
    assert not np.array_equal(kept[OWNERS == 0], begin[OWNERS == 0])


def test_charts_are_triangles_that_share_wedges():
    assert charts_of(np.array([[0, 1, 2], [2, 1, 3], [4, 5, 6]], np.int32), 7).tolist() == [0, 0, 1]


def paper(*sets: int) -> Material:
    roles = ("base_color", "occlusion")[: len(sets)]
    return Material(
        "paper", textures=tuple((role, IMAGE) for role in roles), uv_sets=tuple(zip(roles, sets, strict=True))
    )


@pytest.mark.parametrize(
    ("materials", "shown"),
    [((), (0,)), ((paper(0),), (0,)), ((paper(1),), (1,)), ((paper(0, 1),), (0, 1)), ((paper(5),), ())],
)
def test_every_set_that_textures_use_costs(materials, shown):
    first, second = linear(REST[FACES]), linear(REST[FACES][..., SWAPPED])
    asset = Asset(uvs=first, more_uvs=(second,), materials=materials, triangle_material=np.zeros(len(FACES), np.int32))
    assert asset.shown_sets == shown
    begun = start(still((REST.tolist(), FACES.tolist())))
    rows = attribute_quadrics(REST.astype(np.float64), begun.corners, asset, 0.5)
    assert rows.shape[1] == (11 + 4 * 2 * len(shown) if shown else 0)


def test_levels_keep_the_texture_of_all_sets_in_place():
    """A bent sheet with two linear sets: at every vertex of a level both are those of its place."""
    rest = REST.copy()
    rest[:, 2] = 0.3 * np.sin(rest[:, 0])
    sets = linear(rest[FACES]), linear(rest[FACES][..., SWAPPED] * np.float32(0.5))
    paint = Asset(uvs=sets[0], more_uvs=(sets[1],), materials=(paper(0, 1),), triangle_material=np.zeros(72, np.int32))
    model = still((rest.tolist(), FACES.tolist())).with_mesh(asset=paint)
    level = simplify_model(model, triangles=[30], options=SimplifyOptions(threads=1)).levels[0].model
    assert len(level.faces) <= 30
    assert level.asset.uvs == pytest.approx(linear(level.rest[level.faces]), abs=0.02)
    assert level.asset.more_uvs[0] == pytest.approx(linear(level.rest[level.faces][..., SWAPPED] * 0.5), abs=0.02)
