/** Converts strings to code points and back. Invalid bytes are split as in ICU. On the host. */
import { UnimplementedError } from "../../core/errors.ts";
import { type Attrs, defineOp, type OpDef } from "../../core/op.ts";
import { NdArray } from "../../core/nd_array.ts";
import { sizeOf } from "../../core/shape.ts";
import { encodeString } from "../../core/text.ts";
import { refuse, textsOf, wholeArray } from "../host/arrays.ts";
import { defineStringMap } from "./define_string_map.ts";

/** Gets each character: its code point, -1 for invalid bytes, and its first byte. */
type Visit = (code: number, start: number) => void;
type Decode = (bytes: Uint8Array, visit: Visit) => void;

const INVALID = -1;

/** Returns the number of bytes after a first byte of UTF-8, and the range of the next; null for no first byte. */
function utf8Head(byte: number): { readonly more: number; low: number; high: number } | null {
  if (byte >= 0xc2 && byte <= 0xdf) return { more: 1, low: 0x80, high: 0xbf };
  if (byte >= 0xe0 && byte <= 0xef) {
    return { more: 2, low: byte === 0xe0 ? 0xa0 : 0x80, high: byte === 0xed ? 0x9f : 0xbf };
  }
  if (byte >= 0xf0 && byte <= 0xf4) {
    return { more: 3, low: byte === 0xf0 ? 0x90 : 0x80, high: byte === 0xf4 ? 0x8f : 0xbf };
  }
  return null;
}

/** Decodes UTF-8. A character that is cut short is invalid as a whole; decoding continues after it. */
function decodeUtf8(bytes: Uint8Array, visit: Visit): void {
  for (let at = 0; at < bytes.length;) {
    const start = at, first = bytes[at++];
    const head = utf8Head(first);
    if (head === null) {
      visit(first < 0x80 ? first : INVALID, start);
      continue;
    }
    let code = first & (0x3f >> head.more), left = head.more, { low, high } = head;
    for (; left > 0 && bytes[at] >= low && bytes[at] <= high; left--) {
      code = code << 6 | bytes[at++] & 0x3f;
      [low, high] = [0x80, 0xbf];
    }
    visit(left === 0 ? code : INVALID, start);
  }
}

const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit < 0xe000;

function decodeUtf16(bytes: Uint8Array, visit: Visit): void {
  const unit = (at: number): number =>
    at + 1 < bytes.length ? bytes[at] << 8 | bytes[at + 1] : INVALID;
  for (let at = 0; at < bytes.length; at += 2) {
    const high = unit(at), low = unit(at + 2);
    if (!isSurrogate(high)) visit(high, at);
    else if (high < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
      visit(0x10000 + ((high - 0xd800) << 10 | low - 0xdc00), at);
      at += 2;
    } else visit(INVALID, at);
  }
}

function decodeUtf32(bytes: Uint8Array, visit: Visit): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < bytes.length; at += 4) {
    const code = at + 4 <= bytes.length ? view.getUint32(at) : INVALID;
    visit(code > 0x10ffff || isSurrogate(code) ? INVALID : code, at);
  }
}

/** Decodes one byte per character; those from `end` on are invalid. */
const bytewise = (end: number): Decode => (bytes, visit) =>
  bytes.forEach((byte, i) => visit(byte < end ? byte : INVALID, i));

const ENCODINGS: ReadonlyMap<string, Decode> = new Map([
  ["UTF8", decodeUtf8],
  ["UTF16BE", decodeUtf16],
  ["UTF32BE", decodeUtf32],
  ["USASCII", bytewise(0x80)],
  ["ASCII", bytewise(0x80)],
  ["ISO88591", bytewise(0x100)],
  ["LATIN1", bytewise(0x100)],
]);

function decoderOf(encoding: string): Decode {
  const found = ENCODINGS.get(encoding.toUpperCase().replace(/[-_ ]/g, ""));
  if (found !== undefined) return found;
  throw new UnimplementedError(
    `Cannot decode strings from "${encoding}": it is none of UTF-8, UTF-16-BE, UTF-32-BE, US-ASCII and ISO-8859-1`,
  );
}

function defineDecode(name: string, hasOffsets: boolean): OpDef {
  return defineOp({
    name,
    inputs: ["input: string"],
    outputs: [
      "row_splits: Tsplits",
      "char_values: int32",
      ...(hasOffsets ? ["char_to_byte_starts: int64"] : []),
    ],
    attrs: [
      "input_encoding: string",
      'errors: string = "replace"',
      "replacement_char: int = 65533",
      "replace_control_characters: bool = false",
      "Tsplits: index = int64",
    ],
    infer: ([{ shape }]) => {
      const known = shape !== null && shape.every((d) => d !== null);
      const splits = [known ? sizeOf(shape as number[]) + 1 : null];
      return [splits, [null], ...(hasOffsets ? [[null]] : [])];
    },
    grad: null,
    cpu: ([input], _, { attrs }) => {
      const decode = decoderOf(attrs.input_encoding);
      const codes: number[] = [], starts: number[] = [], splits = [0];
      for (const text of textsOf(input)) {
        for (const [code, start] of codesOf(text, decode, attrs)) {
          codes.push(code);
          starts.push(start);
        }
        splits.push(codes.length);
      }
      return [
        wholeArray(attrs.Tsplits, splits),
        wholeArray("int32", codes),
        ...(hasOffsets ? [wholeArray("int64", starts)] : []),
      ];
    },
  });
}

export const UnicodeDecode: OpDef = defineDecode("UnicodeDecode", false);
export const UnicodeDecodeWithOffsets: OpDef = defineDecode("UnicodeDecodeWithOffsets", true);

/** Reads a string's characters, where invalid bytes are replaced, left out or refused. */
function codesOf(text: Uint8Array, decode: Decode, attrs: Attrs): [code: number, start: number][] {
  const found: [number, number][] = [];
  decode(text, (code, start) => {
    if (code === INVALID || (attrs.replace_control_characters && code < 0x20)) {
      if (attrs.errors === "strict") refuse("Invalid formatting on input string");
      if (attrs.errors === "ignore") return;
      code = attrs.replacement_char;
    }
    found.push([code, start]);
  });
  return found;
}

type Encode = (code: number) => readonly number[];

const ENCODERS: Readonly<Record<string, Encode>> = {
  "UTF-8": (code) => [...encodeString(String.fromCodePoint(code))],
  "UTF-16-BE": (code) => {
    const text = String.fromCodePoint(code);
    return Array.from(
      { length: text.length * 2 },
      (_, i) => text.charCodeAt(i >> 1) >> (i & 1 ? 0 : 8) & 0xff,
    );
  },
  "UTF-32-BE": (code) => [0, code >> 16, code >> 8 & 0xff, code & 0xff],
};

function encoderOf(encoding: string): Encode {
  return ENCODERS[encoding] ?? refuse(
    `Cannot encode strings in "${encoding}": it is none of ${Object.keys(ENCODERS)}`,
  );
}

export const UnicodeTranscode: OpDef = defineStringMap(
  "UnicodeTranscode",
  {
    attrs: [
      "input_encoding: string",
      "output_encoding: string",
      'errors: string = "replace"',
      "replacement_char: int = 65533",
      "replace_control_characters: bool = false",
    ],
  },
  (attrs) => {
    const decode = decoderOf(attrs.input_encoding), encode = encoderOf(attrs.output_encoding);
    return (text) =>
      Uint8Array.from(codesOf(text, decode, attrs).flatMap(([code]) => [...encode(code)]));
  },
);

/** Throws `InvalidArgumentError` for splits that do not part `count` values. */
function checkSplits(splits: readonly number[], count: number): void {
  if (splits.length === 0) {
    refuse(`Input_splits should contain elements, but given input_values has ${count} elements`);
  }
  if (splits[0] !== 0) refuse("First value in input_splits must be zero");
  if (splits.some((v, i) => v < splits[i - 1])) {
    refuse("Values in input_splits must be equal or in ascending order");
  }
  if (splits.at(-1) !== count) {
    refuse("Last value in input_splits must be equal to length of input_tensor");
  }
}

export const UnicodeEncode: OpDef = defineOp({
  name: "UnicodeEncode",
  inputs: ["input_values: int32", "input_splits: Tsplits"],
  outputs: ["output: string"],
  attrs: [
    'errors: string = "replace"',
    "output_encoding: string",
    "replacement_char: int = 65533",
    "Tsplits: index = int64",
  ],
  infer: ([, { shape }]) => [[shape?.[0] ? shape[0] - 1 : null]],
  grad: null,
  cpu: ([values, rows], _, { attrs }) => {
    const encode = encoderOf(attrs.output_encoding);
    const splits = Array.from(rows.data as Int32Array, Number);
    checkSplits(splits, values.size);
    const codes = values.data as Int32Array;
    const bytesOf = (code: number): readonly number[] => {
      if (code >= 0 && code <= 0x10ffff && !isSurrogate(code)) return encode(code);
      if (attrs.errors === "strict") {
        refuse(`Code point is out of range for Unicode, or is a surrogate: ${code}`);
      }
      return attrs.errors === "ignore" ? [] : encode(attrs.replacement_char);
    };
    const texts = splits.slice(1).map((end, r) =>
      Uint8Array.from(Array.from(codes.subarray(splits[r], end)).flatMap(bytesOf))
    );
    return [new NdArray("string", [texts.length], texts)];
  },
});
