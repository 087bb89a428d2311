/** EigenSkin: joints turned by sliders or by poses, skin beside EigenSkin beside the truth, and what its columns do. */

import { eigenskinOf } from "../engine/displacements/supports.js";
import { hasSkeleton } from "../engine/skeleton.js";
import { jointBox as jointList } from "../pose/joint_list.js";
import { choice, slider, toggle } from "../ui/controls.js";
import { make, show } from "../ui/dom.js";
import { countPlot, figuresBox } from "./panel_figures.js";
import { jointBox } from "./panel_joints.js";
import { paintBox } from "./panel_paint.js";
import { poseBox } from "./panel_poses.js";
import { roleNames, turnedMode } from "./turned_view.js";

const VIEWS = [
  ["side", "Side by side"],
  ["plain", "SSD"],
  ["result", "EigenSkin"],
  ["source", "Truth"],
  ["overlay", "Overlay"],
];
const NEEDS_TRUTH = ["source", "overlay"];

/** Whether joints of a model can be turned here. @param {import("../engine/pack.js").Pack | null} pack */
export function canTurn(pack) {
  return Boolean(eigenskinOf(pack)?.arrays.driver.length && hasSkeleton(pack));
}

/**
 * @param {import("../ui/store.js").Store} store
 * @param {import("./turning.js").Turning} turning
 * @param {{swatch(color: number[]): string}} act
 */
export function buildEigenskin(store, turning, act) {
  const [element, actions] = [make("div"), make("div")];
  let body = null;
  // Filled when it is looked at: the first picture does not wait for it.
  store.watch(["panel", "pack"], () => {
    const { panel, pack } = store.state;
    if ((panel !== "eigenskin" && panel !== "") || !canTurn(pack)) turning.pause();
    if (panel !== "eigenskin" || !canTurn(pack)) return;
    turning.resume(pack);
    body ??= buildBody(store, turning, act, { element, actions });
  });
  const offered = ({ pack }) => canTurn(pack);
  return { name: "eigenskin", title: "EigenSkin", element, actions, offered };
}

function buildBody(store, turning, act, home) {
  const poses = poseBox(turning);
  const view = choice("Show", VIEWS, (value) => store.set({ turnView: value }));
  view.element.classList.add("thirds");
  const count = slider(
    { label: "Eigendisplacements a joint", text: (n) => `${n} of ${turning.most}` },
    (n) => store.set({ turnCount: n }),
  );
  const figures = figuresBox(store, turning);
  const plot = countPlot(store, turning);
  const paint = paintBox(store, turning, act);
  const joints = jointBox(turning);
  const list = jointList(turning);
  const handles = toggle("Joints can be dragged", (on) => store.set({ turnHandles: on }));
  const sync = () => {
    const { turnCount, turnHandles, turnTruth, pack } = store.state;
    if (!turning.pack) return;
    poses.sync();
    view.sync(turnedMode(store.state));
    view.rename((value, name) => roleNames(pack)[value] ?? name);
    for (const input of view.inputs.filter(({ value }) => NEEDS_TRUTH.includes(value))) {
      [input, input.nextSibling].forEach((one) => show(one, turning.pack.poses.length > 0));
      input.disabled = !turnTruth;
    }
    count.sync(turnCount, turning.most);
    figures.sync();
    plot.sync();
    paint.sync();
    joints.sync();
    list.sync();
    handles.sync(turnHandles);
  };
  turning.watch(sync);
  store.watch(["turning", "turnView", "turnPaint", "turnCount", "turnStyle", "turnHandles", "turnTruth", "turnMax"], sync);
  const parts = [poses, view, count, figures, paint, joints, handles, list, plot];
  home.actions.append(joints.actions);
  sync();
  return home.element.appendChild(make("div", { class: "groups" }, ...parts.map((part) => part.element)));
}
