/** Levels of a few bits that lie packed in bytes. */
import type { Tensor } from "../../../engine/core/tensor.ts";
import type { NodeCall } from "../../build/node_call.ts";
import { to } from "../raw.ts";
import * as tf from "../../build/tf.ts";

/** Unpacks whole numbers of a few bits along the last axis, the first in a byte's low bits, as float32. */
export function unpack(bytes: Tensor, bits: number): Tensor {
  if (bits === 8) return to(bytes, "float32");
  const each = 8 / bits, shape = bytes.staticShape!;
  const shifts = tf.tensor1d(Array.from({ length: each }, (_, i) => i * bits), "int32");
  const parts = tf.bitwiseAnd(
    tf.rightShift(tf.expandDims(to(bytes, "int32"), -1), shifts),
    tf.scalar(2 ** bits - 1, "int32"),
  );
  const last = shape.at(-1)!;
  const known = shape.slice(0, -1).every((d) => d !== null);
  const y = known
    ? tf.reshape(parts, [...shape.slice(0, -1) as number[], last * each])
    : tf.reshape(
      parts,
      tf.concat([
        tf.slice(tf.shape(bytes), [0], [shape.length - 1]),
        tf.tensor1d([last * each], "int32"),
      ]),
    );
  return to(y, "float32");
}

/** Returns the first elements of the last axis. */
export function first(x: Tensor, count: number): Tensor {
  const shape = x.staticShape!;
  if (shape.at(-1) === count) return x;
  return tf.slice(x, shape.map(() => 0), [...shape.slice(0, -1).map(() => -1), count]);
}

/** Returns the bits of a weight, of an attribute. */
export function bitsOf(n: NodeCall, attribute = "bits"): number {
  const bits = n.attributes.int(attribute, 4);
  return [2, 4, 8].includes(bits) ? bits : n.lacks(`a weight of ${bits} bits`);
}
