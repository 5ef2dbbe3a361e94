/** Numbered and patterned tensors: range, linspace, eye, diag, meshgrid, oneHot. */
import { apply1, compose, currentInterpreter } from "../../core/apply.ts";
import { asDType, type DType, isBigInt, isInRange, isInteger } from "../../core/dtype.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { ValueError } from "../../core/errors.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { NdArray, setElement } from "../../core/nd_array.ts";
import { optionCheck, wantNumber } from "../../core/arguments.ts";
import { shapeText, sizeOf } from "../../core/shape.ts";
import { Tensor, type TensorLike } from "../../core/tensor.ts";
import { plainAxis } from "../../kernels/copy/map.ts";
import { hotLayout, numberOf, rampOf } from "../../kernels/copy/number_layout.ts";
import { oneHotCpu, rampCpu } from "../../kernels/host/number.ts";
import { knownInts, reshape, withAxis } from "./view.ts";
import { broadcastTo } from "./repeat.ts";
import { zeros } from "./creation.ts";
import { copyKernels } from "./define_copy.ts";
import { dimsInput } from "./fill_ops.ts";
import { castInput, intScalar, shapeOfInput, toInput } from "../input.ts";
import { wideIndexInput } from "./gather.ts";

/** Returns the number of elements of a range. Throws `ValueError` for a step of zero or in the wrong direction. */
function rangeSize(start: number, limit: number, delta: number): number {
  if (delta === 0) throw new ValueError("Requires delta != 0: 0");
  if (delta > 0 ? start > limit : start < limit) {
    throw new ValueError(
      `Requires start ${delta > 0 ? "<=" : ">="} limit when delta ${
        delta > 0 ? ">" : "<"
      } 0: ${start}/${limit}`,
    );
  }
  return Math.ceil(Math.abs((limit - start) / delta));
}

const Range = defineOp({
  name: "Range",
  inputs: ["start: Tidx", "limit: Tidx", "delta: Tidx"],
  outputs: ["output: Tidx"],
  attrs: ["Tidx: real = int32"],
  hostInputs: ["start", "limit", "delta"],
  infer: ([start, limit, delta]) => [
    start.value && limit.value && delta.value
      ? [rangeSize(numberOf(start.value), numberOf(limit.value), numberOf(delta.value))]
      : [null],
  ],
  grad: null,
  ...rampKernels("steps"),
});

/** Returns the meaning and host kernel of an op that numbers places. */
function rampKernels(how: "steps" | "spaced"): Required<Pick<OpDef, "meaning" | "cpu">> {
  return {
    meaning: { kind: "fill", how },
    cpu: (_, [out], problem) => {
      const { start, step, stop } = rampOf(how, problem);
      rampCpu(out, start, step, out.size > 1 ? stop : undefined);
    },
  };
}

const LinSpace = defineOp({
  name: "LinSpace",
  inputs: ["start: T", "stop: T", "num: Tidx"],
  outputs: ["output: T"],
  attrs: ["T: floating", "Tidx: index = int32"],
  hostInputs: ["start", "stop", "num"],
  infer: ([, , num]) => [[knownInts(num)?.[0] ?? null]],
  grad: null,
  ...rampKernels("spaced"),
});

const Diag = defineOp({
  name: "Diag",
  inputs: ["diagonal: T"],
  outputs: ["output: T"],
  attrs: ["T: type"],
  infer: ([{ shape }]) => [shape && [...shape, ...shape]],
  grad: { saves: [], vjp: (_, [dy]) => [apply1(DiagPart, [dy])] },
  ...copyKernels(0, ({ inputs }) => {
    const n = sizeOf(inputs[0].shape);
    return {
      base: 0,
      axes: [{ dim: n * n, stride: 1, rule: "window", begin: 0, extent: n, step: n + 1 }],
    };
  }),
});

const DiagPart = defineOp({
  name: "DiagPart",
  inputs: ["input: T"],
  outputs: ["diagonal: T"],
  attrs: ["T: type"],
  infer: ([{ shape }]) => {
    if (shape === null) return [null];
    const half = shape.length / 2;
    const mismatch = shape.some((d, i) =>
      i < half && d !== null && shape[i + half] !== null && d !== shape[i + half]
    );
    if (!Number.isInteger(half) || mismatch) {
      throw new ValueError(
        `Cannot take the diagonal of shape ${shapeText(shape)}: its halves must be equal`,
      );
    }
    return [shape.slice(0, half).map((d, i) => d ?? shape[i + half])];
  },
  grad: { saves: [], vjp: (_, [dy]) => [apply1(Diag, [dy])] },
  ...copyKernels(0, ({ outputs }) => {
    const n = sizeOf(outputs[0].shape);
    return { base: 0, axes: [plainAxis(n, n + 1)] };
  }),
});

// On and off are host inputs: they are plain numbers in practice, and nothing is uploaded for them.
const OneHot = defineOp({
  name: "OneHot",
  inputs: ["indices: TI", "depth: int32", "on_value: T", "off_value: T"],
  outputs: ["output: T"],
  attrs: ["axis: int = -1", "T: type", "TI: {uint8, int8, int32, int64} = int64"],
  hostInputs: ["depth", "on_value", "off_value"],
  infer: ([{ shape }, depth], { axis }) => [
    shape && withAxis(shape, axis, knownInts(depth)?.[0] ?? null),
  ],
  grad: null,
  meaning: { kind: "mark" },
  cpu: ([indices, , on, off], [out], problem) =>
    oneHotCpu(indices, on, off, hotLayout(problem), out),
});

/**
 * Returns numbers from `start` to before `stop`; none if the step leads away. A step of 1 counts down if `stop` is
 * lower. With tensors the size is known at run time. Throws `ValueError` for a step of 0, and for numbers that the
 * dtype does not hold. TensorFlow op `Range`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.range(0, 10, 3, "int32").arraySync()); // [0, 3, 6, 9]
 * ```
 */
export function range(
  start: TensorLike,
  stop: TensorLike,
  step: TensorLike = 1,
  dtype: DType = "float32",
): Tensor {
  const t = asDType(dtype);
  if (typeof start !== "number" || typeof stop !== "number" || typeof step !== "number") {
    const bounds = [start, stop, step].map((v, i) =>
      toInput(v, ["start", "stop", "step"][i], "range")
    );
    const given = bounds.find((b) => b instanceof Tensor)?.dtype ?? t;
    return apply1(Range, bounds.map((b) => castInput(b, given)));
  }
  if (step === 0) throw new ValueError("Cannot have a step of zero");
  const by = stop < start && step === 1 ? -1 : step;
  if (![start, stop, by].every((v) => isInRange(t, v))) {
    throw new ValueError(
      `Cannot count from ${start} to ${stop} by ${by} in ${t}: wanted numbers within its range`,
    );
  }
  if (start === stop || (start < stop) !== (by > 0)) return zeros([0], t);
  if (isInteger(t) && ![start, stop, by].every(Number.isInteger)) {
    throw new ValueError(
      `Cannot count from ${start} to ${stop} by ${by} in ${t}: wanted whole numbers`,
    );
  }
  return apply1(Range, [start, stop, by].map((v) => toInput(v, "start", "range", { dtype: t })));
}

/**
 * Returns `num` evenly spaced numbers from `start` to `stop`, both included. Throws `ValueError` where `num` is not
 * positive. TensorFlow op `LinSpace`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.linspace(0, 1, 5).arraySync()); // [0, 0.25, 0.5, 0.75, 1]
 * ```
 */
export function linspace(start: number, stop: number, num: number): Tensor {
  wantNumber(num, "num", "linspace");
  if (!(num > 0)) {
    throw new ValueError(
      `Cannot make ${num} evenly spaced numbers: the number of values should be positive`,
    );
  }
  const bounds = [start, stop].map((v) => toInput(v, "start", "linspace", { dtype: "float32" }));
  return apply1(LinSpace, [...bounds, intScalar(num)]);
}

/**
 * Returns a matrix of ones on the diagonal, zeros elsewhere, repeated for `batchShape`. Throws `ValueError` for extents
 * that are negative or not whole. Follows TensorFlow `tf.eye`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.eye(2, 3).arraySync()); // [[1, 0, 0], [0, 1, 0]]
 * ```
 */
export function eye(
  numRows: number,
  numColumns: number = numRows,
  batchShape?: readonly number[] | null,
  dtype: DType = "float32",
): Tensor {
  return compose(() => {
    const t = asDType(dtype);
    dimsInput([numRows, numColumns], "eye");
    const matrix = numRows * numColumns > MOST_UPLOADED
      ? apply1(OneHot, [
        range(0, numRows, 1, "int32"),
        intScalar(numColumns),
        ...[1, 0].map((v) => toInput(v, "value", "eye", { dtype: t })),
      ])
      : currentInterpreter().constant(identityMatrix(t, numRows, numColumns));
    return batchShape && batchShape.length > 0
      ? broadcastTo(matrix, [...batchShape, numRows, numColumns])
      : matrix;
  });
}
/** Maximum elements of an identity matrix that is written on the host: larger ones are made on their device. */
const MOST_UPLOADED = 4096;

function identityMatrix(dtype: DType, rows: number, columns: number): NdArray {
  const array = NdArray.zeros(dtype, [rows, columns]);
  const one = isBigInt(dtype) ? 1n : 1;
  for (let i = 0; i < Math.min(rows, columns); i++) setElement(array, i * (columns + 1), one);
  return array;
}

/**
 * Returns a tensor of twice the rank with `x` on its diagonal and zeros elsewhere. TensorFlow op `Diag`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.diag([1, 2]).arraySync()); // [[1, 0], [0, 2]]
 * ```
 */
export function diag(x: TensorLike): Tensor {
  return apply1(Diag, [toInput(x, "x", "diag")]);
}

/**
 * Returns the diagonal of a tensor whose shape repeats some shape twice: undoes {@linkcode diag}. Follows TensorFlow
 * `tf.linalg.tensor_diag_part`, op `DiagPart`. Throws `ValueError` where the halves of the shape differ.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.diagPart([[1, 2], [3, 4]]).arraySync()); // [1, 4]
 * ```
 */
export function diagPart(x: TensorLike): Tensor {
  return apply1(DiagPart, [toInput(x, "x", "diagPart")]);
}

const checkGridOptions = optionCheck<{ readonly indexing?: "xy" | "ij" }>("meshgrid", {
  indexing: true,
});

/**
 * Returns the coordinates of a grid: one tensor for each axis. `indexing` is `"xy"` (first axis is y) or `"ij"`. Throws
 * `TypeError` for another indexing. Follows TensorFlow `tf.meshgrid`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [x, y] = tf.meshgrid([1, 2], [3, 4]);
 * console.log(x.arraySync()); // [[1, 2], [1, 2]]
 * console.log(y.arraySync()); // [[3, 3], [4, 4]]
 * ```
 */
export function meshgrid(
  x?: TensorLike,
  y?: TensorLike,
  options: { readonly indexing?: "xy" | "ij" } = {},
): Tensor[] {
  checkGridOptions(options);
  const { indexing = "xy" } = options;
  return compose(() => {
    if (indexing !== "xy" && indexing !== "ij") {
      throw new TypeError(`Cannot make a grid with indexing ${indexing}: wanted "xy" or "ij"`);
    }
    if (x === undefined) return [];
    const a = toInput(x, "x", "meshgrid");
    if (y === undefined) return [reshape(a, [-1])];
    const b = toInput(y, "y", "meshgrid");
    const [m, n] = [a, b].map((t) => {
      const s = shapeOfInput(t);
      if (s === null || s.includes(null)) {
        throw new ValueError("Cannot make a grid of tensors of unknown size");
      }
      return sizeOf(s as number[]);
    });
    const columns = indexing === "xy";
    const shape = columns ? [n, m] : [m, n];
    return [
      broadcastTo(reshape(a, columns ? [1, -1] : [-1, 1]), shape),
      broadcastTo(reshape(b, columns ? [-1, 1] : [1, -1]), shape),
    ];
  });
}

/**
 * Returns rows that are `onValue` at the index and `offValue` elsewhere, along a new axis (the last, unless `axis`
 * differs). An index outside `[0, depth)` gives a row of `offValue`. Throws `ValueError` for a depth below 2.
 * TensorFlow op `OneHot`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.oneHot(tf.tensor1d([0, 2], "int32"), 3).arraySync()); // [[1, 0, 0], [0, 0, 1]]
 * ```
 */
export function oneHot(
  indices: TensorLike,
  depth: number,
  onValue = 1,
  offValue = 0,
  dtype: DType = "int32",
  axis = -1,
): Tensor {
  wantNumber(depth, "depth", "oneHot");
  if (depth < 2) throw new ValueError(`Error in oneHot: depth must be >=2, but it is ${depth}`);
  const t = asDType(dtype);
  return apply1(OneHot, [
    wideIndexInput(indices, "oneHot"),
    intScalar(depth),
    toInput(onValue, "onValue", "oneHot", { dtype: t }),
    toInput(offValue, "offValue", "oneHot", { dtype: t }),
  ], { axis });
}
