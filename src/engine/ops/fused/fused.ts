/** The ops that plans put in place of several others, and the expansion of fused nodes. They are internal. */
import { apply1, type OpInput } from "../../core/apply.ts";
import type { DType } from "../../core/dtype.ts";
import { commonShape, fusionOf, inputOf, withoutFusion } from "../../core/fusion.ts";
import { type Attrs, defineOp, lookupOp, type OpDef } from "../../core/op.ts";
import { type Expr, exprType } from "../../core/scalar/expr.ts";
import type { Tensor } from "../../core/tensor.ts";
import { pointwiseCpu } from "../../kernels/host/pointwise.ts";
import { productShape } from "../linalg/matmul.ts";
import { pointwiseKernels } from "../pointwise/define_pointwise.ts";

/** A tree of pointwise ops: `exprs[i]` of the inputs is output i. */
export const FusedPointwise: OpDef = defineOp({
  name: "_FusedPointwise",
  portable: { never: "only plans make it" },
  inputs: ["input: Tin"],
  outputs: ["output: Tout"],
  attrs: ["Tin: list(type)", "Tout: list(type)", "exprs: list(expr)"],
  infer: (specs, { exprs }) => {
    const shape = commonShape(specs.map((s) => s.shape));
    return (exprs as Expr[]).map(() => shape);
  },
  grad: null,
  ...pointwiseKernels((_, { exprs }) => exprs),
});

function pointwise(inputs: readonly OpInput[], expr: Expr): Tensor {
  const Tin = inputs.map((t): DType => t.dtype);
  return apply1(FusedPointwise, inputs, { Tin, Tout: [exprType(expr, Tin)], exprs: [expr] });
}

/** Expands a node with a fusion into ops: its prologue, its own op, and its epilogue. */
export function expandFusion(def: OpDef, inputs: readonly OpInput[], attrs: Attrs): Tensor[] {
  const { own, prologue, epilogue } = fusionOf(attrs)!;
  const first = prologue
    ? pointwise(prologue.inputs.map((i) => inputs[i]), prologue.expr)
    : inputs[0];
  const result = apply1(def, [first, ...inputs.slice(1, own)], withoutFusion(attrs));
  if (epilogue === null) return [result];
  const operands = epilogue.operands.map((o) => inputs[inputOf(o.buffer)]);
  return [pointwise([result, ...operands], epilogue.expr)];
}

/** Updates several variables by one rule: inputs are the rule's scalars, then each member's arrays. */
export const GroupedUpdate: OpDef = defineOp({
  name: "_GroupedUpdate",
  portable: { never: "only plans make it" },
  inputs: ["input: Tin"],
  outputs: ["output: Tout"],
  attrs: [
    "Tin: list(type)",
    "Tout: list(type)",
    "exprs: list(expr)",
    "scalars: int",
    "arrays: int",
  ],
  infer: (specs, { exprs, scalars, arrays, Tout }) =>
    (Tout as DType[]).map((_, i) => specs[scalars + Math.floor(i / exprs.length) * arrays].shape),
  grad: null,
  meaning: {
    kind: "update",
    exprs: (_, { exprs }) => exprs,
    members: ({ scalars, arrays }) => ({ scalars, arrays }),
  },
  cpu: (ins, outs, { attrs: { exprs, scalars, arrays } }) => {
    for (let m = 0; m * exprs.length < outs.length; m++) {
      const own = ins.slice(scalars + m * arrays, scalars + (m + 1) * arrays);
      pointwiseCpu(
        exprs,
        [...ins.slice(0, scalars), ...own],
        outs.slice(m * exprs.length, (m + 1) * exprs.length),
      );
    }
  },
});

/** Sums over the first axis of several matrices or vectors, each times a factor. */
export const GroupedColumnSum: OpDef = defineOp({
  name: "_GroupedColumnSum",
  portable: { never: "only plans make it" },
  inputs: ["input: N * T"],
  outputs: ["output: N * T"],
  attrs: ["N: int", "T: {float32}", "shapes: list(shape)", "scales: list(float)"],
  infer: (_, { shapes }) => shapes,
  grad: null,
  meaning: { kind: "special", kernel: "column sums" },
  cpu: (ins, outs, { attrs }) =>
    ins.forEach((x, m) => {
      const columns = outs[m].size, data = x.data as Float32Array;
      for (let c = 0; c < columns; c++) {
        let sum = 0;
        for (let i = c; i < data.length; i += columns) sum += data[i];
        (outs[m].data as Float32Array)[c] = sum * attrs.scales[m];
      }
    }),
});

/** The product of float32 and float16, in float32. */
export const HalfMatMul: OpDef = defineOp({
  name: "_HalfMatMul",
  portable: { never: "only plans make it" },
  inputs: ["a: T", "b: Tb"],
  outputs: ["product: T"],
  attrs: ["T: {float32}", "Tb: {float16}", "adj_x: bool = false", "adj_y: bool = false"],
  infer: ([a, b], { adj_x, adj_y }) => [productShape("_HalfMatMul", a, b, adj_x, adj_y, false)],
  grad: null,
  meaning: { kind: "product", of: "halves", fuses: true },
  // Plans make it where these ops are.
  expand: ([a, b], { T, Tb, ...turned }) => [
    apply1(lookupOp("BatchMatMulV2")!, [a, widened(b, Tb, T)], turned),
  ],
});

function widened(x: OpInput, SrcT: DType, DstT: DType): OpInput {
  return SrcT === DstT ? x : apply1(lookupOp("Cast")!, [x], { SrcT, DstT });
}

/** The product of normalized rows and a matrix. */
export const NormMatMul: OpDef = defineOp({
  name: "_NormMatMul",
  portable: { never: "only plans make it" },
  inputs: ["x: T", "scale: T", "offset: T", "b: Tb"],
  outputs: ["product: T"],
  attrs: [
    "T: {float16, float32}",
    "Tb: {float16, float32}",
    "epsilon: float",
    "transpose_b: bool = false",
  ],
  infer: ([x, , , b], { transpose_b }) => [
    x.shape && [...x.shape.slice(0, -1), b.shape?.[transpose_b ? 0 : 1] ?? null],
  ],
  grad: null,
  meaning: { kind: "product", of: "normed", fuses: true },
  // Plans make it where these ops are.
  expand: ([x, scale, offset, b], { T, Tb, epsilon, transpose_b }) => {
    const rows = apply1(lookupOp("_LayerNorm")!, [x, scale, offset], { epsilon });
    return [apply1(lookupOp("BatchMatMulV2")!, [rows, widened(b, Tb, T)], { adj_y: transpose_b })];
  },
});
