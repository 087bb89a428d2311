/** Work that can wait for the page. */

/** When the browser has drawn and has nothing else to do, or after so many milliseconds. */
export function idle(most) {
  return new Promise((go) =>
    "requestIdleCallback" in globalThis ? requestIdleCallback(go, { timeout: most }) : setTimeout(go, most / 4),
  );
}
