/** Jacobians in graphs that do not know how many elements there are: they loop over them when they run. Numbers are TensorFlow's. */
import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

const x = [[1, 2, 3], [4, 5, 6]];
const rows = [
  [[13, 1, 1], [4, 28, 4], [9, 9, 45]],
  [[136, 16, 16], [25, 175, 25], [36, 36, 216]],
];
const zeros = rows[0].map(() => [0, 0, 0]);
const whole = rows.map((own, i) =>
  own.map((_, j) => rows.map((_, k) => (k === i ? rows[i] : zeros)[j]))
);
const second = x.map((row, i) =>
  row.map((v, j) => x.map((row, k) => row.map((_, l) => (k === i && l === j ? 6 * v : 0))))
);

const SHAPES: readonly (readonly (number | null)[] | null)[] = [null, [null, null], [null, 3], [
  2,
  null,
]];

/** Each element times itself and the sum of its row. */
const ofRows = (x: tf.Tensor): tf.Tensor => tf.mul(tf.square(x), tf.sum(x, [-1], true));

for (const shape of SHAPES) {
  testOnDevices(`jacobians of a placeholder of shape ${JSON.stringify(shape)}`, async () => {
    const graph = new tf.Graph();
    const fetches = graph.asDefault(() => {
      const x = tf.placeholder("float32", shape, "x"), w = tf.ones([2]);
      using tape = new tf.GradientTape({ persistent: true });
      tape.watch(x);
      const y = ofRows(x);
      assertEquals(tape.jacobian(y, w), null);
      assertEquals(tape.batchJacobian(y, tf.placeholder("float32", [null, 2])), null);
      return [
        tape.jacobian(y, x)!,
        tape.batchJacobian(y, x)!,
        tf.hessians(tf.sum(tf.pow(x, 3)), x)[0],
        tape.jacobian(y, w, { unconnectedGradients: "zero" })!,
      ];
    });
    const [a, b] = shape ?? [null, null];
    const shapes = shape && [[a, b, a, b], [a, b, b], [a, b, a, b], [a, b, 2]];
    assertEquals(fetches.map((t) => t.staticShape), shapes ?? [null, null, null, null]);
    await using sess = new tf.Session({ graph });
    const found = await sess.run(fetches, { feeds: { "x:0": x } }) as tf.NdArray[];
    assertEquals(found.slice(0, 3).map((a) => a.toArray()), [whole, rows, second]);
    assertEquals(found[3].toArray(), x.map((row) => row.map(() => [0, 0])));
    if (a === 2) return;
    const none = await sess.run(fetches, {
      feeds: { "x:0": new tf.NdArray("float32", [0, 3], new Float32Array()) },
    }) as tf.NdArray[];
    assertEquals(none.map((a) => a.shape), [[0, 3, 0, 3], [0, 3, 3], [0, 3, 0, 3], [0, 3, 2]]);
  });
}

testOnDevices("a jacobian of unknown size goes through a loop, and has a gradient itself", () => {
  const slope = (x: tf.Tensor): tf.Tensor => {
    using outer = new tf.GradientTape(), inner = new tf.GradientTape();
    outer.watch(x);
    inner.watch(x);
    const [, y] = tf.whileLoop((i) => tf.less(i, 2), (i, y) => [tf.add(i, 1), tf.mul(y, x)], [
      tf.scalar(0, "int32"),
      tf.mul(tf.onesLike(x), tf.sum(x)),
    ]);
    const j = inner.jacobian(y, x)!;
    return outer.gradient(tf.sum(tf.mul(j, j)), x) as tf.Tensor;
  };
  const f = tf.function(slope, { inputSignature: [tf.TensorSpec([null], "float32")] });
  using v = tf.tensor([1, 2, 3]);
  tf.tidy(() => f(v));
  const { numTensors, liveTapes } = tf.memory();
  tf.tidy(() => assertEquals(f(v).arraySync(), slope(v).arraySync()));
  assertEquals([tf.memory().numTensors, tf.memory().liveTapes], [numTensors, liveTapes]);
});

testOnDevices("batchJacobian() refuses batches of other sizes and scalars", () => {
  new tf.Graph().asDefault(() => {
    using tape = new tf.GradientTape({ persistent: true });
    const two = tf.placeholder("float32", [2, null]), three = tf.placeholder("float32", [3, null]);
    assertThrows(() => tape.batchJacobian(two, three), tf.ValueError, "Need first dimension");
    assertThrows(() => tape.batchJacobian(tf.scalar(1), two), tf.ValueError, "to match");
    assertThrows(() => tape.batchJacobian(two, tf.scalar(1)), tf.ValueError, "to match");
  });
});
