/** Inverses, determinants and systems. Numbers are TensorFlow 2.21's. */
import * as tf from "@weft/weft";
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { gradCheck } from "@weft/weft/testing";
import { testOnDevices } from "../../devices.ts";
import { noise } from "../values.ts";

const { linalg } = tf;

function close(received: tf.Tensor, wanted: tf.TensorLike, tolerance = 1e-4): void {
  const away = tf.max(tf.abs(tf.sub(received, wanted))).item();
  assert(away <= tolerance, `${away} away: ${received}`);
}

/** Matrices that are far from singular. */
function solid(seed: number, ...shape: number[]): tf.Tensor {
  return tf.add(
    tf.tensor(noise("float32", shape, seed)),
    tf.mul(tf.eye(shape.at(-2)!, shape.at(-1)!), 4),
  );
}

testOnDevices("inv() undoes the product with each matrix of a batch, or with its transpose", () => {
  const a = solid(1, 2, 3, 5, 5), ones = tf.mul(tf.onesLike(a), tf.eye(5));
  close(tf.matMul(a, linalg.inv(a)), ones);
  close(tf.matMul(a, linalg.inv(a, true), true), ones);
  assertEquals(linalg.inv(tf.zeros([2, 0, 0])).shape, [2, 0, 0]);
  assertEquals(linalg.inv(tf.tensor([[2]], [1, 1], "float64")).dtype, "float64");
});

testOnDevices("det() and slogdet() agree with TensorFlow, where there is no inverse too", () => {
  close(linalg.det([[[4, 2, 0], [2, 5, 1], [0, 1, 3]], [[0, 2, 0], [1, 0, 0], [0, 0, 3]]]), [
    44,
    -6,
  ]);
  assertEquals(linalg.det(tf.zeros([2, 0, 0])).arraySync(), [1, 1]);
  assertEquals(linalg.det([[1, 2], [2, 4]]).item(), 0);
  const [sign, log] = linalg.slogdet([[[0, 2], [2, 4]], [[1, 2], [2, 4]], [[1, 0], [0, 2]]]);
  assertEquals(sign.arraySync(), [-1, 0, 1]);
  close(log.slice([0], [1]), [1.3862943649291992]);
  assertEquals(log.slice([1], [1]).arraySync(), [-Infinity]);
  // The determinant itself has no float32.
  const [, large] = linalg.slogdet(tf.mul(tf.eye(60), 1e3));
  assertAlmostEquals(large.item(), 60 * Math.log(1e3), 1e-3);
  assertEquals(linalg.det([[NaN, 1], [1, 1]]).item(), NaN);
});

testOnDevices("cholesky() reads the lower triangle, and gives NaN where there is none", () => {
  assertEquals(linalg.cholesky([[4, 99], [2, 5]]).arraySync(), [[2, 0], [1, 2]]);
  const b = solid(3, 2, 4, 4), a = tf.matMul(b, b, false, true), l = linalg.cholesky(a);
  close(tf.matMul(l, l, false, true), a);
  close(tf.matMul(a, linalg.choleskySolve(l, b)), b);
  assertEquals(linalg.cholesky([[1, 2], [2, 1]]).arraySync(), [[NaN, 0], [NaN, NaN]]);
});

testOnDevices("solve() and lstsq() agree with TensorFlow", () => {
  const a = solid(4, 2, 4, 4), x = tf.tensor(noise("float32", [2, 4, 3], 5));
  close(linalg.solve(a, tf.matMul(a, x)), x);
  close(linalg.solve(a, tf.matMul(a, x, true), true), x);
  const tall = [[1, 2], [3, 4], [5, 6]], wide = [[1, 2, 3], [3, 4, 9]];
  close(linalg.lstsq(tall, [[1], [2], [4]], 0, false), [[2 / 3], [1 / 12]]);
  close(linalg.lstsq(tall, [[1], [2], [4]]), [[0.66665846], [0.08333983]]);
  close(linalg.lstsq(tall, [[1], [2], [4]], 0.5), [[0.42293978], [0.2724009]]);
  close(linalg.lstsq(wide, [[1], [2]], 0, false), [[0], [0.5], [0]]);
  close(linalg.lstsq(wide, [[1], [2]]), [[0], [0.5], [0]]);
});

testOnDevices("linear systems have TensorFlow's gradients, of any order", async () => {
  const x = tf.tensor([[4, 2], [2, 5]]);
  const slope = (f: (x: tf.Tensor) => tf.Tensor): tf.Tensor => tf.grad((x) => tf.sum(f(x)))(x);
  close(slope((x) => tf.mul(linalg.cholesky(x), [[1, 0], [3, 5]])), [[0.1875, 0.125], [
    0.125,
    1.25,
  ]]);
  close(slope(linalg.det), [[5, -2], [-2, 4]]);
  close(slope((x) => linalg.slogdet(x)[1]), [[0.3125, -0.125], [-0.125, 0.25]]);
  const b = solid(7, 3, 3), gram = (b: tf.Tensor): tf.Tensor => tf.matMul(b, b, false, true);
  for (
    const f of [
      (b: tf.Tensor) => linalg.inv(b),
      (b: tf.Tensor) => linalg.inv(b, true),
      (b: tf.Tensor) => linalg.slogdet(b)[1],
      (b: tf.Tensor) => linalg.cholesky(gram(b)),
      (b: tf.Tensor) => linalg.solve(b, [[1], [2], [3]]),
      (b: tf.Tensor) => linalg.lstsq(b.slice([0, 0], [3, 2]), [[1], [2], [3]], 0.5),
    ]
  ) {
    await gradCheck(f as Parameters<typeof gradCheck>[0], [b]);
    const twice = tf.grad((b) => tf.sum(tf.square(tf.grad((b) => tf.sum(f(b)))(b))))(b);
    assert(tf.all(tf.isFinite(twice)).item());
  }
});

testOnDevices(
  "graphs invert matrices of shapes that they do not know, with gradients",
  async () => {
    const graph = new tf.Graph();
    const fetches = graph.asDefault(() => {
      const x = tf.placeholder("float32", [null, null, null], "x");
      const y = linalg.inv(x), d = linalg.det(x);
      return [y, d, tf.gradients(tf.sum(d), x)[0]!, tf.gradients(tf.sum(y), x)[0]!];
    });
    await using session = new tf.Session({ graph });
    const x = [[[4, 2], [2, 5]]];
    const [y, d, dd, dy] = await session.run(fetches, { feeds: { "x:0": x } }) as tf.NdArray[];
    close(tf.tensor(y), [[[0.3125, -0.125], [-0.125, 0.25]]]);
    close(tf.tensor(d), [16]);
    close(tf.tensor(dd), [[[5, -2], [-2, 4]]]);
    close(tf.tensor(dy), tf.grad((x) => tf.sum(linalg.inv(x)))(tf.tensor(x)));
  },
);

testOnDevices(
  "least squares of extents that only a run knows have the gradients of known ones, of any order",
  async () => {
    const shapes: readonly (readonly [number[], number[]])[] = [
      [[4, 2], [4, 3]],
      [[2, 4], [2, 3]],
      [[3, 3], [3, 1]],
      [[2, 2, 3], [2, 2, 2]],
    ];
    const ways = [[0.5, true], [0, true], [0, false]] as const;
    for (const [i, [of, right]] of shapes.entries()) {
      const a = solid(20 + i, ...of), b = tf.tensor(noise("float32", right, 30 + i));
      for (const [l2, fast] of i < 2 ? ways : ways.slice(1, 2)) {
        const loss = (a: tf.Tensor, b: tf.Tensor): tf.Tensor =>
          tf.sum(tf.square(linalg.lstsq(a, b, l2, fast)));
        const slopes = (a: tf.Tensor, b: tf.Tensor): tf.Tensor[] => tf.grads(loss)([a, b]);
        const bends = (a: tf.Tensor, b: tf.Tensor): tf.Tensor[] =>
          tf.grads((a: tf.Tensor, b: tf.Tensor) => tf.sum(tf.square(slopes(a, b)[0]!)))([a, b]);
        const solved = linalg.lstsq(a, b, l2, fast);
        const want = [...slopes(a, b), ...bends(a, b), solved];
        for (const unknown of fast ? [of.map(() => null)] : [null]) {
          const f = tf.function(
            (a: tf.Tensor, b: tf.Tensor) => [
              ...slopes(a, b),
              ...bends(a, b),
              linalg.lstsq(a, b, l2, fast),
            ],
            { inputSignature: [tf.TensorSpec(unknown), tf.TensorSpec(unknown)] },
          );
          const have = await f.async(a, b);
          want.forEach((w, k) => {
            const far = tf.max(tf.abs(tf.sub(have[k]!, w))).item() /
              (1 + tf.max(tf.abs(w)).item());
            assert(far < 1e-3, `${of} ${l2} ${fast} ${k}: ${far}`);
          });
        }
      }
    }
  },
);

testOnDevices("linear systems refuse what they cannot solve", () => {
  const singular = [[1, 2], [2, 4]], wide = [[1, 2, 3], [2, 4, 5]];
  const { InvalidArgumentError } = tf.errors;
  assertThrows(() => linalg.inv(singular).dataSync(), InvalidArgumentError, "not invertible");
  assertThrows(
    () => linalg.solve(singular, [[1], [2]]).dataSync(),
    InvalidArgumentError,
    "not invertible",
  );
  for (const f of [linalg.inv, linalg.det, linalg.slogdet, linalg.cholesky]) {
    assertThrows(() => f(wide), tf.ValueError, "must be square");
    assertThrows(() => f([1, 2]), tf.ValueError, "must be square");
  }
  assertThrows(() => linalg.solve([[1, 0], [0, 1]], [1, 2]), tf.ValueError, "equal ranks");
  assertThrows(() => linalg.lstsq([[1, 0], [0, 1]], [[1]]), tf.ValueError);
});
