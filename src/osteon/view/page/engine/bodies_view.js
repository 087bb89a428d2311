// Rigid bodies, boxes of a collider and touched triangles, drawn with the character of the Collide panel.
import * as THREE from "three";
import { LIGHT } from "./light.js";
import { materialOf, PAINT, shadowFragment, surfaceFragment } from "./mesh_shader.js";

/** Stripes of a ball from pole to pole, every second one light, which show that it rolls; and cells of its mesh. */
const [STRIPES, ACROSS, DOWN] = [6, 5, 20];
/** How light every second stripe is. */
const WHITE = 0.75;
/** Vertices of the boxes and of the flashes at most. */
const MOST_LINES = 1 << 16;

const INSTANCE = `
in vec3 position;
in vec3 normal;
in float light;
in mat4 instanceMatrix;
in vec3 instanceColor;
uniform mat4 viewMatrix;
uniform mat4 projectionMatrix;
`;

/** The outputs that the surface shader of the page reads. */
const BODY_VERTEX = `precision highp float;
precision highp int;
${INSTANCE}
out vec3 toEye;
out vec3 facing;
out vec4 tint;
out vec2 place;
out float amount;
void main() {
  vec4 seen = viewMatrix * instanceMatrix * vec4(position, 1.0);
  mat3 linear = mat3(instanceMatrix);
  vec3 scale = vec3(dot(linear[0], linear[0]), dot(linear[1], linear[1]), dot(linear[2], linear[2]));
  facing = mat3(viewMatrix) * linear * (normal / scale);
  toEye = -seen.xyz;
  tint = vec4(mix(instanceColor, vec3(1.0), light), 1.0);
  place = vec2(0.0);
  amount = 0.0;
  gl_Position = projectionMatrix * seen;
}`;

const SHADOW_VERTEX = `precision highp float;
precision highp int;
${INSTANCE}
uniform vec2 heights;
out float near;
void main() {
  vec4 p = instanceMatrix * vec4(position, 1.0);
  near = clamp(1.0 - (p.y - heights.x) / heights.y, 0.0, 1.0);
  gl_Position = projectionMatrix * viewMatrix * p;
}`;

const LINE_VERTEX = `precision highp float;
in vec3 position;
in vec4 color;
uniform mat4 viewMatrix;
uniform mat4 projectionMatrix;
uniform float lift;
out vec4 tint;
void main() {
  tint = color;
  vec4 seen = viewMatrix * vec4(position, 1.0);
  seen.xyz *= 1.0 - lift / length(seen.xyz);
  gl_Position = projectionMatrix * seen;
}`;

const LINE_FRAGMENT = `precision highp float;
in vec4 tint;
out vec4 outColor;
void main() { outColor = tint; }`;

export class BodiesView {
  /** @param {number} most bodies of each shape */
  constructor(most) {
    this.balls = instanced(ballGeometry(), most);
    this.boxes = instanced(boxGeometry(), most);
    this.lines = overlay(THREE.LineSegments);
    this.flashes = overlay(THREE.Mesh);
    /** Drawn with the character. */
    this.meshes = [this.balls.mesh, this.boxes.mesh, this.lines, this.flashes];
    /** Drawn into the shadow of the character. */
    this.casters = [this.balls.shadow, this.boxes.shadow];
  }

  /**
   * @param {{shape: string, half: number[], color: number[], place: ArrayLike<number>}[]} bodies  `place` is a position
   * about the center of the character, and a quaternion
   */
  showBodies(bodies) {
    fill(this.balls, bodies.filter(({ shape }) => shape === "ball"));
    fill(this.boxes, bodies.filter(({ shape }) => shape === "box"));
  }

  /** Line segments: six numbers and a colour of four each. @param {number[]} ends @param {number[]} colors */
  showLines(ends, colors) {
    setPoints(this.lines, ends, colors);
  }

  /** Triangles that glow: nine numbers each, and a colour of four for each corner. */
  showFlashes(corners, colors, lift) {
    setPoints(this.flashes, corners, colors);
    materialOf(this.flashes).uniforms.lift.value = lift;
  }

  /** @param {{shade: number}} view @param {number} ground height @param {number} fade height at which no shadow is seen */
  setView({ shade }, ground, fade) {
    for (const { mesh, shadow } of [this.balls, this.boxes]) {
      materialOf(mesh).uniforms.shade.value = shade;
      materialOf(shadow).uniforms.heights.value.set(ground, fade);
    }
  }

  dispose() {
    for (const mesh of [...this.meshes, ...this.casters]) {
      mesh.geometry.dispose();
      materialOf(mesh).dispose();
      if (mesh instanceof THREE.InstancedMesh) mesh.dispose();
    }
  }
}

/** Many bodies of one shape, and their shadow; both read the same matrices. */
function instanced(geometry, most) {
  const value = (v) => ({ value: v });
  const none = { paint: value(PAINT.material), heatMax: value(1), shade: value(1), outline: value(0) };
  const unused = { ghost: value(new THREE.Vector4()), wire: value(new THREE.Vector4()) };
  const shared = { glslVersion: THREE.GLSL3 };
  const material = new THREE.RawShaderMaterial({
    ...{ ...shared, vertexShader: BODY_VERTEX, fragmentShader: surfaceFragment, uniforms: { ...none, ...unused, ...LIGHT } },
    ...{ name: "bodies" },
  });
  const shadowMaterial = new THREE.RawShaderMaterial({
    ...{ ...shared, vertexShader: SHADOW_VERTEX, fragmentShader: shadowFragment, uniforms: { heights: value(new THREE.Vector2()) } },
    ...{ depthTest: false, depthWrite: false, transparent: true },
    ...{ blending: THREE.CustomBlending, blendEquation: THREE.MaxEquation, blendSrc: THREE.OneFactor, blendDst: THREE.OneFactor },
  });
  const mesh = new THREE.InstancedMesh(geometry, material, most);
  mesh.instanceColor = new THREE.InstancedBufferAttribute(new Float32Array(3 * most), 3);
  const shadow = new THREE.InstancedMesh(geometry, shadowMaterial, most);
  shadow.instanceMatrix = mesh.instanceMatrix;
  shadow.instanceColor = mesh.instanceColor;
  mesh.frustumCulled = shadow.frustumCulled = false;
  mesh.count = shadow.count = 0;
  return { mesh, shadow };
}

const [POINT, TURN, SCALE, MATRIX] = [new THREE.Vector3(), new THREE.Quaternion(), new THREE.Vector3(), new THREE.Matrix4()];

function fill({ mesh, shadow }, bodies) {
  mesh.count = shadow.count = bodies.length;
  bodies.forEach(({ half, color, place }, i) => {
    POINT.set(place[0], place[1], place[2]);
    TURN.set(place[3], place[4], place[5], place[6]).normalize();
    mesh.setMatrixAt(i, MATRIX.compose(POINT, TURN, SCALE.set(half[0], half[1], half[2])));
    mesh.instanceColor.setXYZ(i, color[0], color[1], color[2]);
  });
  mesh.instanceMatrix.needsUpdate = true;
  mesh.instanceColor.needsUpdate = true;
}

/** Lines or triangles in plain colours, over everything that is not in front of them. */
function overlay(Kind) {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(3 * MOST_LINES), 3));
  geometry.setAttribute("color", new THREE.BufferAttribute(new Float32Array(4 * MOST_LINES), 4));
  geometry.setDrawRange(0, 0);
  const material = new THREE.RawShaderMaterial({
    ...{ glslVersion: THREE.GLSL3, vertexShader: LINE_VERTEX, fragmentShader: LINE_FRAGMENT, uniforms: { lift: { value: 0 } } },
    ...{ transparent: true, depthWrite: false, side: THREE.DoubleSide },
  });
  const mesh = new Kind(geometry, material);
  mesh.frustumCulled = false;
  mesh.renderOrder = 1;
  return mesh;
}

function setPoints({ geometry }, points, colors) {
  const count = Math.min(points.length / 3, MOST_LINES);
  geometry.attributes.position.array.set(points.length / 3 > count ? points.slice(0, 3 * count) : points);
  geometry.attributes.color.array.set(colors.length / 4 > count ? colors.slice(0, 4 * count) : colors);
  geometry.attributes.position.needsUpdate = geometry.attributes.color.needsUpdate = count > 0;
  geometry.setDrawRange(0, count);
}

/** A ball of radius one in stripes. */
function ballGeometry() {
  /** @type {number[][]} */
  const [position, light, index] = [[], [], []];
  for (let stripe = 0; stripe < STRIPES; stripe++) {
    const first = position.length / 3;
    for (let row = 0; row <= DOWN; row++) {
      const down = (Math.PI * row) / DOWN;
      for (let column = 0; column <= ACROSS; column++) {
        const around = (2 * Math.PI * (stripe + column / ACROSS)) / STRIPES;
        position.push(Math.sin(down) * Math.sin(around), Math.cos(down), Math.sin(down) * Math.cos(around));
        light.push(stripe % 2 ? WHITE : 0);
        if (row === DOWN || column === ACROSS) continue;
        const a = first + row * (ACROSS + 1) + column;
        const [b, c, d] = [a + ACROSS + 1, a + ACROSS + 2, a + 1];
        index.push(a, b, c, a, c, d);
      }
    }
  }
  return geometryOf(position, position, light, index);
}

/** A box of half extents one. */
function boxGeometry() {
  const box = new THREE.BoxGeometry(2, 2, 2);
  const { position, normal } = box.attributes;
  const light = new Array(position.count).fill(0);
  return geometryOf([...position.array], [...normal.array], light, [.../** @type {THREE.BufferAttribute} */ (box.index).array]);
}

function geometryOf(position, normal, light, index) {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.Float32BufferAttribute(position, 3));
  geometry.setAttribute("normal", new THREE.Float32BufferAttribute(normal, 3));
  geometry.setAttribute("light", new THREE.Float32BufferAttribute(light, 1));
  geometry.setIndex(index);
  return geometry;
}
