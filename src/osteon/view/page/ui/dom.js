/**
 * Helpers to build elements. Text always becomes a text node, so that a name from a file can never be markup.
 *
 * @typedef {Node | string | number | null | undefined | false} Child
 */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element of HTML: attributes as they are written, `on…` as listeners, the rest as children.
 *
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElement & Record<string, any>}
 */
export function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/**
 * The same for SVG.
 *
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {SVGElement & Record<string, any>}
 */
export function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Sets the text of an element only if it differs, so that screen readers read it once. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Show or hide, with the attribute that readers follow too. */
export function show(element, visible) {
  element.toggleAttribute("hidden", !visible); // the property is missing on SVG
}

/** The child elements of a list. @param {Element} list */
export const rowsIn = (list) => /** @type {HTMLElement[]} */ ([...list.children]);

/** The element around the target of an event that matches a selector. @param {Event} event @param {string} selector */
export function closestTo(event, selector) {
  return event.target instanceof Element ? /** @type {HTMLElement|null} */ (event.target.closest(selector)) : null;
}

let count = 0;

/** A name for `id`, `for` and `aria-controls` that no other element has. */
export function unique(stem) {
  count += 1;
  return `${stem}-${count}`;
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false)
      element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

/** Work that can wait for the page. */

/** Resolves when the browser is idle, or after so many milliseconds. */
export function idle(most) {
  return new Promise((go) =>
    "requestIdleCallback" in globalThis ? requestIdleCallback(go, { timeout: most }) : setTimeout(go, most / 4),
  );
}

/** Downloads a file that the page made. */


const HELD = 60_000; // ms that the browser has to read it

/** @param {Blob} file @param {string} name */
export function saveFile(file, name) {
  const link = make("a", { href: URL.createObjectURL(file), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), HELD);
}
