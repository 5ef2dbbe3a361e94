/** Reductions: the term of each element, ONNX's reduction, and the finish. */
import type { MeaningOf } from "../../engine/core/meaning.ts";
import { DTYPES, INTEGER_ENDS, isShort } from "../../engine/core/dtype.ts";
import { typeFor } from "./element_types.ts";
import { writeExpr } from "./expressions.ts";
import { reduce, upTo } from "./helpers.ts";
import { axisOfFirst } from "./layout.ts";
import type { NodeWriter } from "./node_writer.ts";
import { intsOf, type Ref } from "./ref.ts";

const REDUCTIONS = {
  sum: "ReduceSum",
  mean: "ReduceMean",
  prod: "ReduceProd",
  max: "ReduceMax",
  min: "ReduceMin",
  any: "ReduceSum",
  all: "ReduceSum",
};

/** The greatest or least of no elements is an end of its own type, not of the one that it is computed in. */
function extreme(n: NodeWriter, op: "max" | "min", x: Ref, reduced: (x: Ref) => Ref): Ref {
  const type = typeFor(REDUCTIONS[op], x.dtype, n.target.opset), ends = INTEGER_ENDS[x.dtype];
  if (type === null || type === x.dtype || ends === undefined || DTYPES[x.dtype].bytes > 2) {
    return reduced(x);
  }
  const end = n.scalar(Number(ends[op === "max" ? 0 : 1]), type);
  return n.cast(n.node(op === "max" ? "Max" : "Min", [reduced(n.cast(x, type)), end]), x.dtype);
}

/** Writes a reduction over the axes in input 1. */
export function reduceNode(n: NodeWriter, { op, term, finish }: MeaningOf<"reduce">): Ref {
  const { keep_dims, _all } = n.attrs as { keep_dims: boolean; _all?: boolean };
  const [x, given] = n.xs, rank = x.shape?.length;
  const isHalf = isShort(x.dtype);
  let axes: readonly number[] | Ref = intsOf(given) ?? given;
  if (_all === true && rank !== undefined) axes = upTo(rank);
  let from = isHalf ? n.cast(x, "float32") : x;
  // Spatial axes of an image are reduced in the form that it has.
  const image = x.first;
  if (image !== null && rank !== undefined && Array.isArray(axes) && !isHalf && !keep_dims) {
    const at = (axes as readonly number[]).map((a) => a < 0 ? a + rank : a);
    const isSpatial = at.length > 0 && at.every((a) => a > 0 && a < rank - 1);
    if (isSpatial && at.length === rank - 2 && op !== "any" && op !== "all") {
      from = image;
      axes = at.map((a) => axisOfFirst(a, rank));
    }
  }
  if (term !== undefined) from = writeExpr(n, term, [from], from.dtype);
  let y: Ref;
  if (from.dtype === "bool") {
    // All are true where none is false.
    const counted = n.cast(op === "all" ? n.node("Not", [from]) : from, "int32");
    y = n.cast(reduce(n, REDUCTIONS[op], counted, axes, keep_dims), "bool");
    if (op === "all") y = n.node("Not", [y]);
  } else {
    const reduced = (x: Ref): Ref => reduce(n, REDUCTIONS[op], x, axes, keep_dims);
    y = op === "max" || op === "min" ? extreme(n, op, from, reduced) : reduced(from);
  }
  if (finish !== undefined) y = writeExpr(n, finish, [y], y.dtype);
  return n.cast(y, n.dtype);
}
