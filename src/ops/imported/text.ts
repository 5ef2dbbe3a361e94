/**
 * Ops on strings that only files have: joining, matching, cases, numbers in text. They run on the host.
 */
import { decodeString, encodeString } from "../../core/text.ts";
import { InvalidArgumentError } from "../../core/errors.ts";
import { defineOp } from "../../core/op.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { mergeShapes } from "../../core/shape.ts";

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

/** A pattern of RE2 as one of JavaScript's. */
function regexOf(pattern: string, flags: string): RegExp {
  try {
    return new RegExp(pattern, flags);
  } catch (cause) {
    throw new InvalidArgumentError(`Invalid pattern: ${pattern}`, { cause });
  }
}

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
      const parts = xs.flatMap((x, k) => {
        const text = textsOf(x)[x.rank === 0 ? 0 : i];
        return k === 0 ? [text] : [separator, text];
      });
      to[i] = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
      let at = 0;
      for (const p of parts) {
        to[i].set(p, at);
        at += p.length;
      }
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
    const isWhole = attrs.out_type === "int32" || attrs.out_type === "int64";
    textsOf(x).forEach((s, i) => {
      const text = decodeString(s).trim();
      const isNumber = isWhole
        ? /^[-+]?\d+$/.test(text)
        : /^[-+]?(\d+\.?\d*(e[-+]?\d+)?|\.\d+(e[-+]?\d+)?|inf(inity)?|nan)$/i.test(text);
      if (!isNumber) {
        throw new InvalidArgumentError(
          `StringToNumberOp could not correctly convert string: ${text}`,
          { op: "StringToNumber" },
        );
      }
      to[i] = attrs.out_type === "int64"
        ? BigInt(text)
        : Number(text.replace(/^([-+]?)inf.*$/i, "$1Infinity"));
    });
  },
});
