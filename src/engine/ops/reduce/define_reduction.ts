/**
 * defineReduction: defines an op by a term of each element, their combination, and a finish of each result; both
 * devices derive their kernels from it.
 */
import { apply1, type OpInput } from "../../core/apply.ts";
import type { ReduceMeaning } from "../../core/meaning.ts";
import { NdArray } from "../../core/nd_array.ts";
import {
  defineOp,
  type GradContext,
  type GradRule,
  type OpDef,
  type OpInit,
} from "../../core/op.ts";
import { argument, type Expr } from "../../core/scalar/expr.ts";
import { isConcrete, normalizeAxes, type PartialShape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { reduceCpu } from "../../kernels/host/reduce.ts";
import { expandDims, hostInts, reshape } from "../array/view.ts";
import { asTensor } from "../input.ts";
import type { Saved } from "../pointwise/define_pointwise.ts";

export interface ReductionInit {
  /** Combination of the terms. */
  readonly op: ReduceMeaning["op"];
  /** The term of an element; default the element itself. */
  readonly term?: (element: Expr) => Expr;
  /** The result from the combined terms; default those themselves. */
  readonly finish?: (total: Expr) => Expr;
  /** Allowed dtypes of input and output; default `numeric`. `bool`: only that. */
  readonly types?: string;
  /** Gradient, which may read `input`, `reduction_indices` and `output`; null for none. Absent: through `expand`. */
  readonly grad?: GradRule | null;
  /** Expansion into TensorFlow's ops, for a term or finish. It runs where no device has a kernel, as for float64. */
  readonly expand?: NonNullable<OpInit["expand"]>;
  /** True where TensorFlow has the same op. */
  readonly known?: boolean;
}

/**
 * Defines a reduction of `input` over the axes in `reduction_indices`, which are removed or, with `keep_dims`, stay as
 * 1.
 */
export function defineReduction(
  name: string,
  { op, term, finish, types = "numeric", grad, expand, known }: ReductionInit,
): OpDef {
  const x = argument(0), typed = types !== "bool";
  const reduction: ReduceMeaning = {
    op,
    ...(term && { term: term(x) }),
    ...(finish && { finish: finish(x) }),
  };
  return defineOp({
    name,
    inputs: [typed ? "input: T" : "input: bool", "reduction_indices: Tidx"],
    outputs: [typed ? "output: T" : "output: bool"],
    attrs: [
      "keep_dims: bool = false",
      ...(typed ? [`T: ${types}`] : []),
      "Tidx: index = int32",
      "_all: bool = false",
    ],
    hostInputs: ["reduction_indices"],
    meaning: { kind: "reduce", ...reduction },
    infer: ([x, axes], { keep_dims, _all }) => [
      _all && !keep_dims ? [] : reducedShape(x.shape, axes.value, keep_dims),
    ],
    ...(grad !== undefined && { grad }),
    ...(expand && { expand }),
    ...(expand && !known && { portable: "parts" as const }),
    ...(!term && !finish && { cpu: (ins, outs) => reduceCpu(op, ins, outs) }),
  });
}

/** Returns the reduced shape; unknown for unknown axes. */
function reducedShape(
  x: PartialShape,
  axes: NdArray | undefined,
  keepDims: boolean,
): PartialShape {
  if (x === null) return null;
  if (axes === undefined) return keepDims ? x.map(() => null) : null;
  const set = new Set(normalizeAxes(hostInts(axes), x.length));
  return keepDims ? x.map((d, i) => (set.has(i) ? 1 : d)) : x.filter((_, i) => !set.has(i));
}

const KeptShape = defineOp({
  name: "_KeptShape",
  portable: "parts",
  inputs: ["shape: int32", "reduction_indices: Tidx"],
  outputs: ["kept: int32"],
  attrs: ["Tidx: index = int32"],
  infer: ([s]) => [s.shape],
  grad: null,
  cpu: ([s, axes], [out]) => {
    const kept = out.data as Int32Array;
    kept.set(s.data as Int32Array);
    for (const a of normalizeAxes(hostInts(axes), kept.length)) kept[a] = 1;
  },
});

/** Returns the axes of a reduction if known. */
export function knownAxes(saved: Saved, ctx: GradContext): readonly number[] | null {
  const axes = saved.reduction_indices as Tensor | NdArray;
  const value = ctx.inputs[1].value ?? (axes instanceof NdArray ? axes : undefined);
  return value === undefined ? null : hostInts(value);
}

/** Restores the reduced axes of a result (or its gradient) as 1, so that it broadcasts against the input. */
export function keepAxes(y: Tensor, saved: Saved, ctx: GradContext): Tensor {
  if (ctx.attrs.keep_dims) return y;
  const x = ctx.inputs[0].shape, axes = knownAxes(saved, ctx);
  if (axes !== null && x !== null) {
    const list = normalizeAxes(axes, x.length);
    const kept = x.map((d, i) => (list.includes(i) ? 1 : d));
    if (isConcrete(kept)) return reshape(y, kept);
    return list.reduce((t, a) => expandDims(t, a), y);
  }
  return reshape(
    y,
    apply1(KeptShape, [asTensor(ctx.shapeOf(0) as OpInput), saved.reduction_indices]),
  );
}
