/** Keep a pose: as JSON, as a mesh, and as the command that makes it again. */

import { make, say } from "../ui/dom.js";
import { saveFile } from "../ui/save_file.js";

/**
 * @param {import("../ui/store.js").Store} store
 * @param {import("../ui/client.js").Client} client
 * @param {import("./posing.js").Posing} posing
 * @param {{fail(error: unknown): void, announce(text: string): void, run: import("../ui/notices.js").Notices["run"]}} act
 */
export function saveBox(store, client, posing, act) {
  const stem = () => (store.state.pack?.name || "mesh").replace(/[^\w.-]+/g, "_");
  const save = async (what, name) => {
    const message = { ...posing.message(), methods: [posing.method] };
    try {
      const file = await act.run(`Writing ${name}`, (signal) => client.posedFile(posing.id, what, message, signal));
      if (!file) return; // cancelled
      saveFile(file, name);
      posing.saved = posing.pose;
      act.announce(`${name} is saved where your browser keeps files.`);
    } catch (error) {
      act.fail(error);
    }
  };
  const pose = make(
    "button",
    { type: "button", title: "Save the pose", onclick: () => save("pose.json", `${stem()}-pose.json`) },
    "Pose .json",
  );
  const mesh = make("button", { type: "button", title: "Save the mesh", onclick: () => save("mesh.obj", `${stem()}-posed.obj`) }, "Mesh .obj");
  const command = make("code", { class: "command", tabindex: 0 });
  const copy = make(
    "button",
    {
      type: "button",
      onclick: async () => {
        try {
          await navigator.clipboard.writeText(command.textContent);
          act.announce("The command is copied.");
        } catch {
          getSelection()?.selectAllChildren(command);
          act.announce("The command is selected; copy it with the keyboard.");
        }
      },
    },
    "Copy the command",
  );
  const note = make("p", { class: "note" }, "With the saved pose, this makes the same mesh:");
  const element = make(
    "div",
    { class: "groups" },
    make("h3", {}, "The same from the command line"),
    note,
    command,
    copy,
  );
  const sync = () => {
    const { mesh: file, skeleton } = posing.about.command;
    const moved = posing.method === "skin" ? [file] : [file, skeleton ?? "none"];
    const call = ["osteon", "pose", ...moved, `${stem()}-pose.json`, "-o", `${stem()}-posed.obj`];
    const options = posing.method === "ssd" ? ["--method", "ssd"] : [];
    say(command, [...call, ...options].map(quoted).join(" "));
  };
  return { element, actions: make("div", { class: "row" }, pose, mesh), sync };
}

/** A word of a command line, in quotes where a shell would take it apart. */
function quoted(word) {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
