/** Records of tf.train.Example, read by the op of imported graphs: dense features, what fills them up, and what is refused. */

import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { apply } from "../../src/engine/core/apply.ts";
import { lookupOp } from "../../src/engine/core/op.ts";

const bytes = (text: string): number[] => [...new TextEncoder().encode(text)];
const message = (field: number, content: readonly number[]): number[] => [
  field << 3 | 2,
  content.length,
  ...content,
];

/** A record with lists of floats, whole numbers or texts. */
function record(
  features: Readonly<Record<string, readonly (number | bigint | string)[]>>,
): Uint8Array {
  const entries = Object.entries(features).flatMap(([key, list]) => {
    const [first] = list;
    const feature = typeof first === "string"
      ? message(1, list.flatMap((v) => message(1, bytes(v as string))))
      : typeof first === "bigint"
      ? message(3, message(1, list.map(Number)))
      : message(2, message(1, [...new Uint8Array(Float32Array.from(list as number[]).buffer)]));
    return message(1, [...message(1, bytes(key)), ...message(2, feature)]);
  });
  return Uint8Array.from(message(1, entries));
}

const texts = (...list: (string | Uint8Array)[]): tf.Tensor =>
  tf.tensor(list, [list.length], "string");

/** The dense feature "a" of each record. */
function dense(
  records: readonly Uint8Array[],
  dtype: "float32" | "int64" | "string",
  shape: readonly (number | null)[] | null,
  fallback: tf.TensorLike = tf.tensor([], [0], dtype),
): unknown {
  const [values] = apply(lookupOp("ParseExampleV2")!, [
    texts(...records),
    ...[texts(), texts(), texts("a"), texts()],
    tf.tensor(
      fallback instanceof tf.Tensor ? Array.from(fallback.dataSync()) : fallback,
      undefined,
      dtype,
    ),
  ], {
    ...{ num_sparse: 0, sparse_types: [], ragged_value_types: [], ragged_split_types: [] },
    ...{ Tdense: [dtype], dense_shapes: [shape] },
  });
  return values.arraySync();
}

Deno.test("dense features have the shape that is declared, and defaults where they are missing", () => {
  const [full, empty] = [record({ a: [1, 2], b: [9] }), record({ b: [3] })];
  assertEquals(dense([full], "float32", [2]), [[1, 2]]);
  assertEquals(dense([full, full], "float32", [2, 1]), [[[1], [2]], [[1], [2]]]);
  assertEquals(dense([full, empty], "float32", [2], [7, 8]), [[1, 2], [7, 8]]);
  assertEquals(dense([record({ a: [5n, 6n] })], "int64", [2]), [[5n, 6n]]);
  assertEquals(dense([record({ a: ["x", "yz"] })], "string", [2]), [["x", "yz"]]);
});

Deno.test("dense features of variable length are filled up to the longest", () => {
  const rows = [record({ a: [1, 2] }), record({ b: [3] }), record({ a: [4] })];
  assertEquals(dense(rows, "float32", [null]), [[1, 2], [0, 0], [4, 0]]);
  assertEquals(dense(rows, "float32", [null], [-1]), [[1, 2], [-1, -1], [4, -1]]);
  assertEquals(dense([record({ a: [1n] }), record({ b: [1] })], "int64", [null]), [[1n], [0n]]);
  assertEquals(dense([record({ a: ["x"] }), record({ b: [1] })], "string", [null]), [["x"], [""]]);
  assertEquals(dense([record({ a: [1, 2, 3, 4] })], "float32", [null, 2]), [[[1, 2], [3, 4]]]);
});

Deno.test("dense features that do not fit are refused", () => {
  const cases: [() => unknown, string][] = [
    [() => dense([record({ a: [1] })], "float32", null), "Feature a has no shape"],
    [
      () => dense([record({ b: [1] })], "float32", [1]),
      "Name: <unknown>, Feature: a (data type: float) is required but could not be found.",
    ],
    [
      () => dense([record({ a: [1, 2, 3] })], "float32", [2]),
      "Name: <unknown>, Key: a, Index: 0.  Number of float values != expected.  Values size: 3 but output shape: [2]",
    ],
    [
      () => dense([record({ a: [1, 2, 3] })], "float32", [null, 2]),
      "Number of float values is not a multiple of stride length. Saw 3 values but output shape is: [?,2]",
    ],
  ];
  for (const [call, says] of cases) assertThrows(call, tf.errors.InvalidArgumentError, says);
});
