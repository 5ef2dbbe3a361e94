/** Images with channels last: elementwise ops take them so, and need no transposition between convolutions. */
import type { Tensor } from "../../engine/core/tensor.ts";
import * as tf from "./tf.ts";
import type { NodeCall } from "./node_call.ts";
import { Value } from "./value.ts";

/** Returns the inputs of a node with channels last, if one of them is stored so; null if they do not fit. */
export function inputsLast(n: NodeCall): (Value | null)[] | null {
  const images = n.inputs.find((v) => v?.last != null);
  const rank = images?.shape?.length;
  if (rank === undefined) return null;
  const moved: (Value | null)[] = [];
  for (const [i, value] of n.inputs.entries()) {
    const made = value === null ? null : lastOf(n, i, value, rank);
    if (made === undefined) return null;
    moved.push(made);
  }
  return moved;
}

/** Returns a value with channels last; undefined if its rank is above the images'. */
function lastOf(n: NodeCall, i: number, value: Value, rank: number): Value | undefined {
  const { shape } = value;
  if (value.kind !== "tensor" || shape === null || shape.length > rank) return undefined;
  if (value.last !== null) return shape.length === rank ? Value.of(value.last) : undefined;
  if (shape.every((d) => d === 1)) return value;
  if (shape.length === rank) return Value.of(n.last(i));
  const wide = [...new Array<number>(rank - shape.length).fill(1), ...shape];
  const places = [0, ...wide.map((_, k) => k).slice(2), 1];
  if (wide.includes(null)) return undefined;
  const full = wide as number[], last = places.map((k) => full[k]);
  // With one extent above 1 the elements keep their order: a reshape is enough.
  if (full.filter((d) => d !== 1).length === 1) {
    if (value.known !== null) return Value.known(value.known.reshape(last));
    return Value.of(tf.reshape(n.x(i), last));
  }
  return Value.of(tf.transpose(tf.reshape(n.x(i), full), places));
}

/** Converts an axis of images with channels first to one with channels last. */
export function axisLast(axis: number, rank: number): number {
  return axis === 0 ? 0 : axis === 1 ? rank - 1 : axis - 1;
}

/** Wraps a result of a node whose inputs had channels last. */
export function resultLast(result: Tensor, rank: number): Value {
  return result.staticShape?.length === rank ? Value.channelsLast(result) : Value.of(result);
}
