"""Records of rigid bodies and of contacts, for the kernels of the solver.

    shape     a, b, c                              reach                 least
    sphere    radius, 0, 0                         radius                radius
    box       half extents along x, y, z           half diagonal         smallest half extent
    capsule   radius, half length along y, 0       half length + radius  radius

The half length of a capsule is that of its axis, without the caps. The inertia of a solid of uniform density is
diagonal in the axes of the body:

    sphere    2/5 m r^2
    box       m/3 (b^2 + c^2), …
    capsule   a cylinder and two half balls, whose centres of mass are 3/8 r beyond the ends of the axis
"""

from __future__ import annotations

from math import hypot, pi
from typing import Any, Literal

import numpy as np

from osteon.core.arrays import Float64

Shape = Literal["sphere", "box", "capsule"]
#: Values of the field `kind`.
BALL, BOX, CAPSULE = 0, 1, 2
KINDS: dict[Shape, int] = {"sphere": BALL, "box": BOX, "capsule": CAPSULE}

#: A body: its shape, mass, material, place, velocity, and what the solver derives from these.
BODY = np.dtype(
    [("kind", "i4"), ("fixed", "i4"), ("free", "i4"), ("listed", "i4"), ("count", "i4"), ("hits", "i4")]
    + [(name, "f8") for name in ("a", "b", "c", "reach", "least", "mass", "jx", "jy", "jz", "friction", "bounce")]
    + [(name, "f8") for name in ("x", "y", "z", "qx", "qy", "qz", "qw", "vx", "vy", "vz", "wx", "wy", "wz")]
    + [(f"r{i}{j}", "f8") for i in range(3) for j in range(3)]  # world_from_body
    + [("im", "f8")]  # 1 / mass, 0 of a fixed body
    + [(name, "f8") for name in ("sxx", "sxy", "sxz", "syy", "syz", "szz")]  # inverse inertia in the world
    + [(name, "f8") for name in ("lx", "ly", "lz", "hx", "hy", "hz")]  # the box whose triangles are listed
    + [("rush", "f8")]  # speed of the fastest listed triangle
    + [("begun", "f8"), ("kick", "f8")]  # seconds of the first touch of the surface, largest impulse of it
)
#: The other party of a contact, where it is no body.
GROUND, SURFACE = -1, -2
#: A contact of body `one` with `other`: the normal points towards `one`; arms begin at the centres.
CONTACT = np.dtype(
    [("one", "i4"), ("other", "i4"), ("triangle", "i4"), ("spare", "i4")]
    + [(name, "f8") for name in ("nx", "ny", "nz", "ax", "ay", "az", "bx", "by", "bz", "ux", "uy", "uz")]
    + [(name, "f8") for name in ("gap", "sx", "sy", "sz", "tx", "ty", "tz", "mn", "ms", "mt", "pn", "ps", "pt", "most")]
    + [(name, "f8") for name in ("approach", "friction", "bounce")]
)
#: Facts of the whole scene, and the time within the interval of two frames.
WORLD = np.dtype(
    [("contacts", "i4"), ("steps", "i4"), ("has_ground", "i4"), ("spare", "i4")]
    + [(name, "f8") for name in ("gx", "gy", "gz", "ux", "uy", "uz", "height")]  # gravity, ground
    + [(name, "f8") for name in ("ground_friction", "ground_bounce", "surface_friction", "surface_bounce")]
    + [(name, "f8") for name in ("longest", "before")]  # seconds of the longest step, and of the one before
    + [
        (name, "f8") for name in ("began", "span", "now", "until")
    ]  # of the interval: start, length, what is done, what is next
)
#: A record of an array of these types, and the array; fields are attributes in kernels only.
Record = Any
Records = Any
#: Names of the records in the signatures of kernels.
RECORDS = {"body": BODY, "contact": CONTACT, "world": WORLD}


def volume_of(shape: Shape, size: Float64) -> float:
    """The volume of a shape with sizes a, b, c."""
    a, b, c = size
    if shape == "sphere":
        return float(4 / 3 * pi * a**3)
    if shape == "box":
        return float(8 * a * b * c)
    return float(pi * a**2 * (2 * b + 4 / 3 * a))


def inertia_of(shape: Shape, size: Float64, mass: float) -> tuple[float, float, float]:
    """The moments of inertia about the axes of a solid."""
    a, b, c = (float(x) for x in size)
    if shape == "sphere":
        return (0.4 * mass * a * a,) * 3
    if shape == "box":
        return mass / 3 * (b * b + c * c), mass / 3 * (a * a + c * c), mass / 3 * (a * a + b * b)
    tube, caps = 2 * b, 4 / 3 * a
    m, n = mass * tube / (tube + caps), mass * caps / (tube + caps)
    across = m * (a * a / 4 + b * b / 3) + n * (0.4 * a * a + b * b + 0.75 * a * b)
    return across, m * a * a / 2 + n * 0.4 * a * a, across


def reach_of(shape: Shape, size: Float64) -> tuple[float, float]:
    """The distance of the farthest and of the nearest point of a surface from its centre."""
    a, b, c = (float(x) for x in size)
    if shape == "sphere":
        return a, a
    if shape == "box":
        return hypot(a, b, c), min(a, b, c)
    return a + b, a
