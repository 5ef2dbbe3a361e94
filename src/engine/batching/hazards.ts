/** Finds what rows must be kept from in a body that they do not take, whose results are then dropped. */
import type { NdArray } from "../core/nd_array.ts";
import type { Meaning } from "../core/meaning.ts";
import {
  argument,
  castTo,
  constant,
  type Expr,
  literalOf,
  PREDICATES,
  type ScalarOp,
} from "../core/scalar/expr.ts";
import { isRead } from "../graph/effect_order.ts";
import { bodiesOf, type FuncGraph } from "../graph/func_graph.ts";
import type { Operation, SymbolicTensor } from "../graph/operation.ts";

/**
 * A body's hazard for rows that do not take it. `none`: its derivatives are the same for all operands. `infinity`: it has
 * finite results and derivatives for finite operands. `refusal`: it may refuse a value, or make an infinity of a finite one.
 */
export type Hazard = "none" | "infinity" | "refusal";

/** Kinds whose ops move elements. */
const MOVES: ReadonlySet<Meaning["kind"]> = new Set<Meaning["kind"]>([
  "constant",
  "copy",
  "exchange",
  "fill",
  "input",
  "mark",
  "view",
]);

/** Primitives whose derivatives are the same for all operands, beside predicates and products with a finite number. */
const LINEAR: ReadonlySet<ScalarOp> = new Set<ScalarOp>([
  ...["arg", "const", "cast", "keep", "select", "add", "sub", "neg", "min", "max"] as const,
  ...["floor", "ceil", "round", "trunc"] as const,
  ...["bitand", "bitor", "bitxor", "bitnot", "shl", "shr"] as const,
  ...["real", "imag", "conj", "complex"] as const,
]);

/** Primitives with finite results and derivatives for finite operands, beside those. */
const FINITE: ReadonlySet<ScalarOp> = new Set<ScalarOp>(
  ["mul", "abs", "sign", "sin", "cos", "atan", "tanh", "asinh", "erf"],
);

/** Returns the greatest hazard of the ops of a body. */
export function hazardOf(graph: FuncGraph): Hazard {
  return greatest(graph.operations.map(hazardOfOp));
}

function greatest(hazards: readonly Hazard[]): Hazard {
  if (hazards.includes("refusal")) return "refusal";
  return hazards.includes("infinity") ? "infinity" : "none";
}

function hazardOfOp(op: Operation): Hazard {
  const bodies = bodiesOf(op), { def: { meaning, name }, attrs, inputs } = op;
  if (bodies.length > 0) return greatest(bodies.map(hazardOf));
  switch (meaning.kind) {
    case "pointwise": {
      const given = inputs.map((x, i) => numberOf(x as SymbolicTensor) ?? argument(i));
      return greatest(meaning.exprs(given, attrs).map(hazardOfExpr));
    }
    case "reduce":
      if (meaning.op === "prod" || meaning.finish !== undefined) return "refusal";
      return greatest([
        hazardOfExpr(meaning.term ?? argument(0)),
        meaning.op === "max" || meaning.op === "min" ? "infinity" : "none",
      ]);
    case "product":
    case "arg reduce":
      return "infinity";
  }
  return MOVES.has(meaning.kind) || isRead(op) || name === "VarHandleOp" ? "none" : "refusal";
}

/** The number that a constant is. */
function numberOf({ operation: { def, attrs }, dtype }: SymbolicTensor): Expr | null {
  if (def.meaning.kind !== "constant") return null;
  const { data, size } = attrs.value as NdArray;
  return size === 1 && typeof data[0] === "number" ? castTo(constant(data[0]), dtype) : null;
}

function hazardOfExpr({ op, args }: Expr): Hazard {
  const isScaled = op === "mul" && args.some((x) => Number.isFinite(literalOf(x)));
  const own = isScaled || LINEAR.has(op) || PREDICATES.has(op)
    ? "none"
    : FINITE.has(op)
    ? "infinity"
    : "refusal";
  return greatest([own, ...args.map(hazardOfExpr)]);
}
