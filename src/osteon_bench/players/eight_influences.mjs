// A plugin for the GLTFLoader of three.js: meshes with JOINTS_1 and WEIGHTS_1 use all eight joints per vertex.
// Stock three.js reads the first set only and normalises it.
//
//   const loader = new GLTFLoader();
//   loader.register((parser) => new EightInfluences(parser));
import { Matrix4, Vector3, Vector4 } from "three";

const FIRST = "_FIRST_WEIGHTS"; // becomes the attribute _first_weights: the first set of the file, unmodified

export class EightInfluences {
  constructor(parser) {
    this.parser = parser;
    this.name = "OSTEON_eight_influences";
  }

  // The loader normalises the first set in place, so a copy is requested first.
  beforeRoot() {
    const json = this.parser.json;
    for (const mesh of json.meshes ?? []) {
      for (const { attributes } of mesh.primitives) {
        if (attributes.WEIGHTS_1 === undefined || attributes.WEIGHTS_0 === undefined) continue;
        const accessor = { ...json.accessors[attributes.WEIGHTS_0] };
        json.bufferViews.push({ ...json.bufferViews[accessor.bufferView] });
        accessor.bufferView = json.bufferViews.length - 1;
        attributes[FIRST] = json.accessors.push(accessor) - 1;
      }
    }
    return null;
  }

  async afterRoot({ scene }) {
    scene.traverse((mesh) => {
      if (mesh.isSkinnedMesh && mesh.geometry.hasAttribute("weights_1")) useBothSets(mesh);
    });
  }
}

function useBothSets(mesh) {
  const { attributes } = mesh.geometry;
  mesh.geometry.setAttribute("skinWeight", attributes[FIRST.toLowerCase()]);
  mesh.geometry.deleteAttribute(FIRST.toLowerCase());
  mesh.applyBoneTransform = applyBothSets;
  mesh.material = mesh.material.clone();
  addSecondSet(mesh.material);
}

// Adds the second set to the vertex shader of a material.
export function addSecondSet(material) {
  material.onBeforeCompile = (shader) => {
    shader.vertexShader = shader.vertexShader
      .replace("#include <skinning_pars_vertex>", `#include <skinning_pars_vertex>\n${DECLARE}`)
      .replace("#include <skinnormal_vertex>", NORMAL)
      .replace("#include <skinning_vertex>", POSITION);
  };
  material.customProgramCacheKey = () => "eight influences";
}

const DECLARE = `
#ifdef USE_SKINNING
  attribute vec4 joints_1;
  attribute vec4 weights_1;
  mat4 blendOfEight() {
    mat4 blend = mat4(0.0);
    for (int k = 0; k < 4; k++) {
      blend += skinWeight[k] * getBoneMatrix(skinIndex[k]) + weights_1[k] * getBoneMatrix(joints_1[k]);
    }
    return bindMatrixInverse * blend * bindMatrix;
  }
#endif`;

const NORMAL = `
#ifdef USE_SKINNING
  objectNormal = vec4(blendOfEight() * vec4(objectNormal, 0.0)).xyz;
  #ifdef USE_TANGENT
    objectTangent = vec4(blendOfEight() * vec4(objectTangent, 0.0)).xyz;
  #endif
#endif`;

const POSITION = `
#ifdef USE_SKINNING
  transformed = (blendOfEight() * vec4(transformed, 1.0)).xyz;
#endif`;

// Replaces SkinnedMesh.applyBoneTransform, which ray casting and bounds use.
function applyBothSets(index, target) {
  const { skinIndex, skinWeight, joints_1, weights_1 } = this.geometry.attributes;
  const start = new Vector3(target.x, target.y, target.z).applyMatrix4(this.bindMatrix);
  const sum = new Vector3();
  const [joints, weights, matrix, moved] = [new Vector4(), new Vector4(), new Matrix4(), new Vector3()];
  for (const [set, amount] of [[skinIndex, skinWeight], [joints_1, weights_1]]) {
    joints.fromBufferAttribute(set, index);
    weights.fromBufferAttribute(amount, index);
    for (let k = 0; k < 4; k++) {
      if (weights.getComponent(k) === 0) continue;
      const bone = joints.getComponent(k);
      matrix.multiplyMatrices(this.skeleton.bones[bone].matrixWorld, this.skeleton.boneInverses[bone]);
      sum.addScaledVector(moved.copy(start).applyMatrix4(matrix), weights.getComponent(k));
    }
  }
  sum.applyMatrix4(this.bindMatrixInverse);
  target.x = sum.x;
  target.y = sum.y;
  target.z = sum.z;
  return target;
}
