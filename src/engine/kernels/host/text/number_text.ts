/** Numbers in C's `printf` formats, rounded from the exact binary value, and parsed as TensorFlow does. */
import { type DType, INTEGER_ENDS } from "../../../core/dtype.ts";

export interface NumberFormat {
  /** Digits after the point; significant ones for style `g`; six where negative. */
  readonly precision: number;
  /** `e` has an exponent, `f` has none, `g` is the shorter of both. */
  readonly style: "e" | "f" | "g";
  readonly width: number;
  /** A flag of `printf`, or nothing. */
  readonly flag: string;
}

/** Divides by a power of ten or of two, rounded to the nearest integer, half to even. */
function divided(n: bigint, by: bigint): bigint {
  const whole = n / by, twice = (n - whole * by) * 2n;
  return twice > by || (twice === by && (whole & 1n) === 1n) ? whole + 1n : whole;
}

const view = new DataView(new ArrayBuffer(8));

/** Multiplies `x`, which is not negative, by a power of ten, rounded to the nearest integer, half to even. */
function scaled(x: number, power: number): bigint {
  view.setFloat64(0, x);
  const bits = view.getBigUint64(0), exponent = Number(bits >> 52n) & 0x7ff;
  const fraction = bits & 0xfffffffffffffn;
  const n = exponent === 0 ? fraction : fraction | 1n << 52n;
  const two = Math.max(exponent, 1) - 1075;
  const above = n * 2n ** BigInt(Math.max(two, 0)) * 10n ** BigInt(Math.max(power, 0));
  return divided(above, 2n ** BigInt(Math.max(-two, 0)) * 10n ** BigInt(Math.max(-power, 0)));
}

/** Inserts a point before the last `places` digits. */
function pointed(digits: string, places: number): string {
  const all = digits.padStart(places + 1, "0"), at = all.length - places;
  return places === 0 ? all : `${all.slice(0, at)}.${all.slice(at)}`;
}

/** Returns the digits of `x` with one before the point, and its exponent. */
function exponential(x: number, places: number): { mantissa: string; exponent: number } {
  // So many digits that they do not round up to the next power of ten.
  let exponent = x === 0 ? 0 : Number(x.toExponential(100).split("e")[1]);
  let digits = String(scaled(x, places - exponent));
  if (digits.length > places + 1) digits = String(scaled(x, places - ++exponent));
  return { mantissa: pointed(digits, places), exponent };
}

const exponentText = (e: number): string =>
  `e${e < 0 ? "-" : "+"}${String(Math.abs(e)).padStart(2, "0")}`;

function withoutSign(x: number, { precision, style, flag }: NumberFormat): string {
  const places = precision < 0 ? 6 : precision;
  const point = (text: string): string => flag === "#" && !text.includes(".") ? `${text}.` : text;
  if (style === "f") return point(pointed(String(scaled(x, places)), places));
  if (style === "e") {
    const { mantissa, exponent } = exponential(x, places);
    return point(mantissa) + exponentText(exponent);
  }
  const digits = Math.max(places, 1), { mantissa, exponent } = exponential(x, digits - 1);
  const short = (text: string): string =>
    flag === "#" ? point(text) : text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  if (exponent < -4 || exponent >= digits) return short(mantissa) + exponentText(exponent);
  const after = digits - 1 - exponent;
  return short(pointed(String(scaled(x, after)), after));
}

/** Pads a text to its width: at its end for the flag "-", with zeros after the sign for "0". */
export function padded(
  text: string,
  { width, flag }: Pick<NumberFormat, "width" | "flag">,
  zeros = false,
): string {
  if (flag === "-") return text.padEnd(width);
  if (flag !== "0" || !zeros) return text.padStart(width);
  const sign = text.startsWith("-") ? "-" : "";
  return sign + text.slice(sign.length).padStart(width - sign.length, "0");
}

const plus = (flag: string): string => flag === "+" || flag === " " ? flag : "";

export function realText(x: number, format: NumberFormat): string {
  const isNegative = x < 0 || Object.is(x, -0), size = Math.abs(x);
  const isFinite = Number.isFinite(x);
  const text = isFinite ? withoutSign(size, format) : Number.isNaN(x) ? "nan" : "inf";
  return padded((isNegative ? "-" : plus(format.flag)) + text, format, isFinite);
}

/** Formats an integer; unsigned ones have no sign, whatever the flag. */
export function wholeText(x: number | bigint, format: NumberFormat, isSigned: boolean): string {
  const sign = isSigned && x >= 0 ? plus(format.flag) : "";
  return padded(sign + x, format, true);
}

const REAL = /^[-+]?((\d+\.?\d*|\.\d+)(e[-+]?\d+)?|0x[\da-f]+|inf(inity)?|nan)$/i;

/** Parses a number, with white space around it; null for other text and numbers outside of the dtype. */
export function parseNumber(text: string, dtype: DType): number | bigint | null {
  const trimmed = text.trim(), ends = INTEGER_ENDS[dtype];
  if (ends !== undefined) {
    if (!/^[-+]?\d+$/.test(trimmed)) return null;
    const value = BigInt(trimmed.replace("+", ""));
    if (value < ends[0] || value > ends[1]) return null;
    return dtype === "int64" ? value : Number(value);
  }
  if (!REAL.test(trimmed)) return null;
  const sign = trimmed.startsWith("-") ? -1 : 1, size = trimmed.replace(/^[-+]/, "");
  return sign * (/^inf/i.test(size) ? Infinity : Number(size));
}
