// The comparison: the same crowd, but every instance is posed in script and its vertices are sent each frame.
// Based on: James and Twigg, Skinning Mesh Animations, 2005, section 7, "Comparison to vertex buffer objects".
import { centeredInto } from "./affine.js";
import { deformerOf, paletteAt } from "./deformers/index.js";
import { columnsAt } from "./displacements/index.js";
import { LIGHT } from "./light.js";
import { PAINT, surfaceFragment } from "./mesh_shader.js";
import { glTextureOf } from "./tiles.js";
import { makeProgram } from "./readback.js";

const VERTEX = `precision highp float;
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec4 color;
layout(location = 3) in vec2 uv;
uniform mat4 viewMatrix;
uniform mat4 projectionMatrix;
out vec3 toEye;
out vec3 facing;
out vec4 tint;
out vec2 place;
out float amount;
void main() {
  vec4 seen = viewMatrix * vec4(position, 1.0);
  facing = mat3(viewMatrix) * normal;
  toEye = -seen.xyz;
  tint = color;
  place = uv;
  amount = 0.0;
  gl_Position = projectionMatrix * seen;
}`;

/** Number of vertex buffers that are used cyclically, so that none is overwritten while it is drawn. */
const RING = 4;
/** Vertices per block: their matrices stay in the cache. */
const BLOCK = 256;

export class StreamCrowd {
  /** @param {import("three").WebGLRenderer} renderer */
  constructor(renderer, characters, instances) {
    this.renderer = renderer;
    this.gl = /** @type {WebGL2RenderingContext} */ (renderer.getContext());
    this.characters = characters;
    this.instances = instances;
    /** @type {Map<string, WebGLProgram>} */
    this.programs = new Map();
    /** @type {Set<string>} Programs whose uniforms are set for this picture. */
    this.fresh = new Set();
    /** @type {WebGLProgram|null} */
    this.current = null;
    this.poseMs = 0;
    this.shapes = characters.map((character) => this.makeShape(character));
  }

  /** Static buffers of a character, and dynamic ones. */
  makeShape(character) {
    const { gl } = this;
    const { position, normal, color, uv, weightsA, weightsB, bonesA, bonesB, vertexNumber } = character.indexed.attributes;
    const buffer = (target, data) => {
      const made = gl.createBuffer();
      gl.bindBuffer(target, made);
      gl.bufferData(target, data, gl.STATIC_DRAW);
      return made;
    };
    gl.bindVertexArray(null);
    const index = buffer(gl.ELEMENT_ARRAY_BUFFER, character.indexed.index.array);
    const buffers = [buffer(gl.ARRAY_BUFFER, color.array), buffer(gl.ARRAY_BUFFER, uv.array), index];
    const moving = new Float32Array(6 * position.count);
    const ring = Array.from({ length: RING }, () => this.makeRing(buffers, moving.byteLength));
    const rows = (a, b) => (b ? interleaved(a.array, b.array) : a.array);
    const stride = weightsB ? 8 : 4;
    const [family, { bones }] = [deformerOf(character.pack), character.pack.counts];
    return {
      ...{ character, family, buffers, ring, moving, at: 0, count: position.count },
      ...{ rest: position.array, normals: normal.array, numbers: vertexNumber.array },
      slots: {
        ...{ bones: rows(bonesA, bonesB), weights: rows(weightsA, weightsB), stride, count: stride },
        ...{ own: character.pack.deformer.arrays, vertices: character.pack.counts.vertices },
        ...{ numberOf: (v) => vertexNumber.array[v], center: character.center },
      },
      ...{ matrices: new Float64Array(24 * bones), palette: new Float64Array(family.FLOATS * bones) },
      blends: new Float64Array(12 * BLOCK),
    };
  }

  /** @param {WebGLBuffer[]} buffers @param {number} bytes */
  makeRing([color, uv, index], bytes) {
    const { gl } = this;
    const [vao, vertices] = [gl.createVertexArray(), gl.createBuffer()];
    gl.bindVertexArray(vao);
    const attribute = (place, made, size, stride, offset) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, made);
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, size, gl.FLOAT, false, stride, offset);
    };
    gl.bindBuffer(gl.ARRAY_BUFFER, vertices);
    gl.bufferData(gl.ARRAY_BUFFER, bytes, gl.STREAM_DRAW);
    attribute(0, vertices, 3, 24, 0);
    attribute(1, vertices, 3, 24, 12);
    attribute(2, color, 4, 16, 0);
    attribute(3, uv, 2, 8, 0);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, index);
    gl.bindVertexArray(null);
    return { vao, vertices };
  }

  draw(camera, seconds) {
    this.begin();
    this.poseMs = 0; // the part of the script that poses, without sending
    for (const instance of this.instances) {
      const shape = this.shapes[instance.character];
      const begun = performance.now();
      poseInstance(shape, instance, seconds);
      this.poseMs += performance.now() - begun;
      this.send(shape, camera);
    }
    this.end();
  }

  /** Starts drawing outside of the state of the renderer. */
  begin() {
    const { gl } = this;
    this.renderer.resetState();
    gl.enable(gl.DEPTH_TEST);
    gl.disable(gl.CULL_FACE);
    gl.disable(gl.BLEND);
    gl.depthMask(true);
    this.fresh = new Set();
  }

  end() {
    this.gl.bindVertexArray(null);
    this.renderer.resetState();
  }

  send(shape, camera) {
    const { gl } = this;
    const { vao, vertices } = shape.ring[(shape.at = (shape.at + 1) % RING)];
    gl.bindBuffer(gl.ARRAY_BUFFER, vertices);
    gl.bufferData(gl.ARRAY_BUFFER, shape.moving, gl.STREAM_DRAW);
    gl.bindVertexArray(vao);
    for (const { start, count, picture, cutoff } of shape.character.split.groups) {
      this.use(shape.character.pictures[picture] ?? null, camera, cutoff);
      gl.drawElements(gl.TRIANGLES, count, gl.UNSIGNED_INT, 4 * start);
    }
  }

  /** Selects the program with or without an image and sets its uniforms once per frame. */
  use(picture, camera, cutoff) {
    const { gl } = this;
    const key = picture ? "textured" : "plain";
    /** @type {Record<string, number>} */
    const defines = picture ? { TEXTURED: 1 } : {};
    const program = this.programs.get(key) ?? makeProgram(gl, defines, VERTEX, surfaceFragment);
    this.programs.set(key, program);
    if (this.current !== program || !this.fresh.has(key)) gl.useProgram(program);
    this.current = program;
    if (picture) {
      this.renderer.initTexture(picture);
      gl.activeTexture(gl.TEXTURE0);
      gl.bindTexture(gl.TEXTURE_2D, glTextureOf(this.renderer, picture));
      gl.uniform1f(gl.getUniformLocation(program, "cutoff"), cutoff);
    }
    if (this.fresh.has(key)) return;
    this.fresh.add(key);
    const at = (name) => gl.getUniformLocation(program, name);
    gl.uniformMatrix4fv(at("viewMatrix"), false, camera.matrixWorldInverse.elements);
    gl.uniformMatrix4fv(at("projectionMatrix"), false, camera.projectionMatrix.elements);
    gl.uniform1i(at("paint"), PAINT.material);
    gl.uniform1f(at("shade"), 1);
    gl.uniform3fv(at("sh"), LIGHT.sh.value.flatMap((vector) => vector.toArray()));
    gl.uniform1f(at("lightShare"), LIGHT.lightShare.value);
    gl.uniform1f(at("lightPower"), LIGHT.lightPower.value);
    gl.uniform2fv(at("lightTurn"), LIGHT.lightTurn.value.toArray());
  }

  dispose() {
    const { gl } = this;
    for (const { buffers, ring } of this.shapes) {
      buffers.forEach((buffer) => gl.deleteBuffer(buffer));
      for (const { vao, vertices } of ring) {
        gl.deleteVertexArray(vao);
        gl.deleteBuffer(vertices);
      }
    }
    this.programs.forEach((program) => gl.deleteProgram(program));
  }
}

function interleaved(a, b) {
  const out = new a.constructor(a.length + b.length);
  for (let i = 0; i < a.length; i += 4) {
    out.set(a.subarray(i, i + 4), 2 * i);
    out.set(b.subarray(i, i + 4), 2 * i + 4);
  }
  return out;
}

/** The moment an instance is in, as the shader finds it. */
export function instanceMoment(pack, instance, seconds) {
  const clip = pack.clips[instance.clip];
  const count = clip.stop - clip.start;
  const at = (((seconds * clip.fps + instance.offset) % count) + count) % count;
  const whole = Math.min(Math.floor(at), count - 1);
  const first = clip.start + whole;
  return { first, second: whole < count - 1 ? first + 1 : first, between: at - whole };
}

/** Palette of the bones of an instance, rotated and placed, in the space of the scene. */
function placedPalette(shape, instance, { first, second, between }) {
  const { pack, center } = shape.character;
  const { bones } = pack.counts;
  const [s, c] = [Math.sin(instance.angle), Math.cos(instance.angle)];
  [first, second].forEach((frame, i) => {
    for (let b = 0; b < bones; b++) {
      const m = shape.matrices.subarray(12 * (i * bones + b), 12 * (i * bones + b + 1));
      centeredInto(pack.arrays.transforms, 12 * (frame * bones + b), center, m);
      for (let column = 0; column < 4; column++) {
        const [x, z] = [m[column], m[8 + column]];
        m[column] = c * x + s * z;
        m[8 + column] = c * z - s * x;
      }
      for (let row = 0; row < 3; row++) m[4 * row + 3] += instance.place[row];
    }
  });
  return paletteAt(shape.family, shape.matrices, bones, { first: 0, second: 1, between }, shape.palette);
}

/** Positions and normals of an instance, into shape.moving. One flat loop: it is what the comparison measures. */
function poseInstance(shape, instance, seconds) {
  const { family, slots, normals, moving, count, blends: m } = shape;
  const { pack, uniforms } = shape.character;
  const moment = instanceMoment(pack, instance, seconds);
  const palette = placedPalette(shape, instance, moment);
  const rest = displacedRest(shape, columnsAt(pack, moment, uniforms.rank.value));
  for (let start = 0, to = 0; start < count; start += BLOCK) {
    const stop = Math.min(start + BLOCK, count);
    family.blendVertices(palette, slots, start, stop, m);
    for (let v = start, b = 0; v < stop; v++, b += 12, to += 6) {
      const i = 3 * v;
      const x = rest[i], y = rest[i + 1], z = rest[i + 2];
      const nx = normals[i], ny = normals[i + 1], nz = normals[i + 2];
      moving[to] = m[b] * x + m[b + 1] * y + m[b + 2] * z + m[b + 3];
      moving[to + 1] = m[b + 4] * x + m[b + 5] * y + m[b + 6] * z + m[b + 7];
      moving[to + 2] = m[b + 8] * x + m[b + 9] * y + m[b + 10] * z + m[b + 11];
      moving[to + 3] = m[b] * nx + m[b + 1] * ny + m[b + 2] * nz;
      moving[to + 4] = m[b + 4] * nx + m[b + 5] * ny + m[b + 6] * nz;
      moving[to + 5] = m[b + 8] * nx + m[b + 9] * ny + m[b + 10] * nz;
    }
  }
}

function displacedRest(shape, columns) {
  if (!columns.some(({ q }) => q.length)) return shape.rest;
  const { counts } = shape.character.pack;
  const out = Float64Array.from(shape.rest);
  for (let v = 0; v < shape.count; v++) {
    const p = out.subarray(3 * v, 3 * v + 3);
    for (const { arrays, code, q } of columns) code.addTo(p, arrays, counts, q, shape.numbers[v]);
  }
  return out;
}
