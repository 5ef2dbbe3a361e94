/** Elements as messages, and Snappy's blocks. */

import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { fromBinary } from "@bufbuild/protobuf";
import { elementOf, elementParts } from "../../../src/cluster/wire/element_wire.ts";
import { snappyPlain, unsnappy } from "../../../src/cluster/wire/snappy.ts";
import { GetElementResponseSchema } from "../../../src/tensorflow/proto/data_service_pb.ts";

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(parts.flatMap((p) => [...p]));
}

const CASES: readonly (readonly [string, tf.NdArray])[] = [
  ["float32", new tf.NdArray("float32", [2, 2], Float32Array.of(1, NaN, -0, 4))],
  ["int64", new tf.NdArray("int64", [2], BigInt64Array.of(-1n, 2n ** 62n))],
  ["bool", new tf.NdArray("bool", [3], Uint8Array.of(1, 0, 1))],
  ["no elements", new tf.NdArray("float32", [0, 3], new Float32Array(0))],
  [
    "strings",
    new tf.NdArray("string", [3], ["", "a", "gü"].map((s) => new TextEncoder().encode(s))),
  ],
];

for (const compressed of [false, true]) {
  for (const [name, array] of CASES) {
    Deno.test(`an element comes back${compressed ? " compressed" : ""}: ${name}`, () => {
      const bytes = joined(elementParts([array, array], { index: 3, compressed }));
      const message = fromBinary(GetElementResponseSchema, bytes);
      assertEquals(message.elementIndex, 3n);
      const seen = elementOf(message);
      assertEquals(
        seen.map((x) => [x.dtype, x.shape]),
        [array, array].map((x) => [x.dtype, x.shape]),
      );
      assertEquals(seen[1].toArray(), array.toArray());
    });
  }
}

Deno.test("a tensor's bytes are sent where they lie", () => {
  const [, array] = CASES[0];
  for (const compressed of [false, true]) {
    const parts = elementParts([array], { index: 0, compressed });
    assertEquals(parts.some((p) => p.buffer === (array.data as Float32Array).buffer), true);
  }
});

Deno.test("a Snappy block has copies that overlap", () => {
  // "ab", then 8 bytes from 2 back.
  assertEquals(
    unsnappy(Uint8Array.of(10, 1 << 2, 97, 98, (8 - 4) << 2 | 1, 2)),
    new TextEncoder().encode("ababababab"),
  );
  // The same with an offset of two bytes.
  assertEquals(
    unsnappy(Uint8Array.of(5, 0, 97, 3 << 2 | 2, 1, 0)),
    new TextEncoder().encode("aaaaa"),
  );
});

Deno.test("snappyPlain() writes what unsnappy() reads", () => {
  for (const size of [0, 1, 59, 60, 61, 70_000]) {
    const data = Uint8Array.from({ length: size }, (_, i) => i % 251);
    assertEquals(unsnappy(joined(snappyPlain([data.subarray(0, 7), data.subarray(7)]))), data);
  }
});

for (
  const [name, bytes] of [
    ["nothing", []],
    ["an endless length", [255, 255, 255, 255, 255, 255]],
    ["a length that is a lie", [255, 255, 255, 127, 0, 1]],
    ["fewer bytes than said", [5, 0, 97]],
    ["more bytes than said", [1, 1 << 2, 97, 98]],
    ["a copy from before the start", [4, 0, 97, 2 << 2 | 2, 2, 0]],
    ["a copy from nowhere", [4, 0, 97, 2 << 2 | 2, 0, 0]],
    ["a literal that is cut", [4, 3 << 2, 97]],
    ["a copy without its offset", [4, 0, 97, 2 << 2 | 2]],
  ] as const
) {
  Deno.test(`unsnappy() refuses ${name}`, () => {
    assertThrows(
      () => unsnappy(Uint8Array.from(bytes)),
      tf.errors.DataLossError,
      "no Snappy block",
    );
  });
}
