/** Posing methods: the skin of a model, simplex transformations, or blended bones; and the views that show them. */

export const METHOD_NAMES = { skin: "Skin", simplex: "Simplex", ssd: "SSD" };

/** As words in a sentence. */
export const methodWord = (method) => (method === "ssd" ? "SSD" : method);

/** The engine shows the first method as its result and the second as its source. @param {string[]} methods */
export function rolesOf([first, second]) {
  return { result: first, ...(second && { source: second }) };
}

/** The mode of the engine for a view of the panel. @param {string} view @param {string[]} methods */
export function modeOf(view, methods) {
  const at = methods.indexOf(view);
  return at < 0 ? view : ["result", "source"][at];
}

/** The methods that a view shows. @param {string} view @param {string[]} methods */
export function methodsOf(view, methods) {
  return methods.includes(view) ? [view] : methods;
}
