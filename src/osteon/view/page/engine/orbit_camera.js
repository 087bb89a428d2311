// The orbit camera: frames a whole clip, follows a walking character, and stays above the ground.
import * as THREE from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";

const FIELD_OF_VIEW = 30; // degrees, from top to bottom
/** Part of the picture that may be filled. */
const FILLED = 0.86;
/** Default direction of a character: three-quarter view, slightly from above. */
const DIRECTION = new THREE.Vector3(0.62, 0.3, 0.72).normalize();
/** Default direction of a flat drawing. */
const FRONT = new THREE.Vector3(0, 0.03, 1).normalize();
const CROWD_DIRECTION = new THREE.Vector3(0.34, 0.56, 0.76).normalize();
/** Largest polar angle of the camera, radians. */
const LOWEST = 0.5 * Math.PI - 0.02;

/**
 * @typedef {{points: number[][], middle: number[], ground: number, extent: number, crowd?: boolean, flat?: boolean,
 *   from?: number[]|null}} Framed  What the camera frames; `from` is the direction to see it from, if it is given.
 */

export class OrbitCamera {
  /** @param {HTMLCanvasElement} canvas @param {() => void} changed called when the picture must be drawn anew */
  constructor(canvas, changed) {
    this.camera = new THREE.PerspectiveCamera(FIELD_OF_VIEW, 1, 0.01, 100);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = !globalThis.matchMedia?.("(prefers-reduced-motion: reduce)").matches;
    this.controls.dampingFactor = 0.14;
    this.controls.maxPolarAngle = LOWEST;
    this.controls.addEventListener("change", changed);
    this.controls.addEventListener("start", () => (this.touched = true));
    this.touched = false;
    this.followed = new THREE.Vector3();
    this.ground = -Infinity;
    this.extent = 1;
  }

  /**
   * Frames all `points` (relative to `middle`).
   * @param {Framed} scene @param {number} aspect
   */
  fit({ points, middle, ground, extent, crowd = false, flat = false, from = null }, aspect) {
    this.ground = ground;
    this.extent = extent;
    this.followed.fromArray(middle);
    const usual = crowd ? CROWD_DIRECTION : flat ? FRONT : DIRECTION;
    const direction = from ? new THREE.Vector3().fromArray(from).normalize() : usual;
    const right = new THREE.Vector3().crossVectors(new THREE.Vector3(0, 1, 0), direction).normalize();
    const up = new THREE.Vector3().crossVectors(direction, right);
    const seen = points.map((p) => [right, up, direction].map((axis) => axis.x * p[0] + axis.y * p[1] + axis.z * p[2]));
    const { distance, x, y } = framing(seen, aspect, extent);
    const target = this.followed.clone().addScaledVector(right, x).addScaledVector(up, y);
    this.controls.target.copy(target);
    this.camera.position.copy(target).addScaledVector(direction, distance);
    this.controls.minDistance = 0.02 * extent;
    this.controls.maxDistance = 12 * Math.max(distance, extent);
    this.touched = false;
    this.finish(aspect);
  }

  /** Position and target of the camera, relative to the middle of the character: six numbers. */
  get place() {
    const from = (vector) => vector.clone().sub(this.followed).toArray();
    return [...from(this.camera.position), ...from(this.controls.target)];
  }

  /** Sets position and target, for a character whose middle is at `middle`. @param {number[]} place */
  setPlace(place, middle) {
    this.followed.fromArray(middle);
    this.camera.position.fromArray(place).add(this.followed);
    this.controls.target.fromArray(place, 3).add(this.followed);
    this.touched = true;
    this.controls.update();
  }

  /** Disables orbiting by the user. */
  hold() {
    this.controls.enabled = false;
  }

  /** Moves along with a character whose middle is now at `middle`. */
  follow(middle) {
    const shift = new THREE.Vector3().fromArray(middle).sub(this.followed);
    if (shift.lengthSq() === 0) return;
    this.followed.add(shift);
    this.camera.position.add(shift);
    this.controls.target.add(shift);
  }

  /** Moves near a point and views it along its normal. */
  lookAt(point, normal) {
    const direction = new THREE.Vector3().fromArray(normal).normalize();
    if (!(direction.lengthSq() > 0)) direction.copy(DIRECTION);
    direction.y = Math.max(direction.y, 0.12);
    this.controls.target.fromArray(point);
    this.camera.position.copy(this.controls.target).addScaledVector(direction.normalize(), 1.1 * this.extent);
    this.touched = true;
  }

  /** Called once before a picture; true while the camera still moves by itself. */
  update(aspect) {
    const moving = this.controls.update();
    this.finish(aspect);
    return moving;
  }

  finish(aspect) {
    const { camera, controls } = this;
    const low = this.ground + 0.01 * this.extent - camera.position.y;
    if (low > 0) {
      camera.position.y += low;
      controls.target.y += low;
    }
    const distance = camera.position.distanceTo(controls.target);
    camera.near = Math.max(0.01 * distance, 0.001 * this.extent);
    camera.far = 6 * distance + 60 * this.extent;
    camera.aspect = aspect;
    camera.updateProjectionMatrix();
    camera.lookAt(controls.target);
    camera.updateMatrixWorld();
  }

  dispose() {
    this.controls.dispose();
  }
}

/** How far away, and how far aside of the middle, a camera must be to have all points (right, up, near) in view. */
function framing(points, aspect, extent) {
  const ty = Math.tan((FIELD_OF_VIEW * Math.PI) / 360) * FILLED;
  const tx = ty * aspect;
  // Each side of the view is a plane, x + z tx <= cx + d tx, with distance d and offset cx; both sides determine the least d.
  const most = (f) => points.reduce((best, p) => Math.max(best, f(p)), -Infinity);
  const [right, left] = [most(([x, , z]) => x + z * tx), most(([x, , z]) => -x + z * tx)];
  const [top, bottom] = [most(([, y, z]) => y + z * ty), most(([, y, z]) => -y + z * ty)];
  const distance = Math.max((right + left) / (2 * tx), (top + bottom) / (2 * ty), 0.05 * extent);
  if (!Number.isFinite(distance)) return { distance: 3 * extent, x: 0, y: 0 };
  const [x, y] = [centered(points, 0, distance, (right - left) / 2), centered(points, 1, distance, (top - bottom) / 2)];
  return { distance, x, y };
}

/** How far aside the camera must be for equal borders on both sides; near points move more than far ones. */
function centered(points, axis, distance, start) {
  let aside = start;
  for (let i = 0; i < 6; i++) {
    let [low, high, near] = [Infinity, -Infinity, 0];
    for (const p of points) {
      const at = (p[axis] - aside) / (distance - p[2]);
      low = Math.min(low, at);
      if (at > high) [high, near] = [at, distance - p[2]];
    }
    aside += ((low + high) / 2) * near;
  }
  return aside;
}
