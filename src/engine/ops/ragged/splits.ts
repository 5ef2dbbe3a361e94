/** Splits of ragged tensors: the start of each row among the values, and the end of the last. */
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { isInteger } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import { shapeText } from "../../core/shape.ts";
import { Tensor, type TensorLike } from "../../core/tensor.ts";
import { pad } from "../array/pad.ts";
import { slice } from "../array/slice.ts";
import { stridedSlice } from "../array/strided_slice.ts";
import { hostInts, reshape } from "../array/view.ts";
import { asTensor, castInput, intVector, toIndexInput, toInput, wantArgument } from "../input.ts";
import { cumsum } from "../reduce/scan.ts";

/** An argument as a tensor. */
export function tensorOf(x: TensorLike, name: string, fn: string): Tensor {
  return asTensor(toInput(x, name, fn));
}

/** Converts splits or lengths to an int32 tensor. Throws `TypeError` for numbers of another kind. */
export function splitsOf(x: TensorLike, name: string, fn: string): Tensor {
  const input = toIndexInput(x, name, fn);
  if (isInteger(input.dtype)) return asTensor(castInput(input, "int32"));
  throw new TypeError(
    `Cannot make a ragged tensor: ${name} must be whole numbers, received ${input.dtype}`,
  );
}

/**
 * Throws `ValueError` for splits that are no vector and, with TensorFlow's phrase, for literal splits that do not rise
 * from 0 to the number of values, as far as that is known.
 */
export function checkSplits(
  { staticShape }: Tensor,
  given: TensorLike,
  rows: number | null,
): void {
  if (staticShape !== null && (staticShape.length !== 1 || staticShape[0] === 0)) {
    throw new ValueError(
      `Cannot make a ragged tensor: rowSplits must be a vector of at least one element, received shape ${
        shapeText(staticShape)
      }`,
    );
  }
  if (given instanceof Tensor) return;
  const list = Array.from(
    given instanceof NdArray ? given.data as ArrayLike<number> : given as ArrayLike<number>,
    Number,
  );
  const wrong = list[0] !== 0 ? 0 : list.findIndex((end, i) => i > 0 && end < list[i - 1]);
  if (wrong < 0) {
    const last = list.at(-1);
    if (rows === null || rows === last) return;
    throw new ValueError(
      `Arguments to fromRowSplits do not form a valid RaggedTensor: the last split is ${last}, but there are ${rows} values`,
    );
  }
  throw new ValueError(
    `Arguments to fromRowSplits do not form a valid RaggedTensor: split ${wrong} is ${
      list[wrong]
    }, splits must begin with 0 and never fall`,
  );
}

/** Returns an element of a vector. */
export function at(x: Tensor, i: number): Tensor {
  return reshape(slice(x, [i], [1]), []);
}

/** Returns the starts of rows of these lengths, and the end of the last; a literal for known numbers. */
export function splitsFromLengths(lengths: TensorLike): Tensor | NdArray {
  const input = toIndexInput(lengths, "rowLengths", "RaggedTensor.fromRowLengths");
  wantArgument(input, 1, "RaggedTensor.fromRowLengths", "rowLengths");
  if (!(input instanceof NdArray) || !isInteger(input.dtype)) {
    const counts = splitsOf(input, "rowLengths", "RaggedTensor.fromRowLengths");
    return pad(cumsum(counts), [[1, 0]]);
  }
  let end = 0;
  return intVector([0, ...hostInts(input).map((n) => end += n)]);
}

/** Returns the first position of each row. */
export function begins(splits: Tensor): Tensor {
  return stridedSlice(splits, [0], [-1]);
}
/** Returns the position after the last of each row. */
export function ends(splits: Tensor): Tensor {
  return slice(splits, [1]);
}
