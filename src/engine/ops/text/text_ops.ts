/** String ops: joining, matching, cases, numbers in text. On the host. */
import { decodeString, encodeString, joinBytes } from "../../core/text.ts";
import { type DType, DTYPES } from "../../core/dtype.ts";
import { type Attrs, defineOp, type OpDef } from "../../core/op.ts";
import { NdArray } from "../../core/nd_array.ts";
import { mergeShapes } from "../../core/shape.ts";
import {
  type NumberFormat,
  padded,
  parseNumber,
  realText,
  wholeText,
} from "../../kernels/host/text/number_text.ts";
import { regexOf, replaceRegex } from "../../kernels/host/text/regex.ts";
import { refuse, textsOf, wholeArray } from "../host/arrays.ts";
import { defineStringMap } from "./define_string_map.ts";
import { ValueError } from "../../core/errors.ts";

const withCase = { attrs: ['encoding: string = ""'] };

export const StringLower: OpDef = defineStringMap(
  "StringLower",
  withCase,
  ({ encoding }) =>
    encoding === "utf-8"
      ? (s) => encodeString(decodeString(s).toLowerCase())
      : (s) => s.map((b) => (b >= 65 && b <= 90 ? b + 32 : b)),
);
export const StringUpper: OpDef = defineStringMap(
  "StringUpper",
  withCase,
  ({ encoding }) =>
    encoding === "utf-8"
      ? (s) => encodeString(decodeString(s).toUpperCase())
      : (s) => s.map((b) => (b >= 97 && b <= 122 ? b - 32 : b)),
);

const isSpace = (b: number): boolean => b === 32 || b >= 9 && b <= 13;

export const StringStrip: OpDef = defineStringMap("StringStrip", {}, () => (text) => {
  let from = 0, to = text.length;
  while (from < to && isSpace(text[from])) from++;
  while (to > from && isSpace(text[to - 1])) to--;
  return text.subarray(from, to);
});

export const StaticRegexFullMatch: OpDef = defineStringMap(
  "StaticRegexFullMatch",
  { output: "bool", attrs: ["pattern: string"] },
  ({ pattern }) => {
    const regex = regexOf(`^(?:${pattern})$`, "");
    return (s) => Number(regex.test(decodeString(s)));
  },
);

/** The same with the pattern as an input. */
export const RegexFullMatch: OpDef = defineStringMap(
  "RegexFullMatch",
  { inputs: ["input: string", "pattern: string"], output: "bool" },
  (_, texts) => {
    const [pattern] = texts.map((x) => decodeString(textsOf(x)[0]));
    const regex = regexOf(`^(?:${pattern})$`, "");
    return (s) => Number(regex.test(decodeString(s)));
  },
);

export const StringLength: OpDef = defineStringMap(
  "StringLength",
  { output: "int32", attrs: ['unit: string = "BYTE"'] },
  ({ unit }) => unit === "UTF8_CHAR" ? (s) => [...decodeString(s)].length : (s) => s.length,
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
    return (s) => replaceRegex(s, { pattern, rewrite, all });
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
    for (let i = 0; i < to.length; i++) {
      to[i] = joinBytes(xs.map((x) => textsOf(x)[x.rank === 0 ? 0 : i]), separator);
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

/** Splits bytes at runs of ASCII's white space. */
function splitWords(text: Uint8Array, most: number): Uint8Array[] {
  const parts: Uint8Array[] = [], end = text.length;
  let at = 0;
  const pass = (space: boolean): void => {
    while (at < end && isSpace(text[at]) === space) at++;
  };
  pass(true);
  while (at < end && parts.length < most) {
    const from = at;
    pass(false);
    parts.push(text.subarray(from, at));
    pass(true);
  }
  // The rest after the last split is a part, even if empty.
  return parts.length === most ? [...parts, text.subarray(at)] : parts;
}

/** Splits bytes at a separator. */
function splitAt(text: Uint8Array, separator: Uint8Array, most: number): Uint8Array[] {
  const parts: Uint8Array[] = [];
  let from = 0;
  for (let i = 0; i + separator.length <= text.length && parts.length < most;) {
    if (!separator.every((byte, k) => text[i + k] === byte)) i++;
    else {
      parts.push(text.subarray(from, i));
      from = i += separator.length;
    }
  }
  return [...parts, text.subarray(from)];
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
    const [separator] = textsOf(sep);
    const most = attrs.maxsplit > 0 ? attrs.maxsplit : Infinity;
    const rows = textsOf(x).map((s) =>
      separator.length === 0 ? splitWords(s, most) : splitAt(s, separator, most)
    );
    const at = rows.flatMap((parts, r) => parts.flatMap((_, k) => [r, k]));
    const values = rows.flat();
    const longest = rows.reduce((n, parts) => Math.max(n, parts.length), 0);
    return [
      wholeArray("int64", at, [values.length, 2]),
      new NdArray("string", [values.length], values),
      wholeArray("int64", [rows.length, longest]),
    ];
  },
});
