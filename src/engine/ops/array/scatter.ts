/**
 * Scatters elements: scatterND, tensorScatterUpdate, sparseToDense. An index out of range throws on the CPU; on the GPU
 * its update is ignored, as in TensorFlow.
 */
import type { RowLayout } from "../../core/meaning.ts";
import { apply1, type OpInput } from "../../core/apply.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { InvalidArgumentError, ValueError } from "../../core/errors.ts";
import { defineOp, type OpInit, type Problem } from "../../core/op.ts";
import { compatible, type PartialShape, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { NdArray } from "../../core/nd_array.ts";
import { fillCpu } from "../../kernels/host/fill.ts";
import { vectorLayout } from "../../kernels/copy/gather_layout.ts";
import { scatterCpu } from "../../kernels/host/scatter.ts";
import { hostInts, literalInts, reshape } from "./view.ts";
import { broadcastTo } from "./repeat.ts";
import { scatteredShape, scatterKernels } from "./define_scatter.ts";
import { filledWith, shapeFromHost } from "./fill_ops.ts";
import { zerosLike } from "./creation.ts";
import { gatherND, indexInput } from "./gather.ts";
import { castInput, shapeOfInput, toIndexInput, toInput, toOperand } from "../input.ts";
import { sub } from "../pointwise/arithmetic.ts";
import { sum } from "../reduce/reduce.ts";

function layoutOf({ inputs, outputs }: Problem, indices: number): RowLayout {
  return vectorLayout(outputs[0].shape, inputs[indices].shape);
}

const ScatterNd = defineOp({
  name: "ScatterNd",
  inputs: ["indices: Tindices", "updates: T", "shape: Tindices"],
  outputs: ["output: T"],
  attrs: ["T: additive", "Tindices: {int16, int32, int64} = int32"],
  hostInputs: ["shape"],
  infer: ([indices, updates, shape]) => [
    scatteredShape(indices.shape, updates.shape, shapeFromHost(shape)),
  ],
  grad: { saves: ["indices"], vjp: ({ indices }, [dy]) => [null, gatherND(dy, indices), null] },
  ...scatterKernels((problem) => layoutOf(problem, 0), { rows: 1, indices: 0 }),
});

const INTO_TENSOR: Pick<OpInit, "inputs" | "outputs" | "infer"> = {
  inputs: ["tensor: T", "indices: Tindices", "updates: T"],
  outputs: ["output: T"],
  infer: ([x, indices, updates]) => [scatteredShape(indices.shape, updates.shape, x.shape)],
};

const TensorScatterAdd = defineOp({
  ...INTO_TENSOR,
  name: "TensorScatterAdd",
  attrs: ["T: numeric", "Tindices: index = int32"],
  grad: { saves: ["indices"], vjp: ({ indices }, [dy]) => [dy, null, gatherND(dy, indices)] },
  ...scatterKernels((problem) => layoutOf(problem, 1), { rows: 2, indices: 1, start: 0 }),
});

const TensorScatterUpdate = defineOp({
  ...INTO_TENSOR,
  name: "TensorScatterUpdate",
  attrs: ["T: type", "Tindices: index = int32"],
  grad: {
    saves: ["indices"],
    vjp: ({ indices }, [dy]) => {
      const picked = gatherND(dy, indices);
      return [apply1(TensorScatterUpdate, [dy, indices, zerosLike(picked)]), null, picked];
    },
  },
  ...scatterKernels((problem) => layoutOf(problem, 1), { rows: 2, indices: 1, start: 0 }, {
    how: "write",
  }),
});

const SparseToDense = defineOp({
  name: "SparseToDense",
  inputs: [
    "sparse_indices: Tindices",
    "output_shape: Tindices",
    "sparse_values: T",
    "default_value: T",
  ],
  outputs: ["dense: T"],
  attrs: ["validate_indices: bool = true", "T: type", "Tindices: index = int32"],
  hostInputs: ["output_shape"],
  infer: ([, shape]) => [shapeFromHost(shape)],
  grad: {
    saves: ["sparse_indices"],
    vjp: ({ sparse_indices }, [dy], ctx) => {
      const picked = gatherND(dy, indexVectors(sparse_indices, ctx.outputs[0].shape?.length));
      return [
        null,
        null,
        ctx.needs[2] ? ctx.sumLike(picked, 2) : null,
        ctx.needs[3] ? ctx.sumLike(sub(sum(dy), sum(picked)), 3) : null,
      ];
    },
  },
  cpu: ([indices, , values, start], [out], { attrs }) => {
    const shape = out.shape;
    const count = indices.shape.length === 0 ? 1 : indices.shape[0];
    const vectors = indices.reshape([count, shape.length]);
    if (attrs.validate_indices) checkOrder(vectors);
    const rows = values.shape.length === 0 ? repeated(values, [count]) : values;
    scatterCpu(rows, vectors, vectorLayout(shape, vectors.shape), out, {
      how: "write",
      start: repeated(start, shape),
    });
  },
  expand: ([indices, shape, values, start]) => {
    const dims = literalInts(shape)!;
    const vectors = indexVectors(indices, dims.length);
    const count = shapeOfInput(vectors)![0]!;
    return [apply1(TensorScatterUpdate, [
      filledWith(toIndexInput(dims, "shape", "sparseToDense"), start),
      vectors,
      values.shape.length === 0 ? broadcastTo(values, [count]) : values,
    ])];
  },
});

function repeated(value: NdArray, shape: readonly number[]): NdArray {
  const out = NdArray.zeros(value.dtype, shape);
  fillCpu(out, value);
  return out;
}

function checkOrder(vectors: NdArray): void {
  const [count, depth] = vectors.shape;
  const at = hostInts(vectors);
  for (let j = 1; j < count; j++) {
    let order = 0;
    for (let k = 0; k < depth && order === 0; k++) {
      order = at[j * depth + k] - at[(j - 1) * depth + k];
    }
    if (order <= 0) {
      throw new InvalidArgumentError(
        `indices[${j}] is ${order === 0 ? "repeated" : "out of order"}`,
      );
    }
  }
}

/** Returns indices as vectors of `depth` elements: a scalar, or a list of places in a vector, gets a last axis. */
function indexVectors(indices: OpInput, depth: number | undefined): OpInput {
  const rank = shapeOfInput(indices)?.length;
  if (rank !== undefined && rank >= 2) return indices;
  if (rank !== undefined) return reshape(indices, [-1, 1]);
  if (depth === undefined) {
    throw new ValueError(
      "Cannot apply SparseToDense: the rank of the indices or of the output must be known",
    );
  }
  return reshape(indices, [-1, depth]);
}

/**
 * Adds `updates` at index vectors to zeros of a shape; an index that repeats is summed. Of bools one that holds is enough, texts are joined. A vector of indices counts as
 * one index each. Throws `ValueError` where shapes do not fit, `InvalidArgumentError` for an index out of range on the
 * CPU. TensorFlow op `ScatterNd`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const at = tf.tensor2d([[1], [3], [1]], [3, 1], "int32");
 * console.log(tf.scatterND(at, [1, 2, 3], [4]).arraySync()); // [0, 4, 0, 2]
 * ```
 */
export function scatterND(indices: TensorLike, updates: TensorLike, shape: TensorLike): Tensor {
  const [at, rows] = scatterInputs(indices, updates, { fn: "scatterND" });
  const dims = toIndexInput(shape, "shape", "scatterND");
  const known = literalInts(dims);
  if (known?.length === 0) {
    throw new ValueError(
      "Cannot scatterND into a scalar: output rank must be greater or equal to 1",
    );
  }
  return apply1(ScatterNd, [at, rows, castInput(dims, at.dtype)]);
}

/** Returns indices and updates as inputs. `into`: the tensor whose dtype numbers get. */
export function scatterInputs(
  indices: TensorLike,
  updates: TensorLike,
  { fn, into }: { readonly fn: string; readonly into?: TensorLike },
): [OpInput, OpInput] {
  const at = indexInput(indices, fn), rows = toOperand(updates, into, { arg: "updates", fn });
  const rank = shapeOfInput(at)?.length;
  if (rank === 0) throw new ValueError(`Cannot apply ${fn}: indices must be at least a vector`);
  if (shapeOfInput(rows)?.length === 0) {
    throw new ValueError(`Cannot apply ${fn}: updates must be at least a vector`);
  }
  return [rank === 1 ? reshape(at, [-1, 1]) : at, rows];
}

/**
 * Writes `updates` at index vectors to a copy of `x`. Of several updates for one place the last stays on the CPU, any
 * on the GPU. Throws `ValueError` where shapes do not fit, `InvalidArgumentError` for an index out of range on the CPU.
 * TensorFlow op `TensorScatterUpdate`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const at = tf.tensor2d([[1], [3]], [2, 1], "int32");
 * console.log(tf.tensorScatterUpdate([1, 1, 1, 1], at, [8, 9]).arraySync()); // [1, 8, 1, 9]
 * ```
 */
export function tensorScatterUpdate(
  x: TensorLike,
  indices: TensorLike,
  updates: TensorLike,
): Tensor {
  const [at, rows] = scatterInputs(indices, updates, { fn: "tensorScatterUpdate", into: x });
  return apply1(TensorScatterUpdate, [toInput(x, "x", "tensorScatterUpdate"), at, rows]);
}

/**
 * Adds `updates` at index vectors to a copy of `x`. Throws as {@linkcode tensorScatterUpdate}. TensorFlow op
 * `TensorScatterAdd`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const at = tf.tensor2d([[1], [1]], [2, 1], "int32");
 * console.log(tf.tensorScatterAdd([1, 1], at, [8, 9]).arraySync()); // [1, 18]
 * ```
 */
export function tensorScatterAdd(x: TensorLike, indices: TensorLike, updates: TensorLike): Tensor {
  const [at, rows] = scatterInputs(indices, updates, { fn: "tensorScatterAdd", into: x });
  return apply1(TensorScatterAdd, [toInput(x, "x", "tensorScatterAdd"), at, rows]);
}

/**
 * Returns a tensor of `outputShape` that holds `defaultValue` except at the indices: a scalar, a list of places in a
 * vector, or one index vector a row. One value may serve for all. Throws `ValueError` where shapes do not fit and, with
 * `validateIndices`, `InvalidArgumentError` on the CPU for indices that repeat or are out of order. TensorFlow op
 * `SparseToDense`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const at = tf.tensor1d([1, 3], "int32");
 * console.log(tf.sparseToDense(at, [5, 6], [4]).arraySync()); // [0, 5, 0, 6]
 * ```
 */
export function sparseToDense(
  sparseIndices: TensorLike,
  sparseValues: TensorLike,
  outputShape: TensorLike,
  defaultValue: TensorLike = 0,
  validateIndices = false,
): Tensor {
  const at = indexInput(sparseIndices, "sparseToDense");
  const values = toInput(sparseValues, "sparseValues", "sparseToDense");
  const literal = typeof defaultValue === "number" && values.dtype !== "string";
  const own = literal ? { dtype: values.dtype } : {};
  const start = toInput(defaultValue, "defaultValue", "sparseToDense", own);
  if (start.dtype !== values.dtype) {
    throw new TypeError(
      `Cannot apply sparseToDense: values are ${values.dtype}, the default value is ${start.dtype}`,
    );
  }
  if (Array.isArray(outputShape) && !outputShape.every(Number.isInteger)) {
    throw new ValueError(
      `Cannot apply sparseToDense with shape [${outputShape}]: wanted whole numbers`,
    );
  }
  const dims = toIndexInput(outputShape, "outputShape", "sparseToDense");
  checkSparse(shapeOfInput(at), shapeOfInput(values), literalInts(dims), shapeOfInput(start));
  const inputs = [at, castInput(dims, at.dtype), values, start];
  return apply1(SparseToDense, inputs, { validate_indices: validateIndices });
}

function checkSparse(
  indices: PartialShape,
  values: PartialShape,
  dims: readonly number[] | undefined,
  start: PartialShape,
): void {
  if (indices && indices.length > 2) {
    throw new ValueError(
      `Cannot apply sparseToDense: sparseIndices should be a scalar, vector, or matrix, got shape ${
        shapeText(indices)
      }`,
    );
  }
  if (start && start.length > 0) {
    throw new ValueError("Cannot apply sparseToDense: defaultValue must be a scalar");
  }
  if (indices === null || dims === undefined) return;
  const count = indices.length > 0 ? indices[0] : 1, depth = indices.length > 1 ? indices[1] : 1;
  if (depth !== null && depth !== dims.length) {
    throw new ValueError(
      `Cannot apply sparseToDense: outputShape has incorrect number of elements: ${dims.length}, should be: ${depth}`,
    );
  }
  if (values?.length !== 0 && !compatible(values, [count])) {
    throw new ValueError(
      `Cannot apply sparseToDense: sparseValues has incorrect shape ${
        shapeText(values)
      }, should be [] or [${count}]`,
    );
  }
}
