// The comparison: the same crowd, but every instance is posed in script and its vertices are sent anew each frame.
// Based on: James and Twigg, Skinning Mesh Animations, 2005, section 7, "Comparison to vertex buffer objects".
import { PAINT, surfaceFragment } from "./mesh_shader.js";
import { blendBones, blendCoefficients } from "./pose.js";
import { makeProgram } from "./program.js";

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

/** Buffers that vertices are written to in turn, so that none is overwritten while it is drawn. */
const RING = 4;

export class StreamCrowd {
  /** @param {import("three").WebGLRenderer} renderer */
  constructor(renderer, characters, instances) {
    this.renderer = renderer;
    this.gl = renderer.getContext();
    this.characters = characters;
    this.instances = instances;
    this.programs = new Map();
    this.shapes = characters.map((character) => this.makeShape(character));
  }

  /** Static buffers of a character, and room for what is sent. */
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
    return {
      ...{ character, buffers, ring, moving, at: 0, slots: weightsB ? 8 : 4, count: position.count },
      ...{ rest: position.array, normals: normal.array, numbers: vertexNumber.array },
      ...{ bones: rows(bonesA, bonesB), weights: rows(weightsA, weightsB) },
      matrices: new Float64Array(12 * character.pack.counts.bones),
    };
  }

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
    const { gl } = this;
    this.renderer.resetState();
    gl.enable(gl.DEPTH_TEST);
    gl.disable(gl.CULL_FACE);
    gl.disable(gl.BLEND);
    gl.depthMask(true);
    this.fresh = new Set();
    this.poseMs = 0; // the part of the script that poses, without what sending costs
    for (const instance of this.instances) {
      const shape = this.shapes[instance.character];
      const begun = performance.now();
      poseInstance(shape, instance, seconds);
      this.poseMs += performance.now() - begun;
      this.send(shape, camera);
    }
    gl.bindVertexArray(null);
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

  /** The program for a picture or for none, with its uniforms set once a frame. */
  use(picture, camera, cutoff) {
    const { gl } = this;
    const key = picture ? "textured" : "plain";
    const defines = picture ? { TEXTURED: 1 } : {};
    if (!this.programs.has(key)) this.programs.set(key, makeProgram(gl, defines, VERTEX, surfaceFragment));
    const program = this.programs.get(key);
    if (this.current !== program || !this.fresh.has(key)) gl.useProgram(program);
    this.current = program;
    if (picture) {
      this.renderer.initTexture(picture);
      gl.activeTexture(gl.TEXTURE0);
      gl.bindTexture(gl.TEXTURE_2D, this.renderer.properties.get(picture).__webglTexture);
      gl.uniform1f(gl.getUniformLocation(program, "cutoff"), cutoff);
    }
    if (this.fresh.has(key)) return;
    this.fresh.add(key);
    const at = (name) => gl.getUniformLocation(program, name);
    gl.uniformMatrix4fv(at("viewMatrix"), false, camera.matrixWorldInverse.elements);
    gl.uniformMatrix4fv(at("projectionMatrix"), false, camera.projectionMatrix.elements);
    gl.uniform1i(at("paint"), PAINT.material);
    gl.uniform1f(at("shade"), 1);
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

/** The instance's bones, already turned and placed, in the space of the scene. */
function placedBones(shape, instance, moment) {
  const { pack, center } = shape.character;
  const m = blendBones(pack, moment, shape.matrices);
  const [s, c] = [Math.sin(instance.turn), Math.cos(instance.turn)];
  for (let b = 0; b < m.length; b += 12) {
    for (let row = 0; row < 3; row++) {
      const i = b + 4 * row;
      m[i + 3] += m[i] * center[0] + m[i + 1] * center[1] + m[i + 2] * center[2] - center[row];
    }
    for (let column = 0; column < 4; column++) {
      const [x, z] = [m[b + column], m[b + 8 + column]];
      m[b + column] = c * x + s * z;
      m[b + 8 + column] = c * z - s * x;
    }
    for (let row = 0; row < 3; row++) m[b + 4 * row + 3] += instance.place[row];
  }
  return m;
}

/** Positions and normals of an instance, into shape.moving. One flat loop: this is what is measured. */
function poseInstance(shape, instance, seconds) {
  const { pack } = shape.character;
  const moment = instanceMoment(pack, instance, seconds);
  const m = placedBones(shape, instance, moment);
  const { rest, normals, bones, weights, moving, slots, count } = shape;
  const rank = shape.character.uniforms.rank.value;
  const q = rank ? blendCoefficients(pack, moment, rank) : null;
  const moved = q ? correctedRest(shape, q) : rest;
  for (let v = 0, k = 0, to = 0; v < count; v++, to += 6) {
    let m0 = 0, m1 = 0, m2 = 0, m3 = 0, m4 = 0, m5 = 0, m6 = 0, m7 = 0, m8 = 0, m9 = 0, m10 = 0, m11 = 0;
    for (const end = k + slots; k < end; k++) {
      const w = weights[k];
      if (w === 0) continue;
      const b = 12 * bones[k];
      m0 += w * m[b]; m1 += w * m[b + 1]; m2 += w * m[b + 2]; m3 += w * m[b + 3];
      m4 += w * m[b + 4]; m5 += w * m[b + 5]; m6 += w * m[b + 6]; m7 += w * m[b + 7];
      m8 += w * m[b + 8]; m9 += w * m[b + 9]; m10 += w * m[b + 10]; m11 += w * m[b + 11];
    }
    const i = 3 * v;
    const x = moved[i], y = moved[i + 1], z = moved[i + 2];
    const nx = normals[i], ny = normals[i + 1], nz = normals[i + 2];
    moving[to] = m0 * x + m1 * y + m2 * z + m3;
    moving[to + 1] = m4 * x + m5 * y + m6 * z + m7;
    moving[to + 2] = m8 * x + m9 * y + m10 * z + m11;
    moving[to + 3] = m0 * nx + m1 * ny + m2 * nz;
    moving[to + 4] = m4 * nx + m5 * ny + m6 * nz;
    moving[to + 5] = m8 * nx + m9 * ny + m10 * nz;
  }
}

function correctedRest(shape, q) {
  const { basis } = shape.character.pack.arrays;
  const stride = 3 * shape.character.pack.counts.vertices;
  const out = Float64Array.from(shape.rest);
  for (let v = 0; v < shape.count; v++) {
    for (let r = 0; r < q.length; r++) {
      const at = r * stride + 3 * shape.numbers[v];
      for (let i = 0; i < 3; i++) out[3 * v + i] += q[r] * basis[at + i];
    }
  }
  return out;
}
