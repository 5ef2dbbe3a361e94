/** Nodes of plans with expressions fused to them: inputs and attributes as a plan would give them. */

import type { DType, NdArray } from "@weft/weft";
import { type EpilogueOperand, withFusion } from "../src/engine/core/fusion.ts";
import { type Attrs, lookupOp, type OpDef } from "../src/engine/core/op.ts";
import type { Expr } from "../src/engine/core/scalar/expr.ts";

/** The access of an epilogue to an operand. */
export type Per = EpilogueOperand["per"];

/** Operands from this input on; float32, where nothing else is said. */
function operandsFrom(
  first: number,
  per: readonly Per[],
  dtypes: readonly DType[] = [],
): EpilogueOperand[] {
  return per.map((per, i) => (
    { dtype: dtypes[i] ?? "float32", buffer: { input: first + i }, per }
  ));
}

/** Attributes of a product whose sums go through an expression; its operands follow the two of the product. */
export function withEpilogue(
  attrs: Attrs,
  expr: Expr,
  per: readonly Per[],
  dtypes?: readonly DType[],
  own = 2,
): Attrs {
  const epilogue = { expr, operands: operandsFrom(own, per, dtypes) };
  return withFusion(attrs, { own, prologue: null, epilogue, dtype: "float32" });
}

/** A reduction with its prologue and epilogue. */
export interface FusedReduction {
  /** Operands of the elements. */
  readonly operands: readonly NdArray[];
  /** An element. */
  readonly expr: Expr;
  /** Axes that go. */
  readonly axes: NdArray;
  /** Expression of the results, over them and `further`, each one per result or one for all. */
  readonly finish?: Expr;
  /** See `finish`. */
  readonly further?: readonly NdArray[];
  /** Element type of the result. Default float32. */
  readonly dtype?: DType;
}

/** Inputs and attributes of a reduction with a prologue, and perhaps an epilogue. */
export function fusedReduction(
  { operands, expr, axes, finish, further = [], dtype = "float32" }: FusedReduction,
  attrs: Attrs = {},
): { inputs: NdArray[]; attrs: Attrs } {
  const [first, ...others] = operands;
  const per = further.map((x): Per => (x.size === 1 ? "all" : "element"));
  return {
    inputs: [first, axes, ...others, ...further],
    attrs: withFusion(attrs, {
      own: 2,
      prologue: { expr, inputs: operands.map((_, i) => (i === 0 ? 0 : i + 1)) },
      epilogue: finish
        ? {
          expr: finish,
          operands: operandsFrom(2 + others.length, per, further.map((x) => x.dtype)),
        }
        : null,
      dtype,
    }),
  };
}

/** The op whose name a case begins with: "MatMul with an epilogue" is one of MatMul. */
export function opOfCase(name: string): OpDef {
  return lookupOp(name.split(" ")[0])!;
}
