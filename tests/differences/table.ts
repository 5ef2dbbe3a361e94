/** Common parts of the tests of differences: the rows of DIFFERENCES.md, and the format and comparison of results. */

import * as tf from "@weft/weft";

/** A row of the table. */
export interface Row {
  /** Its name in tests. */
  readonly name: string;
  /** An expression over `tf`. */
  readonly example: string;
  /** The expression in TensorFlow. */
  readonly tensorflow: string;
  /** The result in Weft. */
  readonly weft: string;
  /** Where WebGPU gives something else; null where the adapter decides. */
  readonly webgpu: string | null;
}

function readTable(text: string): Row[] {
  const lines = text.split("\n").filter((line) => line.startsWith("| ")).slice(2);
  return lines.map((line) => {
    // No cell holds a bar of its own.
    const cells = line.split("|").slice(1, -1).map((cell) => cell.trim());
    const code = (cell: string): string => /^`(.*)`$/.exec(cell)?.[1] ?? cell;
    const [weft, webgpu = weft] = cells[4].split(", WebGPU: ");
    return {
      name: cells[0],
      example: code(cells[2]),
      tensorflow: code(cells[3]),
      weft: code(weft),
      webgpu: webgpu.startsWith("`") ? code(webgpu) : null,
    };
  });
}

/** All of them. */
export const ROWS: readonly Row[] = readTable(
  Deno.readTextFileSync(new URL("../../DIFFERENCES.md", import.meta.url)),
);

/** A result as the table writes it. */
export function shown(value: unknown, digits = 12): string {
  if (value instanceof tf.Tensor) {
    return shown(value.arraySync(), value.dtype === "float32" ? 6 : digits);
  }
  if (Array.isArray(value)) return `[${value.map((v) => shown(v, digits)).join(", ")}]`;
  if (typeof value !== "number") return String(value);
  return Object.is(value, -0) ? "-0" : String(Number(value.toPrecision(digits)));
}

/** An element. */
export type Value = number | bigint | readonly [number, number];

/** True for equal elements, zeros of the same sign, and numbers within a relative tolerance. */
export function isSame(a: Value, b: Value, tolerance: number): boolean {
  if (Array.isArray(a)) {
    return [0, 1].every((k) => isSame(a[k], (b as readonly number[])[k], tolerance));
  }
  if (Object.is(a, b)) return true;
  if (a === 0 || b === 0 || typeof a === "bigint") return false;
  return a === b || Math.abs((a as number) - (b as number)) <= tolerance * Math.abs(a as number);
}
