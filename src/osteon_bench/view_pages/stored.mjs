// The comparison as the paper made it: every frame of the animation is kept as vertices, and each instance sends its own
// to the graphics card, picture by picture. Nothing is posed; between two frames the nearer one is shown.
import { paletteAt } from "../../osteon/view/page/engine/deformers/index.js";
import { StreamCrowd, instanceMoment } from "../../osteon/view/page/engine/stream.js";

/** Vertices that are blended at a time. */
const BLOCK = 256;

export class StoredCrowd extends StreamCrowd {
  constructor(renderer, characters, instances) {
    super(renderer, characters, instances);
    this.frames = this.shapes.map(storedFrames);
    this.places = new Map(); // of the view's matrix in each program
    this.storedBytes = this.frames.flat().reduce((sum, frame) => sum + frame.byteLength, 0);
  }

  draw(camera, seconds) {
    this.begin();
    const view = camera.matrixWorldInverse.clone();
    const seen = { matrixWorldInverse: camera.matrixWorldInverse.clone(), projectionMatrix: camera.projectionMatrix };
    for (const instance of this.instances) {
      const shape = this.shapes[instance.character];
      const { first, second, between } = instanceMoment(shape.character.pack, instance, seconds);
      shape.moving = this.frames[instance.character][between < 0.5 ? first : second];
      seen.matrixWorldInverse.makeRotationY(instance.turn).setPosition(...instance.place).premultiply(view);
      this.send(shape, seen);
    }
    this.end();
  }

  /** As for all instances, and then the place of this one. */
  use(picture, camera, cutoff) {
    const { gl, places } = this;
    super.use(picture, camera, cutoff);
    if (!places.has(this.current)) places.set(this.current, gl.getUniformLocation(this.current, "viewMatrix"));
    gl.uniformMatrix4fv(places.get(this.current), false, camera.matrixWorldInverse.elements);
  }
}

/** Positions and normals of every frame about the character's center, as the ring buffers take them. */
function storedFrames(shape) {
  const { character, family, slots, rest, normals, count } = shape;
  const { counts, arrays } = character.pack;
  const [x0, y0, z0] = character.center;
  const blends = new Float64Array(12 * BLOCK);
  return Array.from({ length: counts.frames }, (_, frame) => {
    const moment = { first: frame, second: frame, between: 0 };
    const palette = paletteAt(family, arrays.transforms, counts.bones, moment, shape.palette);
    const out = new Float32Array(6 * count);
    for (let start = 0; start < count; start += BLOCK) {
      const stop = Math.min(start + BLOCK, count);
      family.blendVertices(palette, slots, start, stop, blends);
      for (let v = start; v < stop; v++) {
        const m = blends.subarray(12 * (v - start), 12 * (v - start + 1));
        const [x, y, z] = [rest[3 * v] + x0, rest[3 * v + 1] + y0, rest[3 * v + 2] + z0];
        for (let row = 0; row < 3; row++) {
          const [a, b, c, d] = m.subarray(4 * row, 4 * row + 4);
          out[6 * v + row] = a * x + b * y + c * z + d - character.center[row];
          out[6 * v + 3 + row] = a * normals[3 * v] + b * normals[3 * v + 1] + c * normals[3 * v + 2];
        }
      }
    }
    return out;
  });
}
