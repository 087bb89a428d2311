"""Joints close together: the nearest is taken, all stand in a list, and fingers are hidden until they are wanted."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from osteon.core.animation import BoneTrack
from osteon.core.character import Skeleton
from osteon.core.model import SkinnedModel
from osteon.deform.linear_blend import linear_blend_model
from osteon.io import save_model
from osteon.synth.baked import anchor_skin
from osteon.synth.shapes import make_tube

from .page_person import Person
from .serving import served
from .test_page_panels import drawn
from .test_pose_page import answered, handle, place

SPINE = tuple(f"spine{i}" for i in range(9))
FINGERS = ("LeftHandIndex1", "LeftHandIndex2", "LeftHandIndex3", "LeftHandThumb1", "spring")


def make_model() -> SkinnedModel:
    """A tube along x with a chain of nine joints, at its end fingers a few pixels apart, and a joint named spring."""
    body = make_tube(10, 40, 0.12, 2.0)
    x = [*np.linspace(0.05, 1.7, 9), 1.75, 1.78, 1.81, 1.76, 1.3]
    y = [0.0] * 12 + [0.04, 0.3]
    places = np.stack([x, y, np.zeros(14)], axis=1)
    parents = np.array([-1, *range(8), 8, 9, 10, 8, 6], np.int32)
    names = (*SPINE, *FINGERS)
    rest = np.concatenate([np.tile(np.eye(3), (14, 1, 1)), places[..., None]], axis=2).astype(np.float32)
    transforms = np.tile(np.eye(3, 4, dtype=np.float32), (3, 14, 1, 1))
    skin = anchor_skin(body.vertices, places, 2)
    track = BoneTrack(transforms, "rigid", names)
    return linear_blend_model(
        body.vertices, body.faces, skin, track, skeleton=Skeleton(names, parents, rest), name="worm"
    )


@pytest.fixture(scope="module")
def visitor(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    folder = tmp_path_factory.mktemp("fingers")
    save_model(make_model(), folder / "worm.npz")
    with served(folder / "view", str(folder / "worm.npz")) as running:
        someone = Person(chromium, running.server.address, "small", reduced_motion="reduce")
        someone.sees_model()
        yield someone
        someone.leaves()


@pytest.fixture
def posing(visitor: Person) -> Person:
    visitor.opens("Pose")
    answered(visitor)
    visitor.page.evaluate(
        "() => { window.osteon.page.posing.select(null); window.osteon.page.posing.handles.setSmall(false); }"
    )
    visitor.page.evaluate("() => window.osteon.engine.lookFrom([0, 0.1, 1])")
    drawn(visitor)
    return visitor


def test_fingers_are_hidden_until_they_are_wanted(posing: Person) -> None:
    panel = posing.page.locator("#panel-pose")
    assert handle(posing, "Joint spine4").count() == 1
    assert handle(posing, "Joint spring").count() == 1  # no ring finger
    assert handle(posing, "Joint LeftHandIndex1").count() == 0
    panel.get_by_role("switch", name="Fingers and other small joints").click()
    assert handle(posing, "Joint LeftHandIndex3").count() == 1
    assert handle(posing, "Joint LeftHandThumb1").count() == 1
    posing.keeps_picture("16-fingers")
    panel.get_by_role("switch", name="Fingers and other small joints").click()
    assert handle(posing, "Joint LeftHandIndex3").count() == 0


def test_the_list_has_all_joints_and_shows_a_hidden_one(posing: Person) -> None:
    panel = posing.page.locator("#panel-pose")
    listed = panel.get_by_role("listbox", name="Joints")
    assert listed.get_by_role("option").count() == 14 + 3  # and where the last ones end
    panel.get_by_role("searchbox", name="Find a joint").fill("index2")
    assert listed.get_by_role("option").count() == 1
    listed.get_by_role("option").click()
    assert handle(posing, "Joint LeftHandIndex2").get_attribute("aria-pressed") == "true"
    assert handle(posing, "Joint LeftHandIndex1").count() == 0
    assert "Joint LeftHandIndex2" in panel.inner_text()
    panel.get_by_role("searchbox", name="Find a joint").fill("")
    listed.focus()
    listed.press("ArrowUp")
    assert listed.get_by_role("option", selected=True).inner_text() == "LeftHandIndex1"
    panel.get_by_role("searchbox", name="Find a joint").fill("nothing")
    assert "No joint is called" in panel.inner_text()
    panel.get_by_role("searchbox", name="Find a joint").fill("")


def test_the_nearest_of_joints_that_overlap_is_taken(posing: Person) -> None:
    posing.page.evaluate("() => window.osteon.page.posing.handles.setSmall(true)")
    drawn(posing)
    names = ["LeftHandIndex1", "LeftHandIndex2", "LeftHandIndex3"]
    places = [place(posing, f"Joint {name}") for name in names]
    assert max(b[0] - a[0] for a, b in pairwise(places)) < 20  # their reaches overlap
    for name, (x, y) in zip(names, places, strict=True):
        posing.page.mouse.move(x + 1, y + 3)
        assert posing.page.locator(".handle.near").first.get_attribute("aria-label") == f"Joint {name}"
        posing.page.mouse.click(x + 1, y + 3)
        assert handle(posing, f"Joint {name}").get_attribute("aria-pressed") == "true"


def test_with_the_skeleton_shown_a_click_means_the_nearest_joint(visitor: Person) -> None:
    visitor.opens("Bones")
    visitor.page.evaluate(
        "() => { window.osteon.store.set({ skeleton: true }); window.osteon.engine.lookFrom([0, 0.1, 1]); }"
    )
    drawn(visitor)
    seen = visitor.page.evaluate(
        """() => {
          const { engine } = window.osteon, { pack, center } = engine.character;
          const box = engine.canvas.getBoundingClientRect();
          return [2, 5].map((j) => {
            const at = pack.arrays.joint_points.subarray(3 * j, 3 * j + 3);
            const p = engine.orbitCamera.camera.position.clone().fromArray([...at].map((x, i) => x - center[i]));
            p.project(engine.orbitCamera.camera);
            return [box.left + (0.5 + 0.5 * p.x) * engine.width, box.top + (0.5 - 0.5 * p.y) * engine.height];
          });
        }"""
    )
    for joint, (x, y) in zip((2, 5), seen, strict=True):
        visitor.page.mouse.click(x + 4, y + 4)
        visitor.waits_for(f"s.paint === 'weights' && s.bone === {joint}")
