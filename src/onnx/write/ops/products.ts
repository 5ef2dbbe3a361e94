/** Products of matrices and of many operands. */
import { isFloating } from "../../../engine/core/dtype.ts";
import { transpose, upTo } from "../helpers.ts";
import type { NodeWriter } from "../node_writer.ts";
import type { Ref } from "../ref.ts";
import type { WriteRules } from "../rule.ts";

/** Exchanges the last two axes. */
function turned(n: NodeWriter, x: Ref): Ref {
  const rank = n.rank(x), axes = upTo(rank);
  return transpose(n, x, [...axes.slice(0, -2), rank - 1, rank - 2]);
}

function matMul(n: NodeWriter): Ref {
  const { transpose_a: a, transpose_b: b } = n.attrs, [x, y] = n.xs;
  if (!a && !b || !isFloating(x.dtype)) {
    return n.node("MatMul", [a ? turned(n, x) : x, b ? turned(n, y) : y]);
  }
  return n.node("Gemm", [x, y], { transA: a ? 1n : 0n, transB: b ? 1n : 0n });
}

function batchMatMul(n: NodeWriter): Ref {
  const { adj_x, adj_y } = n.attrs, [x, y] = n.xs;
  return n.node("MatMul", [adj_x ? turned(n, x) : x, adj_y ? turned(n, y) : y]);
}

export const PRODUCTS: WriteRules = {
  BatchMatMul: batchMatMul,
  BatchMatMulV2: batchMatMul,
  Einsum: (n) => n.node("Einsum", n.xs, { equation: n.attrs.equation as string }),
  MatMul: matMul,
  MatrixDeterminant: (n) => n.node("Det", n.xs),
};
