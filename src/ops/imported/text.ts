/**
 * Ops on strings that only files have: joining, matching, cases, numbers in text. They run on the host.
 */
import { decodeString, encodeString, joinBytes } from "../../core/text.ts";
import { type DType, DTYPES } from "../../core/dtype.ts";
import { InvalidArgumentError } from "../../core/errors.ts";
import { type Attrs, defineOp } from "../../core/op.ts";
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

const textsOf = (a: NdArray): Uint8Array[] => a.data as Uint8Array[];

/** An op that makes a string of each string. */
function defineTextMap(
  name: string,
  attrs: readonly string[],
  map: (text: Uint8Array, attrs: Readonly<Record<string, unknown>>) => Uint8Array,
): void {
  defineOp({
    name,
    inputs: ["input: string"],
    outputs: ["output: string"],
    attrs: [...attrs],
    infer: ([x]) => [x.shape],
    grad: null,
    cpu: ([x], [out], { attrs }) => {
      const to = out.data as Uint8Array[];
      textsOf(x).forEach((s, i) => to[i] = map(s, attrs));
    },
  });
}

/** A change of case: of ASCII letters where there is no encoding, as TensorFlow has it. */
function changed(
  text: Uint8Array,
  encoding: unknown,
  { ascii, utf8 }: {
    readonly ascii: (byte: number) => number;
    readonly utf8: (s: string) => string;
  },
): Uint8Array {
  return encoding === "utf-8" ? encodeString(utf8(decodeString(text))) : text.map(ascii);
}

defineTextMap(
  "StringLower",
  ['encoding: string = ""'],
  (text, { encoding }) =>
    changed(text, encoding, {
      ascii: (b) => (b >= 65 && b <= 90 ? b + 32 : b),
      utf8: (s) => s.toLowerCase(),
    }),
);
defineTextMap(
  "StringUpper",
  ['encoding: string = ""'],
  (text, { encoding }) =>
    changed(text, encoding, {
      ascii: (b) => (b >= 97 && b <= 122 ? b - 32 : b),
      utf8: (s) => s.toUpperCase(),
    }),
);

const isSpace = (b: number): boolean => b === 32 || b >= 9 && b <= 13;

defineTextMap("StringStrip", [], (text) => {
  let from = 0, to = text.length;
  while (from < to && isSpace(text[from])) from++;
  while (to > from && isSpace(text[to - 1])) to--;
  return text.subarray(from, to);
});

defineOp({
  name: "StaticRegexFullMatch",
  inputs: ["input: string"],
  outputs: ["output: bool"],
  attrs: ["pattern: string"],
  infer: ([x]) => [x.shape],
  grad: null,
  cpu: ([x], [out], { attrs }) => {
    const regex = regexOf(`^(?:${attrs.pattern})$`, "");
    const to = out.data as Uint8Array;
    textsOf(x).forEach((s, i) => to[i] = regex.test(decodeString(s)) ? 1 : 0);
  },
});

defineOp({
  name: "StringJoin",
  inputs: ["inputs: N * string"],
  outputs: ["output: string"],
  attrs: ["N: int >= 1", 'separator: string = ""'],
  infer: (xs) => {
    // Scalars go with every element of the others.
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

defineOp({
  name: "StringLength",
  inputs: ["input: string"],
  outputs: ["output: int32"],
  attrs: ['unit: string = "BYTE"'],
  infer: ([x]) => [x.shape],
  grad: null,
  cpu: ([x], [out], { attrs }) => {
    const to = out.data as Int32Array;
    const length = (s: Uint8Array): number =>
      attrs.unit === "UTF8_CHAR" ? [...decodeString(s)].length : s.length;
    textsOf(x).forEach((s, i) => to[i] = length(s));
  },
});

defineOp({
  name: "StringToNumber",
  inputs: ["string_tensor: string"],
  outputs: ["output: out_type"],
  attrs: ["out_type: {float32, float64, int32, int64} = float32"],
  infer: ([x]) => [x.shape],
  grad: null,
  cpu: ([x], [out], { attrs }) => {
    const to = out.data as { [i: number]: number | bigint };
    textsOf(x).forEach((s, i) => {
      const text = decodeString(s), value = parseNumber(text, attrs.out_type);
      if (value === null) {
        throw new InvalidArgumentError(
          `StringToNumberOp could not correctly convert string: ${text}`,
          { op: "StringToNumber" },
        );
      }
      to[i] = value;
    });
  },
});

defineOp({
  name: "RegexReplace",
  inputs: ["input: string", "pattern: string", "rewrite: string"],
  outputs: ["output: string"],
  attrs: ["replace_global: bool = true"],
  infer: ([x]) => [x.shape],
  grad: null,
  cpu: ([x, pattern, rewrite], [out], { attrs }) => {
    const to = out.data as Uint8Array[];
    const options = {
      pattern: decodeString(textsOf(pattern)[0]),
      rewrite: decodeString(textsOf(rewrite)[0]),
      all: attrs.replace_global,
    };
    textsOf(x).forEach((s, i) => to[i] = replaceRegex(s, options));
  },
});

/** Refuses what `AsString` cannot write. */
function checkFormat(dtype: DType, attrs: Attrs): void {
  const { precision, scientific, shortest, fill } = attrs, { kind, tfName } = DTYPES[dtype];
  const isCounted = kind === "int" || kind === "uint" || kind === "bool";
  const refuse = (why: string): never => {
    throw new InvalidArgumentError(why, { op: "AsString" });
  };
  if (fill.length > 1) refuse("Fill string must be one or fewer characters");
  if (!" +-0#".includes(fill)) refuse(`Fill argument not supported: "${fill}"`);
  if (scientific && shortest) refuse("Cannot select both scientific and shortest notation");
  if (isCounted && (scientific || shortest)) {
    refuse(`scientific and shortest format not supported for datatype ${tfName}`);
  }
  if (isCounted && precision >= 0) refuse(`precision not supported for datatype ${tfName}`);
}

/** An element of any dtype as `AsString` writes it. */
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

defineOp({
  name: "AsString",
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

/** The parts of a string between separators; between runs of white space where there is none. */
function splitText(text: string, separator: string, maxsplit: number): string[] {
  const most = maxsplit > 0 ? maxsplit : Infinity;
  const parts: string[] = [];
  if (separator !== "") {
    const all = text.split(separator);
    return all.length <= most ? all : [...all.slice(0, most), all.slice(most).join(separator)];
  }
  let rest = text.trimStart();
  while (rest !== "" && parts.length < most) {
    const [token] = /^\S+/.exec(rest)!;
    parts.push(token);
    rest = rest.slice(token.length).trimStart();
  }
  // What is left after the last split is a part, be it empty.
  return parts.length === most ? [...parts, rest] : parts;
}

defineOp({
  name: "StringSplitV2",
  inputs: ["input: string", "sep: string"],
  outputs: ["indices: int64", "values: string", "shape: int64"],
  attrs: ["maxsplit: int = -1"],
  infer: () => [[null, 2], [null], [2]],
  grad: null,
  cpu: ([x, sep], _, { attrs }) => {
    const separator = decodeString(textsOf(sep)[0]);
    const rows = textsOf(x).map((s) => splitText(decodeString(s), separator, attrs.maxsplit));
    const at = rows.flatMap((parts, r) => parts.flatMap((_, k) => [BigInt(r), BigInt(k)]));
    const values = rows.flat().map(encodeString);
    const most = rows.reduce((n, parts) => Math.max(n, parts.length), 0);
    return [
      new NdArray("int64", [values.length, 2], BigInt64Array.from(at)),
      new NdArray("string", [values.length], values),
      new NdArray("int64", [2], BigInt64Array.of(BigInt(rows.length), BigInt(most))),
    ];
  },
});
