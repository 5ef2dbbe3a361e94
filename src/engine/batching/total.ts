/** Finds bodies that rows may compute without need: none of their ops refuses a value or has an infinite derivative. */
import type { Meaning } from "../core/meaning.ts";
import { argument, type Expr, PREDICATES, type ScalarOp } from "../core/scalar/expr.ts";
import { isRead } from "../graph/effect_order.ts";
import { bodiesOf, type FuncGraph } from "../graph/func_graph.ts";
import type { Operation } from "../graph/operation.ts";

/** Kinds whose ops move elements, or add and compare them. */
const KINDS: ReadonlySet<Meaning["kind"]> = new Set<Meaning["kind"]>([
  "arg reduce",
  "constant",
  "copy",
  "exchange",
  "fill",
  "input",
  "mark",
  "product",
  "view",
]);

/** Primitives with finite results and derivatives for finite operands, beside predicates. */
const SCALARS: ReadonlySet<ScalarOp> = new Set<ScalarOp>([
  ...["arg", "const", "cast", "keep", "select"] as const,
  ...["add", "sub", "mul", "neg", "abs", "sign", "min", "max"] as const,
  ...["floor", "ceil", "round", "trunc"] as const,
  ...["sin", "cos", "atan", "tanh", "asinh", "erf"] as const,
  ...["bitand", "bitor", "bitxor", "bitnot", "shl", "shr"] as const,
  ...["real", "imag", "conj", "complex"] as const,
]);

/** True where rows that go another way may run a body: what it gives them is then dropped, with no error and no NaN. */
export function isTotal(graph: FuncGraph): boolean {
  return graph.operations.every(isTotalOp);
}

function isTotalOp(op: Operation): boolean {
  const bodies = bodiesOf(op), { def: { meaning, name }, attrs, inputs } = op;
  if (bodies.length > 0) return bodies.every(isTotal);
  if (meaning.kind === "pointwise") {
    return meaning.exprs(inputs.map((_, i) => argument(i)), attrs).every(isTotalExpr);
  }
  if (meaning.kind === "reduce") return meaning.op !== "prod" && meaning.finish === undefined;
  return KINDS.has(meaning.kind) || isRead(op) || name === "VarHandleOp";
}

function isTotalExpr({ op, args }: Expr): boolean {
  return (SCALARS.has(op) || PREDICATES.has(op)) && args.every(isTotalExpr);
}
