/** The client of the study: a random token of the rater, stored by the browser, and its requests to the server. */

/** A refusal in words, with the code of the answer. */
export class Refusal extends Error {
  constructor(text, status) {
    super(text);
    this.status = status;
  }
}

const KEY = "osteon-study-rater";
const LOST = "The server does not answer. Your answers so far are stored; try again later.";
/** Number of cached animations. */
const KEPT = 6;

export class Rater {
  constructor() {
    /** @type {Map<string, Promise<ArrayBuffer>>} */
    this.packs = new Map();
    this.token = remembered() ?? this.begin();
  }

  /** Creates the token of a new rater. */
  begin() {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    this.token = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    try {
      localStorage.setItem(KEY + location.pathname, this.token);
    } catch {
      // Without storage the study can be answered, only not left and resumed.
    }
    return this.token;
  }

  forget() {
    this.begin();
  }

  /** The progress of this rater, and the next question. */
  async state() {
    return (await fetchChecked(`./state?rater=${this.token}`)).json();
  }

  /** Stores an answer; returns the next question. */
  async answer(number, score) {
    const body = JSON.stringify({ rater: this.token, number, score });
    const headers = { "Content-Type": "application/json" };
    return (await fetchChecked("./answer", { method: "POST", body, headers })).json();
  }

  /** Bytes of an animation. */
  pack(id) {
    const found = this.packs.get(id) ?? fetchChecked(`./pack/${encodeURIComponent(id)}`).then((answer) => answer.arrayBuffer());
    this.packs.delete(id);
    this.packs.set(id, found); // the newest last
    found.catch(() => this.packs.delete(id));
    for (const old of [...this.packs.keys()].slice(0, -KEPT)) this.packs.delete(old);
    return found;
  }
}

/** The token of an earlier visit to this study. */
function remembered() {
  try {
    const token = localStorage.getItem(KEY + location.pathname) ?? "";
    return /^[0-9a-f]{32}$/.test(token) ? token : null;
  } catch {
    return null;
  }
}

async function fetchChecked(address, options = {}) {
  let answer;
  try {
    answer = await fetch(address, options);
  } catch {
    throw new Refusal(LOST, 0);
  }
  if (answer.ok) return answer;
  const body = await answer.json().catch(() => null);
  throw new Refusal(body?.error ?? `The server refused with code ${answer.status}.`, answer.status);
}
