/** Pointwise kernels on short rows: several rows are walked as one. */
import { roundUp } from "../blocks.ts";
import type { Engine, WasmFunction } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import type { Heap, Pointer } from "../heap.ts";

/** Shorter rows are walked together, where their shared operands are used at least so often once repeated. */
const SHORT_ROW = 64, LEAST_USES = 16;

/** Returns the number of rows that are walked as one: whole turns of the kernel's loop. */
function rowsAsOne(length: number): number {
  return 16 * Math.ceil(16 / length);
}

/** True for short rows with operands that are the same for all of them. */
export function isShortRows(
  dims: readonly number[],
  strides: readonly (readonly number[])[],
): boolean {
  const [n, length] = dims;
  return dims.length === 2 && length < SHORT_ROW && n >= LEAST_USES * rowsAsOne(length) &&
    strides.every(([outer, inner]) => outer === 0 || inner !== 0);
}

export interface ShortRows {
  readonly dims: readonly number[];
  /** Strides of the operands, in elements. */
  readonly strides: readonly (readonly number[])[];
  /** Bytes of an element of each operand and of each output. */
  readonly bytes: readonly number[];
  readonly outBytes: readonly number[];
  readonly work: number;
}

/** At least so many rows, shorter than this, are walked four at a time where operands have one element for each row. */
const LEAST_ROWS = 256, SHORT_OF_FOUR = 16;

/**
 * Movement of an operand with rows: element by element, the same for each row, one element for each row, or constant.
 */
export type Along = "whole" | "row" | "column" | "still";

/** Returns the movements of operands with short rows, where one has an element for each row; else null. */
export function alongShortRows(
  dims: readonly number[],
  strides: readonly (readonly number[])[],
): Along[] | null {
  const [n, length] = dims;
  if (dims.length !== 2 || length >= SHORT_OF_FOUR || n < LEAST_ROWS) return null;
  const along = strides.map(([outer, inner]): Along =>
    inner !== 0 ? (outer !== 0 ? "whole" : "row") : outer !== 0 ? "column" : "still"
  );
  return along.includes("column") ? along : null;
}

/**
 * Runs rows four at a time, which are as many vectors as a row has elements. The last arguments of the kernel are the
 * rows, their length, and for each vector of four rows the bytes of four column elements in its lanes.
 */
export function fourRowsRun(
  engine: Engine,
  run: WasmFunction,
  { dims: [n, length], strides, bytes, outBytes, work }: ShortRows,
  along: readonly Along[],
): FastRun {
  const patterns = Uint8Array.from({ length: 16 * length }, (_, i) => {
    const element = i >> 2;
    return 4 * Math.floor(element / length) + i % 4;
  });
  const room = roundUp(16 * length), pieces = { count: n, work, multiple: 64 };
  const steps = [...outBytes.map((b) => length * b), ...bytes.map((b, k) => strides[k][0] * b)];
  return (outs, ins) => {
    const at = engine.scratch(room * (1 + ins.length));
    engine.heap.u8.set(patterns, at);
    const from = ins.map((p, k) =>
      along[k] === "row" ? repeat(engine.heap, p, at + room * (1 + k), length * bytes[k], 4) : p
    );
    engine.alongSteps(run, pieces, [...outs, ...from], steps, [length, at]);
  };
}

/** Runs several short rows as one: operands that are the same for each row are repeated in memory. */
export function shortRowsRun(
  engine: Engine,
  run: WasmFunction,
  { dims: [n, length], strides, bytes, outBytes, work }: ShortRows,
): FastRun {
  const times = rowsAsOne(length), long = times * length;
  const rows = Math.floor(n / times), rest = n % times;
  const inSteps = strides.map(([outer], k) => (outer === 0 ? 0 : long * bytes[k]));
  const steps = [...outBytes.map((b) => long * b), ...inSteps];
  const isRepeated = strides.map(([outer, inner]) => outer === 0 && inner !== 0);
  const room = roundUp(4 * long);
  return (outs, ins) => {
    const at = engine.scratch(room * ins.length);
    const from = ins.map((p, k) =>
      isRepeated[k] ? repeat(engine.heap, p, at + room * k, length * bytes[k], times) : p
    );
    const all = [...outs, ...from];
    engine.alongSteps(run, { count: rows, work }, all, steps, [long, ...inSteps]);
    if (rest > 0) run(...all.map((p, k) => p + rows * steps[k]), 1, rest * length, ...inSteps);
  };
}

/** Repeats bytes in memory. */
function repeat(heap: Heap, from: Pointer, to: Pointer, bytes: number, times: number): Pointer {
  heap.u8.copyWithin(to, from, from + bytes);
  const end = bytes * times;
  for (let done = bytes; done < end; done *= 2) {
    heap.u8.copyWithin(to + done, to, to + Math.min(done, end - done));
  }
  return to;
}
