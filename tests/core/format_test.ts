/** Tensors as text. */

import { assertEquals, assertThrows } from "@std/assert";
import { stub } from "@std/testing/mock";
import * as tf from "@weft/weft";
import { toNdArray } from "../../src/engine/core/convert.ts";
import { tensorText } from "../../src/engine/core/arrays/format.ts";

Deno.test("tensorText() aligns columns and cuts long axes", () => {
  const cases: [unknown, string][] = [
    [5, "5"],
    ["hé", "hé"],
    [["a", "bc"], "['a', 'bc']"],
    [[true, false], "[true, false]"],
    [[1.5, NaN, -Infinity], "[1.5, NaN, -Infinity]"],
    [[1e-9, 0.1], "[1e-9, 0.1]"],
    [[], "[]"],
    [[[1, 22.5], [333, 4]], "[[1  , 22.5],\n     [333, 4   ]]"],
    [[[[1], [2]], [[3], [4]]], "[[[1],\n      [2]],\n\n     [[3],\n      [4]]]"],
    [Array.from({ length: 30 }, (_, i) => i), "[0, 1, 2, ..., 27, 28, 29]"],
    [
      Array.from({ length: 30 }, (_, i) => [i]),
      "[[0 ],\n     [1 ],\n     [2 ],\n     ...,\n     [27],\n     [28],\n     [29]]",
    ],
  ];
  for (const [value, text] of cases) {
    assertEquals(tensorText(toNdArray(value)), `Tensor\n    ${text}`);
  }
  assertEquals(
    tensorText(toNdArray([[3, 4], [5, 6]], { dtype: "complex64" })),
    "Tensor\n    [3 + 4j, 5 + 6j]",
  );
  assertEquals(
    tensorText(toNdArray([[1, 2]]), true),
    "Tensor\n  dtype: float32\n  rank: 2\n  shape: [1,2]\n  values:\n    [[1, 2]]",
  );
});

Deno.test("print() writes the elements to the console", () => {
  using log = stub(console, "log");
  tf.print([1, 2]);
  tf.tensor([3]).print(true);
  assertEquals(log.calls.map(({ args }) => args[0]), [
    "Tensor\n    [1, 2]",
    "Tensor\n  dtype: float32\n  rank: 1\n  shape: [1]\n  values:\n    [3]",
  ]);
});

Deno.test("toString() writes the elements, and messages leave them out", async () => {
  await tf.setBackend("cpu");
  const x = tf.tensor([[1, 2]]);
  assertEquals(x.toString(), "Tensor\n    [[1, 2]]");
  assertThrows(
    () => x.item(),
    tf.ValueError,
    "Cannot take item() of Tensor(float32[1,2]): it must",
  );
  x.dispose();
  assertEquals(x.toString(), "Tensor(float32[1,2])");
});
