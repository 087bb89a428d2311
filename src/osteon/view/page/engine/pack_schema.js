// Checks packs against the schema by which Python writes them (pack/schema.json describes its notation).
import SCHEMA from "../../pack/schema.json" with { type: "json" };

export { SCHEMA };

/** @typedef {{dtype?: string, shape?: (string|number)[], in?: string[], may?: string[]}} ArrayRule */

/** @type {Record<string, ArrayRule>} */
const ARRAYS = SCHEMA.arrays;
/** @type {Record<string, (value: any) => boolean>} */
const PLAIN = {
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: Number.isInteger,
  boolean: (value) => typeof value === "boolean",
  object: isRecord,
};

function isRecord(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * The counts of a pack by name: {vertices, triangles, …}; throws an Error with one sentence where it differs from the schema.
 * @param {{kind: string, clips?: {stop: number}[], arrays: Object<string, {dtype: string, shape: number[]}>}} header
 * @returns {Object<string, number>}
 */
export function checkPack(header) {
  const { kind } = header;
  const rules = Object.entries(SCHEMA.header).filter(([, rule]) => rule.in.includes(kind));
  if (!rules.length) throw new Error(`The model is of the kind ${kind}, which this page does not support; reload the page.`);
  checkRecord("description", Object.fromEntries(rules.map(([key, rule]) => [key, rule.type])), header);
  checkPresence(kind, Object.keys(header.arrays));
  const counts = new Map();
  for (const [name, array] of Object.entries(header.arrays)) checkArray(kind, name, array, counts);
  const frames = counts.get("f");
  if (frames !== undefined && header.clips?.at(-1)?.stop !== frames) misfit("clips");
  return Object.fromEntries(Object.entries(SCHEMA.letters).map(([letter, name]) => [name, counts.get(letter) ?? 0]));
}

function misfit(name) {
  throw new Error(`The model's arrays do not fit each other (${name}).`);
}

function checkPresence(kind, names) {
  const needed = Object.entries(ARRAYS).filter(([, rule]) => rule.in?.includes(kind));
  const missing = needed.map(([name]) => name).filter((name) => !names.includes(name));
  const choice = SCHEMA.one_of[kind] ?? [];
  if (choice.length && !choice.some((name) => names.includes(name))) missing.push(choice[0]);
  for (const group of SCHEMA.together) {
    const absent = group.filter((name) => !names.includes(name));
    if (absent.length < group.length) missing.push(...absent);
  }
  if (missing.length) throw new Error(`The model has no ${missing.join(", ")}.`);
}

/** The rule of an array, and the name that matched the first `*` of its pattern. */
function ruleOf(name) {
  for (const [pattern, rule] of Object.entries(ARRAYS)) {
    const words = pattern.replaceAll(".", "\\.").replaceAll("*", "([^.]+)");
    const found = name.match(new RegExp(`^${words}$`));
    if (found) return { rule, owner: found[1] ?? "" };
  }
  return { rule: /** @type {ArrayRule} */ ({}), owner: "" };
}

function checkArray(kind, name, { dtype, shape }, counts) {
  const { rule, owner } = ruleOf(name);
  if (![...(rule.in ?? []), ...(rule.may ?? [])].includes(kind)) {
    throw new Error(`The model has the array ${name}, which this page does not support; reload the page.`);
  }
  if (rule.dtype !== "any" && rule.dtype !== dtype) throw new Error(`The model's array ${name} is ${dtype}, not ${rule.dtype}.`);
  if (!rule.shape) return;
  if (rule.shape.length !== shape.length) misfit(name);
  rule.shape.forEach((letter, i) => {
    const key = letter in SCHEMA.letters ? letter : `${letter} of ${owner}`;
    if (typeof letter === "string" && letter !== "*" && !counts.has(key)) counts.set(key, shape[i]);
    const known = letter === "*" ? shape[i] : typeof letter === "number" ? letter : counts.get(key);
    if (known !== shape[i]) misfit(name);
  });
}

function checkType(name, expected, value) {
  if (expected.endsWith("?")) {
    if (value !== null) checkType(name, expected.slice(0, -1), value);
  } else if (expected.startsWith("[")) {
    const items = Array.isArray(value) ? value : [undefined];
    items.forEach((item, i) => checkType(`${name}[${i}]`, expected.slice(1, -1), item));
  } else if (expected.startsWith("{")) {
    const items = isRecord(value) ? value : { "": undefined };
    for (const [key, item] of Object.entries(items)) checkType(`${name}.${key}`, expected.slice(1, -1), item);
  } else if (!(expected in PLAIN)) {
    checkRecord(name, SCHEMA.records[expected], value);
  } else if (!PLAIN[expected](value)) {
    throw new Error(`The model's ${name} is no ${expected}.`);
  }
}

function checkRecord(name, keys, value) {
  if (!isRecord(value)) throw new Error(`The model's ${name} is no object.`);
  const plain = (key) => key.replace(/\?$/, "");
  const known = Object.keys(keys).map(plain);
  const strange = Object.keys(value).find((key) => !known.includes(key));
  if (strange) throw new Error(`The model's ${name} has ${strange}, which this page does not support; reload the page.`);
  for (const [key, expected] of Object.entries(keys)) {
    if (plain(key) in value) checkType(`${name}.${plain(key)}`, expected, value[plain(key)]);
    else if (plain(key) === key) throw new Error(`The model's ${name} has no ${key}.`);
  }
}
