/** Scopes own what is made while they are the innermost one that is open, and nothing else. */

import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";

/** Counts the tensors left by `fn`. */
function left(fn: () => unknown): number {
  const before = tf.memory().numTensors;
  fn();
  return tf.memory().numTensors - before;
}

Deno.test("scopes and tidy() free what was made inside, but for what they give on", () => {
  assertEquals(left(() => tf.tidy(() => void tf.add(1, 2))), 0);
  const given = () => tf.tidy(() => ({ a: tf.add(tf.add(1, 2), 3), b: [null, tf.scalar(1)] }));
  assertEquals(left(() => tf.dispose(given())), 0);
  assertEquals(left(given), 2);
  const kept = () => {
    using s = tf.scope();
    tf.add(1, 2);
    return s.keep([tf.scalar(1), tf.scalar(2)]);
  };
  assertEquals(left(kept), 2);
  assertEquals(left(() => tf.tidy(() => void tf.keep(tf.scalar(1)))), 1);
});

Deno.test("after a scope its outer one owns what is made", () => {
  const outer = () =>
    tf.tidy(() => {
      {
        using _inner = tf.scope();
        tf.add(1, 2);
      }
      tf.add(3, 4);
      tf.tidy(() => tf.add(5, 6));
      tf.add(7, 8);
    });
  assertEquals(left(outer), 0);
  assertEquals(left(() => (outer(), tf.add(1, 2))), 1);
});

Deno.test("a scope that is left by an error frees all and is over", () => {
  const fails = () =>
    tf.tidy(() => {
      tf.add(1, 2);
      throw new Error("inside");
    });
  assertEquals(left(() => assertThrows(fails, Error, "inside")), 0);
  assertEquals(left(() => tf.add(1, 2)), 1);
  const scoped = () => {
    using _s = tf.scope();
    tf.add(1, 2);
    throw new Error("inside");
  };
  assertEquals(left(() => assertThrows(scoped, Error, "inside")), 0);
  assertEquals(left(() => tf.add(1, 2)), 1);
});
