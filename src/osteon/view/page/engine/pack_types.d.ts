// Types of a pack. Do not edit: `python -m tests.pack_types` generates them from view/pack/schema.json.

/** Numbers of an array; `any` data type in the schema. */
export type Numbers = Float32Array | Int32Array | Uint32Array | Uint16Array | Uint8Array;

export interface ArrayRecord {
  dtype: string;
  shape: number[];
  offset: number;
}

export interface Clip {
  name: string;
  start: number;
  stop: number;
  fps: number;
}

export interface Material {
  name: string;
  base_color: number[];
  double_sided: boolean;
  alpha_mode: string;
  alpha_cutoff: number;
  texture: number | null;
}

export interface Note {
  label: string;
  text: string;
}

export interface Image {
  mime: string;
  array: string;
}

export interface Family {
  kind: string;
  arrays: Record<string, string>;
}

export interface Levels {
  clips: LevelClip[];
  heirs: number[];
  numbered: Level[];
  size: number;
}

export interface LevelClip {
  form: string;
  base: number;
  samples: number;
}

export interface Level {
  bones: number;
  blends: number;
  mesh: number;
  triangles: number;
  error_percent: number;
  rms_percent: number;
  worst_percent: number;
  pixels: number;
  mesh_rms_percent: number;
  mesh_worst_percent: number;
}

export interface CoarseMesh {
  heirs: number[];
  influences: number;
}

export interface Light {
  order: number;
  up: string;
  errors: number[];
  environments: string[];
  ground: LightGround | null;
  baked_errors: number[];
}

export interface LightGround {
  half: number;
  resolution: number;
  errors: number[];
}

export interface Pose {
  name: string;
  kind: string;
  frame: number;
}

export interface JointLimit {
  joint: number;
  name: string;
  axis: number[];
  low: number;
  high: number;
}

export interface Distortion {
  error_percent: number | null;
  rms: number | null;
  worst: object;
  per_frame: (number | null)[];
}

export interface Method {
  seconds: number;
  measure?: string;
  worst?: number;
  mean?: number;
  flipped?: number;
}

export interface ModelHeader {
  kind: "model";
  arrays: Record<string, ArrayRecord>;
  name: string;
  clips: Clip[];
  diagonal: number;
  materials: Material[];
  images: Image[];
  bone_type: string;
  bone_names: string[];
  influences: number;
  influences_left_out: number;
  rank: number;
  target_names: string[];
  plays: Note[];
  deformer: Family;
  displacements: Family[];
  levels: Levels | null;
  coverage: number[];
  coarse: CoarseMesh[];
  light: Light | null;
  poses: Pose[];
  joint_limits: JointLimit[];
  report: object | null;
  error_percent_by_rank: Record<string, number | null> | null;
  distortion: Distortion | null;
}

export interface ModelArrays {
  rest: Float32Array;  // (v, 3)
  faces: Uint32Array;  // (t, 3)
  normals: Float32Array;  // (v, 3)
  smooth_with?: Uint32Array;  // (v)
  bones: Uint16Array;  // (v, 8)
  weights: Float32Array;  // (v, 8)
  transforms: Float32Array;  // (f, b, 3, 4)
  bone_points: Float32Array;  // (b, 3)
  joint_points?: Float32Array;  // (b, 3)
  joint_parents?: Int32Array;  // (b)
  joint_tips?: Float32Array;  // (b, 3)
  colors?: Uint8Array;  // (v, 4)
  uvs?: Float32Array;  // (t, 3, 2)
  triangle_material?: Uint16Array;  // (t)
  triangle_cluster?: Uint16Array;  // (t)
  source?: Float32Array;  // (f, v, 3)
  source_u2?: Uint16Array;  // (f, v, 3)
  source_scale?: Float32Array;  // (f, 6)
  pose_turns?: Float32Array;  // (p, b, 4)
  pose_shifts?: Float32Array;  // (p, 3)
  pose_meshes?: Float32Array;  // (p, v, 3)
  "light.mean"?: Uint16Array;  // (v, light_c)
  "light.basis"?: Uint16Array;  // (light_r, v, light_c)
  "light.coefficients"?: Float32Array;  // (f, light_r)
  "light.rotations"?: Float32Array;  // (f, b, 4)
  "light.seen"?: Float32Array;  // (light_c, 25)
  "light.environments"?: Float32Array;  // (light_e, 25, 3)
  "light.ground_mean"?: Uint16Array;  // (light_g, light_c)
  "light.ground_basis"?: Uint16Array;  // (ground_r, light_g, light_c)
  "light.ground_coefficients"?: Float32Array;  // (f, ground_r)
  "light.ground_centers"?: Float32Array;  // (f, 3)
  "light.baked_weights"?: Float32Array;  // (baked_k, f, baked_k)
  "light.baked_colors"?: Uint16Array;  // (baked_k, v, baked_c)
  "light.baked_ground"?: Uint16Array;  // (baked_k, light_g, baked_c)
  [name: `image_${string}`]: Uint8Array;
  [name: `deformer.${string}`]: Numbers;
  [name: `displacement.${string}`]: Numbers;
  [name: `levels.${string}`]: Numbers;
  [name: `coarse.${string}`]: Numbers;
}

export interface SequenceHeader {
  kind: "sequence";
  arrays: Record<string, ArrayRecord>;
  name: string;
  clips: Clip[];
  diagonal: number;
  materials: Material[];
  images: Image[];
}

export interface SequenceArrays {
  rest: Float32Array;  // (v, 3)
  faces: Uint32Array;  // (t, 3)
  normals: Float32Array;  // (v, 3)
  smooth_with?: Uint32Array;  // (v)
  colors?: Uint8Array;  // (v, 4)
  uvs?: Float32Array;  // (t, 3, 2)
  triangle_material?: Uint16Array;  // (t)
  triangle_cluster?: Uint16Array;  // (t)
  source?: Float32Array;  // (f, v, 3)
  source_u2?: Uint16Array;  // (f, v, 3)
  source_scale?: Float32Array;  // (f, 6)
  [name: `image_${string}`]: Uint8Array;
}

export interface PoseHeader {
  kind: "pose";
  arrays: Record<string, ArrayRecord>;
  methods: Record<string, Method>;
  build: string;
}

export interface PoseArrays {
  skin?: Float32Array;  // (v, 3)
  skin_measure?: Float32Array;  // (t)
  simplex?: Float32Array;  // (v, 3)
  simplex_measure?: Float32Array;  // (t)
  ssd?: Float32Array;  // (v, 3)
  ssd_measure?: Float32Array;  // (t)
  segments?: Uint16Array;  // (t)
}

export type Header = ModelHeader | SequenceHeader | PoseHeader;
