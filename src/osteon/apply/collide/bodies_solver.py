"""Rigid bodies with contacts and friction, in short steps.

Unknown are velocities v, w of all bodies after a step of h seconds. At every contact with normal n, gap d and relative
velocity u (of the body's point against the other's, which for the character is that of its skinned surface)

    u.n + d / h >= 0,   p >= 0,   p (u.n + d / h) = 0               no contact is passed, and contacts only push
    |p_t| <= mu p,   p_t opposite to u_t where the surfaces slide    Coulomb friction, a cone

with impulses p. They are found by projected Gauss-Seidel: contact after contact, each sum of impulses clamped to its
range, beginning with the impulses of the step before. Overlaps (d < 0) are removed by a damped spring; after positions
have moved, one more sweep without the springs removes the velocity that these added, and then fast contacts bounce.

A step is so short that no body moves by more than half of its smallest radius relative to the surface or to other
bodies that it may reach: a gap is therefore known before it closes, at any speed. Bodies without contacts gain no
energy: x += h (v + v') / 2 is exact under gravity, and torque-free rotation in the axes of the body

    I (w' - w) + h m x I m = 0,   m = (w + w') / 2

keeps w.I w, because m is orthogonal to m x I m.

Based on: Catto, Solver2D, 2024 ("soft step": short steps, springs, a relaxing sweep); Simo and Wong, Unconditionally
stable algorithms for rigid body dynamics that exactly preserve energy and momentum, 1991, for the rotation.

Differs from Catto's: friction is a cone, not two independent bounds; steps have no fixed length; contacts are found
anew in every step and take over the impulse of the nearest contact of the same pair.
"""

from __future__ import annotations

import numpy as np

from osteon.apply.collide.bodies_contacts import (
    KEPT,
    MOST_POINTS,
    box_on_triangle,
    keep_contacts,
    on_body,
    on_ground,
    round_on_triangle,
    turned,
    turned_back,
)
from osteon.apply.collide.bodies_state import BALL, BOX, RECORDS, SURFACE, Record, Records
from osteon.apply.collide.bodies_surface import Uint8, list_near
from osteon.core.arrays import Float64, Int32, Int64
from osteon.core.kernels import Point, compiled_by, cross, dot, inlined, lean

#: Part of its smallest radius that a body may move in one step.
REACH = 0.5
#: Radians that a body that is no ball may turn in one step.
TURN = 0.25
#: Steps of one call at most.
MOST_STEPS = 200_000
#: Stiffness of the springs as a part of the rate of steps, their damping ratio, and overlap that they leave, in radii.
STIFFNESS, DAMPING, SLOP = 0.25, 10.0, 1e-3
#: Overlaps are removed by at most this many radii per second.
PUSH = 20.0
#: Sweeps over all contacts.
SWEEPS = 6
#: Contacts slower than this part of sqrt(gravity x radius) do not bounce.
SLOW = 0.5
#: A contact takes over impulses of one that was at most this many radii away.
SAME = 0.25
#: Results of `run_interval`: all is done, a list of triangles or of contacts is too short, or too many steps.
DONE, FULL, TOO_FAST = 0, 1, 2


@compiled_by(
    {"_nrt": False},
    "world.1 body.1 contact.1 contact.1 contact.1 i8.1 f8.2 i4.2 f8.2r f8.2r i4.2r f8.2r u1.1r",
    RECORDS,
)
def run_interval(
    worlds: Records,
    bodies: Records,
    contacts: Records,
    olds: Records,
    found: Records,
    used: Int64,
    points: Float64,
    near: Int32,
    begin: Float64,
    end: Float64,
    links: Int32,
    bounds: Float64,
    one_sided: Uint8,
) -> int:
    """Simulate from worlds[0].now to worlds[0].until; returns DONE, or else the state of the last step stays.

    olds (c,), found (m,), used (1,) and points (2 MOST_POINTS,3) are scratch; near (n,c) lists triangles.
    """
    world = worlds[0]
    begun = world.steps
    while world.now < world.until:
        if not list_triangles(world, bodies, near, begin, end, links, bounds):
            return FULL
        left = world.until - world.now
        step = left / max(1.0, np.ceil(left / step_of(world, bodies) - 1e-9))
        held, n_olds = 0, world.contacts
        for i in range(n_olds):
            olds[i] = contacts[i]
        for i in range(bodies.shape[0]):
            if not bodies[i].fixed:
                held = touch_surface(
                    world, bodies[i], i, step, contacts, held, found, used, points, near, begin, end, one_sided
                )
                held = touch_others(world, bodies, i, step, contacts, held, found, used, points)
        if held + KEPT > contacts.shape[0]:
            for i in range(n_olds):
                contacts[i] = olds[i]
            return FULL
        world.contacts = held
        solve_step(world, bodies, contacts, olds, n_olds, step)
        world.now = world.until if left - step <= 1e-12 * world.span else world.now + step
        world.before = step
        world.steps += 1
        if world.steps - begun > MOST_STEPS:
            return TOO_FAST
    return DONE


@lean
def list_triangles(
    world: Record, bodies: Records, near: Int32, begin: Float64, end: Float64, links: Int32, bounds: Float64
) -> bool:
    """List the triangles near every body whose list may not reach to the end of a step; False if there is no room."""
    for i in range(bodies.shape[0]):
        body = bodies[i]
        if body.fixed:
            continue
        speed = np.sqrt(body.vx * body.vx + body.vy * body.vy + body.vz * body.vz)
        fall = fall_of(world) * world.longest
        wide = body.reach + REACH * body.least + (speed + fall) * world.longest
        if (
            body.listed
            and body.x - wide >= body.lx
            and body.x + wide <= body.hx
            and body.y - wide >= body.ly
            and body.y + wide <= body.hy
            and body.z - wide >= body.lz
            and body.z + wide <= body.hz
        ):
            continue
        wide += 0.5 * body.reach + 3.0 * speed * world.longest
        body.lx, body.ly, body.lz = body.x - wide, body.y - wide, body.z - wide
        body.hx, body.hy, body.hz = body.x + wide, body.y + wide, body.z + wide
        body.rush = list_near(begin, end, links, bounds, body, near[i]) / world.span
        if body.count > near.shape[1]:
            return False
        body.listed = 1
    return True


@lean
def step_of(world: Record, bodies: Records) -> float:
    """Seconds of the next step: the longest, or as short as fast bodies need it."""
    step, fall = world.longest, fall_of(world)
    for i in range(bodies.shape[0]):
        body = bodies[i]
        if body.fixed:
            continue
        if body.kind != BALL:
            spin = np.sqrt(body.wx * body.wx + body.wy * body.wy + body.wz * body.wz)
            step = min(step, TURN / max(spin, 1e-300))
        if body.count:
            step = min(step, time_for(REACH * body.least, rush_of(body) + body.rush, fall))
        for j in range(bodies.shape[0]):
            mate = bodies[j]
            if j == i or (j > i and not mate.fixed):
                continue
            rate = rush_of(body) + rush_of(mate)
            x, y, z = body.x - mate.x, body.y - mate.y, body.z - mate.z
            far = np.sqrt(x * x + y * y + z * z) - body.reach - mate.reach
            if far < (rate + fall * world.longest) * world.longest:
                step = min(step, time_for(REACH * min(body.least, mate.least), rate, fall))
    return float(step)


@inlined
def time_for(way: float, speed: float, fall: float) -> float:
    """The time in which a way is covered at a speed that grows."""
    return float(2.0 * way / (speed + np.sqrt(speed * speed + 4.0 * fall * way) + 1e-300))


@inlined
def fall_of(world: Record) -> float:
    """The acceleration of gravity."""
    return float(np.sqrt(world.gx * world.gx + world.gy * world.gy + world.gz * world.gz))


@inlined
def rush_of(body: Record) -> float:
    """The largest speed of a point of a body."""
    speed = np.sqrt(body.vx * body.vx + body.vy * body.vy + body.vz * body.vz)
    if body.kind == BALL:
        return float(speed)
    return float(speed + body.reach * np.sqrt(body.wx * body.wx + body.wy * body.wy + body.wz * body.wz))


@lean
def touch_surface(
    world: Record,
    body: Record,
    i: int,
    step: float,
    contacts: Records,
    held: int,
    found: Records,
    used: Int64,
    points: Float64,
    near: Int32,
    begin: Float64,
    end: Float64,
    one_sided: Uint8,
) -> int:
    """Append the contacts of a body with the surface; returns the number of all."""
    part = world.now / world.span
    margin = (rush_of(body) + fall_of(world) * step + body.rush) * step + 0.02 * body.least
    wide = body.reach + margin
    used[0] = 0
    for k in range(body.count):
        t = near[i, k]
        a, b, c = corner(begin, end, t, 0, part), corner(begin, end, t, 3, part), corner(begin, end, t, 6, part)
        if (
            min(a[0], b[0], c[0]) > body.x + wide
            or max(a[0], b[0], c[0]) < body.x - wide
            or min(a[1], b[1], c[1]) > body.y + wide
            or max(a[1], b[1], c[1]) < body.y - wide
            or min(a[2], b[2], c[2]) > body.z + wide
            or max(a[2], b[2], c[2]) < body.z - wide
        ):
            continue
        rate = 1.0 / world.span
        speeds = velocity(begin, end, t, 0, rate), velocity(begin, end, t, 3, rate), velocity(begin, end, t, 6, rate)
        if used[0] > found.shape[0] - MOST_POINTS:
            used[0] = thin_out(found, int(used[0]), body, contacts, held)
        outer = one_sided[t] == 1
        if body.kind == BOX:
            box_on_triangle(found, used, body, i, t, margin, outer, (a, b, c), speeds, points)
        else:
            round_on_triangle(found, used, body, i, t, margin, outer, (a, b, c), speeds)
    first = held
    held = keep_contacts(found, int(used[0]), body, contacts, held)
    for k in range(first, held):
        contacts[k].friction = np.sqrt(body.friction * world.surface_friction)
        contacts[k].bounce = max(body.bounce, world.surface_bounce)
    return held


@lean
def thin_out(found: Records, count: int, body: Record, contacts: Records, held: int) -> int:
    """Keep the most useful of the found contacts only, at the beginning of the list; returns their number."""
    kept = keep_contacts(found, count, body, contacts, held) - held
    for k in range(kept):
        found[k] = contacts[held + k]
    return kept


@inlined
def corner(begin: Float64, end: Float64, t: int, k: int, part: float) -> Point:
    """A corner of a triangle at a part of the interval."""
    return (
        begin[t, k] + part * (end[t, k] - begin[t, k]),
        begin[t, k + 1] + part * (end[t, k + 1] - begin[t, k + 1]),
        begin[t, k + 2] + part * (end[t, k + 2] - begin[t, k + 2]),
    )


@inlined
def velocity(begin: Float64, end: Float64, t: int, k: int, rate: float) -> Point:
    """The velocity of a corner of a triangle."""
    return (
        rate * (end[t, k] - begin[t, k]),
        rate * (end[t, k + 1] - begin[t, k + 1]),
        rate * (end[t, k + 2] - begin[t, k + 2]),
    )


@lean
def touch_others(
    world: Record,
    bodies: Records,
    i: int,
    step: float,
    contacts: Records,
    held: int,
    found: Records,
    used: Int64,
    points: Float64,
) -> int:
    """Append the contacts of a body with the ground, earlier bodies and fixed ones; returns the number of all."""
    body = bodies[i]
    fall = fall_of(world) * step
    own = (rush_of(body) + fall) * step + 0.02 * body.least
    first = held
    if world.has_ground:
        used[0] = 0
        on_ground(found, used, body, i, own, (world.ux, world.uy, world.uz), world.height)
        held = keep_contacts(found, int(used[0]), body, contacts, held)
        for k in range(first, held):
            contacts[k].friction = np.sqrt(body.friction * world.ground_friction)
            contacts[k].bounce = max(body.bounce, world.ground_bounce)
    for j in range(bodies.shape[0]):
        mate = bodies[j]
        if j == i or (j > i and not mate.fixed):
            continue
        used[0] = 0
        on_body(found, used, body, i, mate, j, own + (rush_of(mate) + fall) * step, points)
        first = held
        held = keep_contacts(found, int(used[0]), body, contacts, held)
        for k in range(first, held):
            contacts[k].friction = np.sqrt(body.friction * mate.friction)
            contacts[k].bounce = max(body.bounce, mate.bounce)
    return held


# ---- impulses -------------------------------------------------------------------------------------------------------


@lean
def solve_step(world: Record, bodies: Records, contacts: Records, olds: Records, n_olds: int, h: float) -> None:
    """Velocities after a step, and the positions that they lead to."""
    count = world.contacts
    warm = h / world.before if world.before > 0.0 else 0.0
    for k in range(count):
        prepare(contacts[k], bodies, olds, n_olds, warm)
    for i in range(bodies.shape[0]):
        body = bodies[i]
        body.free = 1
        if not body.fixed:
            body.vx += h * world.gx
            body.vy += h * world.gy
            body.vz += h * world.gz
    for k in range(count):
        apply_impulse(contacts[k], bodies, contacts[k].pn, contacts[k].ps, contacts[k].pt)
    for _ in range(SWEEPS):
        for k in range(count):
            relax(contacts[k], bodies, h, True)
    for k in range(count):
        contact = contacts[k]
        if contact.pn > 0.0:
            bodies[contact.one].free = 0
            if contact.other >= 0:
                bodies[contact.other].free = 0
        contact.gap += h * speed_along(contact, bodies)
    for i in range(bodies.shape[0]):
        if not bodies[i].fixed:
            move(world, bodies[i], h)
    for _ in range(SWEEPS // 2):
        for k in range(count):
            relax(contacts[k], bodies, h, False)
    for k in range(count):
        bounce_off(world, contacts[k], bodies)
        if contacts[k].other == SURFACE and contacts[k].most > 0.0:
            body = bodies[contacts[k].one]
            if not body.hits:
                body.begun = world.began + world.now
            body.hits += 1
            body.kick = max(body.kick, contacts[k].most)


@lean
def prepare(contact: Record, bodies: Records, olds: Records, n_olds: int, warm: float) -> None:
    """Directions, effective masses, and the impulse of the nearest contact of the step before."""
    n = (contact.nx, contact.ny, contact.nz)
    s = (0.0, -n[2], n[1]) if abs(n[0]) < 0.6 else (n[2], 0.0, -n[0])
    size = 1.0 / np.sqrt(dot(s, s))
    s = (size * s[0], size * s[1], size * s[2])
    t = cross(n, s)
    contact.sx, contact.sy, contact.sz = s
    contact.tx, contact.ty, contact.tz = t
    body = bodies[contact.one]
    if contact.other >= 0:
        mate = bodies[contact.other]
        contact.bx, contact.by, contact.bz = contact.bx - mate.x, contact.by - mate.y, contact.bz - mate.z
    contact.mn, contact.ms, contact.mt = (
        mass_along(contact, bodies, n),
        mass_along(contact, bodies, s),
        mass_along(contact, bodies, t),
    )
    contact.approach = speed_along(contact, bodies)
    least, found = SAME * body.least, -1
    for k in range(n_olds):
        old = olds[k]
        if old.one != contact.one or old.other != contact.other or old.spare < 0:
            continue
        x, y, z = old.ax - contact.ax, old.ay - contact.ay, old.az - contact.az
        far = np.sqrt(x * x + y * y + z * z)
        if far < least and old.nx * n[0] + old.ny * n[1] + old.nz * n[2] > 0.9:
            least, found = far, k
    contact.pn = contact.ps = contact.pt = contact.most = 0.0
    contact.spare = 0
    if found >= 0:
        old = olds[found]
        old.spare = -1
        q = (
            old.ps * old.sx + old.pt * old.tx,
            old.ps * old.sy + old.pt * old.ty,
            old.ps * old.sz + old.pt * old.tz,
        )
        contact.pn = contact.most = warm * old.pn
        contact.ps, contact.pt = warm * dot(q, s), warm * dot(q, t)


@lean
def mass_along(contact: Record, bodies: Records, d: Point) -> float:
    """The mass that an impulse along a direction moves."""
    body = bodies[contact.one]
    total = share_of(body, (contact.ax, contact.ay, contact.az), d)
    if contact.other >= 0:
        total += share_of(bodies[contact.other], (contact.bx, contact.by, contact.bz), d)
    return 1.0 / total if total > 0.0 else 0.0


@inlined
def share_of(body: Record, arm: Point, d: Point) -> float:
    """The speed along d that a unit impulse along d gives to a point of a body."""
    r = cross(arm, d)
    return float(body.im + dot(r, spun(body, r)))


@inlined
def spun(body: Record, p: Point) -> Point:
    """The angular velocity that an angular impulse gives."""
    return (
        body.sxx * p[0] + body.sxy * p[1] + body.sxz * p[2],
        body.sxy * p[0] + body.syy * p[1] + body.syz * p[2],
        body.sxz * p[0] + body.syz * p[1] + body.szz * p[2],
    )


@inlined
def velocity_at(body: Record, x: float, y: float, z: float) -> Point:
    """The velocity of the point of a body at an arm."""
    return (
        body.vx + body.wy * z - body.wz * y,
        body.vy + body.wz * x - body.wx * z,
        body.vz + body.wx * y - body.wy * x,
    )


@lean
def relative_velocity(contact: Record, bodies: Records) -> Point:
    """The velocity of the body's point of a contact against the other's."""
    a = velocity_at(bodies[contact.one], contact.ax, contact.ay, contact.az)
    if contact.other >= 0:
        b = velocity_at(bodies[contact.other], contact.bx, contact.by, contact.bz)
        return a[0] - b[0], a[1] - b[1], a[2] - b[2]
    return a[0] - contact.ux, a[1] - contact.uy, a[2] - contact.uz


@inlined
def speed_along(contact: Record, bodies: Records) -> float:
    """The speed at which a contact opens."""
    u = relative_velocity(contact, bodies)
    return float(u[0] * contact.nx + u[1] * contact.ny + u[2] * contact.nz)


@lean
def apply_impulse(contact: Record, bodies: Records, n: float, s: float, t: float) -> None:
    """Add an impulse along the three directions of a contact."""
    p = (
        n * contact.nx + s * contact.sx + t * contact.tx,
        n * contact.ny + s * contact.sy + t * contact.ty,
        n * contact.nz + s * contact.sz + t * contact.tz,
    )
    push(bodies[contact.one], (contact.ax, contact.ay, contact.az), p)
    if contact.other >= 0:
        push(bodies[contact.other], (contact.bx, contact.by, contact.bz), (-p[0], -p[1], -p[2]))


@lean
def push(body: Record, arm: Point, p: Point) -> None:
    """Change the velocity of a body by an impulse at an arm."""
    body.vx += body.im * p[0]
    body.vy += body.im * p[1]
    body.vz += body.im * p[2]
    w = spun(body, cross(arm, p))
    body.wx += w[0]
    body.wy += w[1]
    body.wz += w[2]


@lean
def relax(contact: Record, bodies: Records, h: float, springs: bool) -> None:
    """One projected Gauss-Seidel step of a contact."""
    least = bodies[contact.one].least
    bias, hard, soft = 0.0, 1.0, 0.0
    overlap = contact.gap + SLOP * least
    if contact.gap > 0.0:
        bias = contact.gap / h
    elif springs and overlap < 0.0:
        rate = 2.0 * np.pi * STIFFNESS / h
        a = 2.0 * DAMPING + h * rate
        b = h * rate * a
        bias, hard, soft = max(rate / a * overlap, -PUSH * least), b / (1.0 + b), 1.0 / (1.0 + b)
    wanted = -contact.mn * hard * (speed_along(contact, bodies) + bias) - soft * contact.pn
    before = contact.pn
    contact.pn = max(before + wanted, 0.0)
    contact.most = max(contact.most, contact.pn)
    apply_impulse(contact, bodies, contact.pn - before, 0.0, 0.0)
    u = relative_velocity(contact, bodies)
    s = contact.ps - contact.ms * (u[0] * contact.sx + u[1] * contact.sy + u[2] * contact.sz)
    t = contact.pt - contact.mt * (u[0] * contact.tx + u[1] * contact.ty + u[2] * contact.tz)
    most, size = contact.friction * contact.pn, np.sqrt(s * s + t * t)
    if size > most:
        s, t = s * most / size, t * most / size
    ds, dt = s - contact.ps, t - contact.pt
    contact.ps, contact.pt = s, t
    apply_impulse(contact, bodies, 0.0, ds, dt)


@lean
def bounce_off(world: Record, contact: Record, bodies: Records) -> None:
    """Return a part of the speed at which a contact closed."""
    slow = SLOW * np.sqrt(fall_of(world) * bodies[contact.one].least)
    if contact.bounce <= 0.0 or contact.most <= 0.0 or contact.approach > -slow:
        return
    before = contact.pn
    contact.pn = max(before - contact.mn * (speed_along(contact, bodies) + contact.bounce * contact.approach), 0.0)
    contact.most = max(contact.most, contact.pn)
    apply_impulse(contact, bodies, contact.pn - before, 0.0, 0.0)


# ---- positions ------------------------------------------------------------------------------------------------------


@lean
def move(world: Record, body: Record, h: float) -> None:
    """Move and turn a body by its velocities."""
    half = 0.5 * h * h if body.free else 0.0
    body.x += h * body.vx - half * world.gx
    body.y += h * body.vy - half * world.gy
    body.z += h * body.vz - half * world.gz
    before = turned_back(body, (body.wx, body.wy, body.wz))
    after = before if body.kind == BALL else spin_freely(body, before, h)
    turn(body, (0.5 * (before[0] + after[0]), 0.5 * (before[1] + after[1]), 0.5 * (before[2] + after[2])), h)
    place(body)
    body.wx, body.wy, body.wz = turned(body, after)


@lean
def spin_freely(body: Record, w: Point, h: float) -> Point:
    """The angular velocity after a step without torque, in the axes of the body."""
    a, b, c = (body.jz - body.jy) / body.jx, (body.jx - body.jz) / body.jy, (body.jy - body.jx) / body.jz
    x, y, z = w
    for _ in range(40):
        mx, my, mz = 0.5 * (w[0] + x), 0.5 * (w[1] + y), 0.5 * (w[2] + z)
        p, q, r = w[0] - h * a * my * mz, w[1] - h * b * mz * mx, w[2] - h * c * mx * my
        off = abs(p - x) + abs(q - y) + abs(r - z)
        x, y, z = p, q, r
        if off <= 1e-16 * (abs(x) + abs(y) + abs(z)):
            break
    before = body.jx * w[0] * w[0] + body.jy * w[1] * w[1] + body.jz * w[2] * w[2]
    now = body.jx * x * x + body.jy * y * y + body.jz * z * z
    scale = np.sqrt(before / now) if now > before else 1.0  # what rounding and the last iteration added
    return scale * x, scale * y, scale * z


@lean
def turn(body: Record, w: Point, h: float) -> None:
    """Rotate a body by an angular velocity in its own axes."""
    speed = np.sqrt(dot(w, w))
    half = 0.5 * speed * h
    s = np.sin(half) / speed if speed > 1e-300 else 0.5 * h
    x, y, z, r = s * w[0], s * w[1], s * w[2], np.cos(half)
    qx, qy, qz, qw = body.qx, body.qy, body.qz, body.qw
    px, py, pz, pw = (
        qw * x + qx * r + qy * z - qz * y,
        qw * y - qx * z + qy * r + qz * x,
        qw * z + qx * y - qy * x + qz * r,
        qw * r - qx * x - qy * y - qz * z,
    )
    size = 1.0 / np.sqrt(px * px + py * py + pz * pz + pw * pw)
    body.qx, body.qy, body.qz, body.qw = size * px, size * py, size * pz, size * pw


@lean
def place(body: Record) -> None:
    """The matrices of a body that follow from its quaternion."""
    x, y, z, w = body.qx, body.qy, body.qz, body.qw
    body.r00, body.r01, body.r02 = 1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)
    body.r10, body.r11, body.r12 = 2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)
    body.r20, body.r21, body.r22 = 2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)
    i = 0.0 if body.fixed else 1.0 / body.jx
    j = 0.0 if body.fixed else 1.0 / body.jy
    k = 0.0 if body.fixed else 1.0 / body.jz
    body.sxx = i * body.r00 * body.r00 + j * body.r01 * body.r01 + k * body.r02 * body.r02
    body.sxy = i * body.r00 * body.r10 + j * body.r01 * body.r11 + k * body.r02 * body.r12
    body.sxz = i * body.r00 * body.r20 + j * body.r01 * body.r21 + k * body.r02 * body.r22
    body.syy = i * body.r10 * body.r10 + j * body.r11 * body.r11 + k * body.r12 * body.r12
    body.syz = i * body.r10 * body.r20 + j * body.r11 * body.r21 + k * body.r12 * body.r22
    body.szz = i * body.r20 * body.r20 + j * body.r21 * body.r21 + k * body.r22 * body.r22


@compiled_by({"_nrt": False}, "body.1", RECORDS)
def place_all(bodies: Records) -> None:
    """Derived quantities of all bodies."""
    for i in range(bodies.shape[0]):
        bodies[i].im = 0.0 if bodies[i].fixed else 1.0 / bodies[i].mass
        place(bodies[i])
