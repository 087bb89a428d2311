"""Options of an edit of the rest pose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from osteon.core.errors import OptionError
from osteon.core.options import GIVEN, check_options, need, option

#: What the edited positions are compared with: the rest pose without or with the edits that the model has.
EditBase = Literal["unedited", "edited"]
#: Scalars along the normal, vectors in the frame of texture coordinates and normal, or vectors of the rest pose.
MapKind = Literal["height", "tangent", "object"]
SubdivisionScheme = Literal["midpoint", "loop"]

_EDIT = need(
    input=("mesh", "map", "strokes"),
    scale=GIVEN,
    reason="there is no edit: name an edited mesh or --map, or the --scale of an edit of the model; omit it",
)
_MESH = need(input="mesh", reason="only an edited mesh has a pose; omit it")
_MAP = need(input="map", reason="only a displacement map has one; use --map")
_TURN = need(blends_only=False, reason="with --blends-only there are no columns; omit one")

#: The largest number of subdivisions: each makes four triangles of one.
MOST_SUBDIVISIONS = 4


@dataclass(frozen=True, slots=True)
class EditOptions:
    """How an edit is read and stored.

    Circumstance in `needs`: `input` (mesh, map, strokes or none: what the edit is made from).
    """

    name: str = option(
        "edit", help="Name of the edit; an earlier edit of that name is replaced.", flags=("--name",), needs=(_EDIT,)
    )
    scale: float | None = option(
        None,
        help="Factor of the displacement, in every frame. Without EDITED or --map: the new factor of the model's edit.",
        flags=("--scale",),
        shown_default="1",
    )
    at_frame: int | None = option(
        None,
        help="The mesh was sculpted in this frame of the animation, counted from 0; the change is pulled back to the"
        " rest pose.",
        flags=("--at-frame",),
        metavar="K",
        minimum=0,
        needs=(_MESH,),
    )
    base: EditBase = option(
        "unedited",
        help="What the mesh was made from: the model without its edits, or with those that it has.",
        flags=("--base",),
        needs=(_MESH,),
    )
    height: float = option(
        1.0,
        help="Length of the displacement where the map has its largest value, in units of the rest pose.",
        flags=("--height",),
        needs=(_MAP,),
    )
    map_kind: MapKind = option(
        "height",
        help="What the map holds: a height along the normal; vectors in the frame of texture coordinates and normal;"
        " vectors in the axes of the rest pose.",
        flags=("--map-kind",),
        needs=(_MAP,),
    )
    middle: float | None = option(
        None,
        help="Value of the map that moves nothing.",
        flags=("--middle",),
        minimum=0,
        maximum=1,
        shown_default="0 for heights, 0.5 for vectors",
        needs=(_MAP,),
    )
    turn_tolerance: float = option(
        0.01,
        help="Largest deviation of the edit from its shape at rest in local frames of the surface, in every frame of"
        " the animation, in percent of its height. Where the blends of the skin exceed it, correction columns turn the"
        " edit.",
        flags=("--turn-tolerance",),
        metavar="PERCENT",
        above=0.0,
        scale=100.0,
        needs=(_TURN,),
    )
    turn_columns: int = option(
        64,
        help="The largest number of correction columns (morph targets) that turn an edit.",
        flags=("--turn-columns",),
        minimum=1,
        needs=(_TURN,),
    )
    blends_only: bool = option(
        False,
        help="Turn the edit by the blends of the skin alone, as in new poses: no correction columns.",
        flags=("--blends-only",),
    )
    subdivide: int = option(
        0,
        help="Subdivide the mesh first, so many times; skin, corrections and attributes are interpolated. The edited"
        " mesh is then one of the subdivided model.",
        flags=("--subdivide",),
        minimum=0,
        maximum=MOST_SUBDIVISIONS,
    )
    scheme: SubdivisionScheme = option(
        "midpoint",
        help="Where subdivision puts vertices: in the middle of edges, which keeps the surface, or by Loop's rules,"
        " which smooth it.",
        flags=("--scheme",),
        needs=(need(subdivide=GIVEN),),
    )
    remove: tuple[str, ...] = option(
        (),
        help="Remove the edit of this name from the model. May be repeated.",
        flags=("--remove",),
        metavar="NAME",
        shown_default="none",
    )

    def __post_init__(self) -> None:
        check_options(self)
        if not self.name or "\0" in self.name:
            raise OptionError("name: expected a word, got none")
