// Long lists of numbers in float textures: texel i is at (i mod width, i / width). Shaders read them by texelFetch.
import * as THREE from "three";

/** Texels per row at most; a power of two, so that shaders need no division. */
const MAX_WIDTH = 4096;

/**
 * @typedef {{width: number, shift: number, texels: number, floatTargets: boolean}} Limits  Of the graphics card.
 * @typedef {THREE.DataTexture & {image: {data: any, width: number, height: number}}} Tiles
 * @typedef {{format: THREE.PixelFormat, type: THREE.TextureDataType, channels: number, ArrayType: any,
 *   internalFormat?: THREE.PixelFormatGPU}} TexelFormat  Of a texture, and the typed array of its data.
 */

/** The limits of the graphics card. @param {THREE.WebGLRenderer} renderer */
export function textureLimits(renderer) {
  const size = renderer.capabilities.maxTextureSize;
  const shift = Math.min(Math.log2(MAX_WIDTH), Math.floor(Math.log2(size)));
  const floatTargets = renderer.extensions.has("EXT_color_buffer_float");
  return { width: 1 << shift, shift, texels: (1 << shift) * size, floatTargets };
}

/**
 * Throws an Error with one sentence when a list does not fit into one texture.
 * @param {string} what @param {number} texels @param {{texels: number}} limits
 */
export function checkFits(what, texels, limits) {
  if (texels <= limits.texels) return;
  const need = Math.ceil(texels / 1e6).toLocaleString("en");
  const have = Math.floor(limits.texels / 1e6).toLocaleString("en");
  throw new Error(
    `This graphics card cannot hold ${what}: ${need} million texels are needed and one texture takes ${have} million. ` +
      "Show fewer frames or a smaller model.",
  );
}

/**
 * A texture of `texels` texels, filled by fill(array) with `channels` numbers each.
 * @param {{width: number}} limits @param {number} texels @param {TexelFormat} format
 * @param {(data: any) => void} fill
 * @returns {Tiles}
 */
export function makeTiles(limits, texels, { format, type, channels, ArrayType, internalFormat }, fill) {
  const width = Math.min(limits.width, 1 << Math.ceil(Math.log2(Math.max(1, texels))));
  const height = Math.max(1, Math.ceil(texels / limits.width));
  const full = height > 1 ? limits.width : width;
  const data = new ArrayType(full * height * channels);
  fill(data);
  const texture = new THREE.DataTexture(data, full, height, format, type);
  if (internalFormat) texture.internalFormat = internalFormat;
  texture.minFilter = texture.magFilter = THREE.NearestFilter;
  texture.generateMipmaps = false;
  texture.unpackAlignment = 1;
  texture.needsUpdate = true;
  // The copy in script memory is not needed after the upload.
  texture.onUpdate = () => {
    texture.onUpdate = null;
    texture.source.data = { data: null, width: full, height };
  };
  return /** @type {Tiles} */ (texture);
}

/**
 * The WebGL texture of an initialised texture of three.js, whose types do not list it.
 * @param {THREE.WebGLRenderer} renderer @param {THREE.Texture} texture @returns {WebGLTexture}
 */
export const glTextureOf = (renderer, texture) => /** @type {any} */ (renderer.properties.get(texture)).__webglTexture;

/** A texture whose numbers stay in reach: they change. */
export function lasting(texture) {
  texture.onUpdate = null;
  return texture;
}

/** Sends the first texels of a lasting float texture of four channels, and not the rest of it. */
export function sendTexels(renderer, texture, texels) {
  const { data, width } = texture.image;
  const [across, rows] = texels < width ? [texels, 1] : [width, Math.ceil(texels / width)];
  renderer.initTexture(texture);
  if (!texels) return;
  const [gl, { state }] = [renderer.getContext(), renderer];
  state.bindTexture(gl.TEXTURE_2D, glTextureOf(renderer, texture));
  state.pixelStorei(gl.UNPACK_FLIP_Y_WEBGL, false);
  state.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, false);
  gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, across, rows, gl.RGBA, gl.FLOAT, data.subarray(0, 4 * across * rows));
}

/** @type {TexelFormat} */
export const FLOAT4 = { format: THREE.RGBAFormat, type: THREE.FloatType, channels: 4, ArrayType: Float32Array };
/** @type {TexelFormat} */
export const FLOAT1 = { format: THREE.RedFormat, type: THREE.FloatType, channels: 1, ArrayType: Float32Array };
/** @type {TexelFormat} */
export const SHORT4 = {
  format: THREE.RGBAIntegerFormat,
  type: THREE.UnsignedShortType,
  channels: 4,
  ArrayType: Uint16Array,
  internalFormat: "RGBA16UI",
};
/** @type {TexelFormat} */
export const BYTE4 = { format: THREE.RGBAFormat, type: THREE.UnsignedByteType, channels: 4, ArrayType: Uint8Array };
