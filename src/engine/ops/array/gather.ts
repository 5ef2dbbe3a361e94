/**
 * Gathers elements by index: gather, gatherND. An index out of range throws on the CPU and gives zeros on the GPU, as
 * in TensorFlow.
 */
import { CompositeTensor, type Operand, type Picked } from "../../core/composite.ts";
import type { RowLayout } from "../../core/meaning.ts";
import { apply1, type OpInput } from "../../core/apply.ts";
import { isInteger } from "../../core/dtype.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { ValueError } from "../../core/errors.ts";
import { defineOp, type GradContext, lookupOp, type OpDef, type Problem } from "../../core/op.ts";
import {
  mergeShapes,
  normalizeAxis,
  type PartialShape,
  type Shape,
  shapeText,
} from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import { gatherCpu } from "../../kernels/host/gather.ts";
import { axisLayout, vectorLayout } from "../../kernels/copy/gather_layout.ts";
import { pickedRows } from "./indexed_slices.ts";
import { hostInts, knownInts, literalInts } from "./view.ts";
import { scatterKernels } from "./define_scatter.ts";
import { shapeFromHost } from "./fill_ops.ts";
import { castInput, intScalar, shapeOfInput, toIndexInput, toInput } from "../input.ts";

function layoutOf(table: Shape, indices: Shape, axis: number, batchDims: number): RowLayout {
  return axisLayout(
    table,
    indices,
    normalizeAxis(axis, table.length),
    normalizeBatch(batchDims, indices.length),
  );
}

function normalizeBatch(batchDims: number, rank: number): number {
  if (batchDims < -rank || batchDims > rank) {
    throw new ValueError(`Cannot gather with batchDims ${batchDims}: indices have rank ${rank}`);
  }
  return batchDims < 0 ? batchDims + rank : batchDims;
}

function gatheredShape(
  table: PartialShape,
  indices: PartialShape,
  axis: number | undefined,
  batchDims: number,
): PartialShape {
  if (table === null || indices === null) return null;
  const batch = normalizeBatch(batchDims, indices.length);
  if (axis === undefined) {
    return new Array<null>(table.length + indices.length - 1 - batch).fill(null);
  }
  const a = normalizeAxis(axis, table.length);
  if (batch > a) {
    throw new ValueError(
      `Cannot gather along axis ${a} with batchDims ${batch}: it must not be greater`,
    );
  }
  const shared = mergeShapes(table.slice(0, batch), indices.slice(0, batch))!;
  return [...shared, ...table.slice(batch, a), ...indices.slice(batch), ...table.slice(a + 1)];
}

/** Returns the meaning and host kernel of an op that picks rows of input 0 by input 1. */
function gatherKernels(
  layout: (problem: Problem) => RowLayout,
): Required<Pick<OpDef, "meaning" | "cpu">> {
  return {
    meaning: { kind: "gather", layout },
    cpu: ([table, indices], [out], problem) => gatherCpu(table, indices, layout(problem), out),
  };
}

const AXIS_ATTRS = [
  "batch_dims: int = 0",
  "Tindices: {int16, int32, int64} = int64",
  "Taxis: index = int32",
];

const GatherV2 = defineOp({
  name: "GatherV2",
  inputs: ["params: Tparams", "indices: Tindices", "axis: Taxis"],
  outputs: ["output: Tparams"],
  attrs: ["Tparams: type", ...AXIS_ATTRS],
  hostInputs: ["axis"],
  infer: ([table, indices, axis], { batch_dims }) => [
    gatheredShape(table.shape, indices.shape, knownInts(axis)?.[0], batch_dims),
  ],
  grad: {
    saves: ["indices", "axis"],
    vjp: (saved, [dy], ctx) => [gatherGrad(dy, saved, ctx), null, null],
  },
  ...gatherKernels(({ inputs: [table, indices], hosts, attrs }) =>
    layoutOf(table.shape, indices.shape, hostInts(hosts[2]!)[0], attrs.batch_dims)
  ),
});

/** Along the first axis the gradient is rows of the table, as in TensorFlow. */
function gatherGrad(
  dy: Tensor,
  { indices, axis }: Readonly<Record<string, Tensor>>,
  ctx: GradContext,
): Tensor {
  const { batch_dims } = ctx.attrs, shape = ctx.shapeOf(0);
  if (batch_dims === 0 && literalInts(axis)?.[0] === 0) {
    return pickedRows(dy, indices, { spec: ctx.inputs[0], shape });
  }
  return apply1(GatherGrad, [dy, indices, toInput(shape, "shape", "gather"), axis], { batch_dims });
}

function gradLayout({ inputs, hosts, outputs, attrs }: Problem): RowLayout {
  return layoutOf(outputs[0].shape, inputs[1].shape, hostInts(hosts[3]!)[0], attrs.batch_dims);
}

/** Adds picked rows back to their sources, along any axis: the gradient of GatherV2. */
const GatherGrad = defineOp({
  name: "GatherGrad",
  portable: "parts",
  inputs: ["dy: T", "indices: Tindices", "shape: int32", "axis: Taxis"],
  outputs: ["output: T"],
  attrs: ["T: numeric", ...AXIS_ATTRS],
  hostInputs: ["shape", "axis"],
  infer: ([, , shape]) => [shapeFromHost(shape)],
  grad: {
    saves: ["indices", "axis"],
    vjp: ({ indices, axis }, [ddx], { attrs: { batch_dims } }) => {
      return [apply1(GatherV2, [ddx, indices, axis], { batch_dims }), null, null, null];
    },
  },
  ...scatterKernels(gradLayout, { rows: 0, indices: 1 }),
});

function gatheredVectors(table: Spec, indices: Spec): PartialShape {
  const depth = indices.shape?.at(-1);
  if (indices.shape?.length === 0) {
    throw new ValueError("Cannot gatherND: indices must be at least a vector");
  }
  if (table.shape === null || indices.shape === null || depth == null) return null;
  if (depth > table.shape.length) {
    throw new ValueError(
      `Cannot gatherND: index innermost dimension length must be <= params rank; saw: ${depth} vs. ${table.shape.length}`,
    );
  }
  return [...indices.shape.slice(0, -1), ...table.shape.slice(depth)];
}

const GatherNd = defineOp({
  name: "GatherNd",
  inputs: ["params: Tparams", "indices: Tindices"],
  outputs: ["output: Tparams"],
  attrs: ["Tparams: type", "Tindices: {int16, int32, int64} = int64"],
  infer: ([table, indices]) => [gatheredVectors(table, indices)],
  grad: {
    saves: ["indices"],
    vjp: ({ indices }, [dy], ctx) => [
      apply1(lookupOp("ScatterNd")!, [indices, dy, shapeFor(ctx.shapeOf(0), ctx.inputs[1])]),
      null,
    ],
  },
  ...gatherKernels(({ inputs: [table, indices] }) => vectorLayout(table.shape, indices.shape)),
});

/** Returns a shape in the dtype of the indices, for ScatterNd. */
function shapeFor(shape: TensorLike, indices: Spec): OpInput {
  const dims = toInput(shape, "shape", "gatherND");
  return indices.dtype === "int16" ? dims : castInput(dims, indices.dtype);
}

/**
 * Gathers slices of `x` along `axis` by index; the first `batchDims` axes are matched. Throws `ValueError` for an axis
 * out of range, `InvalidArgumentError` for an index out of range on the CPU; on the GPU such an index gives zeros. `x` may
 * be a {@linkcode QuantizedTensor}. TensorFlow op `GatherV2`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.gather([10, 20, 30], tf.tensor1d([2, 0], "int32")).arraySync()); // [30, 10]
 * ```
 */
export function gather<X extends Operand, I extends Operand>(
  x: X,
  indices: I,
  axis = 0,
  batchDims = 0,
): Picked<X, I> {
  const table = toInput(x, "x", "gather"), at = indexInput(indices, "gather");
  const rank = shapeOfInput(table)?.length;
  if (rank === 0) throw new ValueError("Cannot gather from a scalar: x must be at least a vector");
  return apply1(GatherV2, [table, at, intScalar(axis)], { batch_dims: batchDims }) as Picked<X, I>;
}

/** Returns indices as given; JavaScript numbers become int32. Throws `TypeError` for other dtypes than integers. */
export function indexInput(indices: Operand, fn: string): OpInput {
  const isComposite = indices instanceof CompositeTensor;
  const at = isComposite ? indices as unknown as Tensor : toIndexInput(indices, "indices", fn);
  if (!isInteger(at.dtype)) {
    throw new TypeError(`Cannot apply ${fn} with indices of dtype ${at.dtype}: wanted int32`);
  }
  return at;
}

/** Does the same as {@linkcode indexInput} for ops that take only int32 and int64. */
export function wideIndexInput(indices: TensorLike, fn: string): OpInput {
  const at = indexInput(indices, fn);
  return castInput(at, at.dtype === "int64" ? "int64" : "int32");
}

/**
 * Gathers slices of `x` by index vectors: the last axis of `indices` runs through the leading axes of `x`. Throws
 * `InvalidArgumentError` for an index out of range on the CPU; on the GPU it gives zeros. TensorFlow op `GatherNd`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const at = tf.tensor2d([[0, 1], [1, 0]], [2, 2], "int32");
 * console.log(tf.gatherND([[1, 2], [3, 4]], at).arraySync()); // [2, 3]
 * ```
 */
export function gatherND(x: TensorLike, indices: TensorLike): Tensor {
  const table = toInput(x, "x", "gatherND");
  if (shapeOfInput(table)?.length === 0) {
    throw new ValueError(
      `Cannot gatherND from shape ${shapeText([])}: input must be at least a vector`,
    );
  }
  return apply1(GatherNd, [table, indexInput(indices, "gatherND")]);
}
