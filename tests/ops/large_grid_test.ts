/** Dispatches of more workgroups than an axis of a grid may have: 65,535 of 256 invocations. */

import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { testOnDevices } from "../devices.ts";

/** Odd, so that kernels take one element an invocation. */
const MANY = 256 * 65_535 + 257;

testOnDevices("kernels over one axis reach every element of 16,777,217", () => {
  const total = tf.tidy(() => tf.sum(tf.neg(tf.fill([MANY], 3, "int32"))));
  assertEquals(total.item(), -3 * MANY);
  total.dispose();
});

testOnDevices("kernels that broadcast reach every element of 4,099 rows of 4,097", () => {
  const total = tf.tidy(() => {
    const column = tf.fill([4099, 1], 1, "int32"), row = tf.fill([4097], 2, "int32");
    return tf.sum(tf.add(column, row));
  });
  assertEquals(total.item(), 3 * 4099 * 4097);
  total.dispose();
});
