/** Functions of lengths: masks, rows that are reversed in part, elements that repeat. */
import { wantNumber } from "../../core/arguments.ts";
import { compose, type OpInput } from "../../core/apply.ts";
import { type DType, isInteger } from "../../core/dtype.ts";
import { InvalidArgumentError, ValueError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import { normalizeAxis, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import {
  asTensor,
  castInput,
  intScalar,
  intVector,
  shapeOfInput,
  toDenseInput,
  toIndexInput,
} from "../input.ts";
import { add, sub } from "../pointwise/arithmetic.ts";
import { less } from "../pointwise/compare.ts";
import { maximum, where } from "../pointwise/select.ts";
import { max } from "../reduce/reduce.ts";
import { cumsum } from "../reduce/scan.ts";
import { upperBound } from "../reduce/topk.ts";
import { cast } from "./cast.ts";
import { gather } from "./gather.ts";
import { transpose } from "./move.ts";
import { broadcastTo } from "./repeat.ts";
import { iota } from "./segment.ts";
import { expandDims, hostInts, reshape, shape, size } from "./view.ts";

/** Converts whole numbers to int32, or leaves them int64. Throws `TypeError` for other numbers. */
function wholeInput(x: TensorLike, arg: string, fn: string): OpInput {
  const given = toIndexInput(x, arg, fn);
  if (!isInteger(given.dtype)) {
    throw new TypeError(`Cannot use ${given.dtype} as ${arg} of ${fn}: wanted whole numbers`);
  }
  return castInput(given, given.dtype === "int64" ? "int64" : "int32");
}

/** Returns the greatest of some lengths, 0 for none; a literal where they are one. */
function longest(lengths: OpInput): OpInput {
  if (lengths instanceof NdArray) return intScalar(Math.max(0, ...hostInts(lengths)));
  const flat = reshape(asTensor(lengths), [-1]);
  return cast(maximum(max(flat), 0), "int32");
}

/**
 * Marks the first `lengths[i]` places of each row of `maxlen`: the shape is that of `lengths` with one more axis. Without
 * `maxlen` rows have the greatest length, known at run time. `dtype` is that of the result, of ones and zeros where it is
 * not bool. Throws `TypeError` for lengths that are no whole numbers, `ValueError` for a `maxlen` below 0. Follows TensorFlow
 * `tf.sequence_mask`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.sequenceMask([1, 3], 4, "int32").array()); // [[1, 0, 0, 0], [1, 1, 1, 0]]
 * ```
 */
export function sequenceMask(
  lengths: TensorLike,
  maxlen?: TensorLike | null,
  dtype: DType = "bool",
): Tensor {
  const given = wholeInput(lengths, "lengths", "sequenceMask");
  const isGiven = maxlen !== undefined && maxlen !== null;
  const most = isGiven ? wholeInput(maxlen, "maxlen", "sequenceMask") : longest(given);
  if (shapeOfInput(most)?.length) {
    throw new ValueError(
      `Cannot apply sequenceMask: maxlen must be a scalar, received shape ${
        shapeText(shapeOfInput(most))
      }`,
    );
  }
  if (most instanceof NdArray && hostInts(most)[0] < 0) {
    throw new ValueError(`Cannot apply sequenceMask: maxlen must be >= 0, received ${most.item()}`);
  }
  return compose(() => {
    const places = cast(iota(castInput(most, "int32")), given.dtype);
    return cast(less(places, expandDims(asTensor(given), -1)), dtype);
  });
}

/**
 * Reverses the first `seqLengths[i]` steps of each row: steps lie along `seqAxis`, rows along `batchAxis`. Throws
 * `ValueError` for axes that are the same or out of range, and where the rank is not known; `TypeError` for lengths that are
 * no whole numbers. Follows TensorFlow `tf.reverse_sequence`, op `ReverseSequence`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.reverseSequence([[1, 2, 3], [4, 5, 6]], [2, 3]).array()); // [[2, 1, 3], [6, 5, 4]]
 * ```
 */
export function reverseSequence(
  x: TensorLike,
  seqLengths: TensorLike,
  seqAxis = 1,
  batchAxis = 0,
): Tensor {
  wantNumber(seqAxis, "seqAxis", "reverseSequence");
  wantNumber(batchAxis, "batchAxis", "reverseSequence");
  const given = toDenseInput(x, "x", "reverseSequence");
  const lengths = wholeInput(seqLengths, "seqLengths", "reverseSequence");
  const rank = shapeOfInput(given)?.length;
  if (rank === undefined) {
    throw new ValueError("Cannot apply reverseSequence: the rank of x must be known");
  }
  const steps = normalizeAxis(seqAxis, rank), batch = normalizeAxis(batchAxis, rank);
  if (batch === steps) {
    throw new ValueError(
      `Cannot apply reverseSequence: seqAxis and batchAxis must differ, received ${seqAxis} and ${batchAxis}`,
    );
  }
  const rowCount = shapeOfInput(given)![batch], count = shapeOfInput(lengths);
  if (
    count && (count.length !== 1 || rowCount !== null && (count[0] ?? rowCount) !== rowCount)
  ) {
    throw new ValueError(
      `Cannot apply reverseSequence: seqLengths must have a length for each of ${
        rowCount ?? "the"
      } rows, received shape ${shapeText(count)}`,
    );
  }
  checkLengths(lengths, shapeOfInput(given)![steps]);
  return compose(() => {
    // With rows in front and steps behind them.
    const order = [batch, steps];
    for (let i = 0; i < rank; i++) if (i !== batch && i !== steps) order.push(i);
    const rows = transpose(asTensor(given), order);
    const at = iota(gather(shape(rows), 1)), ends = expandDims(castInput(lengths, "int32"), 1);
    const turned = gather(rows, where(less(at, ends), sub(sub(ends, 1), at), at), 1, 1);
    return transpose(turned, order.map((_, i) => order.indexOf(i)));
  });
}

function checkLengths(lengths: OpInput, most: number | null): void {
  if (!(lengths instanceof NdArray)) return;
  const wrong = hostInts(lengths).find((n) => n < 0 || most !== null && n > most);
  if (wrong === undefined) return;
  throw new ValueError(
    `Cannot apply reverseSequence: seqLengths must be from 0 to ${
      most ?? "the number of steps"
    }, received ${wrong}`,
  );
}

/**
 * Repeats each slice of `x` along `axis` as often as `repeats` says: one number for all, or one for each. Without an axis
 * the elements repeat, as a vector. The extent is known at run time where `repeats` is a tensor. Throws `TypeError` for
 * repeats that are no whole numbers, `ValueError` for an axis out of range and for a wrong number of repeats,
 * `InvalidArgumentError` for negative ones in a list. Follows TensorFlow `tf.repeat`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.repeat([1, 2, 3], [2, 0, 1]).array()); // [1, 1, 3]
 * console.log(await tf.repeat([[1, 2]], 2, 0).array()); // [[1, 2], [1, 2]]
 * ```
 */
export function repeat(x: TensorLike, repeats: TensorLike, axis?: number | null): Tensor {
  if (axis !== undefined && axis !== null) wantNumber(axis, "axis", "repeat");
  const given = toDenseInput(x, "x", "repeat"), times = wholeInput(repeats, "repeats", "repeat");
  const dims = shapeOfInput(times);
  if (dims && dims.length > 1) {
    throw new ValueError(
      `Cannot apply repeat: repeats must be a scalar or a vector, received shape ${
        shapeText(dims)
      }`,
    );
  }
  return compose(() => {
    const table = asTensor(axis === undefined || axis === null ? reshape(given, [-1]) : given);
    const rank = table.staticShape?.length;
    const at = rank === undefined ? axis ?? 0 : normalizeAxis(axis ?? 0, rank);
    const extent = table.staticShape?.[at] ?? null;
    const count = (): Tensor => {
      const dims = shape(table);
      return gather(dims, at < 0 ? add(size(dims), at) : at);
    };
    return gather(table, sources(times, extent, count), at);
  });
}

/** Returns the slice that each repeated one comes from. `count` gives the extent where it is not known. */
function sources(times: OpInput, extent: number | null, count: () => Tensor): OpInput {
  const isEach = shapeOfInput(times)?.length === 1 && shapeOfInput(times)![0] !== 1;
  if (times instanceof NdArray) {
    const list = hostInts(times), wrong = list.find((n) => n < 0);
    if (wrong !== undefined) {
      throw new InvalidArgumentError(`Cannot repeat ${wrong} times: repeats must be >= 0`);
    }
    if (isEach && extent !== null && list.length !== extent) {
      throw new ValueError(
        `Cannot repeat ${extent} slices by ${list.length} numbers: wanted one, or one for each`,
      );
    }
    const n = isEach ? list.length : extent;
    if (n !== null) {
      const each = Array.from({ length: n }, (_, i) => list[isEach ? i : 0]);
      return intVector(each.flatMap((times, i) => new Array<number>(times).fill(i)));
    }
  }
  const every = cast(
    broadcastTo(reshape(asTensor(times), [-1]), extent === null ? reshape(count(), [1]) : [extent]),
    "int32",
  );
  const ends = cumsum(every), all = maximum(max(ends), 0);
  return upperBound(ends, iota(all));
}
