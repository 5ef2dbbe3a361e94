/** Scales, zero points and biases: those that a file has are brought to float32 and to their shape while building, without ops. */
import { currentInterpreter } from "../../../engine/core/apply.ts";
import type { DType } from "../../../engine/core/dtype.ts";
import { NdArray } from "../../../engine/core/nd_array.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import type { NodeCall } from "../../build/node_call.ts";
import { to } from "../raw.ts";
import * as tf from "../../build/tf.ts";

/** Types whose arrays are lists of numbers. */
const TYPES: ReadonlySet<DType> = new Set<DType>([
  "float32",
  "int8",
  "uint8",
  "int16",
  "uint16",
  "int32",
]);

/** Makes a scalar of a vector of one. */
export function oneOf(s: Tensor): Tensor {
  const shape = s.staticShape;
  return shape?.length === 1 && shape[0] === 1 ? tf.reshape(s, []) : s;
}

function knownOf(n: NodeCall, i: number): NdArray | null {
  const { known, data, later } = n.value(i);
  return later === null && data === null && known !== null && TYPES.has(known.dtype) ? known : null;
}

function constantOf(numbers: Float32Array, shape: readonly number[]): Tensor {
  return currentInterpreter().constant(new NdArray("float32", shape, numbers));
}

/**
 * Returns an input as float32, in a shape where -1 is the number of its elements. Without one, a vector of one is a scalar, and another
 * input stays as it is.
 */
export function parameter(n: NodeCall, i: number, shape?: readonly number[]): Tensor {
  const known = knownOf(n, i);
  if (known === null) {
    const x = to(n.x(i), "float32");
    return shape === undefined ? oneOf(x) : tf.reshape(x, [...shape]);
  }
  const own = known.rank === 1 && known.size === 1 ? [] : known.shape;
  const wanted = shape?.map((d) => d < 0 ? known.size : d) ?? own;
  return constantOf(Float32Array.from(known.data as Float32Array), wanted);
}

/** Returns the product of two scales, of which one may have an element for each column. */
export function scaleOf(n: NodeCall, i: number, j: number): Tensor {
  const [a, b] = [i, j].map((input) => knownOf(n, input));
  if (a?.size !== 1 || b === null || b.rank > 1) return tf.mul(parameter(n, i), parameter(n, j));
  const [by] = a.data as Float32Array;
  const product = Float32Array.from(b.data as Float32Array, (v) => v * by);
  return constantOf(product, b.size === 1 ? [] : b.shape);
}
