/**
 * Casts there and back: whole numbers of float32 that a narrow integer type holds are not changed by a cast to it, so that
 * quantised models compute between their levels without leaving float32.
 */
import { DTYPES } from "../../core/dtype.ts";
import type { NdArray } from "../../core/nd_array.ts";
import type { Attrs } from "../../core/op.ts";
import { type IrNode, type IrValue, isConstant } from "../ir.ts";
import { mayJoin } from "./cse.ts";

/** Maximum ops that a whole number is followed back. */
const MOST_STEPS = 24;
/** Maximum moves between two casts. */
const MOST_MOVES = 4;

/** Ops that move elements, or choose some of them. */
const MOVES: ReadonlySet<string> = new Set([
  "Reshape",
  "ExpandDims",
  "Squeeze",
  "Transpose",
  "MaxPool",
  "ConcatV2",
]);

/** Makes the op of a node for other inputs. */
export type Remake = (node: IrNode, inputs: readonly IrValue[], attrs: Attrs) => IrValue;

/**
 * Returns the float32 value that a cast from a narrow integer gives, if it was float32 before; null if it was not, or was not
 * whole. Ops between that only move elements are made anew.
 */
export function beforeCasts(node: IrNode, x: IrValue, remake: Remake): IrValue | null {
  // A program's own cast of what is not a number gives an integer.
  if (!node.source.isFromFile || node.outputs[0].dtype !== "float32") return null;
  return floatOf(x, node.device, remake, MOST_MOVES);
}

function floatOf(x: IrValue, device: string, remake: Remake, left: number): IrValue | null {
  const { node } = x;
  if (node.device !== device || !mayJoin(node) || left === 0) return null;
  if (node.def.name === "Cast") {
    const [from] = node.inputs;
    return from.dtype === "float32" && isWithin(from, x) && isWhole(from) ? from : null;
  }
  if (!MOVES.has(node.def.name)) return null;
  const inputs = node.inputs.map((v) =>
    v.dtype === x.dtype ? floatOf(v, device, remake, left - 1) : v
  );
  return inputs.includes(null)
    ? null
    : remake(node, inputs as IrValue[], { ...node.attrs, T: "float32" });
}

/** True where a value was limited to numbers that a dtype holds. */
function isWithin({ node }: IrValue, { dtype }: IrValue): boolean {
  const { kind, bytes } = DTYPES[dtype];
  if (node.def.name !== "ClipByValue" || kind !== "int" && kind !== "uint" || bytes > 2) {
    return false;
  }
  const [low, high] = node.inputs.slice(1).map(numberOf), bits = 8 * bytes;
  if (low === null || high === null) return false;
  return kind === "int"
    ? low >= -(2 ** (bits - 1)) && high < 2 ** (bits - 1)
    : low >= 0 && high < 2 ** bits;
}

function numberOf({ node, dtype }: IrValue): number | null {
  if (!isConstant(node) || dtype !== "float32") return null;
  const array = node.attrs.value as NdArray;
  return array.size === 1 ? (array.data as Float32Array)[0] : null;
}

/** True for values that are whole numbers, whatever the inputs. */
function isWhole(x: IrValue): boolean {
  let left = MOST_STEPS;
  const visit = ({ node, dtype }: IrValue): boolean => {
    if (left-- === 0) return false;
    if (isConstant(node)) {
      const array = node.attrs.value as NdArray;
      return dtype === "float32" && array.size <= 2 ** 16 &&
        (array.data as Float32Array).every(Number.isInteger);
    }
    switch (node.def.name) {
      case "Round":
      case "Rint":
      case "Floor":
      case "Ceil":
        return true;
      case "Cast":
        return DTYPES[node.inputs[0].dtype].kind !== "float";
      case "AddV2":
      case "Sub":
      case "Mul":
      case "Maximum":
      case "Minimum":
      case "ClipByValue":
        return node.inputs.every(visit);
      case "Reshape":
      case "Transpose":
      case "Identity":
        return visit(node.inputs[0]);
      default:
        return false;
    }
  };
  return visit(x);
}
