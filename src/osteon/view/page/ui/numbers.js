/** Number formats. The rules are those of the report (osteon/report/page_parts.py). */

const THIN = "\u00a0";

/** Three digits, without an exponent for usual sizes. */
export function number(value) {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e-4 && size < 1000) return String(Number(value.toPrecision(3)));
  if (size < 1e-4) return value.toExponential(1);
  return size < 1e7 ? whole(value) : value.toExponential(2).replace("e+", "e");
}

/** Three digits, also where the last are zeros: for columns, whose numbers are compared. */
export function digits(value) {
  const size = Math.abs(value);
  return size >= 1e-3 && size < 999.5 ? value.toPrecision(3) : number(value);
}

/** A whole number with commas. */
export function whole(value) {
  return Math.round(value).toLocaleString("en");
}

/** A number of percent, never parted from its sign. */
export function percent(value) {
  return `${number(value)}${THIN}%`;
}

/** A fraction, such as an error over the diagonal, as percent. */
export function share(fraction) {
  return percent(100 * fraction);
}

/** Seconds with two digits: they do not jump in width while playing. */
export function seconds(value) {
  return `${value.toFixed(2)}${THIN}s`;
}

/** Milliseconds with three digits or so. */
export function milliseconds(value) {
  return `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)}${THIN}ms`;
}

/** A count of bytes in the unit that fits. */
export function bytes(count) {
  if (count >= 1e6) return `${(count / 1e6).toFixed(2)}${THIN}MB`;
  if (count >= 1e3) return `${(count / 1e3).toFixed(1)}${THIN}kB`;
  return `${Math.round(count)}${THIN}bytes`;
}

/** A large rate: 12.3 M. */
export function rate(value) {
  if (value >= 1e9) return `${(value / 1e9).toFixed(2)}${THIN}G`;
  if (value >= 1e6) return `${(value / 1e6).toFixed(1)}${THIN}M`;
  return value >= 1e3 ? `${(value / 1e3).toFixed(0)}${THIN}k` : value.toFixed(0);
}

/** Round values in 0 … high, about `count` of them, in steps of 1, 2 or 5 times a power of ten. */
export function ticks(high, count = 4) {
  const rough = Math.max(high, 1e-300) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * (1 - 1e-9)) ?? power;
  const out = [];
  for (let i = 0; i * step <= high * (1 + 1e-9); i += 1) out.push(Number((i * step).toPrecision(12)));
  return out;
}

/** The next value at or above `value` whose first digits are 1, 1.5, 2, 3, 5 or 7, for scales. */
export function roundUp(value) {
  if (!(value > 0)) return 0;
  const power = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 1.5, 2, 3, 5, 7, 10].find((m) => m * power >= value * (1 - 1e-9)) ?? 10;
  return Number((factor * power).toPrecision(3));
}
