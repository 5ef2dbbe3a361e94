/** Ops on texts: joined, matched and normalised. */
import { apply1 } from "../../../engine/core/apply.ts";
import { StaticRegexFullMatch } from "../../../engine/ops/text/text_ops.ts";
import { NdArray } from "../../../engine/core/nd_array.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import type { NodeCall } from "../../build/node_call.ts";
import { op, type OpEntry } from "../../build/rule.ts";
import { broadcastShape, put1 } from "../raw.ts";
import * as tf from "../../build/tf.ts";

const decoder = new TextDecoder(), encoder = new TextEncoder();

/** Reads the texts of the first input. */
export function textsOf(n: NodeCall): string[] {
  return (n.wantKnown(0).data as Uint8Array[]).map((bytes) => decoder.decode(bytes));
}

/** Makes an array of texts. */
export function textArray(shape: readonly number[], texts: readonly string[]): NdArray {
  return new NdArray("string", shape, texts.map((text) => encoder.encode(text)));
}

/** Joins the texts of two tensors, which are broadcast. */
function concat(n: NodeCall): Tensor {
  const [a, b] = n.xs, shape = broadcastShape(a, b);
  return put1("StringJoin", [a, b].map((x) => tf.broadcastTo(x, shape as never)));
}

/** Removes stop words and empty texts, and changes the case. */
function normalise(n: NodeCall): NdArray {
  const { attributes } = n, { shape } = n.wantKnown(0);
  if (shape.length > 2 || shape.length === 2 && shape[0] !== 1) {
    n.fail(`its input has shape [${shape}], wanted [C] or [1, C]`);
  }
  const action = attributes.text("case_change_action", "NONE");
  const change = (text: string): string =>
    action === "LOWER" ? text.toLowerCase() : action === "UPPER" ? text.toUpperCase() : text;
  const isExact = attributes.flag("is_case_sensitive");
  const fold = (text: string): string => isExact ? text : text.toLowerCase();
  const stops = new Set((attributes.texts("stopwords") ?? []).map(fold));
  const kept = textsOf(n).filter((text) => text !== "" && !stops.has(fold(text))).map(change);
  const found = kept.length === 0 ? [""] : kept;
  return textArray([...shape.slice(0, -1), found.length], found);
}

export const STRINGS: readonly OpEntry[] = [
  op(
    "RegexFullMatch",
    20,
    (n) => apply1(StaticRegexFullMatch, [n.x(0)], { pattern: n.attributes.text("pattern", "") }),
  ),
  op("StringConcat", 20, concat),
  op("StringNormalizer", 10, normalise),
];
