// Results of the vertex shader, read back by transform feedback: the same pose(), textures and uniforms.
import { poseAttributes } from "./geometry.js";
import { glTextureOf } from "./tiles.js";

const VERTEX = (chunk) => `precision highp float;
precision highp int;
${chunk}
out vec3 posedPosition;
out vec3 posedNormal;
void main() {
  vec3 p, n;
  pose(thisMoment(), p, n);
  posedPosition = placed(p, false);
  posedNormal = placed(n, true);
  gl_Position = vec4(0.0);
}`;
const FRAGMENT = "precision highp float; out vec4 outColor; void main() { outColor = vec4(0.0); }";

/**
 * Positions and normals (v,3) of all vertices of a character, relative to its center.
 * @param {import("three").WebGLRenderer} renderer @param {import("./character.js").Character} character
 * @param {{moment?: import("./pose.js").Moment, rank: number, seconds?: number, instance?: Record<string, number[]>}} what
 */
export function readPosed(renderer, character, what) {
  const gl = /** @type {WebGL2RenderingContext} */ (renderer.getContext());
  const count = character.pack.counts.vertices;
  if (what.moment) character.showLevel?.(character.level, what.moment, character.leaving);
  if (what.moment && !what.instance) displaceAt(renderer, character, what.moment);
  renderer.resetState();
  const program = programOf(gl, character, Boolean(what.instance));
  gl.useProgram(program);
  setUniforms(renderer, gl, program, character, what);
  const input = bindAttributes(gl, program, character, what.instance);
  const outputs = [0, 1].map(() => makeBuffer(gl, gl.TRANSFORM_FEEDBACK_BUFFER, 12 * count, gl.STREAM_READ));
  const feedback = gl.createTransformFeedback();
  gl.bindTransformFeedback(gl.TRANSFORM_FEEDBACK, feedback);
  outputs.forEach((buffer, i) => gl.bindBufferBase(gl.TRANSFORM_FEEDBACK_BUFFER, i, buffer));
  gl.enable(gl.RASTERIZER_DISCARD);
  gl.beginTransformFeedback(gl.POINTS);
  gl.drawArrays(gl.POINTS, 0, count);
  gl.endTransformFeedback();
  gl.disable(gl.RASTERIZER_DISCARD);
  gl.bindTransformFeedback(gl.TRANSFORM_FEEDBACK, null);
  const [positions, normals] = outputs.map((buffer) => readBuffer(gl, buffer, 3 * count));
  clean(gl, feedback, input, outputs);
  renderer.resetState();
  return { positions, normals };
}

/** Computes the displacements of a character at a moment, which may differ from the visible one. */
function displaceAt(renderer, character, moment) {
  const { frames, between } = character.uniforms;
  const shown = [frames.value.x, frames.value.y, between.value];
  frames.value.set(moment.first, moment.second);
  between.value = moment.between;
  character.displace?.(renderer);
  frames.value.set(shown[0], shown[1]);
  between.value = shown[2];
}

/** Programs by character, alone and in a crowd; a character that is dropped takes them along. */
const programs = new WeakMap();

function programOf(gl, character, crowd) {
  if (!programs.has(character)) programs.set(character, {});
  const defines = { ...character.defines("result"), ...(crowd && { CROWD: 1 }) };
  const [kept, key] = [programs.get(character), `${crowd} ${"LEVELS" in defines}`];
  kept[key] ??= makeProgram(gl, defines, VERTEX(character.poseChunk), FRAGMENT, ["posedPosition", "posedNormal"]);
  return kept[key];
}

/** @param {{moment?: import("./pose.js").Moment, rank: number, seconds?: number}} what */
function setUniforms(renderer, gl, program, character, what) {
  const { moment, rank, seconds = 0 } = what;
  const at = (name) => gl.getUniformLocation(program, name);
  const names = character.poseTextures.filter((name) => character.uniforms[name].value && at(name));
  // All of them first: three.js binds uploads to the first unit.
  const held = names.map((name) => character.uniforms[name].value).filter((texture) => !texture.isRenderTargetTexture);
  held.forEach((texture) => renderer.initTexture(texture));
  names.forEach((name, unit) => {
    const texture = character.uniforms[name].value;
    gl.activeTexture(gl.TEXTURE0 + unit);
    gl.bindTexture(gl.TEXTURE_2D, glTextureOf(renderer, texture));
    gl.uniform1i(at(name), unit);
  });
  gl.uniform1i(at("rank"), rank);
  gl.uniform1f(at("seconds"), seconds);
  const { levelled, ownLevel } = character.uniforms;
  gl.uniform1i(at("levelled"), Number(levelled?.value ?? 0));
  for (const [name, { value }] of Object.entries(character.uniforms))
    if (name.endsWith("Held")) gl.uniform1i(at(name), Number(value));
  if (ownLevel) gl.uniform4f(at("ownLevel"), ...ownLevel.value);
  if (!moment) return;
  gl.uniform2i(at("frames"), moment.first, moment.second);
  gl.uniform1f(at("between"), moment.between);
}

function makeBuffer(gl, target, data, usage = gl.STATIC_DRAW) {
  const buffer = gl.createBuffer();
  gl.bindBuffer(target, buffer);
  gl.bufferData(target, data, usage);
  gl.bindBuffer(target, null);
  return buffer;
}

function bindAttributes(gl, program, character, instance) {
  const { pack, center } = character;
  const all = Uint32Array.from({ length: pack.counts.vertices }, (_, v) => v);
  const vao = gl.createVertexArray();
  gl.bindVertexArray(vao);
  const buffers = [];
  for (const [name, { array, itemSize }] of Object.entries(poseAttributes(pack, all, center))) {
    const place = gl.getAttribLocation(program, name);
    if (place < 0) continue;
    buffers.push(makeBuffer(gl, gl.ARRAY_BUFFER, array));
    gl.bindBuffer(gl.ARRAY_BUFFER, buffers[buffers.length - 1]);
    gl.enableVertexAttribArray(place);
    const whole = array instanceof Uint32Array ? gl.UNSIGNED_INT : array instanceof Uint16Array ? gl.UNSIGNED_SHORT : 0;
    if (whole) gl.vertexAttribIPointer(place, itemSize, whole, 0, 0);
    else gl.vertexAttribPointer(place, itemSize, gl.FLOAT, false, 0, 0);
  }
  for (const [name, [x, y, z = 0, w = 1]] of Object.entries(instance ?? {})) {
    gl.vertexAttrib4f(gl.getAttribLocation(program, name), x, y, z, w);
  }
  return { vao, buffers };
}

function readBuffer(gl, buffer, count) {
  const out = new Float32Array(count);
  gl.bindBuffer(gl.COPY_READ_BUFFER, buffer);
  gl.getBufferSubData(gl.COPY_READ_BUFFER, 0, out);
  gl.bindBuffer(gl.COPY_READ_BUFFER, null);
  return out;
}

function clean(gl, feedback, { vao, buffers }, outputs) {
  gl.bindVertexArray(null);
  gl.deleteVertexArray(vao);
  gl.deleteTransformFeedback(feedback);
  [...buffers, ...outputs].forEach((buffer) => gl.deleteBuffer(buffer));
}

// Programs that are used beside three.js: streaming and read-back.

/**
 * Compiles and links a program; throws an Error with the log of the graphics card.
 * @param {WebGL2RenderingContext} gl @param {Object<string, number>} defines
 * @param {string} vertex @param {string} fragment @param {string[]|null} feedback varyings to capture
 */
export function makeProgram(gl, defines, vertex, fragment, feedback = null) {
  const head = Object.entries(defines).map(([name, value]) => `#define ${name} ${value}\n`);
  const program = gl.createProgram();
  /** @type {[number, string][]} */
  const sources = [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]];
  const shaders = sources.map(([type, text]) => {
    const shader = /** @type {WebGLShader} */ (gl.createShader(type));
    gl.shaderSource(shader, `#version 300 es\n${head.join("")}${text}`);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
    return shader;
  });
  if (feedback) gl.transformFeedbackVaryings(program, feedback, gl.SEPARATE_ATTRIBS);
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
    const logs = [gl.getProgramInfoLog(program), ...shaders.map((shader) => gl.getShaderInfoLog(shader))];
    throw new Error(`The graphics card refused a shader: ${logs.join(" ").trim()}`);
  }
  shaders.forEach((shader) => gl.deleteShader(shader));
  return program;
}
