/** Ops from texts and encoded images to tokens, counts, labels and pixels. */
import { NdArray } from "../../../engine/core/nd_array.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import type { NodeCall } from "../../build/node_call.ts";
import { op, type OpEntry } from "../../build/rule.ts";
import { knownInt64 } from "../shapes.ts";
import { textArray, textsOf } from "./strings.ts";
import { decodeImage as decoded } from "../../../library/io/image_ops.ts";
import * as tf from "../../build/tf.ts";

const decoder = new TextDecoder(), encoder = new TextEncoder();

/** Splits a text at most `most` times; without a delimiter at runs of spaces. */
function pieces(text: string, delimiter: string, most: number): string[] {
  if (delimiter === "") {
    const found: string[] = [];
    let rest = text.trim();
    while (rest !== "") {
      const [, word, behind] = found.length < most
        ? /^(\S+)\s*(.*)$/su.exec(rest)!
        : ["", rest, ""];
      found.push(word);
      rest = behind;
    }
    return found;
  }
  const parts = text.split(delimiter);
  if (parts.length <= most + 1) return parts;
  return [...parts.slice(0, most), parts.slice(most).join(delimiter)];
}

function split(n: NodeCall): NdArray[] {
  const { attributes } = n,
    { shape } = n.wantKnown(0),
    delimiter = attributes.text("delimiter", "");
  const most = attributes.has("maxsplit") ? attributes.int("maxsplit", 0) : Infinity;
  const rows = textsOf(n).map((text) => pieces(text, delimiter, most));
  const width = rows.reduce((w, row) => Math.max(w, row.length), 0);
  const padded = rows.flatMap((row) => Array.from({ length: width }, (_, i) => row[i] ?? ""));
  return [
    textArray([...shape, width], padded),
    knownInt64(rows.map((row) => row.length), shape),
  ];
}

/** Counts the n-grams of a pool in each row, with up to a number of skipped items between neighbours. */
function countNGrams(n: NodeCall): NdArray {
  const { attributes } = n, { shape } = n.wantKnown(0);
  const items: readonly (string | number)[] = n.dtype(0) === "string" ? textsOf(n) : n.wantInts(0);
  const pool: readonly (string | number)[] = attributes.texts("pool_strings") ??
    attributes.ints("pool_int64s") ?? n.fail("it has no pool");
  const starts = attributes.ints("ngram_counts") ?? [],
    places = attributes.ints("ngram_indexes") ?? [];
  const least = attributes.int("min_gram_length", 1), most = attributes.int("max_gram_length", 1);
  const skips = attributes.int("max_skip_count", 0), weights = attributes.floats("weights");
  const numbers = new Map<string, number>();
  const keyOf = (gram: readonly (string | number)[]): string => JSON.stringify(gram);
  let number = 0;
  starts.forEach((start, i) => {
    const end = starts[i + 1] ?? pool.length;
    for (let at = start; at + i < end; at += i + 1) {
      numbers.set(keyOf(pool.slice(at, at + i + 1)), number++);
    }
  });
  const width = Math.max(-1, ...places) + 1, length = shape.at(-1) ?? 1;
  const rows = shape.length < 2 ? 1 : shape[0], out = new Float32Array(rows * width);
  const mode = attributes.text("mode", "TF");
  // Skips between single items make no difference.
  const stepsOf = (size: number): number => size === 1 ? 1 : skips + 1;
  for (let row = 0; row < rows; row++) {
    const own = items.slice(row * length, (row + 1) * length);
    for (let size = least; size <= most; size++) {
      for (let step = 1; step <= stepsOf(size); step++) {
        for (let from = 0; from + (size - 1) * step < length; from++) {
          const gram = Array.from({ length: size }, (_, i) => own[from + i * step]);
          const found = numbers.get(keyOf(gram));
          if (found === undefined) continue;
          const at = row * width + places[found],
            weight = mode === "TF" ? 1 : weights?.[found] ?? 1;
          if (mode === "IDF") out[at] = weight;
          else out[at] += weight;
        }
      }
    }
  }
  return new NdArray("float32", [...shape.slice(0, -1), width], out);
}

/** Maps each element by a table of keys and values. */
function encodeLabels(n: NodeCall): NdArray {
  const { attributes } = n, input = n.wantKnown(0);
  const listOf = (name: string): { data: ArrayLike<unknown>; like: NdArray } | null => {
    const tensor = attributes.tensor(`${name}_tensor`)?.array;
    if (tensor !== undefined) return { data: tensor.data, like: tensor };
    const texts = attributes.byteStrings(`${name}_strings`);
    if (texts !== undefined && texts.length > 0) {
      return { data: texts, like: new NdArray("string", [texts.length], [...texts]) };
    }
    const whole = attributes.ints(`${name}_int64s`);
    if (whole !== undefined && whole.length > 0) {
      const like = knownInt64(whole, [whole.length]);
      return { data: like.data, like };
    }
    const reals = attributes.floats(`${name}_floats`);
    if (reals === undefined || reals.length === 0) return null;
    const like = new NdArray("float32", [reals.length], Float32Array.from(reals));
    return { data: like.data, like };
  };
  const keys = listOf("keys") ?? n.fail("it has no keys");
  const values = listOf("values") ?? n.fail("it has no values"), { dtype } = values.like;
  const nameOf = (key: unknown): string =>
    key instanceof Uint8Array ? decoder.decode(key) : String(Number(key));
  const table = new Map(Array.from(keys.data, (key, i) => [nameOf(key), values.data[i]]));
  const given = attributes.tensor("default_tensor")?.array.data[0];
  const otherwise = given ??
    (dtype === "string"
      ? encoder.encode(attributes.text("default_string", "_Unused"))
      : dtype === "int64"
      ? attributes.raw("default_int64")?.i ?? -1n
      : dtype === "float32"
      ? attributes.float("default_float", -0)
      : 0);
  const found = Array.from(
    input.data as ArrayLike<unknown>,
    (key) => table.has(nameOf(key)) ? table.get(nameOf(key)) : otherwise,
  );
  if (dtype === "string") return new NdArray("string", input.shape, found as Uint8Array[]);
  const out = NdArray.zeros(dtype, input.shape);
  found.forEach((value, i) => (out.data as { [i: number]: unknown })[i] = value);
  return out;
}

/** Decodes the bytes of an image in a format of `decodeImage`. */
function decodeImage(n: NodeCall): Tensor {
  const { data } = n.wantKnown(0), format = n.attributes.text("pixel_format", "RGB");
  const channels = format === "Grayscale" ? 1 : 3;
  const image = decoded(Uint8Array.from(data as Uint8Array), { channels });
  return format === "BGR" ? tf.reverse(image, -1) : image;
}

export const TOKENS: readonly OpEntry[] = [
  op("ImageDecoder", 20, decodeImage, { folds: false }),
  op("LabelEncoder", 2, encodeLabels, { domain: "ai.onnx.ml" }),
  op("StringSplit", 20, split, { grows: true }),
  op("TfIdfVectorizer", 9, countNGrams),
];
