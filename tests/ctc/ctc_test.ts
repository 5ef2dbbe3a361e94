/** CTC beside TensorFlow: `make_tensorflow_ctc.py` writes what it makes of the same logits. */
import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { inSession } from "../in_session.ts";
import TENSORFLOW from "./tensorflow_ctc.json" with { type: "json" };

function near(found: tf.Tensor, wanted: unknown, text: string): void {
  const numbers = (wanted as number[]).flat(Infinity) as number[];
  assertEquals(found.size, numbers.length, text);
  [...found.dataSync() as Float32Array].forEach((x, i) =>
    assertAlmostEquals(x, numbers[i], 2e-4 * Math.max(1, Math.abs(numbers[i])), text)
  );
}

testOnDevices("ctcLoss() and its gradient are TensorFlow's, in every way", async () => {
  for (const [k, c] of TENSORFLOW.loss.entries()) {
    const loss = (x: tf.Tensor, logitsTimeMajor = true): tf.Tensor =>
      tf.ctcLoss(c.labels, x, c.labelLength, c.logitLength, {
        ...{ blankIndex: c.blankIndex, logitsTimeMajor },
      });
    const x = tf.tensor(c.logits), weights = c.loss.map((_, i) => i + 1);
    const total = (x: tf.Tensor): tf.Tensor => tf.sum(tf.mul(loss(x), weights));
    near(loss(x), c.loss, `${k}, eager`);
    near(loss(tf.transpose(x, [1, 0, 2]), false), c.loss, `${k}, batch first`);
    near(tf.function((x: tf.Tensor) => loss(x))(x), c.loss, `${k}, compiled`);
    near(tf.grad(total)(x), c.grad, `${k}, gradient`);
    near(tf.function(tf.grad(total))(x), c.grad, `${k}, compiled gradient`);
    near(await inSession((x) => loss(x), x), c.loss, `${k}, session`);
    near(await inSession(tf.grad(total), x), c.grad, `${k}, gradient in a session`);
    const places = c.labelLength.flatMap((n, b) => Array.from({ length: n }, (_, i) => [b, i]));
    const values = tf.tensor(places.map(([b, i]) => c.labels[b][i]), [places.length], "int32");
    const sparse = new tf.SparseTensor(places, values, [c.labels.length, c.labels[0].length]);
    const ofSparse = (x: tf.Tensor): tf.Tensor =>
      tf.ctcLoss(sparse, x, null, c.logitLength, { blankIndex: c.blankIndex });
    near(ofSparse(x), c.loss, `${k}, sparse`);
    near(tf.function(ofSparse)(x), c.loss, `${k}, sparse, compiled`);
    const totalOfSparse = (x: tf.Tensor): tf.Tensor => tf.sum(tf.mul(ofSparse(x), weights));
    near(tf.grad(totalOfSparse)(x), c.grad, `${k}, sparse, gradient`);
    const double = loss(tf.cast(x, "float64"));
    assertEquals(double.dtype, "float64");
    near(double, c.loss, `${k}, float64`);
  }
});

const filled = (x: tf.SparseTensor): tf.Tensor =>
  tf.cast(tf.sparse.toDense(x, tf.scalar(-1, "int64")), "int32");
const listed = (x: tf.Tensor): unknown => x.arraySync();
const dense = (x: tf.SparseTensor): unknown => listed(filled(x));

testOnDevices("ctcGreedyDecoder() and ctcBeamSearchDecoder() find TensorFlow's paths", async () => {
  for (const [k, c] of TENSORFLOW.greedy.entries()) {
    const { decoded, scores } = tf.ctcGreedyDecoder(c.logits, c.lengths, {
      mergeRepeated: c.mergeRepeated,
    });
    assertEquals(dense(decoded[0]), c.path, `${k}`);
    near(scores, c.scores, `${k}`);
    const [path, score] = await inSession((x) => {
      const found = tf.ctcGreedyDecoder(x, c.lengths, { mergeRepeated: c.mergeRepeated });
      return [filled(found.decoded[0]), found.scores];
    }, tf.tensor(c.logits));
    assertEquals(listed(path), c.path, `${k}, session`);
    near(score, c.scores, `${k}, session`);
  }
  for (const [k, c] of TENSORFLOW.beam.entries()) {
    const options = { beamWidth: c.beamWidth, topPaths: c.topPaths };
    const { decoded, scores } = tf.ctcBeamSearchDecoder(c.logits, c.lengths, options);
    near(scores, c.scores, `${k}`);
    assertEquals(decoded.map(dense), c.paths, `${k}`);
    const [score, ...paths] = await inSession((x) => {
      const found = tf.ctcBeamSearchDecoder(x, c.lengths, options);
      return [found.scores, ...found.decoded.map(filled)];
    }, tf.tensor(c.logits));
    assertEquals(paths.map(listed), c.paths, `${k}, session`);
    near(score, c.scores, `${k}, session`);
  }
});

testOnDevices("labels that cannot be aligned have an infinite loss and no gradient", () => {
  const x = tf.randomNormal([2, 1, 3]), labels = [[1, 1]];
  assertEquals(tf.ctcLoss(labels, x, [2], [2]).arraySync(), [Infinity]);
  assertEquals(
    tf.sum(tf.abs(tf.grad((x: tf.Tensor) => tf.sum(tf.ctcLoss(labels, x, [2], [2])))(x))).item(),
    0,
  );
  // No label at all is made of blanks.
  const none = tf.ctcLoss(labels, tf.zeros([2, 1, 4]), [0], [2]).arraySync() as number[];
  assertAlmostEquals(none[0], 2 * Math.log(4), 1e-5);
});

testOnDevices("ctcLoss() trains a small model to its labels", () => {
  const w = tf.variable(tf.randomNormal([6, 2, 4], 0, 0.1, "float32", 3));
  using optimizer = tf.train.adam(0.2);
  const labels = [[1, 2, 3], [3, 3, 0]], counts = [3, 2];
  const step = tf.function(() =>
    optimizer.minimize(() => tf.mean(tf.ctcLoss(labels, w, counts, [6, 6])), true)
  );
  for (let i = 0; i < 60; i++) step().dispose();
  const { decoded } = tf.ctcGreedyDecoder(w, [6, 6], { blankIndex: 0 });
  assertEquals(dense(decoded[0]), [[1, 2, 3], [3, 3, -1]]);
  w.dispose();
});

Deno.test("CTC refuses labels, lengths and logits that do not fit", () => {
  const x = tf.zeros([3, 1, 4]);
  const sparse = new tf.SparseTensor([[0, 0]], tf.tensor([1], [1], "int32"), [1, 1]);
  const two = new tf.SparseTensor([[0, 0], [0, 1]], tf.tensor([1, 1], [2], "int32"), [1, 2]);
  const cases: [() => unknown, string][] = [
    [
      () => tf.ctcLoss(two, x, null, [1], { blankIndex: 0 }),
      "Not enough time for target transition sequence (required: 2, available: 1)",
    ],
    [() => tf.ctcLoss([[4]], x, [1], [3]), "received 4"],
    [() => tf.ctcLoss([[0]], x, [1], [3]), "other than the blank 0"],
    [() => tf.ctcLoss([[1]], x, [1], [4]), "logit_length(0) <= 3"],
    [() => tf.ctcLoss([[1]], x, [2], [3]), "label_length(0) <= 1"],
    [() => tf.ctcLoss([[1]], x, [1], [3], { blankIndex: 7 }), "blank_index"],
    [() => tf.ctcLoss([[1]], x, [1], [3], { blank: 1 } as never), "blank"],
    [() => tf.ctcLoss(sparse, x, null, [3]), "sparse labels need a blankIndex"],
    [() => tf.ctcLoss(sparse, x, [1], [3], { blankIndex: 0 }), "labelLength null"],
    [() => tf.ctcLoss([[1]], x, null, [3]), "sparse labels alone"],
    [() => tf.ctcLoss(sparse, tf.zeros([3, 2, 4]), null, [3, 3], { blankIndex: 0 }), "shape"],
    [() => tf.ctcGreedyDecoder(tf.zeros([3, 4]), [3]), "[time, batch, classes]"],
    [() => tf.ctcBeamSearchDecoder(x, [3], { beamWidth: 1, topPaths: 2 }), "top_paths"],
  ];
  for (const [call, text] of cases) assertThrows(call, Error, text);
  // TensorFlow counts no blank between equal labels, and has no such check for dense ones.
  assertEquals(tf.ctcLoss(two, x, null, [2], { blankIndex: 0 }).arraySync(), [Infinity]);
  assertEquals(tf.ctcLoss([[1, 1]], x, [2], [1]).arraySync(), [Infinity]);
  const slope = tf.grad((y: tf.Tensor) => tf.sum(tf.ctcLoss([[1]], y, [1], [3])));
  assertThrows(
    () => tf.grad((y: tf.Tensor) => tf.sum(slope(y)))(x),
    Error,
    "Cannot compute gradient",
  );
});
