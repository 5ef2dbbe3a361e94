/** Arrays as TensorFlow prints them: `[1 2 3 ... 7 8 9]`, a few elements at either end of each axis. */
import { DTYPES } from "../../../core/dtype.ts";
import type { NdArray } from "../../../core/nd_array.ts";
import { decodeString } from "../../../core/text.ts";

/** Formats an array with `summarize` elements at either end of each axis; -1 shows all. */
export function summaryText(array: NdArray, summarize: number, quoted = false): string {
  const { shape } = array, rank = shape.length;
  if (rank === 0) return elementText(array, 0, quoted);
  const block = (axis: number, from: number, size: number): string => {
    const n = shape[axis], step = n === 0 ? 0 : size / n;
    const isLast = axis === rank - 1;
    const parts = shownOf(n, summarize).map((i) => {
      if (i < 0) return "...";
      return isLast ? elementText(array, from + i, true) : block(axis + 1, from + i * step, step);
    });
    const gap = isLast ? " " : "\n".repeat(rank - 1 - axis) + " ".repeat(axis + 1);
    return `[${parts.join(gap)}]`;
  };
  return block(0, 0, array.size);
}

/** Returns the shown indices of an axis; -1 stands for the gap. */
function shownOf(n: number, summarize: number): number[] {
  const all = Array.from({ length: n }, (_, i) => i);
  if (summarize < 0 || n <= 2 * summarize) return all;
  return [...all.slice(0, summarize), -1, ...summarize === 0 ? [] : all.slice(-summarize)];
}

function elementText(array: NdArray, i: number, quoted = false): string {
  const { dtype } = array, value = array.at(i);
  if (value instanceof Uint8Array) {
    const text = decodeString(value);
    return quoted ? `"${text.replace(/["\\]/g, "\\$&").replaceAll("\n", "\\n")}"` : text;
  }
  if (typeof value === "boolean") return value ? "1" : "0";
  if (Array.isArray(value)) {
    const part = dtype === "complex64" ? "float32" : "float64";
    return `(${value.map((v) => floatText(v, part)).join(",")})`;
  }
  return DTYPES[dtype].kind === "float" ? floatText(value as number, dtype) : String(value);
}

/** Formats with as few digits as C++'s streams need to restore the number: 6 or 9 of a float, 15 or 17 of a double. */
function floatText(value: number, dtype: string): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  const isDouble = dtype === "float64";
  const [few, all] = isDouble ? [15, 17] : [6, 9];
  const short = general(value, few);
  const again = isDouble ? Number(short) : Math.fround(Number(short));
  return again === value ? short : general(value, all);
}

/** Formats as C's `%.{digits}g`. */
function general(value: number, digits: number): string {
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const [mantissa, power] = value.toExponential(digits - 1).split("e");
  const exponent = Number(power);
  const trim = (text: string): string => text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  if (exponent >= -4 && exponent < digits) return trim(value.toFixed(digits - 1 - exponent));
  const size = String(Math.abs(exponent)).padStart(2, "0");
  return `${trim(mantissa)}e${exponent < 0 ? "-" : "+"}${size}`;
}
