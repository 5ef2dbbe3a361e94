/**
 * Tensors of float16 between nodes, held in float32: kernels compute in float32 anyway, and values round once, where they are
 * stored as float16 or leave the graph, instead of after each node.
 */
import { laterArray, NdArray } from "../../engine/core/nd_array.ts";
import { sizeOf } from "../../engine/core/shape.ts";
import type { GraphNode } from "../file/graph.ts";
import { type NodeSurroundings, tensorOf } from "./node_call.ts";
import type { OpEntry } from "./rule.ts";
import * as tf from "./tf.ts";
import { Value } from "./value.ts";

/** Processors' products of this many rows and fewer read their weights as float16 where these are large, at half the bytes. */
const FEW_ROWS = 3;

/** Elements of a weight that is large. */
const LARGE = 2 ** 16;

function isHalf(value: Value | null): value is Value {
  return value !== null && value.kind === "tensor" && value.dtype === "float16";
}

/** True for a float16 that is held in float32. */
function isHeld(value: Value): boolean {
  return (value.tensor ?? value.last)?.dtype === "float32";
}

/** Returns a node's inputs with those of float16 as float32; null where it is applied to them as they are. */
export function inFloat32(
  node: GraphNode,
  { halves, frozen }: OpEntry,
  inputs: readonly (Value | null)[],
  around: NodeSurroundings,
): (Value | null)[] | null {
  const given = inputs.filter(isHalf);
  if (halves === undefined || given.length === 0) return null;
  if (halves === "moved" && !(given.some(isHeld) && given.every((v) => isHeld(v) || v.isKnown))) {
    return null;
  }
  if (halves === "alone" && node.outputs.slice(1).some((name) => name !== "")) return null;
  if (
    halves === "multiplied" && around.inFloat32 === "mostly" &&
    inputs.slice(0, 2).every((v) => v !== null) &&
    readsHalves(inputs as Value[])
  ) return null;
  // Training assigns to what its running averages are.
  if (frozen !== undefined && around.training === true) return null;
  return inputs.map((value) => isHalf(value) ? widened(value, around) : value);
}

/** True for a product of few rows, or of an unknown number, with a large matrix. */
function readsHalves([a, b]: readonly Value[]): boolean {
  if (isHeld(b)) return false;
  const rows = a.shape, matrix = b.shape;
  if (matrix === null || matrix.length !== 2 || matrix.includes(null)) return false;
  if (sizeOf(matrix as number[]) < LARGE) return false;
  const before = rows?.slice(0, -1) ?? [null];
  return before.includes(null) || sizeOf(before as number[]) <= FEW_ROWS;
}

function widened(value: Value, around: NodeSurroundings): Value {
  const { wide } = around;
  let made = wide.get(value);
  if (made === undefined) {
    const { known, last, tensor } = value;
    made = last !== null
      ? Value.channelsLast(tf.cast(last, "float32"))
      : known !== null && known.size < LARGE
      ? Value.known(
        new NdArray("float32", known.shape, Float32Array.from(known.data as Float16Array)),
      )
      : known !== null && around.inFloat32 === "mostly"
      // Computed where it is uploaded to: memory of ours never holds it.
      ? Value.known(laterArray("float32", known.shape, (to) =>
        (to as Float32Array).set(known.data as Float16Array)))
      : Value.of(
        tensor?.dtype === "float32" ? tensor : tensorOf(value, around.tensors, "float32"),
      );
    wide.set(value, made);
  }
  return made;
}

/** Marks a result of {@linkcode inFloat32} as one of float16. */
export function asHalf(result: Value | null): Value | null {
  if (result === null || result.kind !== "tensor" || result.dtype !== "float32") return result;
  const dtype = "float16", { last, tensor, known } = result;
  if (last !== null) return Value.channelsLast(last, { dtype });
  return tensor === null
    ? Value.known(new NdArray(dtype, known!.shape, Float16Array.from(known!.data as Float32Array)))
    : Value.of(tensor, { dtype });
}
