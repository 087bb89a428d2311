// Instances of a character in a crowd: one mesh that shares the character's buffers and draws it many times.
import * as THREE from "three";

/** Attributes of an instance and how many numbers each has. */
const INSTANCE = { instancePlace: 3, instanceTurn: 2, instanceClip: 4, instanceLevel: 4 };

/** Attributes of an instance, as the shader reads them. @returns {Object<string, number[]>} */
export function instanceVectors(character, instance) {
  const clip = character.pack.clips[instance.clip];
  return {
    instancePlace: instance.place,
    instanceTurn: [Math.cos(instance.angle), Math.sin(instance.angle)],
    instanceClip: [clip.start, clip.stop - clip.start, clip.fps, instance.offset],
  };
}

/**
 * The material of a character in a crowd: one, or one for each group of its triangles; `relit` shows its precomputed light.
 * @param {import("./character.js").Character} character
 */
export function crowdMaterial(character, relit = false) {
  const { list } = character.surface("result", { crowd: true, relit: relit && character.pack.light !== null });
  return list.length === 1 ? list[0] : list;
}

/** A mesh that draws a character once for each element of `vectors` (instanceVectors). */
export function instancedMesh(character, vectors) {
  const mesh = new THREE.Mesh(instancedGeometry(character.indexed, vectors), crowdMaterial(character));
  mesh.frustumCulled = false;
  return mesh;
}

/** A geometry, its buffers shared, with the attributes of instances. */
export function instancedGeometry(shared, vectors) {
  const geometry = new THREE.InstancedBufferGeometry();
  geometry.index = shared.index;
  Object.assign(geometry.attributes, shared.attributes);
  geometry.groups = shared.groups;
  for (const name of Object.keys(vectors[0] ?? {})) {
    const data = Float32Array.from(vectors.flatMap((vector) => vector[name]));
    geometry.setAttribute(name, new THREE.InstancedBufferAttribute(data, INSTANCE[name]));
  }
  geometry.instanceCount = vectors.length;
  return geometry;
}

/** Frees the buffers of the mesh; shared buffers belong to the character. */
export function releaseInstances({ geometry }) {
  const own = Object.entries(geometry.attributes).filter(([name]) => name in INSTANCE);
  geometry.attributes = Object.fromEntries(own);
  geometry.index = null;
  geometry.dispose();
}
