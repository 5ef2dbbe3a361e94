/** Ops on sets along the last axis of dense and sparse tensors. On the host. */
import { type ElementValue, NdArray, setElement } from "../../core/nd_array.ts";
import { type Attrs, defineOp, type OpDef } from "../../core/op.ts";
import { compatible, type PartialShape, shapeText, sizeOf } from "../../core/shape.ts";
import { hostInts, knownInts } from "../array/view.ts";
import { refuse, wholeArray } from "../host/arrays.ts";
import { entriesOf, matrix, order } from "../ragged/sparse_parts.ts";

const VALUES = "{int8, int16, int32, int64, uint8, uint16, string}";

/** An element of a set, and its key, by which sets are ordered and compared. */
type Element = readonly [key: number | bigint | string, value: ElementValue];

/** Sets by their group, the position of their row among all rows. */
interface Groups {
  /** Shape without the last axis. */
  readonly shape: readonly number[];
  readonly sets: ReadonlyMap<number, readonly Element[]>;
}

function elementsOf(values: NdArray): (i: number) => Element {
  if (values.dtype !== "string") {
    return (i) => [values.at(i) as number, values.at(i) as ElementValue];
  }
  // One character for each byte: texts are ordered by their bytes.
  const data = values.data as Uint8Array[];
  return (i) => [Array.from(data[i], (b) => String.fromCharCode(b)).join(""), data[i] as never];
}

function ofDense(x: NdArray): Groups {
  if (x.rank < 2) {
    refuse(`Invalid input: a set needs rows of rank 2 or more, received [${x.shape}]`);
  }
  const element = elementsOf(x), width = x.shape.at(-1)!, shape = x.shape.slice(0, -1);
  const sets = new Map<number, Element[]>();
  for (let g = 0, n = sizeOf(shape); g < n; g++) {
    sets.set(g, Array.from({ length: width }, (_, i) => element(g * width + i)));
  }
  return { shape, sets };
}

function ofSparse([indices, values, dims]: readonly NdArray[], isChecked: boolean): Groups {
  const extents = hostInts(dims), shape = extents.slice(0, -1), element = elementsOf(values);
  if (extents.length < 2) {
    refuse(`Invalid input: a set needs rows of rank 2 or more, received [${extents}]`);
  }
  const entries = entriesOf(indices, extents), sets = new Map<number, Element[]>();
  for (const [n, { at, i }] of entries.entries()) {
    if (at.some((v, d) => v < 0 || v >= extents[d])) {
      refuse(`indices[${n}] = [${at}] is out of bounds: need 0 <= index < [${extents}]`);
    }
    if (isChecked && n > 0 && order(entries[n - 1].at, at) >= 0) {
      refuse(`indices[${n}] = [${at}] is out of order: wanted rising indices`);
    }
    const g = shape.reduce((all, extent, d) => all * extent + at[d], 0), set = sets.get(g);
    if (set === undefined) sets.set(g, [element(i)]);
    else set.push(element(i));
  }
  return { shape, sets };
}

function combined(a: readonly Element[], b: readonly Element[], how: string): Element[] {
  const first = new Map(a.map((e) => [e[0], e])), second = new Map(b.map((e) => [e[0], e]));
  const pick = (from: Map<Element[0], Element>, wanted: (key: Element[0]) => boolean) =>
    [...from.values()].filter(([key]) => wanted(key));
  const found = how === "union"
    ? [...new Map([...first, ...second]).values()]
    : how === "intersection"
    ? pick(first, (key) => second.has(key))
    : how === "a-b"
    ? pick(first, (key) => !second.has(key))
    : pick(second, (key) => !first.has(key));
  return found.sort(([x], [y]) => x < y ? -1 : x > y ? 1 : 0);
}

function operate(a: Groups, b: Groups, sample: NdArray, how: string): NdArray[] {
  const { shape } = a;
  if (a.shape.length !== b.shape.length || a.shape.some((d, i) => d !== b.shape[i])) {
    refuse(`Mismatched group shapes: [${a.shape}] and [${b.shape}]`);
  }
  const places: number[][] = [], values: ElementValue[] = [];
  let widest = 0;
  for (const g of [...new Set([...a.sets.keys(), ...b.sets.keys()])].sort((x, y) => x - y)) {
    const set = combined(a.sets.get(g) ?? [], b.sets.get(g) ?? [], how), row: number[] = [];
    for (let d = shape.length - 1, rest = g; d >= 0; d--) {
      row.unshift(rest % shape[d]);
      rest = Math.floor(rest / shape[d]);
    }
    set.forEach(([, value], i) => {
      places.push([...row, i]);
      values.push(value);
    });
    widest = Math.max(widest, set.length);
  }
  const out = NdArray.zeros(sample.dtype, [values.length]);
  values.forEach((value, i) => setElement(out, i, value));
  const dims = wholeArray("int64", [...shape, widest], [shape.length + 1]);
  return [matrix(places, shape.length + 1), out, dims];
}

/** Returns the shapes of indices, values and dense shape of a result of this rank. */
const resultOf = (rank: number | null): PartialShape[] => [[null, rank], [null], [rank]];

const SPARSE_2 = ["set2_indices: int64", "set2_values: T", "set2_shape: int64"];
const SPARSE_1 = ["set1_indices: int64", "set1_values: T", "set1_shape: int64"];

function define(
  name: string,
  inputs: readonly string[],
  rankOf: OpDef["infer"],
  groups: (inputs: readonly NdArray[], isChecked: boolean) => [Groups, Groups, NdArray],
): OpDef {
  return defineOp({
    name,
    inputs,
    outputs: ["result_indices: int64", "result_values: T", "result_shape: int64"],
    attrs: ["set_operation: string", "validate_indices: bool = true", `T: ${VALUES}`],
    infer: rankOf,
    grad: null,
    cpu: (given, _, { attrs }: { readonly attrs: Attrs }) => {
      const [a, b, sample] = groups(given, attrs.validate_indices);
      return operate(a, b, sample, attrs.set_operation);
    },
  });
}

/** Two dense tensors. */
export const DenseToDenseSetOperation: OpDef = define(
  "DenseToDenseSetOperation",
  ["set1: T", "set2: T"],
  ([a, b]) => {
    if (a.shape && b.shape && !compatible(a.shape.slice(0, -1), b.shape.slice(0, -1))) {
      refuse(`Mismatched group shapes: ${shapeText(a.shape)} and ${shapeText(b.shape)}`);
    }
    return resultOf(a.shape?.length ?? b.shape?.length ?? null);
  },
  ([a, b]) => [ofDense(a), ofDense(b), a],
);
/** A dense tensor and a sparse one. */
export const DenseToSparseSetOperation: OpDef = define(
  "DenseToSparseSetOperation",
  ["set1: T", ...SPARSE_2],
  ([a, , , dims]) => resultOf(a.shape?.length ?? dims.shape?.[0] ?? null),
  ([a, ...b], isChecked) => [ofDense(a), ofSparse(b, isChecked), a],
);
/** Two sparse tensors. */
export const SparseToSparseSetOperation: OpDef = define(
  "SparseToSparseSetOperation",
  [...SPARSE_1, ...SPARSE_2],
  ([, , a, , , b]) => resultOf(a.shape?.[0] ?? b.shape?.[0] ?? null),
  (all, isChecked) => [
    ofSparse(all.slice(0, 3), isChecked),
    ofSparse(all.slice(3), isChecked),
    all[1],
  ],
);

/** Number of different values of each row. */
export const SetSize: OpDef = defineOp({
  name: "SetSize",
  inputs: ["set_indices: int64", "set_values: T", "set_shape: int64"],
  outputs: ["size: int32"],
  attrs: ["validate_indices: bool = true", `T: ${VALUES}`],
  infer: ([, , dims]) => {
    const rank = dims.shape?.[0];
    return [
      knownInts(dims)?.slice(0, -1) ?? (rank == null ? null : new Array(rank - 1).fill(null)),
    ];
  },
  grad: null,
  cpu: (parts, _, { attrs }) => {
    const { shape, sets } = ofSparse(parts, attrs.validate_indices);
    const counts = Array.from(
      { length: sizeOf(shape) },
      (_, g) => new Set((sets.get(g) ?? []).map(([key]) => key)).size,
    );
    return [wholeArray("int32", counts, [...shape])];
  },
});

/** The ops of this file. */
export const SET_OPS: readonly OpDef[] = [
  DenseToDenseSetOperation,
  DenseToSparseSetOperation,
  SparseToSparseSetOperation,
  SetSize,
];
