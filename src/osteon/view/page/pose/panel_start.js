/** The start of the Pose panel: the skeleton, if any, and the preparation on the server. */
import { hasSkeleton } from "../engine/skeleton.js";
import { emptyState } from "../ui/controls.js";
import { make, setText, show } from "../ui/dom.js";

const STAGES = {
  mesh: "Read the mesh",
  segment: "Find the segments",
  boundaries: "Cut the borders",
  lines: "Find what lines move",
  factor: "Factorise",
};

/**
 * @param {import("../ui/store.js").Store} store
 * @param {import("../ui/client.js").Client} client
 * @param {import("./posing.js").Posing} posing
 * @param {{fail(error: unknown): void, announce(text: string): void, run: import("../ui/notices.js").Notices["run"]}} act
 */
export function startBox(store, client, posing, act) {
  const hint = make("div");
  const status = make("p", { role: "status", class: "figure" });
  const bar = make("progress", { max: 1, value: 0, "aria-label": "Preparing" });
  const files = make("input", {
    type: "file",
    accept: ".tgf,.skel,.json,.glb,.gltf",
    hidden: true,
    "aria-label": "Skeleton",
  });
  const start = make("button", { type: "button", class: "wide main", onclick: () => begin() }, "Pose it");
  const choose = make("button", { type: "button", class: "wide", onclick: () => files.click() }, "Choose a skeleton…");
  const cancel = make("button", { type: "button", class: "wide", hidden: true, onclick: () => control?.abort() }, "Cancel");
  const work = make("div", { class: "stages", hidden: true }, status, bar);
  const element = make("div", { class: "groups" }, hint, files, work);
  const actions = make("div", {}, start, choose, cancel);
  let busy = false;
  let control = /** @type {AbortController | null} */ (null);

  const begin = async () => {
    const { model } = store.state;
    if (busy || !model) return;
    busy = true;
    control = new AbortController();
    sync();
    setText(status, "Waiting for the worker");
    bar.value = 0;
    try {
      const onStage = ({ stage, fraction }) => {
        setText(status, STAGES[stage] ?? stage);
        bar.value = fraction ?? 0;
      };
      const begun = await posing.start(model, { signal: control.signal, onStage });
      if (!begun && control.signal.aborted) act.announce("Cancelled; nothing changed.");
      if (begun && posing.about?.note) act.announce(posing.about.note);
    } catch (error) {
      act.fail(error);
    }
    busy = false;
    sync();
  };
  const take = async (file, refused = act.fail) => {
    const { model, scene } = store.state;
    try {
      const { limits } = scene;
      const given = await act.run(`Uploading ${file.name}`, async (signal, report) => {
        await client.giveSkeleton(model, file, { limits, signal, report });
        return true;
      });
      if (!given) return; // cancelled
    } catch (error) {
      return refused(error);
    }
    posing.forget();
    store.set({ panel: "pose" });
    await begin();
  };
  files.addEventListener("change", () => {
    if (files.files.length) take(files.files[0]);
    files.value = "";
  });
  const sync = () => {
    const { pack, scene } = store.state;
    const able = scene.can_fit && Boolean(pack);
    show(start, able && !busy);
    show(choose, able && !busy);
    show(cancel, busy);
    show(work, busy);
    show(hint, !busy);
    const skinned = pack?.kind === "model";
    setText(start, skinned || named() ? "Pose it" : "Pose by lines and pins");
    hint.replaceChildren(whyEmpty(pack, scene, skinned));
  };
  const named = () => store.state.scene.models.some(({ id, has_skeleton: has }) => has && id === store.state.model);
  const open = () => {
    sync();
    if ((named() || hasSkeleton(store.state.pack)) && store.state.scene.can_fit) begin();
  };
  return { element, actions, open, take, choose: () => files.click() };
}

function whyEmpty(pack, scene, skinned) {
  if (!pack) return emptyState("Open a mesh to pose it.");
  if (!scene.can_fit)
    return emptyState(
      "Posing needs the program on your machine. Start it with ",
      ["osteon view MESH --skeleton FILE"],
      ".",
    );
  if (hasSkeleton(pack))
    return emptyState(
      "Poses the joints of the model with its own skin. Drop another skeleton to use that instead: .tgf, .skel, .json or glTF.",
    );
  if (skinned)
    return emptyState(
      "Poses the rest mesh by a skeleton of its file, or by one that you drop: .tgf, .skel, .json or glTF.",
    );
  return emptyState(
    "Drop a stick skeleton on the mesh: .tgf, .skel, .json or glTF. Without one, lines and pinned vertices move the mesh.",
  );
}
