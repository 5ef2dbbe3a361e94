/** Rules that `./tf` alone has: gradients as ops of their own, which graphs hold that TensorFlow has differentiated. */
import type { Tensor } from "../../../engine/core/tensor.ts";
import { cast } from "../../../engine/ops/array/cast.ts";
import { onesLike } from "../../../engine/ops/array/creation.ts";
import { gather } from "../../../engine/ops/array/gather.ts";
import { expandDims, reshape, shape, size } from "../../../engine/ops/array/view.ts";
import { intVector } from "../../../engine/ops/input.ts";
import {
  argsort,
  checkedIndices,
  choleskyGradient,
  concat,
  slice,
} from "../../../engine/ops/of_files.ts";
import { div } from "../../../engine/ops/pointwise/arithmetic.ts";
import { sqrt } from "../../../engine/ops/pointwise/power.ts";
import { addEntries } from "../op_table.ts";
import { type ImportedNode, type ImportRule, put, put1, rule } from "../rule.ts";

/** Divisor of a segment's sum: none, the number of its rows, or the root of that. */
type Norm = "Sum" | "Mean" | "SqrtN";

/** The numbers, each checked to be below `extent` when the graph runs. */
function below(numbers: Tensor, extent: Tensor): Tensor {
  const denseShape = cast(reshape(extent, [1]), numbers.dtype);
  return reshape(checkedIndices({ indices: expandDims(numbers, 1), denseShape }), [-1]);
}

/** Rows of the gradient for each picked row: that of its segment. */
function pickedRows({ inputs: [dy, , given] }: ImportedNode, norm: Norm): Tensor {
  const count = slice(shape(dy), [0], [1]), ids = below(given, count), rows = gather(dy, ids);
  if (norm === "Sum") return rows;
  const counts = put1("UnsortedSegmentSum", [onesLike(ids), ids, reshape(count, [])]);
  const ones = onesLike(slice(shape(dy), [1], [-1]));
  const each = reshape(gather(counts, ids), concat([intVector([-1]), ones]));
  const by = cast(each, dy.dtype);
  return div(rows, norm === "Mean" ? by : sqrt(by));
}

/** Gradients of the rows that segments were picked from. */
const segments = (norm: Norm): ImportRule => (node) => {
  const [, indices, , rows] = node.inputs;
  return [put1("UnsortedSegmentSum", [pickedRows(node, norm), below(indices, rows), rows])];
};

/** The same for the rows that were picked alone, and which those are. */
const pickedSegments = (norm: Norm): ImportRule => (node) => {
  const [, given, , rows] = node.inputs, indices = below(given, rows), order = argsort(indices);
  const [picked, at] = put("UniqueV2", [gather(indices, order), intVector([0])]);
  const sorted = gather(pickedRows(node, norm), order);
  return [put1("UnsortedSegmentSum", [sorted, at, size(picked)]), picked];
};

const NORMS: readonly Norm[] = ["Sum", "Mean", "SqrtN"];

addEntries({
  CholeskyGrad: rule(({ inputs: [l, dy] }) => [choleskyGradient(l, dy)], 2),
  ...Object.fromEntries(NORMS.flatMap((norm) => [
    [`SparseSegment${norm}Grad`, rule(segments(norm), 4)],
    [
      `SparseSegment${norm}GradV2`,
      rule(pickedSegments(norm), 4, { outputs: ["output", "sorted_unique_indices"] }),
    ],
  ])),
});
