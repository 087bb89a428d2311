// The ground under precomputed light: a lit disc that fades out, and on it a grid per character, or per instance of a crowd,
// that darkens it to what the ground receives there. The grid moves with its character and has its own transfer:
//
//   ground = albedo E,   darkened by min(1, t_ground . L / E),   E = t_empty . L, the transfer of a plane without shadow
//
// so shadows of several characters multiply. The factor is applied to colours of the screen, as its power 1 / 2.2.
// Based on: James and Twigg, Skinning Mesh Animations, 2005, section 7 (translating ground planes).
import * as THREE from "three";
import { instancedGeometry } from "../instances.js";
import { LIGHT } from "../light.js";
import { materialOf, SCREEN_CHUNK } from "../mesh_shader.js";
import { MOMENT } from "../pose_shader.js";
import { FLOAT4, makeTiles } from "../tiles.js";
import { bakedChunk, coefficientTexture, colorTexture, RELIT_BY, setRanks, transferTextures, uniformsOf, vectorsOf } from "./relight.js";
import { harmonicsAt } from "./spherical_harmonics.js";
import { bandsChunk, transferChunk } from "./transfer_shader.js";

/** Part of the light that the ground reflects, by theme: bright enough to show shadows, near the background. */
const ALBEDO = { light: 0.86, dark: 0.12 };
/** a_l of the clamped cosine over pi: what an empty plane reflects of each band. */
const COSINE = [1, 2 / 3, 1 / 4, 0, -1 / 24];

/** Uniforms of the ground whose textures the character keeps. */
const TEXTURES = ["tracedGround", "groundBasis", "groundCoefficients", "groundCenters", "groundColors", "bakedWeights"];
/** Of red, green and blue, for colours of one channel. */
const LUMINANCE = new THREE.Vector3(0.2126, 0.7152, 0.0722);

const HEAD = "precision highp float;\nprecision highp int;\n";

/**
 * GLSL of `vec3 groundPart(Moment now)`, the part of its light that a point of the grid receives.
 * @param {import("./relight.js").Light} light  with a ground
 */
export function groundChunk({ ground, baked }) {
  const { order, columns, points } = /** @type {import("./relight.js").LightGround} */ (ground).transfer;
  const isBaked = Boolean(baked?.ground);
  return `${MOMENT}
uniform highp sampler2D groundCenters; // middle of the grid in every frame
uniform vec3 groundRadiance[25];
uniform vec3 emptyGround;
uniform int relitBy;
uniform int relitTraced;
uniform highp sampler2D tracedGround;  // of this frame, traced without compression
${bandsChunk(order, "groundRadiance")}
${transferChunk("ground", { order, columns, points })}
${isBaked ? bakedChunk("ground", /** @type {import("./relight.js").BakedColors} */ (baked), points) : ""}

vec3 groundPart(Moment now) {
  if (relitTraced == 1) return texelFetch(tracedGround, tile(int(vertexNumber)), 0).rgb;
${isBaked ? `  if (relitBy == ${RELIT_BY.baked}) return min(groundColor(now) / max(emptyGround, vec3(1e-4)), vec3(1.0));` : ""}
  return min(groundLight(now, mat3(1.0)) / max(emptyGround, vec3(1e-4)), vec3(1.0));
}
`;
}

const GRID_VERTEX = (chunk) => `${HEAD}${chunk}
uniform mat4 viewMatrix;
uniform mat4 projectionMatrix;
out vec3 part;

void main() {
  Moment now = thisMoment();
  vec3 center = texelFetch(groundCenters, tile(now.first), 0).xyz;
  if (now.between > 0.0) center = mix(center, texelFetch(groundCenters, tile(now.second), 0).xyz, now.between);
  part = groundPart(now);
  gl_Position = projectionMatrix * viewMatrix * vec4(placed(center + position, false), 1.0);
}`;

const GRID_FRAGMENT = `${HEAD}
in vec3 part;
out vec4 outColor;
void main() { outColor = vec4(pow(part, vec3(1.0 / 2.2)), 1.0); }`;

const DISC_VERTEX = `${HEAD}
in vec3 position;
uniform mat4 viewMatrix;
uniform mat4 projectionMatrix;
uniform vec3 middle;
uniform float reach;
out vec2 away;
void main() {
  away = position.xy;
  gl_Position = projectionMatrix * viewMatrix * vec4(middle + reach * vec3(position.x, 0.0, -position.y), 1.0);
}`;

const DISC_FRAGMENT = `${HEAD}
uniform vec3 groundColor;
in vec2 away;
out vec4 outColor;
${SCREEN_CHUNK}
void main() { outColor = vec4(toScreen(groundColor), 1.0 - smoothstep(0.3, 0.95, length(away))); }`;

/**
 * The light that a plane without shadows reflects.
 * @param {import("./relight.js").Light} light  with a ground @param {THREE.Vector3[]} radiance  coefficients of the environment
 * @param {THREE.Vector3} out
 */
export function emptyPlane({ up, ground }, radiance, out) {
  const [x, y, z] = [..."xyz"].map((axis) => Number(axis === up));
  const basis = harmonicsAt(/** @type {import("./relight.js").LightGround} */ (ground).transfer.order, x, y, z);
  out.set(0, 0, 0);
  basis.forEach((value, i) => out.addScaledVector(radiance[i], COSINE[Math.floor(Math.sqrt(i))] * value));
  return out.max(new THREE.Vector3());
}

/** The lit disc; its place is that of the ground of the page. */
export class LightDisc {
  /** @param {Record<string, THREE.IUniform>} place  uniforms `middle` and `reach` */
  constructor({ middle, reach }) {
    this.uniforms = { middle, reach, groundColor: { value: new THREE.Vector3() } };
    const material = new THREE.RawShaderMaterial({
      ...{ glslVersion: THREE.GLSL3, vertexShader: DISC_VERTEX, fragmentShader: DISC_FRAGMENT, uniforms: this.uniforms },
      ...{ transparent: true, depthWrite: false },
    });
    this.mesh = new THREE.Mesh(new THREE.PlaneGeometry(2, 2), material);
    this.mesh.frustumCulled = false;
    this.mesh.renderOrder = -3;
  }

  /** Lights it as the current light lights an empty plane. @param {"light"|"dark"} theme @param {import("./relight.js").Light} light */
  light(theme, light) {
    const color = emptyPlane(light, LIGHT.groundRadiance.value, this.uniforms.groundColor.value);
    // Never brighter than its albedo: clipped colours would hide the shadow.
    color.multiplyScalar(ALBEDO[theme] / Math.max(1, color.x, color.y, color.z));
  }

  dispose() {
    this.mesh.geometry.dispose();
    this.mesh.material.dispose();
  }
}

/** The grid on the ground under a character. */
export class LightGrid {
  /**
   * @param {import("../character.js").Character} character  with light on the ground
   * @param {Record<string, number[]>[]|null} instances  attributes of the instances of a crowd; null for the character alone
   */
  constructor(character, instances = null) {
    this.light = /** @type {import("./relight.js").Light} */ (character.pack.light);
    this.ground = /** @type {import("./relight.js").LightGround} */ (this.light.ground);
    const geometry = gridGeometry(this.ground);
    /** @type {Record<string, number>} */
    const extra = instances ? { CROWD: 1 } : {};
    this.mesh = new THREE.Mesh(instances ? instancedGeometry(geometry, instances) : geometry, this.#material(character, extra));
    this.mesh.frustumCulled = false;
    this.mesh.renderOrder = -2;
  }

  /** Sets what changes per picture. @param {import("./relight.js").Relight} relight */
  set(relight) {
    const { uniforms } = materialOf(this.mesh);
    const { baked, environments } = this.light;
    setRanks(uniforms, { ...this.light, transfer: this.ground.transfer }, relight, "ground");
    uniforms.relitBy.value = RELIT_BY[relight.by === "baked" && baked?.ground ? "baked" : "live"];
    uniforms.relitTraced.value = relight.by === "reference" && relight.traced ? 1 : 0;
    const { emptyGround } = uniforms;
    if (uniforms.relitBy.value === RELIT_BY.live) return void emptyPlane(this.light, LIGHT.groundRadiance.value, emptyGround.value);
    emptyPlane(this.light, vectorsOf(environments[0].coefficients), emptyGround.value);
    emptyGround.value.multiplyScalar(uniforms.bakedPower.value);
    if (baked?.channels === 1) emptyGround.value.setScalar(emptyGround.value.dot(LUMINANCE));
  }

  /** @param {import("../character.js").Character} character @param {Record<string, number>} extra  defines */
  #material(character, extra) {
    const { limits, uniforms } = character;
    // Shared by all grids of the character, and disposed with it.
    uniforms.tracedGround ??= { value: null };
    if (!uniforms.groundBasis) Object.assign(uniforms, this.#textures(character));
    const own = Object.fromEntries(Object.entries(uniforms).filter(([name]) => TEXTURES.includes(name)));
    return new THREE.RawShaderMaterial({
      glslVersion: THREE.GLSL3,
      defines: { TILE_SHIFT: limits.shift, TILE_MASK: limits.width - 1, ...extra },
      ...{ vertexShader: GRID_VERTEX(groundChunk(this.light)), fragmentShader: GRID_FRAGMENT },
      uniforms: {
        ...{ ...own, frames: uniforms.frames, between: uniforms.between, seconds: uniforms.seconds, groundRadiance: LIGHT.groundRadiance },
        ...uniformsOf({ groundRank: 0, bakedRank: 0, bakedPower: 0, relitBy: 0, relitTraced: 0, emptyGround: new THREE.Vector3() }),
      },
      ...{ transparent: true, depthWrite: false, side: THREE.DoubleSide },
      // Multiplied with what is there.
      ...{ blending: THREE.CustomBlending, blendEquation: THREE.AddEquation },
      ...{ blendSrc: THREE.DstColorFactor, blendDst: THREE.ZeroFactor },
    });
  }

  /** @param {import("../character.js").Character} character */
  #textures({ limits, center }) {
    const { transfer, centers } = this.ground;
    const { baked } = this.light;
    return uniformsOf({
      ...transferTextures("ground", transfer, limits),
      groundCenters: makeTiles(limits, centers.length / 3, FLOAT4, (data) => {
        centers.forEach((value, i) => (data[4 * Math.floor(i / 3) + (i % 3)] = value - center[i % 3]));
      }),
      ...(baked?.ground && {
        groundColors: colorTexture(baked.ground, baked.channels, limits),
        bakedWeights: coefficientTexture(baked.weights, limits),
      }),
    });
  }
}

/** @type {WeakMap<import("../character.js").Character, LightGrid>} */
const grids = new WeakMap();

/** The grid of a character, made once and disposed with it. @param {import("../character.js").Character} character @returns {LightGrid} */
export function gridOf(character) {
  const grid = grids.get(character) ?? new LightGrid(character);
  grids.set(character, grid);
  character.part("light grid", () => grid.mesh);
  return grid;
}

/** Points row by row, the first axis fastest, and two triangles per cell. */
function gridGeometry({ resolution, half, axes }) {
  const geometry = new THREE.BufferGeometry();
  const at = (i) => half * ((2 * i) / (resolution - 1) - 1);
  const corners = Array.from({ length: resolution * resolution }, (_, i) => [at(i % resolution), at(Math.floor(i / resolution))]);
  const places = corners.flatMap(([u, v]) => [0, 1, 2].map((axis) => u * axes[axis] + v * axes[3 + axis]));
  const cells = Array.from({ length: (resolution - 1) ** 2 }, (_, c) => c + Math.floor(c / (resolution - 1)));
  const numbers = new THREE.BufferAttribute(Uint32Array.from(corners, (_, i) => i), 1);
  numbers.gpuType = THREE.IntType;
  geometry.setAttribute("position", new THREE.Float32BufferAttribute(places, 3));
  geometry.setAttribute("vertexNumber", numbers);
  geometry.setIndex(cells.flatMap((i) => [i, i + 1, i + resolution, i + resolution, i + 1, i + resolution + 1]));
  return geometry;
}
