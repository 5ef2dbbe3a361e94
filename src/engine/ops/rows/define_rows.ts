/**
 * defineRows: defines an op over rows of the last axis by statistics of a row and an expression of its elements; both
 * devices derive their kernels from it.
 */
import { ValueError } from "../../core/errors.ts";
import type { RowNumber, RowSteps } from "../../core/meaning.ts";
import { type Attrs, defineOp, type GradRule, type OpDef, type OpInit } from "../../core/op.ts";
import { remembered } from "../../core/collections/recent_map.ts";
import { argument, argumentsOf, type Expr } from "../../core/scalar/expr.ts";
import { mergeShapes, type PartialShape } from "../../core/shape.ts";

/** Computes numbers of a row, each from a term of its elements. Terms may use numbers found before. */
export type Row = Readonly<Record<"sum" | "mean" | "max" | "min", (term: Expr) => Expr>>;

export interface RowsInit {
  /** Names of the inputs that are rows; default `["x"]`. */
  readonly inputs?: readonly string[];
  /** Names of further inputs, with an element for each column, common to all rows. */
  readonly columns?: readonly string[];
  /** Name of the output; default `y`. */
  readonly output?: string;
  readonly attrs?: readonly string[];
  /** Expansion into TensorFlow's ops. It runs where no device has a kernel, as for float64. */
  readonly expand: NonNullable<OpInit["expand"]>;
  /** Gradient; null for none. Absent: through `expand`. */
  readonly grad?: GradRule | null;
}

/**
 * Defines an op of TensorFlow's or Weft's; `element` returns the result of an element from one expression per input.
 */
export function defineRows(
  name: string,
  element: (args: readonly Expr[], row: Row, attrs: Attrs) => Expr,
  { inputs = ["x"], columns = [], output = "y", attrs = [], expand, grad }: RowsInit,
): OpDef {
  const names = [...inputs, ...columns];
  const steps = remembered((attrs: Attrs) =>
    stepsOf(names.length, (...args) => element(...args, attrs))
  );
  return defineOp({
    name,
    portable: "parts",
    inputs: names.map((n) => `${n}: T`),
    outputs: [`${output}: T`],
    attrs: [...attrs, "T: floating"],
    infer: (specs) => [
      rowsShape(specs.map((s) => s.shape), inputs.length, name),
    ],
    expand,
    ...(grad !== undefined && { grad }),
    meaning: { kind: "row steps", steps, columns: columns.map((_, i) => inputs.length + i) },
  });
}

/** The steps of a definition. */
function stepsOf(
  inputs: number,
  element: (args: readonly Expr[], row: Row) => Expr,
): RowSteps {
  const found: RowNumber[] = [], memo = new Map<Expr, Expr>();
  const add = (number: RowNumber): Expr => argument(inputs + found.push(number) - 1);
  /** Expressions of numbers alone are computed once a row. */
  const apart = (e: Expr): Expr => {
    if (e.args.length === 0) return e;
    let own = memo.get(e);
    if (own === undefined) {
      const args = argumentsOf(e), follows = args.length > 0 && args.every((a) => a >= inputs);
      own = follows ? add({ fold: null, of: e }) : { ...e, args: e.args.map(apart) };
      memo.set(e, own);
    }
    return own;
  };
  const put = (fold: RowNumber["fold"]) => (term: Expr): Expr => add({ fold, of: apart(term) });
  const row: Row = { sum: put("sum"), mean: put("mean"), max: put("max"), min: put("min") };
  const result = element(Array.from({ length: inputs }, (_, i) => argument(i)), row);
  return { results: [apart(result)], found };
}

/** Infers the shape of row inputs and of the others, which have an element for each column. */
export function rowsShape(
  shapes: readonly PartialShape[],
  rows: number,
  op: string,
): PartialShape {
  const x = shapes.slice(0, rows).reduce(mergeShapes);
  if (x === null) return x;
  const vector = [...shapes.slice(rows), atLeastVector(x, op)!.slice(-1)].reduce(mergeShapes)!;
  return [...x.slice(0, -1), vector[0]];
}

/** Returns the shape, which must have a last axis. */
export function atLeastVector(x: PartialShape, op: string): PartialShape {
  if (x !== null && x.length === 0) {
    throw new ValueError(`Shape must be at least rank 1 but is rank 0 for '${op}'`);
  }
  return x;
}
