// Helpers for the type checker.

/**
 * Null, for fields that are null only before the first model is loaded, or where the browser cannot draw.
 * @template T @returns {T}
 */
export function absent() {
  return /** @type {T} */ (/** @type {unknown} */ (null));
}

/** The message of a caught error. @param {unknown} error */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));
