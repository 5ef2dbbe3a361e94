/** Padding of elements to one shape. */
import { CompositeSpec } from "../../../engine/core/composite.ts";
import { structureText } from "../../../engine/core/nest.ts";
import { encodeString } from "../../../engine/core/text.ts";
import {
  type DType,
  DTYPES,
  type HostData,
  isBigInt,
  isInteger,
} from "../../../engine/core/dtype.ts";
import { TypeError } from "../../../engine/core/throwing/builtin_errors.ts";
import { DataLossError, InvalidArgumentError, ValueError } from "../../../engine/core/errors.ts";
import { elementAt } from "../../../engine/core/arrays/elements.ts";
import { type ElementValue, NdArray, setElement } from "../../../engine/core/nd_array.ts";
import { type PartialShape, sameShape, shapeText, stridesOf } from "../../../engine/core/shape.ts";
import { TensorSpec } from "../../../engine/core/tensor_spec.ts";
import type { Join, PaddedBatchOptions } from "../batch.ts";
import { type ElementType, leavesIn, stackRows } from "../element.ts";
import { leavesOf } from "./leaves.ts";

/** A padding: the specs of padded batches, and the function that joins elements. */
interface Padding {
  readonly specs: readonly TensorSpec[];
  readonly join: Join;
  /** The padded shape and the padding value of each component. */
  readonly shapes: readonly (readonly (number | null)[])[];
  readonly values: readonly NdArray[];
}

/** Makes the padding of elements of a type. Throws `ValueError` for shapes that cannot hold them. */
export function padding(
  { specs, structure }: ElementType,
  options: PaddedBatchOptions,
): Padding {
  const composite = leavesOf({ specs, structure }).find(({ spec }) =>
    spec instanceof CompositeSpec
  );
  if (composite !== undefined) {
    throw new TypeError(
      `paddedBatch() is only supported for datasets that produce tensor elements, but elements hold ${composite.spec}: use batch()`,
    );
  }
  const shapes = options.paddedShapes === undefined
    ? specs.map(({ shape }) => shape)
    : componentsOf(options.paddedShapes, structure, "paddedShapes") as PartialShape[];
  const padded = specs.map((spec, i): TensorSpec => {
    const shape = shapes[i];
    if (shape === null) {
      throw new ValueError(
        `Cannot pad component ${i} of unknown rank: pass paddedShapes, or declare the shape in the stage before`,
      );
    }
    const dims = shape.map((d) => (d === null || d < 0 ? null : d)), own = spec.shape ?? dims;
    const holds = own.length === dims.length &&
      own.every((d, k) => d === null || dims[k] === null || d <= dims[k]);
    if (holds) return TensorSpec(dims, spec.dtype);
    throw new ValueError(
      `The padded shape ${
        shapeText(own.length === dims.length ? dims : shape)
      } is not compatible with the corresponding input component shape ${shapeText(own)}.`,
    );
  });
  const values = paddingValues(options.paddingValues, padded, structure);
  // An open dimension that is equal in all elements stays known.
  const known = padded.map((spec, i) =>
    TensorSpec(openDims(spec.shape!, specs[i].shape), spec.dtype)
  );
  return {
    specs: known,
    shapes: padded.map(({ shape }) => shape!),
    values,
    join: (rows, c) => padRows(rows, padded[c].shape!, values[c], c),
  };
}

function openDims(wanted: NonNullable<PartialShape>, given: PartialShape): PartialShape {
  return given === null ? wanted : wanted.map((d, k) => d ?? given[k]);
}

function componentsOf(nest: unknown, structure: unknown, what: string): unknown[] {
  const leaves = leavesIn(structure, nest);
  if (leaves === null) {
    throw new TypeError(
      `Cannot use ${what}: it must have the structure of the elements, ${
        structureText(structure)
      }, received ${structureText(nest)}`,
    );
  }
  return leaves;
}

function paddingValues(
  given: unknown,
  specs: readonly TensorSpec[],
  structure: unknown,
): NdArray[] {
  const single = ["number", "bigint", "boolean", "string", "undefined"].includes(typeof given);
  const leaves = single ? specs.map(() => given) : componentsOf(given, structure, "paddingValues");
  return specs.map(({ dtype }, i) => paddingValue(leaves[i], dtype));
}

/**
 * Makes a padding value, by default zero. Throws `TypeError` for a value of another kind, and for a number that an
 * integer dtype would change.
 */
function paddingValue(value: unknown, dtype: DType): NdArray {
  const scalar = NdArray.zeros(dtype, []);
  if (value === undefined || value === null) return scalar;
  const isText = typeof value === "string" || value instanceof Uint8Array;
  const mustStay = typeof value === "number" && isInteger(dtype);
  if (isText === (dtype === "string") && !(mustStay && !Number.isInteger(value))) {
    const number = isBigInt(dtype) ? BigInt(value as number) : value as ElementValue;
    setElement(scalar, 0, isText ? encodeString(value) : number);
    if (!mustStay || Number(scalar.data[0]) === value) return scalar;
  }
  throw new TypeError(
    `Mismatched type between padding value ${
      String(value)
    } and input dataset's component of ${dtype}`,
  );
}

function padRows(
  rows: readonly NdArray[],
  wanted: NonNullable<PartialShape>,
  value: NdArray,
  component: number,
): NdArray {
  for (const row of rows) checkRow(row, wanted, component);
  const shape = wanted.map((d, k) => d ?? Math.max(...rows.map((row) => row.shape[k])));
  if (rows.every((row) => sameShape(row.shape, shape))) return stackRows(rows, component);
  const out = NdArray.zeros(rows[0].dtype, [rows.length, ...shape]);
  if (!isZero(value)) {
    const element = elementAt(value, 0);
    for (let i = 0; i < out.size; i++) setElement(out, i, element);
  }
  const strides = stridesOf(out.shape).map((s) => s * DTYPES[out.dtype].slots);
  rows.forEach((row, i) => copyCorner(row, out.data, i * strides[0], strides.slice(1)));
  return out;
}

function isZero({ data }: NdArray): boolean {
  return Array.from<unknown>(data).every((v) => Object.is(v, 0) || v === 0n);
}

function checkRow({ shape }: NdArray, wanted: NonNullable<PartialShape>, component: number): void {
  if (shape.length !== wanted.length) {
    throw new InvalidArgumentError(
      `All elements in a batch must have the same rank as the padded shape for component${component}: expected rank ${wanted.length} but got element with rank ${shape.length}`,
      { op: "PaddedBatchDataset" },
    );
  }
  if (wanted.every((d, k) => d === null || shape[k] <= d)) return;
  throw new DataLossError(
    `Attempted to pad to a smaller size than the input element: component ${component} has shape ${
      shapeText(shape)
    }, wanted at most ${shapeText(wanted)}`,
    { op: "PaddedBatchDataset" },
  );
}

/** Copies an array to the corner of a larger one that starts at `offset`. */
function copyCorner(from: NdArray, to: HostData, offset: number, strides: readonly number[]): void {
  const last = from.shape.length - 1;
  const slots = DTYPES[from.dtype].slots;
  const source = from.data as unknown[], target = to as unknown[];
  let read = 0;
  const visit = (axis: number, at: number): void => {
    if (axis >= last) {
      const run = (last < 0 ? 1 : from.shape[last]) * slots;
      for (let i = 0; i < run; i++) target[at + i] = source[read++];
      return;
    }
    for (let i = 0; i < from.shape[axis]; i++) visit(axis + 1, at + i * strides[axis]);
  };
  if (from.size > 0) visit(0, offset);
}
