/** Splits a matrix product whose operands exceed the limit of a binding. */
import type { BufferRef } from "../../core/dispatch.ts";
import { gpuBytes } from "../../core/gpu_storage.ts";
import { ALIGN } from "../copy/pieces.ts";
import { matrixCounts, matrixPairs } from "./shape.ts";
import type { MatMulTask } from "./source.ts";

/** A buffer, or its bound part, and the offset of the matrix in it (in elements). */
export interface Bound {
  readonly ref: BufferRef;
  readonly base: number;
}

/** Ranges of rows, columns and terms of the sums. */
interface Area {
  readonly m: readonly [number, number];
  readonly n: readonly [number, number];
  readonly k: readonly [number, number];
}

/** Part of a product that one dispatch computes. */
export interface Piece extends Area {
  readonly batch: number;
  /** True for the first part of the sums. */
  readonly first: boolean;
  /** True where the sums are complete after it. */
  readonly last: boolean;
  readonly a: Bound;
  readonly b: Bound;
  readonly c: Bound;
}

/**
 * Returns one piece where everything fits; else one product at a time, cut along the axis that makes the largest part
 * fit. Null where even single rows do not fit.
 */
export function pieces(task: MatMulTask, maxBinding: number): Piece[] | null {
  const { shape, dtype, dtypeB = dtype, out } = task;
  const { m, n, k, batch } = shape;
  const whole = { m: [0, m], n: [0, n], k: [0, k] } as const;
  const matrices = matrixCounts(shape);
  const [a, b] = [matrices.a * m * k * gpuBytes(dtype), matrices.b * k * n * gpuBytes(dtypeB)];
  if (Math.max(a, b, batch * m * n * gpuBytes(out)) <= maxBinding) {
    const [a, b, c] = [task.a, task.b, task.c].map((ref): Bound => ({ ref, base: 0 }));
    return [{ batch, ...whole, first: true, last: true, a, b, c }];
  }
  const list: Piece[] = [];
  for (const [i, pair] of matrixPairs(shape).entries()) {
    const starts = { a: pair.a * m * k, b: pair.b * k * n, c: i * m * n };
    const cuts = cut({ task, starts, maxBinding }, { ...whole, first: true, last: true });
    if (cuts === null) return null;
    list.push(...cuts);
  }
  return list;
}

/** A product, the offsets of its matrices, and the limit of bindings. */
interface Uncut {
  readonly task: MatMulTask;
  readonly starts: { readonly a: number; readonly b: number; readonly c: number };
  readonly maxBinding: number;
}

/** A part, with flags for the first and the last terms. */
type Part = Area & Pick<Piece, "first" | "last">;

function cut(whole: Uncut, part: Part): Piece[] | null {
  const { task, starts, maxBinding } = whole, { shape, dtype, dtypeB = dtype, out } = task;
  const { transA, transB } = shape;
  // Returns the span of a rectangle of a row-major matrix, in elements.
  const span = (
    rows: readonly number[],
    columns: readonly number[],
    width: number,
  ): [number, number] => [
    rows[0] * width + columns[0],
    (rows[1] - 1) * width + columns[1],
  ];
  const spans = {
    a: transA ? span(part.k, part.m, shape.m) : span(part.m, part.k, shape.k),
    b: transB ? span(part.n, part.k, shape.k) : span(part.k, part.n, shape.n),
    c: span(part.m, part.n, shape.n),
  };
  const each = { a: gpuBytes(dtype), b: gpuBytes(dtypeB), c: gpuBytes(out) };
  const bytes = (name: "a" | "b" | "c"): number =>
    (spans[name][1] - spans[name][0]) * each[name] + ALIGN;
  const over = (["c", "a", "b"] as const).filter((name) => bytes(name) > maxBinding);
  if (over.length === 0) {
    const bind = (name: "a" | "b" | "c"): Bound =>
      // Without terms the operands are empty, and have no spans.
      shape.k === 0 && name !== "c" ? { ref: task[name], base: 0 } : bound(
        task[name],
        starts[name] + spans[name][0],
        spans[name],
        each[name],
      );
    return [{ batch: 1, ...part, a: bind("a"), b: bind("b"), c: bind("c") }];
  }
  // Only the axis along which the operand's rows run makes its span smaller.
  const axis = over[0] === "c" ? "m" : over[0] === "a" ? (transA ? "k" : "m") : transB ? "n" : "k";
  const [from, to] = part[axis];
  const room = maxBinding - 2 * ALIGN;
  if (room <= 0) return null;
  const count = Math.ceil(bytes(over[0]) / room);
  const step = Math.ceil((to - from) / Math.max(2, count) / 4) * 4;
  if (step >= to - from) return null;
  const list: Piece[] = [];
  for (let x = from; x < to; x += step) {
    const end = Math.min(to, x + step);
    const first = part.first && (axis !== "k" || x === from);
    const last = part.last && (axis !== "k" || end === to);
    const cuts = cut(whole, { ...part, [axis]: [x, end], first, last });
    if (cuts === null) return null;
    list.push(...cuts);
  }
  return list;
}

/** Binds the elements of a span, from the aligned byte before it. */
function bound(
  ref: BufferRef,
  at: number,
  [from, to]: readonly [number, number],
  bytes: number,
): Bound {
  const begin = (ref.offset ?? 0) + at * bytes;
  const offset = Math.floor(begin / ALIGN) * ALIGN;
  const size = Math.ceil((begin - offset + (to - from) * bytes) / 4) * 4;
  return { ref: { ...ref, offset, size }, base: (begin - offset) / bytes };
}
