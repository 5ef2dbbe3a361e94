/** Nodes that many rules write: shapes, moves, slices, reductions. */
import type { DType } from "../../engine/core/dtype.ts";
import type { PartialShape } from "../../engine/core/shape.ts";
import type { NodeWriter } from "./node_writer.ts";
import { intsOf, type Ref } from "./ref.ts";

/** Returns the numbers from 0 on. */
export function upTo(n: number): number[] {
  return Array.from({ length: n }, (_, i) => i);
}

export function bigs(values: readonly number[]): bigint[] {
  return values.map(BigInt);
}

/** Returns the extents of a value as int64: a constant where they are known. */
export function shapeOf(n: NodeWriter, x: Ref): Ref {
  if (x.shape !== null && !x.shape.includes(null)) return n.int64s(x.shape as number[]);
  return n.graph.once(
    `shape of ${x.name}`,
    () => n.raw("Shape", [x], {}, [{ dtype: "int64", shape: x.shape && [x.shape.length] }])[0],
  );
}

/** Returns some extents of a value, `[from, to)`, as int64. */
export function extents(n: NodeWriter, x: Ref, from: number, to?: number): Ref {
  const known = x.shape?.slice(from, to);
  if (known !== undefined && !known.includes(null)) return n.int64s(known as number[]);
  const end = to === undefined ? {} : { end: BigInt(to) };
  return n.raw("Shape", [x], { start: BigInt(from), ...end }, [
    { dtype: "int64", shape: known === undefined ? null : [known.length] },
  ])[0];
}

/** Gives a value another shape: numbers, or a vector of int64. A 0 among them is an extent. */
export function reshape(n: NodeWriter, x: Ref, shape: readonly number[] | Ref): Ref {
  const dims = Array.isArray(shape) ? n.int64s(shape) : shape as Ref, known = intsOf(dims);
  const zero = known === null || known.includes(0) ? { allowzero: 1n } : {};
  return n.node("Reshape", [x, dims], zero, {
    shape: known?.map((d) => d < 0 ? null : d) ?? null,
    operands: [0],
  });
}

export function transpose(n: NodeWriter, x: Ref, perm: readonly number[]): Ref {
  if (perm.every((p, i) => p === i)) return x;
  return n.node("Transpose", [x], { perm: bigs(perm) }, {
    shape: x.shape && perm.map((p) => x.shape![p]),
  });
}

export function unsqueeze(n: NodeWriter, x: Ref, axes: readonly number[]): Ref {
  if (axes.length === 0) return x;
  const shape = x.shape && [...x.shape];
  for (const axis of [...axes].sort((a, b) => a - b)) {
    if (axis >= 0) shape?.splice(axis, 0, 1);
    else shape?.splice(shape.length + 1 + axis, 0, 1);
  }
  return n.node("Unsqueeze", [x, n.int64s(axes)], {}, { shape, operands: [0] });
}

export function squeeze(n: NodeWriter, x: Ref, axes: readonly number[] | null): Ref {
  if (axes?.length === 0) return x;
  const rank = x.shape?.length ?? 0;
  const at = axes?.map((a) => a < 0 ? a + rank : a);
  const shape = x.shape && at ? x.shape.filter((_, i) => !at.includes(i)) : null;
  return n.node("Squeeze", axes === null ? [x] : [x, n.int64s(axes)], {}, {
    shape,
    operands: [0],
  });
}

export function concat(n: NodeWriter, xs: readonly Ref[], axis: number): Ref {
  return xs.length === 1 ? xs[0] : n.node("Concat", xs, { axis: BigInt(axis) });
}

/** Broadcasts a value to a shape, a vector of int64. */
export function expand(n: NodeWriter, x: Ref, dims: Ref): Ref {
  return n.node("Expand", [x, dims], {}, {
    shape: intsOf(dims),
    operands: [0],
  });
}

/** Fills a shape, a vector of int64, with a number. */
export function filled(n: NodeWriter, dims: Ref, value: number, dtype: DType): Ref {
  return expand(n, n.scalar(value, dtype), dims);
}

/** Takes a part along axes; ends beyond the extents are those. */
export function slice(
  n: NodeWriter,
  x: Ref,
  { begin, end, axes, steps }: {
    readonly begin: readonly number[] | Ref;
    readonly end: readonly number[] | Ref;
    readonly axes?: readonly number[];
    readonly steps?: readonly number[] | Ref;
  },
): Ref {
  const ref = (v: readonly number[] | Ref): Ref =>
    Array.isArray(v) ? n.int64s(v) : n.wide(v as Ref);
  return n.node(
    "Slice",
    [
      x,
      ref(begin),
      ref(end),
      axes === undefined ? null : n.int64s(axes),
      steps === undefined ? null : ref(steps),
    ],
    {},
    { operands: [0] },
  );
}

/** A number that no extent reaches. */
export const FAR: number = 2 ** 31 - 1;

export function gather(n: NodeWriter, x: Ref, indices: Ref, axis: number): Ref {
  return n.node("Gather", [x, indices], { axis: BigInt(axis) }, { operands: [0] });
}

/** Reduces over axes. Before version 18 all but sums have these as an attribute. */
export function reduce(
  n: NodeWriter,
  op: string,
  x: Ref,
  axes: readonly number[] | Ref,
  keepDims: boolean,
): Ref {
  const keepdims = keepDims ? 1n : 0n;
  const known = Array.isArray(axes) ? axes as readonly number[] : intsOf(axes as Ref);
  if (known?.length === 0) return x;
  let shape: PartialShape = null;
  if (known !== null && x.shape !== null) {
    const at = known.map((a) => a < 0 ? a + x.shape!.length : a);
    shape = keepDims
      ? x.shape.map((d, i) => at.includes(i) ? 1 : d)
      : x.shape.filter((_, i) => !at.includes(i));
  }
  if (op === "ReduceSum" || n.target.opset >= 18) {
    const given = known === null ? n.wide(axes as Ref) : n.int64s(known);
    return n.node(op, [x, given], { keepdims, noop_with_empty_axes: 1n }, { shape, operands: [0] });
  }
  if (known === null) return n.lacks("the axes of a reduction are not constants");
  return n.node(op, [x], { keepdims, axes: bigs(known) }, { shape });
}

export function where(n: NodeWriter, condition: Ref, yes: Ref, no: Ref): Ref {
  return n.node("Where", [condition, yes, no], {}, { operands: [1, 2] });
}

export function compare(n: NodeWriter, op: string, a: Ref, b: Ref): Ref {
  return n.node(op, [a, b], {}, { dtype: "bool" });
}

/** Returns a number in a value's dtype. */
export function like(n: NodeWriter, x: Ref, value: number): Ref {
  return n.scalar(value, x.dtype);
}

/** Adds the extent to negative indices. */
export function fromFront(n: NodeWriter, i: Ref, extent: Ref): Ref {
  return where(n, compare(n, "Less", i, like(n, i, 0)), n.node("Add", [i, extent]), i);
}

/** Counts from 0 to a scalar of int64. */
export function iota(n: NodeWriter, count: Ref): Ref {
  return n.node("Range", [n.scalar(0, "int64"), count, n.scalar(1, "int64")]);
}

/** Returns the only element of a vector as a scalar. */
export function scalarOf(n: NodeWriter, x: Ref): Ref {
  return x.shape?.length === 0 ? x : reshape(n, x, []);
}
