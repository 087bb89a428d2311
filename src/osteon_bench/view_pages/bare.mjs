// The least that shows a moving glTF with three.js: its own loader, mixer and materials, two lights and a camera.
import * as THREE from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";

const canvas = document.querySelector("canvas");
const renderer = new THREE.WebGLRenderer({ canvas, antialias: true });
renderer.setSize(canvas.clientWidth, canvas.clientHeight, false);
const scene = new THREE.Scene();
scene.background = new THREE.Color(0xf4f5f7);
const sun = new THREE.DirectionalLight(0xffffff, 2);
sun.position.set(-1, 2, 1);
scene.add(new THREE.HemisphereLight(0xffffff, 0x888888, 1.5), sun);
const camera = new THREE.PerspectiveCamera(30, canvas.clientWidth / canvas.clientHeight, 0.01, 1000);
const controls = new OrbitControls(camera, canvas);

const gltf = await new GLTFLoader().loadAsync("model.glb");
scene.add(gltf.scene);
const box = new THREE.Box3().setFromObject(gltf.scene);
const size = box.getSize(new THREE.Vector3()).length();
box.getCenter(controls.target);
camera.position.copy(controls.target).add(new THREE.Vector3(0.62, 0.3, 0.72).multiplyScalar(2 * size));
const mixer = new THREE.AnimationMixer(gltf.scene);
gltf.animations.forEach((clip) => mixer.clipAction(clip).play());
const timer = new THREE.Timer();
renderer.setAnimationLoop((now) => {
  timer.update(now);
  mixer.update(timer.getDelta());
  controls.update();
  renderer.render(scene, camera);
});
