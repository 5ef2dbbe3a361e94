/** TensorFlow.js models of a few nodes, made in tests. */

import type * as tf from "@weft/weft";

/** A node of a model's graph. */
export type Node = {
  readonly name: string;
  readonly op: string;
  readonly input?: readonly string[];
  readonly attr?: Readonly<Record<string, unknown>>;
};

/** An attribute that is a dtype. */
export function type(name: string): { type: string } {
  return { type: `DT_${name}` };
}

/** An input. */
export function placeholder(name: string, dims: readonly number[], dtype = "FLOAT"): Node {
  const dim = dims.map((size) => ({ size: String(size) }));
  return { name, op: "Placeholder", attr: { dtype: type(dtype), shape: { shape: { dim } } } };
}

/** A constant whose value is a weight. */
export function weight(name: string, dtype = "FLOAT"): Node {
  return { name, op: "Const", attr: { dtype: type(dtype) } };
}

/** A node; `T` is its dtype. */
export function node(
  op: string,
  name: string,
  input: readonly string[],
  attr: Readonly<Record<string, unknown>> = { T: type("FLOAT") },
): Node {
  return { name, op, input, attr };
}

/** Bytes of several arrays one after the other. */
export function joined(...arrays: readonly ArrayBufferView[]): ArrayBuffer {
  const out = new Uint8Array(arrays.reduce((n, a) => n + a.byteLength, 0));
  let at = 0;
  for (const a of arrays) {
    out.set(new Uint8Array(a.buffer, a.byteOffset, a.byteLength), at);
    at += a.byteLength;
  }
  return out.buffer;
}

/** A model of these nodes. */
export function model(
  nodes: readonly Node[],
  weights: Readonly<Record<string, Float32Array | Int32Array>> = {},
  more: Partial<tf.ModelArtifacts> = {},
): tf.ModelArtifacts {
  return {
    modelTopology: { node: nodes, versions: { producer: 1 } },
    weightSpecs: Object.entries(weights).map(([name, values]) => ({
      name,
      shape: values.length === 1 ? [] : [values.length],
      dtype: values instanceof Float32Array ? "float32" : "int32",
    })),
    weightData: joined(...Object.values(weights)),
    ...more,
  };
}

/** `y = x * w + b`, `w` and `b` as long as the rows of `x`. */
export function affine(): tf.ModelArtifacts {
  return model(
    [
      node("AddV2", "y", ["product", "b"]),
      placeholder("x", [-1, 2]),
      weight("w"),
      weight("b"),
      node("Mul", "product", ["x", "w"]),
    ],
    { w: Float32Array.of(2, 3), b: Float32Array.of(10, 20) },
  );
}
