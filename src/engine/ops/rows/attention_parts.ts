/** Attention as the ops that it is made of, in the order in which passes find them. */
import { compose, type OpInput } from "../../core/apply.ts";
import { toNdArray } from "../../core/convert.ts";
import { isShort } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { shapeText } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { onesOfTensor } from "../array/fill_ops.ts";
import { transpose } from "../array/move.ts";
import { range } from "../array/ranges.ts";
import { slice } from "../array/slice.ts";
import { expandDims, reshape, shape as shapeOf, squeeze } from "../array/view.ts";
import { asTensor, shapeOfInput } from "../input.ts";
import { matMul } from "../linalg/matmul.ts";
import { add, div, mul, sub } from "../pointwise/arithmetic.ts";
import { greaterEqual, less, lessEqual } from "../pointwise/compare.ts";
import { logicalAnd } from "../pointwise/logical.ts";
import { where } from "../pointwise/select.ts";
import { tanh } from "../pointwise/trigonometric.ts";
import type { Seed } from "../random/state.ts";
import { logSumExp } from "../reduce/reduce_derived.ts";
import { cumsum } from "../reduce/scan.ts";
import { dropout } from "./dropout.ts";
import { softmax } from "./softmax.ts";
import { brief } from "../../core/text.ts";

/** A score this low weighs nothing beside others of causal attention: the lowest of float16. */
const LATER = -65504;
/** A score this low weighs nothing beside any other, additive masks included. */
const HIDDEN = -1e30;

/** Settings of an attention. */
export interface AttentionParts {
  readonly scale: number;
  readonly causal: boolean;
  readonly mask?: OpInput | undefined;
  readonly bias?: OpInput | undefined;
  readonly keyLengths?: OpInput | undefined;
  readonly softcap?: number | undefined;
  readonly window?: number | readonly [number, number] | undefined;
  readonly dropout?: number;
  readonly seed?: Seed | null | undefined;
  readonly returnLogSumExp?: boolean;
}

/** Queries, keys and values: `[batch, time, heads, depth]`. */
interface Operands {
  readonly q: OpInput;
  readonly k: OpInput;
  readonly v: OpInput;
}

/** Result of an attention with its normalisation. */
export interface AttentionResult {
  /** Weighted means of values: `[batch, time, heads, depth]`. */
  readonly output: Tensor;
  /** Logarithms of the sums of exponentials of scores: `[batch, time, heads]`. */
  readonly logSumExp: Tensor;
}

type Extent = number | Tensor;

/** Extents, as tensors where they are not known. */
function extentsOf(x: OpInput): Extent[] {
  const known = shapeOfInput(x)!;
  return known.map((d, i) => d ?? reshape(slice(shapeOf(x), [i], [1]), []));
}

/** Attends in ordinary ops. Computes in float32 where operands are short floats, and rounds once. */
export function composedAttention(
  operands: Operands,
  parts: AttentionParts,
): { readonly output: Tensor; readonly logSumExp: Tensor | null } {
  const { dtype } = operands.q;
  if (!isShort(dtype)) return attend(operands, parts);
  return compose(() => {
    const [q, k, v] = [operands.q, operands.k, operands.v].map((x) => cast(x, "float32"));
    const made = attend({ q, k, v }, parts);
    return { output: cast(made.output, dtype), logSumExp: made.logSumExp };
  });
}

function attend(
  { q, k, v }: Operands,
  parts: AttentionParts,
): { readonly output: Tensor; readonly logSumExp: Tensor | null } {
  return compose(() => {
    const { scale, causal, softcap, returnLogSumExp = false } = parts;
    const heads = shapeOfInput(q)?.[2] ?? null, groups = shapeOfInput(k)?.[2] ?? heads;
    const isGrouped = heads !== null && groups !== null && heads !== groups;
    // A single head is moved to the front without a copy.
    const isSingle = [q, k, v].every((x) => shapeOfInput(x)?.[2] === 1);
    const swap = (x: OpInput, from: number, to: number): Tensor =>
      isSingle ? expandDims(squeeze(x, [from]), to) : transpose(x, [0, 2, 1, 3]);
    const group = isGrouped ? { groups, each: heads / groups } : null;
    const queries = group ? groupedHeads(q, group) : swap(q, 2, 1);
    const [keys, values] = [k, v].map((x) => group ? expandDims(swap(x, 2, 1), 2) : swap(x, 2, 1));
    let scores = mul(matMul(queries, keys, false, true), scale);
    if (softcap !== undefined) scores = mul(tanh(div(scores, softcap)), softcap);
    const rank = scores.rank;
    const wide = (x: OpInput): Tensor => spread(x, group);
    const { mask, bias } = parts;
    for (const added of [bias, mask]) {
      if (added !== undefined && added.dtype !== "bool") {
        scores = add(scores, cast(wide(added), scores.dtype));
      }
    }
    const [n, m] = [shapeOfInput(q)?.[1] ?? null, shapeOfInput(k)?.[1] ?? null];
    const seen: Tensor[] = [];
    if (mask?.dtype === "bool") seen.push(wide(mask));
    if (parts.keyLengths !== undefined) seen.push(withinLengths(parts.keyLengths, scores, m));
    const distance = causal || parts.window !== undefined ? distances(scores, n, m) : null;
    if (parts.window !== undefined) seen.push(inWindow(distance!, parts.window));
    let isSeen: Tensor | null = seen.length === 0 ? null : seen.reduce((a, b) => logicalAnd(a, b));
    const low = (value: number) => toNdArray(value, { dtype: scores.dtype });
    if (isSeen) scores = where(isSeen, scores, low(HIDDEN));
    if (causal) {
      const past = greaterEqual(distance!, 0);
      scores = where(past, scores, low(isSeen ? HIDDEN : LATER));
      if (isSeen) isSeen = logicalAnd(isSeen, past);
    }
    let weights = softmax(scores);
    // A query that sees no key would see all of them.
    if (isSeen) weights = where(isSeen, weights, toNdArray(0, { dtype: weights.dtype }));
    if (parts.dropout) weights = dropout(weights, parts.dropout, null, parts.seed);
    const found = matMul(weights, values);
    const output = group ? joinedHeads(found, group) : swap(found, 1, 2);
    if (!returnLogSumExp) return { output, logSumExp: null };
    const sums = logSumExp(scores, -1), none = toNdArray(-Infinity, { dtype: sums.dtype });
    const finite = isSeen ? where(less(sums, HIDDEN / 2), none, sums) : sums;
    // From [batch, …heads, time] to [batch, time, …heads].
    const order = [0, rank - 2, ...Array.from({ length: rank - 3 }, (_, i) => i + 1)];
    const turned = transpose(finite, order);
    return { output, logSumExp: group ? joined(turned, group) : turned };
  });
}

interface Group {
  readonly groups: number;
  readonly each: number;
}

/** From `[batch, time, heads, depth]` to `[batch, groups, heads of each, time, depth]`. */
function groupedHeads(x: OpInput, { groups, each }: Group): Tensor {
  const [batch, time, , depth] = extentsOf(x);
  return transpose(reshape(x, [batch, time, groups, each, depth]), [0, 2, 3, 1, 4]);
}

/** From `[batch, groups, heads of each, time, depth]` to `[batch, time, heads, depth]`. */
function joinedHeads(x: Tensor, group: Group): Tensor {
  return joined(transpose(x, [0, 3, 1, 2, 4]), group);
}

/** Makes one axis of the two of heads, the third and the fourth. */
function joined(x: Tensor, { groups, each }: Group): Tensor {
  const extents = extentsOf(x);
  return reshape(x, [...extents.slice(0, 2), groups * each, ...extents.slice(4)]);
}

/** Gives a mask of heads the axes of scores. */
function spread(mask: OpInput, group: Group | null): Tensor {
  const known = shapeOfInput(mask)!, at = known.length - 3;
  if (group === null || at < 0) return asTensor(mask);
  if (known[at] === 1) return expandDims(mask, at + 1);
  const extents = extentsOf(mask);
  return reshape(mask, [
    ...extents.slice(0, at),
    group.groups,
    group.each,
    ...extents.slice(at + 1),
  ]);
}

/** True for keys of an example that are no padding: `[batch, 1, …, keys]`. */
function withinLengths(lengths: OpInput, scores: Tensor, m: number | null): Tensor {
  const known = shapeOfInput(lengths);
  if (known !== null && known.length !== 1) {
    throw new ValueError(
      `Cannot attend: keyLengths must have shape [batch], received ${shapeText(known)}`,
    );
  }
  const each = reshape(cast(lengths, "int32"), [-1, ...new Array(scores.rank - 1).fill(1)]);
  if (m !== null) return less(range(0, m, 1, "int32"), each);
  const ones = cast(onesOfTensor(scores), "int32");
  return lessEqual(cumsum(ones, scores.rank - 1), each);
}

/** Place of each query less that of each key, both counted from the end: `[queries, keys]`. */
function distances(scores: Tensor, n: number | null, m: number | null): Tensor {
  if (n !== null && m !== null) {
    const rows = add(reshape(range(0, n, 1, "int32"), [n, 1]), m - n);
    return sub(rows, reshape(range(0, m, 1, "int32"), [1, m]));
  }
  const ones = cast(onesOfTensor(scores), "int32"), { rank } = scores;
  return sub(cumsum(ones, rank - 1, false, true), cumsum(ones, rank - 2, false, true));
}

function inWindow(distance: Tensor, window: number | readonly [number, number]): Tensor {
  const [left, right] = typeof window === "number" ? [window, window] : window;
  if (!(left >= 0 && right >= 0)) {
    throw new ValueError(
      `Cannot attend: window must be numbers of keys from 0 on, received ${brief(window)}`,
    );
  }
  return logicalAnd(lessEqual(distance, left), greaterEqual(distance, -right));
}
