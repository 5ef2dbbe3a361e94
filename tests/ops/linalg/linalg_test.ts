import * as tf from "@weft/weft";
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../../devices.ts";
import { noise } from "../values.ts";

function close(a: tf.Tensor, b: tf.Tensor, tolerance = 1e-5): void {
  assertEquals(a.shape, b.shape);
  assert(tf.max(tf.abs(tf.sub(a, b))).item() <= tolerance);
}

testOnDevices("qr() gives orthonormal columns and an upper triangle", () => {
  for (
    const [shape, full] of [[[4, 3], false], [[3, 4], false], [[4, 2], true], [
      [2, 3, 3],
      false,
    ]] as const
  ) {
    const x = tf.tensor(noise("float32", shape, 3));
    const [q, r] = tf.linalg.qr(x, full);
    close(tf.matMul(q, r), x);
    const k = q.shape[q.rank - 1];
    close(tf.matMul(q, q, true, false), tf.zeros([...q.shape.slice(0, -2), k, k]).add(tf.eye(k)));
    close(tf.linalg.bandPart(r, 0, -1), r, 0);
  }
});

testOnDevices("gramSchmidt() makes vectors orthonormal", () => {
  const y = tf.linalg.gramSchmidt(tf.tensor(noise("float32", [3, 4], 5))) as tf.Tensor;
  close(tf.matMul(y, y, false, true), tf.eye(3));
  assertThrows(() => tf.linalg.gramSchmidt(tf.ones([3, 2])), tf.ValueError, "exceeds");
});

testOnDevices("bandPart() keeps diagonals", () => {
  const x = tf.tensor([[1, 2, 3], [4, 5, 6], [7, 8, 9]]);
  assertEquals(tf.linalg.bandPart(x, 0, 0).arraySync(), [[1, 0, 0], [0, 5, 0], [0, 0, 9]]);
  assertEquals(tf.linalg.bandPart(x, 1, -1).arraySync(), [[1, 2, 3], [4, 5, 6], [0, 8, 9]]);
  assertThrows(() => tf.linalg.bandPart(x, 4, 0), tf.ValueError, "num_lower");
});

testOnDevices("triangularSolve() undoes the product with a triangle", () => {
  const a = tf.add(tf.tensor(noise("float32", [4, 4], 1)), tf.mul(tf.eye(4), 3)),
    x = tf.tensor(noise("float32", [4, 2], 2));
  for (const lower of [true, false]) {
    for (const adjoint of [true, false]) {
      const triangle = tf.linalg.bandPart(a, lower ? -1 : 0, lower ? 0 : -1);
      close(tf.linalg.triangularSolve(a, tf.matMul(triangle, x, adjoint), lower, adjoint), x);
    }
  }
});

testOnDevices(
  "triangularSolve() broadcasts batches, of graphs that do not know them too",
  async () => {
    const batches = [[[], [3]], [[3], []], [[2, 1], [3]], [[1, 3], [2, 3]]];
    for (const [n, lower] of [[3, true], [20, false]] as const) {
      const part = (x: tf.Tensor): tf.Tensor =>
        tf.linalg.bandPart(x, lower ? -1 : 0, lower ? 0 : -1);
      for (const [left, right] of batches) {
        const shapes = [[...left, n, n], [...right, n, 2]];
        const a = tf.add(tf.tensor(noise("float32", shapes[0], 5)), tf.mul(tf.eye(n), 2 * n));
        const b = tf.tensor(noise("float32", shapes[1], 6));
        const solve = (a: tf.Tensor, b: tf.Tensor): tf.Tensor =>
          tf.linalg.triangularSolve(a, b, lower);
        const x = solve(a, b);
        close(tf.matMul(part(a), x), tf.add(tf.zerosLike(x), b));
        const graph = new tf.Graph();
        const fetches = graph.asDefault(() => {
          const names = ["a", "b"];
          const ins = shapes.map((s, i) =>
            tf.placeholder("float32", s.map((d, k) => k < s.length - 2 ? null : d), names[i])
          );
          const y = solve(ins[0], ins[1]);
          return [y, ...tf.gradients(tf.sum(tf.square(y)), ins)] as tf.Tensor[];
        });
        await using session = new tf.Session({ graph });
        const [y, da, db] = await session.run(fetches, { feeds: { "a:0": a, "b:0": b } });
        close(tf.tensor(y as tf.NdArray), x);
        const slopes = tf.grads((a, b) => tf.sum(tf.square(solve(a, b))))([a, b]);
        [da, db].forEach((d, i) => {
          assertEquals((d as tf.NdArray).shape, shapes[i]);
          close(tf.tensor(d as tf.NdArray), slopes[i]);
        });
      }
    }
  },
);

testOnDevices(
  "vmap() of triangularSolve() is a batch, also of one matrix or one right side",
  () => {
    const a = tf.add(tf.tensor(noise("float32", [3, 4, 4], 7)), tf.mul(tf.eye(4), 4));
    const b = tf.tensor(noise("float32", [3, 2, 4, 2], 8));
    const solve = (a: tf.Tensor, b: tf.Tensor): tf.Tensor => tf.linalg.triangularSolve(a, b);
    close(tf.vmap(solve)(a, b), solve(tf.expandDims(a, 1), b));
    close(tf.vmap((b: tf.Tensor) => solve(a.slice([0], [1]), b))(b), solve(a.slice([0], [1]), b));
    const one = tf.reshape(b.slice([0], [1]), [2, 4, 2]);
    close(tf.vmap((a: tf.Tensor) => solve(a, one))(a), solve(tf.expandDims(a, 1), one));
  },
);

testOnDevices("qr() has gradients", () => {
  const x = tf.tensor([[3, 1], [1, 2], [0.5, -1]]);
  const f = (a: tf.Tensor): tf.Tensor => {
    const [q, r] = tf.linalg.qr(a);
    return tf.add(tf.sum(tf.mul(q, [[1, 2], [3, 4], [5, 6]])), tf.sum(tf.square(r)));
  };
  const dx = tf.grad(f)(x).dataSync() as Float32Array, data = x.dataSync() as Float32Array;
  for (let i = 0; i < 6; i++) {
    const at = (h: number): number =>
      f(tf.tensor(data.map((v, j) => (j === i ? v + h : v)), [3, 2])).item();
    assertAlmostEquals(dx[i], (at(1e-2) - at(-1e-2)) / 2e-2, 5e-2);
  }
});
