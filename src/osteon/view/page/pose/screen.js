/** Projects points to the screen and back. Points are in coordinates of the file; those of the engine are relative to a center. */
import { Vector3 } from "three";

export class Screen {
  /** @param {import("../engine/engine.js").Engine} engine */
  constructor(engine) {
    this.engine = engine;
  }

  /** Views on the screen: {left, span, top, tall}. */
  get views() {
    return this.engine.views;
  }

  /** The view that contains a point of the canvas. */
  viewAt(x, y) {
    const holds = ({ left, span, top, tall }) => x >= left && x < left + span && y >= top && y < top + tall;
    return this.views.find(holds) ?? this.views[0];
  }

  /** The projection of a point, in pixels from the top left corner of the view; null behind the camera. */
  project(point, view) {
    const { character, orbitCamera } = this.engine;
    const seen = new Vector3(...point).sub(new Vector3(...character.center)).project(orbitCamera.camera);
    if (!(seen.z < 1)) return null;
    return [(0.5 + 0.5 * seen.x) * view.span, (0.5 - 0.5 * seen.y) * view.tall];
  }

  /** The line of sight through a place of a view: {from, along}, in coordinates of the file. */
  ray(x, y, view) {
    const { character, orbitCamera } = this.engine;
    const away = new Vector3((2 * x) / view.span - 1, 1 - (2 * y) / view.tall, 0.5).unproject(orbitCamera.camera);
    const along = away.sub(orbitCamera.camera.position).normalize();
    return { from: orbitCamera.camera.position.clone().add(new Vector3(...character.center)), along };
  }

  /** The point under a place of a view that is as deep as `point`; in a flat mesh, the one in its plane. */
  under(x, y, view, point) {
    const { character, orbitCamera } = this.engine;
    const { from, along } = this.ray(x, y, view);
    const facing = character.isFlat ? new Vector3(0, 0, 1) : orbitCamera.camera.getWorldDirection(new Vector3());
    const steep = along.dot(facing);
    if (Math.abs(steep) < 1e-3) return null;
    const far = new Vector3(...point).sub(from).dot(facing) / steep;
    if (!(far > 0)) return null;
    const found = from.addScaledVector(along, far).toArray();
    if (character.isFlat) found[2] = point[2]; // exactly in the plane
    return found;
  }

  /**
   * The middle of the body along a line of sight, halfway between its entry and its exit: where that
   * is on the posed mesh, where it was at rest, and how far from the surface. Null beside the mesh.
   */
  inside(x, y, view) {
    const { from, along } = this.ray(x, y, view);
    const { faces, rest } = this.engine.character.pack.arrays;
    const posed = /** @type {import("../engine/posed_character.js").PosedCharacter} */ (this.engine.posed);
    const positions = posed.positions("result");
    const hits = crossings(positions, faces, from, along);
    if (!hits.length) return null;
    const apart = 1e-6 * this.engine.character.pack.diagonal;
    const out = hits.find(({ far }) => far > hits[0].far + apart) ?? hits[0];
    const middle = (points) => {
      const [a, b] = [hits[0], out].map((hit) => onTriangle(points, faces, hit));
      return a.map((value, i) => (this.engine.character.isFlat && i === 2 ? rest[2] : 0.5 * (value + b[i])));
    };
    const [a, b] = [hits[0], out].map((hit) => onTriangle(rest, faces, hit));
    const half = 0.5 * Math.hypot(...a.map((value, i) => value - b[i]));
    return { posed: middle(positions), rest: middle(rest), half };
  }
}

function onTriangle(points, faces, { corner, u, v }) {
  const at = (c, i) => points[3 * faces[corner + c] + i];
  return [0, 1, 2].map((i) => (1 - u - v) * at(0, i) + u * at(1, i) + v * at(2, i));
}

/** Where a ray crosses triangles, the nearest first. Based on: Möller and Trumbore, 1997. */
export function crossings(positions, faces, from, along) {
  const found = [];
  const [dx, dy, dz] = along.toArray();
  for (let t = 0; t < faces.length; t += 3) {
    const i = 3 * faces[t],
      j = 3 * faces[t + 1],
      k = 3 * faces[t + 2];
    const x = positions[i],
      y = positions[i + 1],
      z = positions[i + 2];
    const ax = positions[j] - x,
      ay = positions[j + 1] - y,
      az = positions[j + 2] - z;
    const bx = positions[k] - x,
      by = positions[k + 1] - y,
      bz = positions[k + 2] - z;
    const px = dy * bz - dz * by,
      py = dz * bx - dx * bz,
      pz = dx * by - dy * bx;
    const det = ax * px + ay * py + az * pz;
    if (det === 0) continue;
    const sx = from.x - x,
      sy = from.y - y,
      sz = from.z - z;
    const u = (sx * px + sy * py + sz * pz) / det;
    if (!(u >= 0 && u <= 1)) continue;
    const qx = sy * az - sz * ay,
      qy = sz * ax - sx * az,
      qz = sx * ay - sy * ax;
    const v = (dx * qx + dy * qy + dz * qz) / det;
    if (!(v >= 0 && u + v <= 1)) continue;
    const far = (bx * qx + by * qy + bz * qz) / det;
    if (far > 0) found.push({ far, corner: t, u, v });
  }
  return found.sort((a, b) => a.far - b.far);
}
