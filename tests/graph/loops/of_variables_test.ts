/** Loops and branches that are given a variable, or return one: they give its value at that time. */
import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { testOnDevices } from "../../devices.ts";

/** Loops and branches whose results are values of a variable: it was given to them, or returned by their functions. */
const OF_A_VARIABLE: Readonly<Record<string, (w: tf.Variable) => tf.Tensor>> = {
  "a whileLoop of no turns": (w) =>
    tf.whileLoop((i) => tf.less(i, 0), (i, a) => [tf.add(i, 1), tf.mul(a, 2)], [
      tf.constant(0, "int32"),
      w as tf.Tensor,
    ])[1],
  "a whileLoop that returns it": (w) =>
    tf.whileLoop((i) => tf.less(i, 2), (i, _) => [tf.add(i, 1), w as tf.Tensor], [
      tf.constant(0, "int32"),
      tf.zeros([2]),
    ])[1],
  "a whileLoop that changes it after it was returned": (w) =>
    tf.whileLoop((i) => tf.less(i, 2), (i, a) => {
      w.assign(tf.mul(a, 1));
      return [tf.add(i, 1), w as tf.Tensor];
    }, [tf.constant(0, "int32"), tf.tensor([1, 2])])[1],
  "foldl of no rows": (w) =>
    tf.foldl((a) => a, tf.zeros([0, 2]), { initializer: w as tf.Tensor }) as tf.Tensor,
  "foldl that returns it": (w) =>
    tf.foldl(() => w as tf.Tensor, tf.zeros([2, 2]), { initializer: tf.zeros([2]) }) as tf.Tensor,
  "foldl of states that it is in": (w) =>
    (tf.foldl((a) => a, tf.zeros([0, 2]), { initializer: [w, w] }) as tf.Tensor[])[1],
  "cond that returns it": (w) => tf.cond(tf.greater(tf.sum(w), 9), () => tf.neg(w), () => w),
  "cond that returns it in a nest": (w) =>
    tf.cond(tf.greater(tf.sum(w), 0), () => [{ w }], () => [{ w: tf.neg(w) }])[0].w,
  "case that returns it": (w) =>
    tf.case([[tf.less(tf.sum(w), 0), () => tf.neg(w)]], { default: () => w as tf.Tensor }),
  "switchCase that returns it": (w) => tf.switchCase(1, [() => tf.neg(w), () => w as tf.Tensor]),
};

testOnDevices(
  "loops and branches give the value that a variable has then, whatever is assigned later",
  () => {
    for (const [what, loop] of Object.entries(OF_A_VARIABLE)) {
      for (const run of [loop, (w: tf.Variable) => tf.function(() => loop(w))() as tf.Tensor]) {
        using w = tf.variable([1, 2]);
        const y = tf.tidy(() => run(w));
        w.assign([5, 6]);
        assertEquals(y.arraySync(), [1, 2], what);
        y.dispose();
      }
    }
  },
);
