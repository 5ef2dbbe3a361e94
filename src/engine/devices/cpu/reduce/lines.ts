/**
 * Kernels over blocks of rows, which are reduced or scanned down their columns: called for whole blocks where there are
 * several, else for columns of the only one.
 */
import type { Line } from "../../../kernels/reduce/layout.ts";
import type { Engine, WasmFunction } from "../engine.ts";
import type { Pointer } from "../heap.ts";

/**
 * Returns the arguments for some blocks, or some columns of the only one, from the first on; `room` is scratch memory.
 */
export type LineArguments = (
  block: number,
  column: number,
  blocks: number,
  width: number,
  room: Pointer,
) => number[];

/** Calls such a kernel, in parts of at least `least` columns where that pays. */
export function overLines(
  engine: Engine,
  { outer, length, inner }: Line,
  { work, least, room }: { readonly work: number; readonly least: number; readonly room?: number },
): (run: WasmFunction, argumentsOf: LineArguments) => void {
  const all = { work: work * outer * length * inner, room };
  if (outer > 1) {
    const blocks = { ...all, count: outer };
    return (run, argumentsOf) =>
      engine.inParts(run, blocks, (block, size, room) => argumentsOf(block, 0, size, inner, room));
  }
  const columns = { ...all, count: inner, least, multiple: 64 };
  return (run, argumentsOf) =>
    engine.inParts(run, columns, (column, size, room) => argumentsOf(0, column, 1, size, room));
}
