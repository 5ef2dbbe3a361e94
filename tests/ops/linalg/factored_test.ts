/** Factors that `lu` gives, and matrices of three diagonals. Numbers of single cases are TensorFlow's. */

import { assert, assertEquals, assertThrows } from "@std/assert";
import * as tf from "@weft/weft";
import { gradCheck } from "@weft/weft/testing";
import { testOnDevices } from "../../devices.ts";
import { noise } from "../values.ts";

const { linalg } = tf;

function close(received: tf.Tensor, wanted: tf.TensorLike, tolerance = 1e-4): void {
  assertEquals(received.shape, (wanted instanceof tf.Tensor ? wanted : tf.tensor(wanted)).shape);
  if (received.size === 0) return;
  const away = tf.max(tf.abs(tf.sub(received, wanted))).item();
  assert(away <= tolerance, `${away} away: ${received}`);
}

const random = (seed: number, ...shape: number[]): tf.Tensor =>
  tf.cast(tf.tensor(noise("float32", shape, seed)), "float64");

/** Shapes that a function may be traced with. */
function specs(values: readonly tf.Tensor[]): tf.TensorSpec[][] {
  return [
    values.map((v) => tf.TensorSpec(v.shape, v.dtype)),
    values.map((v) => tf.TensorSpec(v.shape.map(() => null), v.dtype)),
  ];
}

/** Runs a function eagerly, compiled for the shapes and for their ranks alone, and in a session. */
async function everyWay(
  f: (...values: tf.Tensor[]) => tf.Tensor,
  values: readonly tf.Tensor[],
): Promise<tf.Tensor[]> {
  const out = [f(...values)];
  for (const inputSignature of specs(values)) {
    out.push(tf.function(f, { inputSignature })(...values) as tf.Tensor);
  }
  const graph = new tf.Graph();
  const [xs, y] = graph.asDefault(() => {
    const xs = values.map((v) => tf.placeholder(v.dtype, v.shape));
    return [xs, f(...xs)] as const;
  });
  await using session = new tf.Session({ graph });
  const feeds = new Map(xs.map((x, i) => [x, values[i]]));
  out.push(tf.tensor(await session.run(y, { feeds }) as tf.NdArray));
  return out;
}

testOnDevices(
  "luSolve(), luReconstruct() and luMatrixInverse() undo lu(), in batches",
  async () => {
    for (const shape of [[1, 1], [3, 3], [2, 4, 4], [2, 1, 3, 3]]) {
      const a = random(shape.length, ...shape), n = shape.at(-1)!;
      const b = random(9, ...shape.slice(0, -1), 2), [lu, p] = linalg.lu(a);
      for (const x of await everyWay((lu, p, b) => linalg.luSolve(lu, p, b), [lu, p, b])) {
        close(tf.matMul(a, x), b, 1e-9);
      }
      for (const x of await everyWay((lu, p) => linalg.luReconstruct(lu, p), [lu, p])) {
        close(x, a, 1e-10);
      }
      for (const x of await everyWay((lu, p) => linalg.luMatrixInverse(lu, p), [lu, p])) {
        const one = tf.broadcastTo(tf.eye(n, n, null, "float64"), shape);
        close(tf.matMul(a, x), one, 1e-9);
      }
    }
  },
);

testOnDevices("luSolve() broadcasts batches, and gives TensorFlow's numbers", async () => {
  const a = tf.tensor([[0, 2, 1], [4, 1, 3], [2, 2, 5]]), [lu, p] = linalg.lu(a);
  close(linalg.luSolve(lu, p, [[1], [2], [3]]), [[0.0909091], [0.2727273], [0.4545455]], 1e-6);
  const wanted = tf.broadcastTo(tf.tensor([[0.1818182], [0.5454546], [-0.0909091]]), [2, 3, 1]);
  const ones = tf.ones([2, 3, 1]);
  for (const x of await everyWay((lu, p, b) => linalg.luSolve(lu, p, b), [lu, p, ones])) {
    close(x, wanted, 1e-6);
  }
  const [one, order] = [tf.expandDims(lu), tf.expandDims(p)];
  for (const x of await everyWay((lu, p, b) => linalg.luSolve(lu, p, b), [one, order, ones])) {
    close(x, wanted, 1e-6);
  }
  const two = random(3, 2, 3, 3), [lu2, p2] = linalg.lu(two), b = random(4, 3, 2);
  const batched = tf.matMul(two, linalg.luSolve(lu2, p2, tf.expandDims(b)));
  close(batched, tf.broadcastTo(b, [2, 3, 2]), 1e-9);
});

testOnDevices("gradients go through lu() and luSolve() as through solve()", () => {
  const a = random(5, 3, 3), b = random(6, 3, 2);
  const bySolve = tf.grads((a: tf.Tensor, b: tf.Tensor) => tf.sum(tf.square(linalg.solve(a, b))));
  const byFactors = tf.grads((a: tf.Tensor, b: tf.Tensor) => {
    const [lu, p] = linalg.lu(a);
    return tf.sum(tf.square(linalg.luSolve(lu, p, b)));
  });
  const wanted = bySolve([a, b]);
  byFactors([a, b]).forEach((g, i) => close(g, wanted[i], 1e-8 * tf.max(tf.abs(wanted[i])).item()));
});

Deno.test("luSolve() refuses what does not fit", () => {
  const [lu, p] = linalg.lu([[2, 1], [1, 3]]);
  assertThrows(
    () => linalg.luSolve(lu, tf.expandDims(p), [[1], [2]]),
    tf.errors.ValueError,
    "p of shape [1,2]",
  );
  assertThrows(() => linalg.luSolve(lu, p, [1, 2]), tf.errors.ValueError, "rhs has shape [2]");
  assertThrows(() => linalg.luReconstruct(tf.ones([2, 2, 2]), p), tf.errors.ValueError, "[2,2,2]");
});

/** The matrix of three diagonals. */
function whole(diagonals: tf.Tensor): tf.Tensor {
  return linalg.diag(diagonals, { k: [-1, 1], align: "LEFT_RIGHT" });
}

testOnDevices(
  "tridiagonalSolve() and tridiagonalMatmul() are those of the whole matrix",
  async () => {
    for (const [batch, m, k] of [[[], 4, 1], [[], 1, 2], [[2], 5, 3], [[2, 2], 2, 1]] as const) {
      const diagonals = random(m, ...batch, 3, m), b = random(m + 1, ...batch, m, k);
      const a = whole(diagonals);
      for (const y of await everyWay((d, b) => linalg.tridiagonalMatmul(d, b), [diagonals, b])) {
        close(y, tf.matMul(a, b), 1e-12);
      }
      const x = linalg.solve(a, b), size = tf.max(tf.abs(x)).item();
      for (const y of await everyWay((d, b) => linalg.tridiagonalSolve(d, b), [diagonals, b])) {
        close(y, x, 1e-9 * (1 + size));
      }
      const turned = linalg.matrixTranspose(b);
      close(
        linalg.tridiagonalSolve(diagonals, turned, { transposeRhs: true }),
        x,
        1e-9 * (1 + size),
      );
    }
    const empty = linalg.tridiagonalSolve(tf.zeros([3, 0]), tf.zeros([0, 2]));
    assertEquals(empty.shape, [0, 2]);
    assertEquals(linalg.tridiagonalMatmul(tf.zeros([3, 0]), tf.zeros([0, 2])).shape, [0, 2]);
  },
);

/** Formats with the same matrix, in TensorFlow's numbers. */
const UNREAD = [[1, 2, 3, NaN], [4, 5, 6, 7], [NaN, 1, 2, 3]];
const FORMATS: readonly (readonly [tf.linalg.DiagonalsFormat, tf.TensorLike])[] = [
  ["compact", UNREAD],
  ["sequence", UNREAD],
  ["sequence", [[1, 2, 3], [4, 5, 6, 7], [1, 2, 3]] as tf.TensorLike],
  ["matrix", [[4, 1, 9, 9], [1, 5, 2, 9], [9, 2, 6, 3], [9, 9, 3, 7]]],
];

testOnDevices("diagonals come in three formats, and outer elements are not read", () => {
  for (const [diagonalsFormat, diagonals] of FORMATS) {
    const b = [1, 2, 3, 4], column = b.map((v) => [v]);
    const x = [0.1728155, 0.3087378, 0.1417476, 0.5106796];
    close(linalg.tridiagonalSolve(diagonals, b, { diagonalsFormat }), x, 1e-6);
    const y = linalg.tridiagonalSolve(diagonals, column, { diagonalsFormat });
    close(y, x.map((v) => [v]), 1e-6);
    const product = linalg.tridiagonalMatmul(diagonals, column, { diagonalsFormat });
    close(product, [[6], [17], [34], [37]], 1e-5);
  }
});

testOnDevices(
  "tridiagonalSolve() exchanges rows where it may, and gives NaN without an inverse",
  () => {
    const turned = [[1, 1], [0, 1], [1, 1]], b = [1, 2];
    close(linalg.tridiagonalSolve(turned, b), [1, 1], 1e-6);
    const partialPivoting = false;
    assertEquals(linalg.tridiagonalSolve(turned, b, { partialPivoting }).arraySync(), [NaN, NaN]);
    const batch = linalg.tridiagonalSolve([[[0, 0], [0, 0], [0, 0]], turned], [b, b]);
    assertEquals(tf.isNaN(batch).arraySync(), [[true, true], [false, false]]);
  },
);

testOnDevices("gradients of tridiagonal systems are right in both operands", async () => {
  const d = random(3, 2, 3, 4), b = random(4, 2, 4, 2);
  await gradCheck((d: tf.Tensor, b: tf.Tensor) => linalg.tridiagonalMatmul(d, b), [d, b]);
  const large = tf.add(d, tf.tensor([[0], [4], [0]], undefined, "float64"));
  await gradCheck((d: tf.Tensor, b: tf.Tensor) => linalg.tridiagonalSolve(d, b), [large, b]);
});

Deno.test("tridiagonal functions refuse what does not fit", () => {
  const d = tf.ones([3, 4]), { ValueError } = tf.errors;
  const other = { diagonalsFormat: "x" as tf.linalg.DiagonalsFormat };
  assertThrows(() => linalg.tridiagonalSolve(d, [1, 2, 3, 4], other), ValueError, "received x");
  assertThrows(() => linalg.tridiagonalSolve(d, [1, 2, 3]), ValueError, "wanted [..., 3, m]");
  assertThrows(() => linalg.tridiagonalSolve(tf.ones([2, 4]), [1, 2, 3, 4]), ValueError, "[2,4]");
  assertThrows(() => linalg.tridiagonalSolve(d, tf.ones([2, 4, 1])), ValueError, "[2,4,1]");
  assertThrows(() => linalg.tridiagonalMatmul(d, [1, 2, 3, 4]), ValueError, "[..., 1, m]");
  const two = { diagonalsFormat: "sequence" as const };
  assertThrows(() => linalg.tridiagonalMatmul([[1], [2]], [[1]], two), TypeError, "three tensors");
});
