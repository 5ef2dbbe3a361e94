/** Ops of two arguments whose dtypes have no common one name themselves, both arguments and both dtypes. */

import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";

const word = () => tf.tensor("no"), words = () => tf.tensor([["a", "b"]]);
const matrix = () => tf.ones([2, 2]);

const PAIRS: readonly (readonly [string, () => unknown, string])[] = [
  ["add", () => tf.add(word(), matrix()), "string as a of add with float32 as b"],
  ["mul", () => tf.mul(matrix(), word()), "float32 as a of mul with string as b"],
  ["sub of a method", () => word().sub(matrix()), "string as a of sub with float32 as b"],
  [
    "less",
    () => tf.less(words(), tf.tensor([1], [1], "int32")),
    "string as a of less with int32 as b",
  ],
  ["matMul", () => tf.matMul(word(), matrix()), "string as a of matMul with float32 as b"],
  ["matMul of a text", () => tf.matMul("no", matrix()), "string as a of matMul with float32 as b"],
  ["maximum", () => tf.maximum(matrix(), words()), "float32 as a of maximum with string as b"],
];

for (const [name, compute, text] of PAIRS) {
  Deno.test(`${name} of a string and numbers says which argument has which dtype`, () => {
    const wanted = `Cannot use ${text}: neither holds the other's values`;
    const eager = assertThrows(compute, TypeError).message;
    assertEquals(eager, wanted);
    const traced = tf.function(() => compute() as tf.Tensor);
    assertThrows(traced, TypeError, wanted);
    assertThrows(() => new tf.Graph().asDefault(compute), TypeError, wanted);
  });
}
