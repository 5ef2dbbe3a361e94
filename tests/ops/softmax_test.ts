import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { ofTheDay } from "../effort.ts";
import { compareVariants, testOnGpu } from "./force_variant.ts";
import { filled, noise, random } from "./values.ts";

function softmaxOf(row: number[]): number[] {
  const m = Math.max(...row), e = row.map((v) => Math.exp(v - m));
  const s = e.reduce((a, b) => a + b);
  return e.map((v) => v / s);
}

function assertNear(actual: unknown, wanted: readonly number[], tolerance = 1e-5): void {
  const got = (actual as number[][]).flat(4) as unknown as number[];
  assertEquals(got.length, wanted.length);
  wanted.forEach((w, i) => assertAlmostEquals(got[i], w, tolerance, `element ${i}`));
}

function gradientOf(fn: (x: tf.Tensor) => tf.Tensor, x: tf.Tensor, dy?: tf.Tensor): tf.Tensor {
  const tape = new tf.GradientTape();
  tape.watch(x);
  const y = fn(x);
  return tape.gradient(y, x, dy ? { outputGradients: dy } : {}) as tf.Tensor;
}

const ROWS = [[1, 2, -3, 0.5], [100, 101, 99, 100], [-1000, 1000, 0, 0]];

testOnDevices("softmax() and logSoftmax() along any axis", () => {
  const x = tf.tensor(ROWS);
  assertNear(tf.softmax(x).arraySync(), ROWS.flatMap(softmaxOf));
  const y = ROWS.slice(0, 2);
  assertNear(tf.logSoftmax(y).arraySync(), y.flatMap((r) => softmaxOf(r).map(Math.log)));
  const columns = tf.transpose(tf.tensor(y));
  assertNear(tf.transpose(tf.softmax(columns, 0)).arraySync(), y.flatMap(softmaxOf));
  assertNear(
    tf.transpose(tf.logSoftmax(columns, 0)).arraySync(),
    y.flatMap((r) => softmaxOf(r).map(Math.log)),
  );
  assertThrows(
    () => tf.softmax(x, 2),
    tf.ValueError,
    "Invalid axis 2: it must be in the range [-2, 2)",
  );
  assertThrows(
    () => tf.softmax(tf.tensor([1, 2], [2], "int32")),
    TypeError,
    "Value passed to parameter 'logits' of 'Softmax' Op has DataType int32",
  );
});

testOnDevices("softmax() of infinities and NaN, and of nothing", () => {
  assertEquals(tf.softmax([-Infinity, 0]).arraySync(), [0, 1]);
  assertEquals(tf.softmax([NaN, 0, 1]).arraySync(), [NaN, NaN, NaN]);
  assertEquals(tf.logSoftmax([0, 1, NaN]).arraySync(), [NaN, NaN, NaN]);
  assertEquals(tf.softmax(tf.tensor([], [0, 3])).shape, [0, 3]);
  assertEquals(tf.softmax(tf.tensor([], [3, 0])).shape, [3, 0]);
});

testOnDevices("softmax() has right first and second gradients", () => {
  const row = [0.1, -0.4, 0.7], w = [1, 2, 4], v = [3, -1, 2];
  const first = (x: number[]): number[] => {
    const y = softmaxOf(x), s = y.reduce((a, b, i) => a + b * w[i], 0);
    return y.map((b, i) => b * (w[i] - s));
  };
  const dx = (t: tf.Tensor) => gradientOf((u) => tf.softmax(u), t, tf.tensor(w));
  assertNear(dx(tf.tensor(row)).arraySync(), first(row));
  const second = gradientOf((t) => tf.sum(tf.mul(dx(t), v)), tf.tensor(row)).arraySync();
  const h = 1e-5;
  const wanted = row.map((_, i) => {
    const at = (d: number) =>
      first(row.map((r, k) => (k === i ? r + d : r))).reduce((a, b, k) => a + b * v[k], 0);
    return (at(h) - at(-h)) / (2 * h);
  });
  assertNear(second, wanted);
});

testOnDevices("logSoftmax() has the right gradient", () => {
  const row = [0.1, -0.4, 0.7], w = [1, 2, 4];
  const dx = gradientOf((u) => tf.logSoftmax(u), tf.tensor(row), tf.tensor(w)).arraySync();
  assertNear(dx, softmaxOf(row).map((y, i) => w[i] - 7 * y));
});

testOnDevices("softmaxCrossEntropyWithLogits() gives loss and both gradients", () => {
  const logits = [[1, 2, 3], [0.5, 0, -1]], labels = [[0.2, 0.3, 0.5], [0, 1, 0]];
  const logs = logits.map((r) => softmaxOf(r).map(Math.log));
  const loss = logs.map((r, i) => -r.reduce((a, l, k) => a + l * labels[i][k], 0));
  const x = tf.tensor(logits), l = tf.tensor(labels);
  assertNear(tf.softmaxCrossEntropyWithLogits({ labels: l, logits: x }).arraySync(), loss);
  const tape = new tf.GradientTape();
  tape.watch([x, l]);
  const y = tf.softmaxCrossEntropyWithLogits({ labels: l, logits: x });
  const [dx, dl] = tape.gradient(y, [x, l], { outputGradients: tf.tensor([2, 3]) }) as tf.Tensor[];
  assertNear(
    dx.arraySync(),
    logits.flatMap((r, i) => softmaxOf(r).map((s, k) => (i + 2) * (s - labels[i][k]))),
  );
  assertNear(dl.arraySync(), logs.flatMap((r, i) => r.map((v) => -(i + 2) * v)));
  const cube = tf.softmaxCrossEntropyWithLogits({
    labels: tf.reshape(l, [2, 1, 3]),
    logits: tf.reshape(x, [2, 1, 3]),
  });
  assertEquals(cube.shape, [2, 1]);
  const columns = tf.softmaxCrossEntropyWithLogits({
    labels: tf.transpose(l),
    logits: tf.transpose(x),
    axis: 0,
  });
  assertNear(columns.arraySync(), loss);
});

testOnDevices("softmaxCrossEntropyWithLogits() has the right second gradient", () => {
  const logits = [0.3, -0.2, 0.8], labels = tf.tensor([[0, 1, 0]]);
  const loss = (x: tf.Tensor) => tf.softmaxCrossEntropyWithLogits({ labels, logits: x });
  const hessianRow = gradientOf(
    (x) => tf.sum(tf.mul(gradientOf(loss, x), [[1, 0, 0]])),
    tf.tensor([logits]),
  );
  const p = softmaxOf(logits);
  assertNear(hessianRow.arraySync(), p.map((q, i) => (i === 0 ? p[0] : 0) - p[0] * q));
});

testOnDevices(
  "sparseSoftmaxCrossEntropyWithLogits() is the dense one with one class each",
  (device) => {
    const logits = tf.tensor([[1, 2, 3], [0.5, 0, -1]]);
    const labels = tf.tensor([2, 1], [2], "int32");
    const dense = tf.softmaxCrossEntropyWithLogits({ labels: [[0, 0, 1], [0, 1, 0]], logits });
    assertNear(
      tf.sparseSoftmaxCrossEntropyWithLogits({ labels, logits }).arraySync(),
      dense.arraySync() as number[],
    );
    const dx = gradientOf(
      (x) => tf.sparseSoftmaxCrossEntropyWithLogits({ labels, logits: x }),
      logits,
    );
    const [a, b] = [softmaxOf([1, 2, 3]), softmaxOf([0.5, 0, -1])];
    assertNear(dx.arraySync(), [a[0], a[1], a[2] - 1, b[0], b[1] - 1, b[2]]);
    const outside = () =>
      tf.sparseSoftmaxCrossEntropyWithLogits({ labels: tf.tensor([3, -1], [2], "int32"), logits });
    if (device === "cpu") assertThrows(outside, tf.errors.InvalidArgumentError, "label value of 3");
    else assertEquals(outside().arraySync(), [NaN, NaN]);
  },
);

testOnGpu("softmax kernels: every variant equals the CPU", async () => {
  const ran = new Set<string>();
  const some = [[1], [3, 5], [5, 64], [3, 257], [2, 300], [2, 1500], [1, 5000]];
  const more = [[3, 3281], [3, 3284], [3, 3288], [70, 68], [0, 4], [4, 0]];
  for (const shape of ofTheDay([...some, ...more], 3)) {
    const x = noise("float32", shape, 1), g = noise("float32", shape, 2);
    for (const v of await compareVariants("Softmax", [x])) ran.add(v);
    await compareVariants("LogSoftmax", [x]);
    await compareVariants("_SoftmaxGrad", [x, g], {}, { absolute: 2e-5 });
    await compareVariants("_LogSoftmaxGrad", [x, g], {}, { absolute: 2e-4 });
    if (shape.length !== 2 || shape[1] === 0) continue;
    await compareVariants("SoftmaxCrossEntropyWithLogits", [x, g], {}, { absolute: 2e-4 });
    const next = random(4);
    const labels = filled("int32", [shape[0]], () => Math.floor(next() * shape[1]));
    await compareVariants("SparseSoftmaxCrossEntropyWithLogits", [x, labels]);
  }
  assertEquals([...ran].sort(), ["thread", "workgroup"]);
});
