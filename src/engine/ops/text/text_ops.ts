/** String ops: joining, matching, cases, numbers in text. On the host. */
import { decodeString, encodeString } from "../../core/text.ts";
import { bytesOfText, roomForBytes } from "../../core/arrays/short_bytes.ts";
import { type DType, DTYPES } from "../../core/dtype.ts";
import { type Attrs, defineOp, type OpDef } from "../../core/op.ts";
import { NdArray } from "../../core/nd_array.ts";
import { mergeShapes, shapeText } from "../../core/shape.ts";
import {
  type NumberFormat,
  padded,
  parseNumber,
  realText,
  wholeText,
} from "../../kernels/host/text/number_text.ts";
import { regexMatcher, regexReplacer } from "../../kernels/host/text/regex.ts";
import { refuse, textsOf, wholeArray } from "../host/arrays.ts";
import { defineStringMap } from "./define_string_map.ts";
import { ValueError } from "../../core/errors.ts";

/** Returns bytes with the letters between two in the other case; where there is none, the bytes themselves. */
function withTurned(bytes: Uint8Array, first: number, last: number): Uint8Array {
  const { length } = bytes;
  let i = 0;
  while (i < length && !(bytes[i] >= first && bytes[i] <= last)) i++;
  if (i === length) return bytes;
  const out = roomForBytes(length);
  for (let k = 0; k < i; k++) out[k] = bytes[k];
  for (; i < length; i++) {
    const b = bytes[i];
    out[i] = b >= first && b <= last ? b ^ 32 : b;
  }
  return out;
}

const withCase = { attrs: ['encoding: string = ""'] };

export const StringLower: OpDef = defineStringMap(
  "StringLower",
  withCase,
  ({ encoding }) =>
    encoding === "utf-8"
      ? (s) => bytesOfText(decodeString(s).toLowerCase())
      : (s) => withTurned(s, 65, 90),
);
export const StringUpper: OpDef = defineStringMap(
  "StringUpper",
  withCase,
  ({ encoding }) =>
    encoding === "utf-8"
      ? (s) => bytesOfText(decodeString(s).toUpperCase())
      : (s) => withTurned(s, 97, 122),
);

const isSpace = (b: number): boolean => b === 32 || b >= 9 && b <= 13;

export const StringStrip: OpDef = defineStringMap("StringStrip", {}, () => (text) => {
  let from = 0, to = text.length;
  while (from < to && isSpace(text[from])) from++;
  while (to > from && isSpace(text[to - 1])) to--;
  return to - from === text.length ? text : text.subarray(from, to);
});

export const StaticRegexFullMatch: OpDef = defineStringMap(
  "StaticRegexFullMatch",
  { output: "bool", attrs: ["pattern: string"] },
  ({ pattern }) => {
    const matches = regexMatcher(pattern);
    return (s) => Number(matches(s));
  },
);

/** The same with the pattern as an input. */
export const RegexFullMatch: OpDef = defineStringMap(
  "RegexFullMatch",
  { inputs: ["input: string", "pattern: string"], output: "bool" },
  (_, texts) => {
    const [pattern] = texts.map((x) => decodeString(textsOf(x)[0]));
    const matches = regexMatcher(pattern);
    return (s) => Number(matches(s));
  },
);

/** Counts the bytes that begin a character, valid or not. */
function charactersOf(bytes: Uint8Array): number {
  let count = 0;
  for (const b of bytes) if ((b & 0xc0) !== 0x80) count++;
  return count;
}

export const StringLength: OpDef = defineStringMap(
  "StringLength",
  { output: "int32", attrs: ['unit: string = "BYTE"'] },
  ({ unit }) => unit === "UTF8_CHAR" ? charactersOf : (s) => s.length,
);

export const StringToNumber: OpDef = defineStringMap(
  "StringToNumber",
  {
    inputs: ["string_tensor: string"],
    output: "out_type",
    attrs: ["out_type: {float32, float64, int32, int64} = float32"],
  },
  ({ out_type }) => (s) => {
    const text = decodeString(s);
    return parseNumber(text, out_type) ??
      refuse(`StringToNumberOp could not correctly convert string: ${text}`);
  },
);

export const RegexReplace: OpDef = defineStringMap(
  "RegexReplace",
  {
    inputs: ["input: string", "pattern: string", "rewrite: string"],
    attrs: ["replace_global: bool = true"],
  },
  ({ replace_global: all }, texts) => {
    const [pattern, rewrite] = texts.map((x) => decodeString(textsOf(x)[0]));
    return regexReplacer({ pattern, rewrite, all });
  },
);

export const StringJoin: OpDef = defineOp({
  name: "StringJoin",
  inputs: ["inputs: N * string"],
  outputs: ["output: string"],
  attrs: ["N: int >= 1", 'separator: string = ""'],
  infer: (xs) => {
    // Scalars are broadcast.
    const shapes = xs.map((x) => x.shape).filter((s) => s?.length !== 0);
    return [shapes.length === 0 ? [] : shapes.reduce(mergeShapes)];
  },
  grad: null,
  cpu: (xs, [out], { attrs }) => {
    const to = out.data as Uint8Array[], separator = encodeString(attrs.separator);
    const lists = xs.map(textsOf), steps = xs.map((x) => x.rank === 0 ? 0 : 1);
    for (let i = 0; i < to.length; i++) {
      let length = separator.length * Math.max(0, lists.length - 1);
      for (let k = 0; k < lists.length; k++) length += lists[k][i * steps[k]].length;
      const joined = roomForBytes(length);
      let at = 0;
      const write = (bytes: Uint8Array): void => {
        // Few bytes are sooner written than a call is made for them.
        if (bytes.length > 32) joined.set(bytes, at);
        else for (let j = 0; j < bytes.length; j++) joined[at + j] = bytes[j];
        at += bytes.length;
      };
      for (let k = 0; k < lists.length; k++) {
        if (k > 0) write(separator);
        write(lists[k][i * steps[k]]);
      }
      to[i] = joined;
    }
  },
});

/** Throws for elements that `AsString` cannot write. */
function checkFormat(dtype: DType, attrs: Attrs): void {
  const { precision, scientific, shortest, fill } = attrs, { kind, tfName } = DTYPES[dtype];
  const isCounted = kind === "int" || kind === "uint" || kind === "bool";
  if (fill.length > 1) refuse("Fill string must be one or fewer characters");
  if (!" +-0#".includes(fill)) refuse(`Fill argument not supported: "${fill}"`);
  if (scientific && shortest) refuse("Cannot select both scientific and shortest notation");
  if (isCounted && (scientific || shortest)) {
    refuse(`scientific and shortest format not supported for datatype ${tfName}`);
  }
  if (isCounted && precision >= 0) refuse(`precision not supported for datatype ${tfName}`);
}

/** Formats an element of any dtype as `AsString` does. */
function elementText(x: NdArray, i: number, format: NumberFormat): string {
  const value = x.at(i), { kind } = DTYPES[x.dtype];
  if (kind === "bool") return String(value);
  if (kind === "string") return padded(decodeString(value as Uint8Array), format);
  if (kind === "complex") {
    return `(${(value as [number, number]).map((v) => realText(v, format)).join()})`;
  }
  return kind === "float"
    ? realText(value as number, format)
    : wholeText(value as number, format, kind === "int");
}

export const AsString: OpDef = defineOp({
  name: "AsString",
  each: true,
  inputs: ["input: T"],
  outputs: ["output: string"],
  attrs: [
    "T: type",
    "precision: int = -1",
    "scientific: bool = false",
    "shortest: bool = false",
    "width: int = -1",
    'fill: string = ""',
  ],
  infer: ([x]) => [x.shape],
  grad: null,
  cpu: ([x], [out], { attrs }) => {
    checkFormat(x.dtype, attrs);
    const { precision, width, fill: flag, scientific, shortest } = attrs;
    const style = scientific ? "e" : shortest ? "g" : "f";
    const format: NumberFormat = { precision, width, flag, style };
    const to = out.data as Uint8Array[], isBare = x.dtype === "string" && attrs.width <= 0;
    // Strings may hold bytes that are no text.
    for (let i = 0; i < to.length; i++) {
      to[i] = isBare ? textsOf(x)[i] : encodeString(elementText(x, i, format));
    }
  },
});

/** Adds the parts of bytes between runs of ASCII's white space. */
function splitWords(text: Uint8Array, most: number, parts: Uint8Array[]): void {
  const end = text.length;
  let at = 0, count = 0;
  while (at < end && isSpace(text[at])) at++;
  for (; at < end && count < most; count++) {
    const from = at;
    while (at < end && !isSpace(text[at])) at++;
    parts.push(text.subarray(from, at));
    while (at < end && isSpace(text[at])) at++;
  }
  // The rest after the last split is a part, even if empty.
  if (count === most) parts.push(text.subarray(at));
}

/** Adds the parts of bytes between separators. */
function splitAt(text: Uint8Array, separator: Uint8Array, most: number, parts: Uint8Array[]): void {
  const { length } = separator;
  let from = 0, count = 0;
  for (let i = 0; i + length <= text.length && count < most;) {
    let k = 0;
    while (k < length && text[i + k] === separator[k]) k++;
    if (k < length) i++;
    else {
      parts.push(text.subarray(from, i));
      count++;
      from = i += length;
    }
  }
  parts.push(text.subarray(from));
}

export const StringSplitV2: OpDef = defineOp({
  name: "StringSplitV2",
  inputs: ["input: string", "sep: string"],
  outputs: ["indices: int64", "values: string", "shape: int64"],
  attrs: ["maxsplit: int = -1"],
  infer: ([, sep]) => {
    if (sep.shape !== null && sep.shape.length !== 0) {
      throw new ValueError(
        `Shape must be rank 0 but is rank ${sep.shape.length} for 'StringSplitV2'`,
      );
    }
    return [[null, 2], [null], [2]];
  },
  grad: null,
  cpu: ([x, sep], _, { attrs }) => {
    const [separator] = textsOf(sep), rows = textsOf(x);
    if (x.rank !== 1) refuse(`input must be a vector, got shape: ${shapeText(x.shape)}`);
    const most = attrs.maxsplit > 0 ? attrs.maxsplit : Infinity;
    const values: Uint8Array[] = [], ends = new Int32Array(rows.length);
    let longest = 0;
    for (let r = 0; r < rows.length; r++) {
      const before = values.length;
      if (separator.length === 0) splitWords(rows[r], most, values);
      else splitAt(rows[r], separator, most, values);
      ends[r] = values.length;
      longest = Math.max(longest, values.length - before);
    }
    // Row and column of each part, whose upper halves are 0.
    const at = new BigInt64Array(2 * values.length), halves = new Int32Array(at.buffer);
    for (let r = 0, i = 0; r < rows.length; r++) {
      for (let k = 0; i < ends[r]; i++, k++) {
        halves[4 * i] = r;
        halves[4 * i + 2] = k;
      }
    }
    return [
      new NdArray("int64", [values.length, 2], at),
      new NdArray("string", [values.length], values),
      wholeArray("int64", [rows.length, longest]),
    ];
  },
});
