/** Host arrays as text, in TensorFlow.js's layout of tensors: columns aligned, long axes abridged. */
import type { ElementValue, NdArray } from "../nd_array.ts";
import { decodeString } from "../text.ts";

/** Axes longer than this are abridged. */
const LONG = 20;
/** Elements shown at either end of an abridged axis. */
const ENDS = 3;
const DIGITS = 7;

/** `Tensor`, then the elements, in `verbose` form preceded by dtype, rank and shape. */
export function tensorText(array: NdArray, verbose = false): string {
  const head = verbose
    ? [
      `  dtype: ${array.dtype}`,
      `  rank: ${array.rank}`,
      `  shape: [${array.shape}]`,
      `  values:`,
    ]
    : [];
  return ["Tensor", ...head, `    ${elementsText(array, 4)}`].join("\n");
}

/** A tensor, as far as its text needs it. */
interface Shown {
  readonly isDisposed: boolean;
  readonly device: string;
  ndarraySync(): NdArray;
}

/** Formats the values of a tensor on the host, or why there are none to show: printing reads nothing back from a GPU. */
export function valueText(x: Shown, margin = 0): string {
  if (x.isDisposed) return "disposed";
  if (!x.device.includes("CPU")) return `on ${x.device.replace(/^.*(?=\/device:)/, "")}`;
  return elementsText(x.ndarraySync(), margin);
}

/** Formats a head and the values behind it. */
export function withValues(head: string, x: Shown): string {
  return `${head} ${valueText(x, head.length + 1)}`;
}

/** Formats elements in nested brackets; later lines are indented by `margin`, to stand below an indented first one. */
export function elementsText(array: NdArray, margin = 0): string {
  const { shape } = array, rank = shape.length;
  if (rank === 0) {
    const value = array.at(0);
    return value instanceof Uint8Array ? decodeString(value) : elementText(value);
  }
  const columns = shape[rank - 1];
  const widths = new Map<number, number>();
  if (rank > 1) {
    for (const c of shown(columns)) {
      let width = 0;
      for (let i = c; c >= 0 && i < array.size; i += columns) {
        width = Math.max(width, elementText(array.at(i)).length);
      }
      widths.set(c, width);
    }
  }
  const block = (axis: number, offset: number, size: number): string => {
    const inner = shape[axis] === 0 ? 0 : size / shape[axis];
    const parts = shown(shape[axis]).map((i) => {
      if (i < 0) return "...";
      if (axis < rank - 1) return block(axis + 1, offset + i * inner, inner);
      return elementText(array.at(offset + i)).padEnd(widths.get(i) ?? 0);
    });
    if (axis === rank - 1) return `[${parts.join(", ")}]`;
    const indent = " ".repeat(margin + 1 + axis), gap = "\n".repeat(rank - 1 - axis);
    // A gap takes a line of its own, without the empty ones between blocks.
    return `[${
      parts.map((p, i) => {
        if (i === parts.length - 1) return p;
        return p === "..."
          ? `${p},\n${indent}`
          : `${p},${parts[i + 1] === "..." ? "\n" : gap}${indent}`;
      }).join("")
    }]`;
  };
  return block(0, 0, array.size);
}

/** Returns the shown indices of an axis; -1 stands for the gap. */
function shown(n: number): number[] {
  if (n <= LONG) return Array.from({ length: n }, (_, i) => i);
  return [0, 1, 2, -1, n - ENDS, n - 2, n - 1];
}

/** Formats an element as short as possible. */
export function elementText(value: ElementValue): string {
  if (typeof value === "number") return numberText(value);
  if (value instanceof Uint8Array) return `'${decodeString(value)}'`;
  if (Array.isArray(value)) return `${numberText(value[0])} + ${numberText(value[1])}j`;
  return String(value);
}

function numberText(value: number): string {
  if (Number.isInteger(value) || !Number.isFinite(value)) return String(value);
  return String(Number(Math.abs(value) < 1e-4 ? value.toPrecision(DIGITS) : value.toFixed(DIGITS)));
}
