/** Rows that hold no elements: nothing but their extents tells how many they are. */
import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { testOnDevices } from "../devices.ts";

const ROWS: Readonly<Record<string, [tf.Shape, (x: tf.Tensor) => tf.Tensor, tf.Shape]>> = {
  "RaggedTensor.fromTensor()": [[2, 3, 0], (x) => tf.RaggedTensor.fromTensor(x).flatValues, [6, 0]],
  "TensorArray.concat()": [[2, 0], (x) => {
    const rows = new tf.TensorArray("float32", 2);
    return rows.write(0, x).write(1, x).concat();
  }, [4, 0]],
  "ragged.stackDynamicPartitions()": [[3, 4, 0], (x) => {
    const parts = tf.constant([0, 2, 0], "int32");
    return tf.ragged.stackDynamicPartitions(x, parts, 3).toTensor();
  }, [3, 2, 4, 0]],
};

for (const [name, [shape, fn, wanted]] of Object.entries(ROWS)) {
  testOnDevices(`${name} counts rows without elements, with gradients`, () => {
    const x = tf.zeros([...shape]);
    const gradient = (x: tf.Tensor): tf.Tensor[] => {
      using tape = new tf.GradientTape();
      tape.watch(x);
      const y = fn(x);
      return [y, tape.gradient(tf.sum(y), x)!];
    };
    const unknown = tf.TensorSpec(shape.map(() => null), "float32");
    const compiled = tf.function(gradient, { inputSignature: [unknown] });
    for (const run of [gradient, compiled]) {
      assertEquals(run(x).map((t) => t.shape), [[...wanted], [...shape]]);
    }
  });
}
