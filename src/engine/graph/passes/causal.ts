/** Masks that hide all later keys from each query: kernels of attention skip what they hide. */
import type { NdArray } from "../../core/nd_array.ts";
import { type IrValue, isConstant } from "../ir.ts";

/** Scores this low weigh nothing: the lowest of float16. */
const HIDDEN = -65504;

type Wanted = (value: number, isSeen: boolean) => boolean;
const isAdded: Wanted = (v, isSeen) => isSeen ? v === 0 : v <= HIDDEN;
const isSeenMask: Wanted = (v, isSeen) => (v === 1) === isSeen;
const isHiddenMask: Wanted = (v, isSeen) => (v === 1) !== isSeen;

/** Returns the scores before later keys were hidden by a constant; null for other values. */
export function causalOperand({ node, shape }: IrValue): IrValue | null {
  const [a, b, c] = node.inputs;
  const [n, m] = shape?.slice(-2) ?? [];
  if (n == null || m == null) return null;
  const is = (v: IrValue, wanted: Wanted): boolean => isCausal(v, [n, m], wanted);
  switch (node.def.name) {
    case "AddV2":
    case "Add":
      return is(b, isAdded) ? a : is(a, isAdded) ? b : null;
    case "SelectV2":
    case "Select":
      return isLow(c) && is(a, isSeenMask) ? b : isLow(b) && is(a, isHiddenMask) ? c : null;
  }
  return null;
}

/** Returns the gradient before that of later keys became zero; null for other values. */
export function seenOperand({ node, shape }: IrValue): IrValue | null {
  const [mask, value, other] = node.inputs, [n, m] = shape?.slice(-2) ?? [];
  const isChoice = node.def.name === "SelectV2" || node.def.name === "Select";
  if (!isChoice || n == null || m == null || n > m) return null;
  if (isZero(other) && isCausal(mask, [n, m], isSeenMask)) return value;
  return isZero(value) && isCausal(mask, [n, m], isHiddenMask) ? other : null;
}

function isZero(v: IrValue): boolean {
  return numberOf(v) === 0;
}

/** True for a constant of queries and keys, aligned at their ends, with the wanted values. */
function isCausal({ node }: IrValue, [n, m]: readonly [number, number], wanted: Wanted): boolean {
  if (!isConstant(node) || n > m || n < 2) return false;
  const array = node.attrs.value as NdArray, { shape, size } = array;
  return shape.length >= 2 && size === n * m && shape.at(-1) === m && Array.prototype.every.call(
    array.data,
    (value, i) => wanted(Number(value), i % m <= Math.floor(i / m) + m - n),
  );
}

/** True for a constant of one number that is low enough to erase a score. */
function isLow(v: IrValue): boolean {
  return numberOf(v) <= HIDDEN;
}

/** Returns a constant's one number; NaN for other values. */
function numberOf({ node, dtype }: IrValue): number {
  if (!isConstant(node) || dtype !== "float32" && dtype !== "float16") return NaN;
  const array = node.attrs.value as NdArray;
  return array.size === 1 ? (array.data as Float32Array)[0] : NaN;
}
