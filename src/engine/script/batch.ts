/**
 * Vectorised scripts: bodies that take and return batches, arrays with a leading axis for the calls that became one. A call by itself
 * is a batch of one.
 */
import { apply, type OpInput } from "../core/apply.ts";
import { NdArray } from "../core/nd_array.ts";
import type { Attrs, OpDef } from "../core/op.ts";
import { mergeShapes, type PartialShape } from "../core/shape.ts";
import { Tensor } from "../core/tensor.ts";
import type { Spec } from "../core/tensor_spec.ts";
import { concat } from "../ops/array/join.ts";
import { broadcastTo } from "../ops/array/repeat.ts";
import { slice } from "../ops/array/slice.ts";
import { expandDims, shape, squeeze } from "../ops/array/view.ts";
import { shapeOfInput } from "../ops/input.ts";
import { outputShapes, type Script } from "./script.ts";

/** The batch that a body is called with. */
export interface Batch {
  /** Extent of the leading axis. */
  readonly rows: number;
  /** True where the inputs of the op are those of one call, without the axis. */
  readonly isAlone: boolean;
}

const ALONE: Batch = { rows: 1, isAlone: true };

/** The batch of a call; null for a script that is not vectorised. */
export function batchOf(
  { vectorized }: Script,
  attrs: Attrs,
  inputs: readonly OpInput[],
): Batch | null {
  if (!vectorized) return null;
  return attrs._batched === true ? { rows: shapeOfInput(inputs[0])![0]!, isAlone: false } : ALONE;
}

/** A value as a batch of one. */
export function batchOfOne<T extends OpInput>(x: T): T {
  return (x instanceof NdArray ? x.reshape([1, ...x.shape]) : expandDims(x as Tensor, 0)) as T;
}

/** The value in a batch of one. */
export function onlyRow<T extends OpInput>(x: T): T {
  return (x instanceof NdArray ? x.reshape(x.shape.slice(1)) : squeeze(x as Tensor, [0])) as T;
}

/** Specs of one row, and how many there are as far as that is known. Throws `ValueError` where leading extents differ. */
export function rowSpecs(
  inputs: readonly Spec[],
): { readonly rows: number | null; readonly specs: Spec[] } {
  const first = inputs.reduce<PartialShape>(
    (known, { shape }) => mergeShapes(known, shape && shape.slice(0, 1)),
    null,
  );
  const specs = inputs.map(({ dtype, shape }) => ({ dtype, shape: shape && shape.slice(1) }));
  return { rows: first?.[0] ?? null, specs };
}

/**
 * Returns the static shapes that a call's results must have: the declared ones, refined by `shapeFn` for the actual
 * inputs.
 */
export function shapesOfCall(
  script: Script,
  inputs: readonly OpInput[],
  batch: Batch | null,
): readonly PartialShape[] {
  const specs = (): Spec[] =>
    inputs.map((x) =>
      x instanceof Tensor
        ? { dtype: x.dtype, shape: x.staticShape }
        : { dtype: x.dtype, shape: x.shape, value: x }
    );
  const isMany = batch !== null && !batch.isAlone;
  const shapes = script.shapeFn
    ? outputShapes(script, isMany ? rowSpecs(specs()).specs : specs())
    : script.outputs.shapes;
  return batch === null ? shapes : shapes.map((s) => s && [batch.rows, ...s]);
}

/**
 * Calls a vectorised script once for many rows: the rule by which a transformation of functions maps it. Inputs that `isBatched` names,
 * at least one, have a leading axis for the rows, as the results do; the others are the same for all rows.
 */
export function callBatched(
  { def, attrs }: { readonly def: OpDef; readonly attrs: Attrs },
  inputs: readonly Tensor[],
  isBatched: readonly boolean[],
): Tensor[] {
  const rows = slice(shape(inputs[isBatched.indexOf(true)]), [0], [1]);
  const all = inputs.map((x, i) => isBatched[i] ? x : broadcastTo(x, concat([rows, shape(x)])));
  return apply(def, all, { ...attrs, _batched: true });
}
