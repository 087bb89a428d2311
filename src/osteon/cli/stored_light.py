"""Precomputed light in the files that commands read: its summary, and notes where an output is written without it.

Light is kept where vertices, bones and frames stay (`osteon lod`). Elsewhere a note says why it is not.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from osteon.io.models import holds_light, load_stored_light

if TYPE_CHECKING:
    from osteon.apply.light.model_light import ModelLight
    from osteon.core.model import SkinnedModel

#: Why an output has no light, and what to do, in a sentence that begins with the file.
_AGAIN = "; run osteon light again"
OTHER_BONES = f"it was computed for the bones of that file{_AGAIN}"
OTHER_FRAMES = f"it was computed for the animation of that file{_AGAIN}"
OTHER_SURFACE = f"it was computed for the surface before the edit{_AGAIN}"
ONE_LEVEL = f"a single level has other bones and triangles{_AGAIN}"
OTHER_CLIPS = f"only some of its frames were read, or at another rate{_AGAIN}"
PAINTED = "a scene of bodies has no place for it"


def notes_on_light(files: Iterable[str | Path | None], outputs: Iterable[str], why: str) -> tuple[str, ...]:
    """A note for every file whose light is not in the models that are written."""
    from osteon.io import MODEL_FORMATS

    if not any(Path(path).suffix.lower() in MODEL_FORMATS for path in outputs):
        return ()
    lit = dict.fromkeys(str(file) for file in files if file is not None and holds_light(file))
    return tuple(f"{file}: its precomputed light is left out: {why}" for file in lit)


def light_of(file: Path, model: SkinnedModel) -> ModelLight | None:
    """The precomputed light in the file of a model; None if there is none, or it is of other frames."""
    if not holds_light(file):
        return None
    from osteon.pipeline.light_files import load_light

    light = load_light(file)
    return light if light is not None and light.n_frames == model.n_frames else None


def describe_stored_light(path: str) -> dict[str, Any]:
    """Facts about the light in the file of a model, if there is any."""
    stored = load_stored_light(path)
    if stored is None:
        return {}
    from osteon.pipeline.light_files import load_light

    light = load_light(path)
    assert light is not None
    ground, baked = light.ground, light.baked
    return {
        "light": {
            "kind": "occlusion" if light.is_occlusion else "transfer",
            "order": light.order,
            "rank": light.transfer.rank,
            "error_percent": 100 * light.transfer.errors[-1],
            "environments": [one.name for one in light.environments],
            "ground": None
            if ground is None
            else {"points": ground.resolution, "error_percent": _last(ground.transfer)},
            "baked": None if baked is None else {"rank": baked.rank, "error_percent": 100 * baked.errors[-1]},
            "frames": light.n_frames,
            "coarse": len(light.coarse),
            "bytes": light.n_bytes,
        }
    }


def _last(transfer: Any) -> float:
    return 100 * float(transfer.errors[-1])


def light_text(light: dict[str, Any]) -> str:
    """The facts in one line."""
    from osteon.cli.common import size_text

    occlusion = light["kind"] == "occlusion"
    what = "ambient occlusion" if occlusion else f"transfer of order {light['order']}"
    parts = [what, f"rank {light['rank']} (error {light['error_percent']:.2f} %)"]
    if light["environments"]:
        parts.append("environments " + " ".join(light["environments"]))
    if light["ground"] is not None:
        points, error = light["ground"]["points"], light["ground"]["error_percent"]
        parts.append(f"ground of {points} x {points} points (error {error:.2f} %)")
    if light["baked"] is not None:
        parts.append(f"baked colours of rank {light['baked']['rank']} (error {light['baked']['error_percent']:.2f} %)")
    if light["coarse"]:
        parts.append(f"{light['coarse']} coarse meshes")
    return ", ".join([*parts, size_text(light["bytes"])])
