/**
 * Pointwise kernels on short rows: several rows are walked as one.
 */
import { roundUp } from "../blocks.ts";
import type { Engine, WasmFunction } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import type { Heap, Pointer } from "../heap.ts";

/** Rows shorter than this are walked together, where what they have in common is used so often once it is repeated. */
const SHORT_ROW = 64, LEAST_USES = 16;

/** Rows that are walked as one: whole turns of the kernel's loop. */
function rowsAsOne(length: number): number {
  return 16 * Math.ceil(16 / length);
}

/** True for short rows with operands that are alike for all of them. */
export function isShortRows(
  dims: readonly number[],
  strides: readonly (readonly number[])[],
): boolean {
  const [n, length] = dims;
  return dims.length === 2 && length < SHORT_ROW && n >= LEAST_USES * rowsAsOne(length) &&
    strides.every(([outer, inner]) => outer === 0 || inner !== 0);
}

export interface ShortRows {
  /** How many, and their length. */
  readonly dims: readonly number[];
  /** Of the operands, in elements. */
  readonly strides: readonly (readonly number[])[];
  /** Of an element of each operand and of each output. */
  readonly bytes: readonly number[];
  readonly outBytes: readonly number[];
  readonly work: number;
}

/** So many rows, shorter than this, are walked four at a time where operands have one element for each of them. */
const LEAST_ROWS = 256, SHORT_OF_FOUR = 16;

/** How an operand goes along with rows: element by element, the same for each row, one element for each row, or one for all. */
export type Along = "whole" | "row" | "column" | "still";

/** How operands go along with short rows, where one has an element for each of them; else null. */
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
 * Rows four at a time, which are as many vectors as a row has elements. The last arguments of the kernel are the rows, their length,
 * and for each vector of four rows the bytes of four column elements that its lanes have.
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

/** Several short rows as one: operands that are the same for each row are repeated in memory. */
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

/** Writes bytes several times after each other. */
function repeat(heap: Heap, from: Pointer, to: Pointer, bytes: number, times: number): Pointer {
  heap.u8.copyWithin(to, from, from + bytes);
  const end = bytes * times;
  for (let done = bytes; done < end; done *= 2) {
    heap.u8.copyWithin(to + done, to, to + Math.min(done, end - done));
  }
  return to;
}
