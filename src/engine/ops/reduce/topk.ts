/** Order: topk, sort, argsort, and search in sorted sequences. */
import { apply, apply1, compose, currentInterpreter, type OpInput } from "../../core/apply.ts";
import { isInteger } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { compatible, normalizeAxis, type PartialShape, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { pickCpu, placeCpu, searchSortedCpu, topkCpu } from "../../kernels/host/topk.ts";
import { transpose } from "../array/move.ts";
import { knownInts, reshape, shape } from "../array/view.ts";
import { lastExtent } from "../array/slice.ts";
import { asTensor, intScalar, shapeOfInput, toIndexInput, toMatchingInputs } from "../input.ts";
import { neg, toNumberInput } from "../pointwise/arithmetic.ts";
import { bitwiseInvert } from "../pointwise/logical.ts";
import { brief } from "../../core/text.ts";

/** Returns the shape with another last axis. */
function lastAxis(x: PartialShape, extent: number | null): PartialShape {
  return x === null ? null : [...x.slice(0, -1), extent];
}

/** Picks elements of rows by index; the indices of a row are distinct. */
const Pick = defineOp({
  name: "_Pick",
  portable: "parts",
  inputs: ["x: T", "indices: int32"],
  outputs: ["y: T"],
  attrs: ["T: numeric"],
  infer: ([x, indices]) => [lastAxis(x.shape, indices.shape?.at(-1) ?? null)],
  grad: {
    saves: ["indices"],
    vjp: ({ indices }, [dy], ctx) => [place(indices, dy, lastExtent(ctx.shapeOf(0))), null],
  },
  meaning: { kind: "special", kernel: "pick" },
  cpu: ([x, indices], [out]) => pickCpu(x, indices, out),
});

/** Places elements at indices in rows of zeros; the indices of a row are distinct. */
const Place = defineOp({
  name: "_Place",
  portable: "parts",
  inputs: ["indices: int32", "updates: T", "size: int32"],
  outputs: ["x: T"],
  attrs: ["T: numeric"],
  hostInputs: ["size"],
  infer: ([indices, , size]) => [lastAxis(indices.shape, knownInts(size)?.[0] ?? null)],
  grad: {
    saves: ["indices"],
    vjp: ({ indices }, [dx]) => [null, apply1(Pick, [dx, indices]), null],
  },
  meaning: { kind: "special", kernel: "place" },
  cpu: ([indices, updates], [out]) => placeCpu(indices, updates, out),
});

function place(indices: Tensor, updates: Tensor, size: OpInput): Tensor {
  return apply1(Place, [indices, updates, size]);
}

const TopK = defineOp({
  name: "TopKV2",
  inputs: ["input: T", "k: Tk"],
  outputs: ["values: T", "indices: index_type"],
  attrs: ["sorted: bool = true", "T: real", "Tk: index = int32", "index_type: {int32} = int32"],
  hostInputs: ["k"],
  infer: ([x, k]) => {
    if (x.shape !== null && x.shape.length === 0) {
      throw new ValueError("Shape must be at least rank 1 but is rank 0 for 'TopKV2'");
    }
    if (k.shape !== null && k.shape.length !== 0) {
      throw new ValueError(`Shape must be rank 0 but is rank ${k.shape.length} for 'TopKV2'`);
    }
    const wanted = knownInts(k)?.[0] ?? null, columns = x.shape?.at(-1) ?? null;
    if (wanted !== null && wanted < 0) throw new ValueError(`Need k >= 0, got ${wanted}`);
    if (wanted !== null && columns !== null && wanted > columns) {
      throw new ValueError(`input must have at least k columns. Had ${columns}, needed ${wanted}`);
    }
    const out = lastAxis(x.shape, wanted);
    return [out, out];
  },
  grad: {
    saves: ["indices"],
    vjp: ({ indices }, [dvalues], ctx) => [
      place(indices, dvalues, lastExtent(ctx.shapeOf(0))),
      null,
    ],
  },
  meaning: { kind: "top" },
  cpu: ([x], outs) => topkCpu(x, outs[0].shape[outs[0].shape.length - 1], outs),
});

/** Greatest elements and their positions. */
export interface TopKResult {
  /** The elements. */
  readonly values: Tensor;
  /** Their places along the last axis, int32. */
  readonly indices: Tensor;
}

/**
 * The `k` greatest elements along the last axis, greatest first (whether `sorted` or not), and their places; of equals the
 * first comes first, NaN comes last. TensorFlow op `TopKV2`.
 * Throws `ValueError` for scalars and where `k` is negative or greater than the last axis.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { values, indices } = tf.topk([[1, 5, 2], [7, 3, 7]], 2);
 * console.log(values.arraySync()); // [[5, 2], [7, 7]]
 * console.log(indices.arraySync()); // [[1, 2], [0, 2]]
 * ```
 */
export function topk(x: TensorLike, k: number | Tensor = 1, sorted = true): TopKResult {
  return compose(() => {
    const count = toIndexInput(k, "k", "topk");
    const [values, indices] = apply(TopK, [toNumberInput(x, "topk"), count], { sorted });
    return { values, indices };
  });
}

/** Direction of an order. */
export type SortDirection = "ASCENDING" | "DESCENDING";

/** Sorts by `topk` of whole rows; an ascending order is reversed. */
function order(x: TensorLike, fn: string, axis: number, direction: SortDirection): TopKResult {
  return compose(() => {
    if (direction !== "ASCENDING" && direction !== "DESCENDING") {
      throw new ValueError(`Cannot sort ${brief(direction)}: wanted "ASCENDING" or "DESCENDING"`);
    }
    const input = toNumberInput(x, fn);
    const rank = shapeOfInput(input)?.length;
    if (rank === 0) throw new ValueError("Cannot sort a scalar: wanted at least rank 1");
    if (rank === undefined && axis !== -1) {
      throw new ValueError(
        `Cannot sort along axis ${axis} of a tensor whose rank is unknown: wanted -1`,
      );
    }
    const at = rank === undefined ? -1 : normalizeAxis(axis, rank);
    const inner = rank === undefined || at === rank - 1;
    const perm = inner ? null : swapLast(rank!, at);
    const rows = perm === null ? asTensor(input) : transpose(asTensor(input), perm);
    const reversed = (t: Tensor): Tensor => (isInteger(t.dtype) ? bitwiseInvert(t) : neg(t));
    const rising = direction === "ASCENDING";
    const extent = rows.staticShape?.at(-1) ?? null;
    const k = extent === null ? lastExtent(shape(rows)) : intScalar(extent);
    const [values, indices] = apply(TopK, [rising ? reversed(rows) : rows, k]);
    const back = (t: Tensor): Tensor => (perm === null ? t : transpose(t, perm));
    return { values: back(rising ? reversed(values) : values), indices: back(indices) };
  });
}

function swapLast(rank: number, axis: number): number[] {
  const perm = Array.from({ length: rank }, (_, i) => i);
  [perm[axis], perm[rank - 1]] = [rank - 1, axis];
  return perm;
}

/**
 * The elements in order along an axis; NaN comes last either way. Made of TensorFlow op `TopKV2`, as `tf.sort` is.
 * Throws `ValueError` for scalars, an axis out of range and a direction that is none.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.sort([3, 1, 2]).arraySync()); // [1, 2, 3]
 * console.log(tf.sort([[3, 1], [2, 4]], 0, "DESCENDING").arraySync()); // [[3, 4], [2, 1]]
 * ```
 */
export function sort(x: TensorLike, axis = -1, direction: SortDirection = "ASCENDING"): Tensor {
  return compose(() => order(x, "sort", axis, direction).values);
}

/**
 * Returns the indices that would sort along an axis, int32; equals keep their order, NaN comes last. TensorFlow
 * `tf.argsort`. Throws `ValueError` for scalars, an axis out of range and an unknown direction.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.argsort([3, 1, 2]).arraySync()); // [1, 2, 0]
 * ```
 */
export function argsort(x: TensorLike, axis = -1, direction: SortDirection = "ASCENDING"): Tensor {
  return compose(() => order(x, "argsort", axis, direction).indices);
}

function defineSearch(name: string, upper: boolean): OpDef {
  return defineOp({
    name,
    inputs: ["sorted_inputs: T", "values: T"],
    outputs: ["output: out_type"],
    attrs: ["T: real", "out_type: index = int32"],
    infer: ([sorted, values]) => {
      const [s, v] = [sorted.shape, values.shape];
      if (s !== null && v !== null && (s.length === 0 || !compatible(lastAxis(s, null), v))) {
        throw new ValueError(
          `Cannot search values of shape ${shapeText(v)} in sequences of shape ${
            shapeText(s)
          }: wanted equal shapes but for the last axis`,
        );
      }
      return [v];
    },
    grad: null,
    meaning: { kind: "special", kernel: upper ? "upper bound" : "lower bound" },
    cpu: (ins, [out]) => searchSortedCpu(ins, upper, out),
  });
}

const LowerBound = defineSearch("LowerBound", false);
const UpperBound = defineSearch("UpperBound", true);

/**
 * Returns the insertion place of each value in its sorted sequence along the last axis, int32: before its equals
 * (`"left"`) or after them (`"right"`). TensorFlow ops `LowerBound` and `UpperBound`. Throws `ValueError` where the
 * outer shapes differ or for another side.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.searchSorted([0, 3, 9, 9, 10], [9, 4, 11]).arraySync()); // [2, 2, 5]
 * console.log(tf.searchSorted([0, 3, 9, 9, 10], [9], "right").arraySync()); // [4]
 * ```
 */
export function searchSorted(
  sortedSequence: TensorLike,
  values: TensorLike,
  side: "left" | "right" = "left",
): Tensor {
  return compose(() => {
    if (side !== "left" && side !== "right") {
      throw new ValueError(
        `Cannot search: side must be "left" or "right", received ${brief(side)}`,
      );
    }
    const names = ["sortedSequence", "values"] as const;
    const inputs = toMatchingInputs(sortedSequence, values, "searchSorted", names);
    const op = side === "left" ? LowerBound : UpperBound;
    const shapes = inputs.map(rowsShape), [a, b] = inputs.map((x) => shapeOfInput(x)?.length);
    if (!currentInterpreter().symbolic || a !== b || a === 2 || shapes.includes(null)) {
      return apply1(op, inputs);
    }
    // In a graph it is TensorFlow's op, which takes rows.
    const rows = inputs.map((x, i) => reshape(x, shapes[i]!));
    return reshape(apply1(op, rows), shape(inputs[1]));
  });
}

/** Returns the shape of all rows along the last axis as a matrix; null if their length is unknown. */
function rowsShape(x: OpInput): number[] | null {
  const dims = shapeOfInput(x), last = dims?.at(-1);
  if (dims?.length === 1) return [1, -1];
  return last == null ? null : [-1, last];
}

/**
 * Returns the insertion place of each value in its sorted sequence, before its equals. TensorFlow op `LowerBound`. See
 * {@linkcode searchSorted}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.lowerBound([1, 2, 2, 4], [2, 3]).arraySync()); // [1, 3]
 * ```
 */
export function lowerBound(sortedSequence: TensorLike, values: TensorLike): Tensor {
  return searchSorted(sortedSequence, values, "left");
}

/**
 * Returns the insertion place of each value in its sorted sequence, after its equals. TensorFlow op `UpperBound`. See
 * {@linkcode searchSorted}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.upperBound([1, 2, 2, 4], [2, 3]).arraySync()); // [3, 3]
 * ```
 */
export function upperBound(sortedSequence: TensorLike, values: TensorLike): Tensor {
  return searchSorted(sortedSequence, values, "right");
}
