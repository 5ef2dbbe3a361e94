/** Factors that transforms read from memory. */
import type { Engine } from "../engine.ts";
import type { Pointer } from "../heap.ts";
import type { Part } from "./lanes.ts";
import { partsAt } from "./plans.ts";

/** Bytes of the factors that {@linkcode writeScales} writes. */
export const SCALE_BYTES = 64;

/** Writes the sign of imaginary parts that are read, and the factors of parts that are written. */
export function writeScales(
  { heap }: Engine,
  part: Part,
  at: Pointer,
  scales: readonly [sign: number, re: number, im: number],
): void {
  partsAt(part, heap.memory.buffer, at, 3).set(scales);
}
