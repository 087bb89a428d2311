/** All requests of the page to its origin: a server, or the files of an export beside the page or inside it. */

/** A refusal with a message for the user. */
export class Refusal extends Error {}

const LOST = "The server does not respond. Start `osteon view` again and open the printed address.";

export class Client {
  /** @param {"server" | "static" | "file"} mode */
  constructor(mode) {
    this.mode = mode;
    this.job = "";
    /** @type {{scene: Promise<any> | null, first: Promise<any>} | null} */
    this.early = null;
    // A reloaded page has lost the number of its job, so it is cancelled when the page closes.
    // Not a beacon: without a referrer that would carry no origin, and be refused.
    addEventListener("pagehide", () => {
      if (this.job) fetch(`./jobs/${encodeURIComponent(this.job)}/cancel`, { method: "POST", keepalive: true });
    });
  }

  /** Requests the scene and its first model while the page is being built; the first calls use the results. */
  prefetch() {
    if (this.mode === "file") return; // everything is in the file
    const scene = this.#askScene();
    const first = scene.then(({ models }) =>
      models.length ? { id: models[0].id, answer: fetchChecked(this.#packAddress(models[0].id)) } : null,
    );
    // The first calls report errors.
    first.then((found) => found?.answer.catch(() => {})).catch(() => {});
    this.early = { scene, first };
  }

  /** The list of models, and the limits of the server. */
  async scene() {
    const scene = this.early?.scene ?? this.#askScene();
    if (this.early) this.early.scene = null;
    return scene;
  }

  async #askScene() {
    const scene = this.mode === "file" ? sceneInside() : await this.#fetchScene();
    return {
      models: scene.models ?? [],
      can_fit: this.mode === "server" && Boolean(scene.can_fit),
      limits: scene.limits ?? {},
      sources: scene.sources ?? {},
    };
  }

  async #fetchScene() {
    return (await fetchChecked(this.mode === "static" ? "./scene.json" : "./scene")).json();
  }

  /** Bytes of one model; `signal` cancels it. @param {string} id @param {(part: number) => void} [onProgress] @param {AbortSignal} [signal] */
  async pack(id, onProgress, signal) {
    if (this.mode === "file") return packInside(id);
    const first = await this.early?.first;
    this.early = null;
    const answer = await (first?.id === id ? first.answer : fetchChecked(this.#packAddress(id), { signal }));
    return readAll(answer, onProgress, signal);
  }

  /** Takes a model out of the scene, for reloads too. */
  async close(id) {
    if (this.mode === "server") await fetchChecked(`./close/${encodeURIComponent(id)}`, { method: "POST" });
  }

  #packAddress(id) {
    const name = encodeURIComponent(id);
    return this.mode === "static" ? `./packs/${name}.bin` : `./pack/${name}`;
  }

  /**
   * Uploads files; several are the frames of one sequence, in the given order. `report` receives the uploaded percentage
   * sent and, when all is there, that the program reads it; `signal` ends both. Returns the id.
   * @param {File[]} files @param {{limits: Record<string, any>, signal: AbortSignal, report(text: string): void}} how
   */
  async open(files, { limits, signal, report }) {
    checkSize(files, limits.upload_bytes);
    const group = `g${Date.now().toString(36)}${Math.random().toString(36).slice(2, 8)}`;
    const total = Math.max(1, files.reduce((sum, { size }) => sum + size, 0));
    const name = files.length > 1 ? `${files.length} files` : files[0].name;
    let sent = 0;
    let id = "";
    for (const [index, file] of files.entries()) {
      const query = files.length > 1 ? `?group=${group}&index=${index}&count=${files.length}` : "";
      const onProgress = (bytes) => {
        const part = Math.min(100, Math.floor((100 * (sent + bytes)) / total));
        report(part < 100 ? `Uploading ${name}, ${part} %` : `Reading ${name}`);
      };
      ({ id } = await upload(`./open${query}`, file, { signal, onProgress }));
      sent += file.size;
    }
    return id;
  }

  /** Start a fit; returns the job. */
  async fit(id, options) {
    const body = JSON.stringify({ id, options });
    const answer = await fetchChecked("./fit", { method: "POST", body, headers: { "Content-Type": "application/json" } });
    return (await answer.json()).job;
  }

  /** Store strokes in the rest pose of a model; returns the job. @param {object} strokes as `osteon edit` reads them */
  async edit(id, strokes) {
    return (await (await fetchChecked(`./edit/${encodeURIComponent(id)}`, posted(strokes))).json()).job;
  }

  /**
   * Fit an edited tree to the source of a model; returns the job.
   * @param {string} id @param {{tree: string, form: string, influences: number}} request the text of the tree, and options
   */
  async refit(id, request) {
    return (await (await fetchChecked(`./refit/${encodeURIComponent(id)}`, posted(request))).json()).job;
  }

  /** Find the near-rigid triangles of the source of a model; returns the job. */
  async findClusters(id) {
    const answer = await fetchChecked("./clusters", {
      method: "POST",
      body: JSON.stringify({ id }),
      headers: { "Content-Type": "application/json" },
    });
    return (await answer.json()).job;
  }

  /** The result of that job: the cluster of each triangle, 65535 for outliers. */
  async clusters(id) {
    return new Uint16Array(await (await fetchChecked(`./clusters/${encodeURIComponent(id)}`)).arrayBuffer());
  }

  /** Have a model prepared for posing; returns the job. */
  async startPosing(id) {
    return (await (await fetchChecked(`./pose/${encodeURIComponent(id)}/start`, { method: "POST" })).json()).job;
  }

  /** Replaces the skeleton of a model. */
  async giveSkeleton(id, file, { limits, signal, report }) {
    checkSize([file], limits.skeleton_bytes);
    const onProgress = (bytes) => {
      const part = Math.floor((100 * bytes) / Math.max(1, file.size));
      report(part < 100 ? `Uploading ${file.name}, ${part} %` : `Reading ${file.name}`);
    };
    await upload(`./pose/${encodeURIComponent(id)}/skeleton`, file, { signal, onProgress });
  }

  /** A posed mesh, in the form of a pack. */
  async pose(id, message) {
    return (await fetchChecked(`./pose/${encodeURIComponent(id)}`, posted(message))).arrayBuffer();
  }

  /** A pose as a file: `what` is "pose.json" or "mesh.obj". */
  async posedFile(id, what, message, signal) {
    return (await fetchChecked(`./pose/${encodeURIComponent(id)}/${what}`, { ...posted(message), signal })).blob();
  }

  /** A fitted model as a file. */
  async file(id, suffix, signal) {
    return (await fetchChecked(`./file/${encodeURIComponent(id)}${suffix}`, { signal })).blob();
  }

  /**
   * Follows a job until it ends; `onStage` receives its progress, `signal` cancels it. Returns its last message; null if it
   * was cancelled. Throws its error.
   * @param {string} job @param {{signal: AbortSignal, onStage(message: object): void}} how
   */
  async ended(job, { signal, onStage }) {
    const stop = () => this.cancel(job).catch(() => {});
    signal.addEventListener("abort", stop);
    if (signal.aborted) stop();
    const last = await new Promise((done) =>
      this.follow(job, (message) => ("stage" in message ? onStage(message) : done(message))),
    );
    signal.removeEventListener("abort", stop);
    if (last.error) throw new Refusal(last.error);
    return "cancelled" in last ? null : last;
  }

  /** Follows a job until it ends; `onMessage` receives every message. */
  follow(job, onMessage) {
    this.job = job;
    const end = () => {
      events.close();
      this.job = "";
    };
    const events = new EventSource(`./jobs/${encodeURIComponent(job)}`);
    events.onmessage = (event) => {
      const message = JSON.parse(event.data);
      if (!("stage" in message)) end();
      onMessage(message);
    };
    events.onerror = () => {
      if (events.readyState !== EventSource.CLOSED) return;
      end();
      onMessage({ error: LOST });
    };
  }

  async cancel(job) {
    await fetchChecked(`./jobs/${encodeURIComponent(job)}/cancel`, { method: "POST" });
  }

  /** Keeps a connection open while the page is open: the server ends its worker when the last one closes. */
  stayAlive(lost, found) {
    if (this.mode !== "server") return;
    const events = new EventSource("./alive");
    let away = false;
    events.onopen = () => {
      if (away) found();
      away = false;
    };
    events.onerror = () => {
      if (!away) lost(LOST);
      away = true;
    };
    addEventListener("pagehide", () => events.close());
  }
}

function posted(message) {
  return { method: "POST", body: JSON.stringify(message), headers: { "Content-Type": "application/json" } };
}

/** Checked here, because a browser reports a refusal during an upload only as a broken connection. */
function checkSize(files, most = Infinity) {
  const size = files.reduce((sum, file) => sum + file.size, 0);
  if (size <= most) return;
  const text = (count) => `${(count / 1e9).toFixed(1)} GB`;
  throw new Refusal(
    `The page takes at most ${text(most)} and this is ${text(size)}. Open it with \`osteon view FILE\` instead.`,
  );
}

/**
 * Uploads a file with progress, which `fetch` does not report. Returns the response, or throws a Refusal.
 * @param {string} address @param {File} file @param {{signal: AbortSignal, onProgress(bytes: number): void}} how
 * @returns {Promise<any>} the answer in JSON
 */
function upload(address, file, { signal, onProgress }) {
  return new Promise((done, fail) => {
    const line = new XMLHttpRequest();
    const stop = () => line.abort();
    signal.addEventListener("abort", stop);
    const refused = (text) => fail(new Refusal(text));
    line.open("POST", address);
    line.setRequestHeader("X-Name", encodeURIComponent(file.name));
    line.setRequestHeader("Content-Type", "application/octet-stream");
    line.responseType = "json";
    line.upload.onprogress = ({ loaded }) => onProgress(Math.min(loaded, file.size));
    line.upload.onload = () => onProgress(file.size);
    line.onabort = () => refused("Cancelled.");
    line.onerror = () => refused(LOST);
    line.onloadend = () => signal.removeEventListener("abort", stop);
    line.onload = () => {
      const { response, status } = line;
      if (status >= 200 && status < 300 && !response?.error) done(response);
      else refused(response?.error ?? `The server refused with code ${status}.`);
    };
    if (signal.aborted) return refused("Cancelled.");
    line.send(file);
  });
}

/** The answer, or a Refusal with the server's own sentence. */
async function fetchChecked(address, options = {}) {
  let answer;
  try {
    answer = await fetch(address, options);
  } catch (error) {
    if (error instanceof Error && error.name === "AbortError") throw error;
    throw new Refusal(
      location.protocol === "file:"
        ? "Browsers do not load files for a page opened from disk. Serve the folder: python -m http.server"
        : LOST,
    );
  }
  if (answer.ok) {
    if (!(answer.headers.get("Content-Type") ?? "").includes("json")) return answer;
    const body = await answer.clone().json();
    if (body && body.error) throw new Refusal(body.error);
    return answer;
  }
  const body = await answer.json().catch(() => null);
  throw new Refusal(body?.error ?? `The server refused with code ${answer.status}.`);
}

/** The body with its progress, 0 … 1; the length of a compressed body is unknown. */
async function readAll(answer, onProgress, signal) {
  const length = Number(answer.headers.get("Content-Length") ?? 0);
  if (!length || !answer.body || answer.headers.get("Content-Encoding")) return answer.arrayBuffer();
  const chunks = [];
  let at = 0;
  for (const reader = answer.body.getReader(); ;) {
    if (signal?.aborted) await reader.cancel();
    signal?.throwIfAborted();
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    at += value.length;
    onProgress?.(Math.min(1, at / length));
  }
  if (at < length) throw new Refusal("The model is incomplete; open it again.");
  return new Blob(chunks).arrayBuffer();
}

/** The content of a page in one file (view/export.py): its scene as JSON, its models in base64. */

/** The list of models. */
export function sceneInside() {
  return JSON.parse(document.getElementById("scene")?.textContent ?? "{}");
}

/** Bytes of one model, from all its pieces. @param {string} id @returns {ArrayBuffer} */
export function packInside(id) {
  const pieces = [...document.querySelectorAll(`script[data-pack="${CSS.escape(id)}"]`)].map(decoded);
  if (!pieces.length) throw new Error("This file does not contain the model; export it again.");
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes.buffer;
}

function decoded({ textContent }) {
  const text = atob(textContent);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
  return bytes;
}
