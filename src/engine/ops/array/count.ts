/** Counts of values: bincount, denseBincount, confusionMatrix. */
import { apply1, compose } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { defineOp } from "../../core/op.ts";
import { compatible, isConcrete, type PartialShape, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import { bincountCpu } from "../../kernels/host/count.ts";
import { hostInts, knownInts, reshape } from "./view.ts";
import { asTensor, castInput, intScalar, toIndexInput, toInput, wantRank } from "../input.ts";
import { add, mul } from "../pointwise/arithmetic.ts";
import { greaterEqual, less } from "../pointwise/compare.ts";
import { logicalAnd } from "../pointwise/logical.ts";
import { where } from "../pointwise/select.ts";
import { brief } from "../../core/text.ts";

/** Weights have the values' shape, or are absent. */
function checkWeights(x: PartialShape, weights: PartialShape): void {
  if (!isConcrete(weights) || weights.includes(0) || compatible(x, weights)) return;
  throw new ValueError(
    `Weights must have the shape of the values ${shapeText(x)} or no elements, received ${
      shapeText(weights)
    }`,
  );
}

function sizeFrom(size: Spec): number | null {
  const n = knownInts(size)?.[0] ?? null;
  if (n !== null && n < 0) throw new ValueError(`size must be non-negative, received ${n}`);
  return n;
}

const Bincount = defineOp({
  name: "Bincount",
  inputs: ["arr: int32", "size: int32", "weights: T"],
  outputs: ["bins: T"],
  attrs: ["T: {int32, int64, float, double}"],
  hostInputs: ["size"],
  infer: ([x, size, weights]) => {
    checkWeights(x.shape, weights.shape);
    return [[sizeFrom(size)]];
  },
  grad: null,
  meaning: { kind: "count", of: "all" },
  cpu: ([x, size, weights], [out]) =>
    bincountCpu(x.reshape([x.size]), weights, hostInts(size)[0], false, out),
});

const DenseBincount = defineOp({
  name: "DenseBincount",
  inputs: ["input: Tidx", "size: Tidx", "weights: T"],
  outputs: ["output: T"],
  attrs: ["Tidx: index", "T: {int32, int64, float, double}", "binary_output: bool = false"],
  hostInputs: ["size"],
  infer: ([x, size, weights]) => {
    checkWeights(x.shape, weights.shape);
    if (x.shape === null) return [null];
    if (x.shape.length !== 1 && x.shape.length !== 2) {
      throw new ValueError(
        `Shape must be rank 1 or 2 but is ${shapeText(x.shape)} for 'DenseBincount'`,
      );
    }
    return [[...x.shape.slice(0, -1), sizeFrom(size)]];
  },
  grad: null,
  meaning: { kind: "count", of: "rows" },
  cpu: ([x, size, weights], [out], { attrs }) =>
    bincountCpu(x, weights, hostInts(size)[0], attrs.binary_output, out),
});

/**
 * Counts each integer below `size` in a vector, or sums its weights; the result has the weights' dtype. TensorFlow op
 * `Bincount`. Throws `ValueError` for a negative size and weights of another shape, `TypeError` for values that are not
 * int32, `InvalidArgumentError` for negative values on the CPU.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([1, 1, 2], [3], "int32");
 * console.log(tf.bincount(x, [], 4).arraySync()); // [0, 2, 1, 0]
 * console.log(tf.bincount(x, [0.5, 1, 2], 3).arraySync()); // [0, 1.5, 2]
 * ```
 */
export function bincount(x: TensorLike, weights: TensorLike, size: number): Tensor {
  const input = toInput(x, "x", "bincount");
  return apply1(Bincount, [
    input,
    toIndexInput(size, "size", "bincount"),
    toInput(weights, "weights", "bincount"),
  ]);
}

/**
 * Applies {@linkcode bincount} to a vector or to each row of a matrix; with `binaryOutput` the result is 1 for values
 * that occur and 0 for others. TensorFlow op `DenseBincount`. Throws as `bincount` does, and `ValueError` for other
 * ranks.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([[1, 1], [0, 2]], [2, 2], "int32");
 * console.log(tf.denseBincount(x, [], 3).arraySync()); // [[0, 2, 0], [1, 0, 1]]
 * console.log(tf.denseBincount(x, [], 3, true).arraySync()); // [[0, 1, 0], [1, 0, 1]]
 * ```
 */
export function denseBincount(
  x: TensorLike,
  weights: TensorLike,
  size: number,
  binaryOutput = false,
): Tensor {
  const input = toInput(x, "x", "denseBincount");
  const terms = toInput(weights, "weights", "denseBincount");
  return apply1(DenseBincount, [input, toIndexInput(size, "size", "denseBincount"), terms], {
    binary_output: binaryOutput,
  });
}

/**
 * Counts the predictions of each class for each label: int32, rows are labels, columns predictions. Labels and
 * predictions not below `numClasses` are ignored. TensorFlow `tf.math.confusion_matrix`. Throws `ValueError` where
 * `numClasses` is not a positive whole number or the vectors differ in length.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.confusionMatrix([0, 1, 1], [0, 0, 1], 2).arraySync()); // [[1, 0], [1, 1]]
 * ```
 */
export function confusionMatrix(
  labels: TensorLike,
  predictions: TensorLike,
  numClasses: number,
): Tensor {
  return compose(() => {
    if (!Number.isInteger(numClasses) || numClasses <= 0) {
      throw new ValueError(
        `Cannot count: numClasses must be a positive whole number, received ${brief(numClasses)}`,
      );
    }
    const l = wholeVector(labels, "labels"), p = wholeVector(predictions, "predictions");
    const known = l.staticShape, other = p.staticShape;
    if (!compatible(known, other)) {
      throw new ValueError(
        `Cannot count: received ${known![0]} labels and ${
          other![0]
        } predictions, wanted equally many`,
      );
    }
    const counts = (x: Tensor): Tensor => logicalAnd(greaterEqual(x, 0), less(x, numClasses));
    const pairs = add(mul(l, numClasses), p);
    // An ignored pair gets a number out of range.
    const valid = where(logicalAnd(counts(l), counts(p)), pairs, numClasses ** 2);
    const none = castInput(toInput([], "weights", "confusionMatrix"), "int32");
    const bins = apply1(Bincount, [valid, intScalar(numClasses ** 2), none]);
    return reshape(bins, [numClasses, numClasses]);
  });
}

function wholeVector(x: TensorLike, arg: string): Tensor {
  const input = castInput(toInput(x, arg, "confusionMatrix"), "int32");
  wantRank(input, 1, (shape) => `Cannot count: ${arg} must be a vector, received shape ${shape}`);
  return asTensor(input);
}
