/** A list of tensors as one stacked tensor, written row by row: imported tensor lists of TensorFlow take this form. */
import { apply1, type OpInput } from "../../core/apply.ts";
import { InvalidArgumentError, UnimplementedError } from "../../core/errors.ts";
import { defineOp, type GradContext, type OpDef, type OpInit } from "../../core/op.ts";
import { NdArray } from "../../core/nd_array.ts";
import { sameShape, shapeText, sizeOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { expandDims, hostInts, identity, reshape } from "./view.ts";
import { zeros, zerosLike } from "./creation.ts";
import { shapeFromHost } from "./fill_ops.ts";
import { gather } from "./gather.ts";
import { asTensor, intVector } from "../input.ts";
import { tensorScatterUpdate } from "./scatter.ts";

/** True for rows of unknown shape, which have no elements; the first written row tells it. */
function isUnshaped(rows: Tensor): boolean {
  return sizeOf(rows.staticShape as readonly number[]) === 0;
}

/** Throws `UnimplementedError` for a row of another shape than the existing ones. */
function checkRow(rows: Tensor, row: readonly number[]): void {
  const [, ...have] = rows.staticShape as readonly number[];
  if (isUnshaped(rows) || sameShape(have, row)) return;
  throw new UnimplementedError(
    `Cannot put a row of shape ${shapeText(row)} into a list whose rows have shape ${
      shapeText(have)
    }: a list is one stacked tensor here, so all its rows have one shape`,
    { op: "TensorList" },
  );
}

/** Returns row numbers for a scatter. Throws `InvalidArgumentError` for one out of range. */
function placesOf(index: Tensor | NdArray, rows: number): NdArray {
  const values = index instanceof NdArray ? index.data : index.dataSync();
  const places = Int32Array.from(values as ArrayLike<number>);
  const bad = places.find((i) => !(i >= 0 && i < rows));
  if (bad === undefined) return new NdArray("int32", [places.length, 1], places);
  throw new InvalidArgumentError(
    `Trying to modify element ${bad} in a list with ${rows} elements`,
    { op: "_WriteRows" },
  );
}

function defineRowOp(
  name: string,
  init: Pick<OpInit, "inputs" | "infer"> & Partial<OpInit>,
): OpDef {
  return defineOp({ name, portable: "parts", outputs: ["output: T"], attrs: ["T: type"], ...init });
}

/** Replaces rows. Inputs: rows `[n, …]`, row numbers `[k]`, their new values `[k, …]`. */
const WriteRows: OpDef = defineRowOp("_WriteRows", {
  inputs: ["rows: T", "places: int32", "values: T"],
  hostInputs: ["places"],
  changes: 0,
  infer: ([rows, , values]) => [
    values.shape === null ? null : [rows.shape?.[0] ?? null, ...values.shape.slice(1)],
  ],
  expand: (inputs) => {
    const [rows, places, values] = inputs.map(asTensor);
    const [n] = rows.staticShape as readonly number[];
    const row = (values.staticShape as readonly number[]).slice(1);
    checkRow(rows, row);
    const all = isUnshaped(rows) ? zeros([n, ...row], rows.dtype) : rows;
    return [tensorScatterUpdate(all, asTensor(placesOf(places, n)), values)];
  },
  grad: {
    saves: ["places"],
    vjp: ({ places }, [dy], ctx) => {
      const picked = gather(dy, places);
      return [clearRows(ctx, places, dy), null, picked];
    },
  },
});

/**
 * The gradient of what was there before rows were replaced: none in those, none at all where there were no elements. Inputs: the shape
 * of what was there, the numbers of the rows, the gradient.
 */
const ClearRows: OpDef = defineRowOp("_ClearRows", {
  inputs: ["dims: int32", "places: int32", "dy: T"],
  hostInputs: ["dims", "places"],
  changes: 2,
  infer: ([dims]) => [shapeFromHost(dims)],
  expand: ([dims, ...others]) => {
    const [places, dy] = others.map(asTensor), shape = hostInts(dims as NdArray);
    if (sizeOf(shape) === 0) return [zeros(shape, dy.dtype)];
    const [n, ...row] = dy.staticShape as readonly number[];
    const at = placesOf(places, n);
    return [tensorScatterUpdate(dy, asTensor(at), zeros([at.shape[0], ...row], dy.dtype))];
  },
  grad: {
    saves: ["places", "dy"],
    vjp: ({ places, dy }, [d]) => [null, null, writeRows(d, places, zerosLike(gather(dy, places)))],
  },
});

/** {@linkcode ClearRows} for the first input of an op. */
function clearRows(ctx: GradContext, places: OpInput, dy: Tensor): Tensor {
  return apply1(ClearRows, [ctx.shapeOf(0) as OpInput, places, dy]);
}

/** Replaces row `place` (a scalar) of `rows`. */
export function writeRow(rows: Tensor, place: Tensor, row: Tensor): Tensor {
  return apply1(WriteRows, [rows, reshape(place, [1]), expandDims(row, 0)]);
}

/** Replaces the rows with these numbers, a vector. */
export function writeRows(rows: Tensor, places: Tensor, values: Tensor): Tensor {
  return apply1(WriteRows, [rows, places, values]);
}

/**
 * Gives rows the shape `row`, zeros if unwritten. Inputs: rows `[n, …]`, the shape of each, in which -1 is unknown. Throws
 * `InvalidArgumentError` for rows of another shape, and for no rows where the shape is not known.
 */
const FilledRows = defineRowOp("_FilledRows", {
  inputs: ["rows: T", "row: int32"],
  hostInputs: ["row"],
  infer: ([rows, row]) => {
    const known = shapeFromHost(row);
    return [
      known && [rows.shape?.[0] ?? null, ...known.map((d) => (d !== null && d < 0 ? null : d))],
    ];
  },
  expand: ([given, row]) => {
    const rows = asTensor(given), [n, ...have] = rows.staticShape as readonly number[];
    const told = hostInts(row as NdArray);
    // Dimensions that no write told are zero in rows without elements.
    const want = told.length === have.length ? told.map((d, i) => (d < 0 ? have[i] : d)) : told;
    if (n === 0 && told.some((d, i) => d < 0 && !(have[i] > 0))) {
      throw new InvalidArgumentError(
        `Tried to stack elements of an empty list with non-fully-defined element_shape: ${
          shapeText(told.map((d) => (d < 0 ? null : d)))
        }`,
        { op: "TensorListStack" },
      );
    }
    if (sameShape(have, want)) return [identity(rows)];
    if (isUnshaped(rows)) return [zeros([n, ...want], rows.dtype)];
    throw new InvalidArgumentError(
      `Cannot stack a list: its rows have shape ${shapeText(have)}, wanted ${shapeText(want)}`,
      { op: "TensorListStack" },
    );
  },
  grad: {
    saves: [],
    vjp: (_, [dy], ctx) => [clearRows(ctx, intVector([]), dy), null],
  },
});

/** Returns rows of the shape `row`, zeros if unwritten. */
export function filledRows(rows: Tensor, row: Tensor): Tensor {
  return apply1(FilledRows, [rows, row]);
}

/** Makes zeros for `n` rows of a shape in which -1 is unknown. */
export function emptyRows(n: OpInput, row: readonly number[], dtype: Tensor["dtype"]): Tensor {
  const shape = row.map((d) => Math.max(d, 0));
  return apply1(EmptyRows, [n], { dtype, row: shape });
}

const EmptyRows = defineOp({
  name: "_EmptyRows",
  portable: "parts",
  inputs: ["n: int32"],
  outputs: ["output: dtype"],
  attrs: ["dtype: type", "row: list(int)"],
  hostInputs: ["n"],
  // The first write may tell another shape.
  infer: () => [null],
  expand: ([n], { dtype, row }) => [
    zeros([Number((n as unknown as NdArray).item()), ...row as number[]], dtype),
  ],
  grad: null,
});
