/** Alignment losses, and gradients of gathers by axes counted from the end, take all rows of `vmap` at once. */
import { assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { loopWarning } from "../../src/engine/batching/walk.ts";
import { testOnDevices } from "../devices.ts";

type Fn = (x: tf.Tensor) => tf.Tensor;

const ints = (values: number[], shape: number[]): tf.Tensor => tf.tensor(values, shape, "int32");
const gathered = (axis: number, batchDims: number, indices: tf.Tensor): Fn => (x) =>
  tf.sum(tf.square(tf.gather(x, indices, axis, batchDims)));
const labels = (): tf.Tensor => ints([1, 2, 2, 2], [2, 2]);

/** Functions of a row, and the shape of one. */
const CASES: Readonly<Record<string, readonly [shape: number[], fn: Fn]>> = {
  "an alignment loss": [[4, 2, 3], (x) => tf.sum(tf.ctcLoss(labels(), x, [2, 1], [4, 3]))],
  "an alignment loss of labels that differ": [
    [4, 2, 3],
    (x) => {
      const least = tf.min(x, 0), found = tf.add(tf.cast(tf.greater(least, -1), "int32"), 1);
      return tf.sum(tf.ctcLoss(tf.slice(found, [0, 0], [2, 2]), x, [1, 2], [4, 4]));
    },
  ],
  "a gather along the last axis": [[2, 3], gathered(-1, 0, ints([0, 2, 2], [3]))],
  "a gather along the axis before": [[2, 3], gathered(-2, 0, ints([1, 1], [2]))],
  "a gather of each list": [[2, 3], gathered(-1, 1, ints([0, 2, 2, 2], [2, 2]))],
  "a gather of each list, counted from the end": [
    [2, 3],
    gathered(-1, -1, ints([0, 2, 2, 2], [2, 2])),
  ],
  "a gather by what differs": [
    [2, 3],
    (x) => gathered(-1, -1, tf.cast(tf.greater(x, 0), "int32"))(x),
  ],
};

testOnDevices(
  "vmap() of losses of alignments and of gradients of gathers has no loop",
  async () => {
    const { write, named } = loopWarning, warnings: string[] = [];
    loopWarning.write = (text) => warnings.push(text);
    named.clear();
    try {
      for (const [name, [shape, fn]] of Object.entries(CASES)) {
        using _scope = tf.scope();
        const size = shape.reduce((a, b) => a * b, 3);
        const x = tf.reshape(Array.from({ length: size }, (_, i) => 3 * Math.sin(1.7 * i + 1)), [
          ...[3, ...shape],
        ]);
        const open = { inputSignature: [tf.TensorSpec([null, ...shape], "float32")] };
        for (const  of of[fn, tf.grad(fn) as Fn]) {
          const wanted = tf.stack(tf.unstack(x).map((row) => of(row)));
          const found = [tf.vmap(of)(x), await tf.function(tf.vmap(of), open).async(x)];
          for (const y of found) {
            assertEquals(y.shape, wanted.shape, name);
            const far = await tf.max(tf.abs(tf.sub(y as tf.Tensor, wanted))).data();
            assertEquals(far[0]! < 1e-5, true, `${name}: ${far[0]}`);
          }
        }
      }
      assertEquals([warnings, [...named]], [[], []]);
    } finally {
      loopWarning.write = write;
    }
  },
);
