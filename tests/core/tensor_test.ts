/** Properties of a tensor, and its chained methods. */

import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";

Deno.test("a tensor knows its rank, size and strides", () => {
  const facts = (shape: number[]) => {
    const { rank, size, strides } = tf.zeros(shape);
    return [rank, size, strides];
  };
  assertEquals(facts([]), [0, 1, []]);
  assertEquals(facts([3]), [1, 3, []]);
  assertEquals(facts([2, 3]), [2, 6, [3]]);
  assertEquals(facts([2, 3, 4]), [3, 24, [12, 4]]);
  assertEquals(facts([5, 2, 3, 4]), [4, 120, [24, 12, 4]]);
  assertEquals(facts([2, 0, 4]), [3, 0, [0, 4]]);
});

Deno.test("a tensor takes other shapes and dtypes by chained methods", () => {
  const x = tf.range(0, 8);
  const shapes = [
    x.as2D(2, 4).shape,
    x.as3D(2, 2, 2).shape,
    x.as4D(1, 2, 2, 2).shape,
    x.as5D(1, 2, 1, 2, 2).shape,
    x.as2D(2, 4).as1D().shape,
    x.slice([3], [1]).asScalar().shape,
  ];
  assertEquals(shapes, [[2, 4], [2, 2, 2], [1, 2, 2, 2], [1, 2, 1, 2, 2], [8], []]);
  assertEquals([x.asType("int32").dtype, x.as2D(2, 4).transpose([1, 0]).shape], ["int32", [4, 2]]);
  using v = x.variable(false, "tensor_test");
  assertEquals([v.trainable, v.name, v.shape], [false, "tensor_test", [8]]);
});
