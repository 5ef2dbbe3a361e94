/** Ops of the host that have no rule: one op runs their kernel for each row, which saves the steps of a loop. */
import { apply, type OpInput } from "../core/apply.ts";
import type { DType } from "../core/dtype.ts";
import { NdArray } from "../core/nd_array.ts";
import { type Attrs, defineOp, type OpDef, runsOnDevices } from "../core/op.ts";
import { isConcrete, type PartialShape, type Shape } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import type { ConcreteSpec } from "../core/tensor_spec.ts";
import type { Operation } from "../graph/operation.ts";
import { rowOf } from "./draw_rows.ts";
import type { Rows, RowValue } from "./values.ts";

/** The op that is run, and on what. */
interface EachRowAttrs extends Attrs {
  readonly op: OpDef;
  readonly given: Attrs;
  readonly Tout: readonly DType[];
  /** Flags of the inputs that have rows. */
  readonly batched: readonly boolean[];
  /** Shapes of the results in one row. */
  readonly shapes: readonly Shape[];
  readonly rows: number | null;
}

const EachRow: OpDef = defineOp({
  name: "_EachRow",
  portable: { never: "it stands for a loop over rows" },
  inputs: ["input: Tin"],
  outputs: ["output: Tout"],
  attrs: [
    ...["Tin: list(type)", "Tout: list(type)", "op: op", "given: attrs", "batched: list(bool)"],
    ...["shapes: list(shape)", "rows: rows"],
  ],
  infer: (_, attrs) => {
    const { shapes, rows } = attrs as EachRowAttrs;
    return shapes.map((shape) => [rows, ...shape]);
  },
  grad: null,
  cpu: (inputs, given, { attrs }) => {
    const { op, batched, shapes, Tout } = attrs as EachRowAttrs;
    const count = inputs[batched.indexOf(true)].shape[0];
    // Where only a run knows the number of rows, results are not there yet.
    const outputs = shapes.map((shape, i) => given[i] ?? NdArray.zeros(Tout[i], [count, ...shape]));
    for (let row = 0; row < count; row++) {
      const values = inputs.map((x, i) => batched[i] ? rowOf(x, row) : x);
      const results = outputs.map((y) => rowOf(y, row));
      op.cpu!(values, results, {
        inputs: values,
        outputs: results,
        hosts: values,
        attrs: attrs.given as Attrs,
      })?.forEach((found, i) => (results[i].data as Float32Array).set(found.data as Float32Array));
    }
    return outputs;
  },
});

/** Runs an op of the host for all rows; null where devices may run it, it has a gradient, or rows may have other shapes. */
export function eachRow(
  { def, attrs, outputs }: Operation,
  inputs: readonly RowValue[],
  rows: Rows,
): Tensor[] | null {
  const shapes: PartialShape[] = outputs.map((t) => t.staticShape);
  if (def.cpu === undefined || runsOnDevices(def) || def.grad !== null) return null;
  const isOfNumbers = [...inputs.map((v) => v.all), ...outputs].every((t) =>
    t.dtype !== "string" && t.dtype !== "variant" && t.dtype !== "resource"
  );
  if (!isOfNumbers || !shapes.every(isConcrete) || !inputs.some((v) => v.batched)) return null;
  return applyEachRow(def, inputs.map((v) => v.all), {
    attrs,
    batched: inputs.map((v) => v.batched),
    results: outputs.map((t, i) => ({ dtype: t.dtype, shape: shapes[i] as Shape })),
    rows,
  });
}

/** Runs the kernel of an op of the host for each row: inputs that are `batched` have the rows along their first axis. */
export function applyEachRow(
  op: OpDef,
  inputs: readonly OpInput[],
  { attrs, batched, results, rows }: {
    readonly attrs: Attrs;
    readonly batched: readonly boolean[];
    /** Results of one row. */
    readonly results: readonly ConcreteSpec[];
    readonly rows: Rows;
  },
): Tensor[] {
  return apply(EachRow, inputs, {
    Tin: inputs.map((t) => t.dtype),
    Tout: results.map((t) => t.dtype),
    op,
    given: attrs,
    batched,
    shapes: results.map((t) => t.shape),
    rows: rows.count,
  });
}
