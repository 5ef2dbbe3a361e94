/** Decompositions and functions of matrices: what they are made of again is the matrix. Numbers are NumPy's and SciPy's. */

import { assert, assertEquals, assertThrows } from "@std/assert";
import * as tf from "@weft/weft";
import { gradCheck } from "@weft/weft/testing";
import { testOnDevices } from "../../devices.ts";
import { noise } from "../values.ts";

const { linalg } = tf;

function close(received: tf.Tensor, wanted: tf.TensorLike, tolerance = 1e-4): void {
  const away = tf.max(tf.abs(tf.sub(received, wanted))).item();
  assert(away <= tolerance, `${away} away: ${received}`);
}

function matrices(seed: number, shape: number[], dtype: tf.DType = "float64"): tf.Tensor {
  return tf.cast(tf.tensor(noise("float32", shape, seed)), dtype);
}

const SHAPES = [[3, 3], [5, 3], [3, 5], [2, 4, 4], [1, 1], [2, 0, 3]];

/** Runs a function eagerly and compiled. */
function both(f: (a: tf.Tensor) => tf.Tensor, a: tf.Tensor): tf.Tensor[] {
  return [f(a), tf.function(f)(a) as tf.Tensor];
}

testOnDevices("svd() has orthogonal vectors whose product is the matrix", () => {
  for (const [k, shape] of SHAPES.entries()) {
    for (const full of [false, true]) {
      const a = matrices(k, shape), [s, u, v] = linalg.svd(a, full);
      const n = s.shape.at(-1)!;
      const cut = (x: tf.Tensor) => tf.slice(x, x.shape.map(() => 0), [...x.shape.slice(0, -1), n]);
      close(tf.matMul(tf.mul(cut(u), tf.expandDims(s, -2)), cut(v), false, true), a, 1e-10);
      for (const x of [u, v]) {
        close(
          tf.matMul(x, x, true),
          tf.mul(tf.eye(x.shape.at(-1)!), tf.ones([], "float64")),
          1e-10,
        );
      }
      close(linalg.svdvals(a), s, 1e-12);
    }
  }
});

testOnDevices("eigh() has orthogonal vectors, and values in order", () => {
  for (const shape of [[4, 4], [2, 3, 3]]) {
    const b = matrices(7, shape), a = tf.add(b, linalg.matrixTranspose(b));
    const [e, v] = linalg.eigh(a);
    close(tf.matMul(a, v), tf.mul(v, tf.expandDims(e, -2)), 1e-10);
    close(linalg.eigvalsh(a), e, 1e-12);
    const steps = tf.sub(
      tf.slice(
        e,
        e.shape.map((_, i, s) => i === s.length - 1 ? 1 : 0),
        e.shape.map((_, i, s) => i === s.length - 1 ? e.shape.at(-1)! - 1 : -1),
      ),
      tf.slice(e, e.shape.map(() => 0), e.shape.map((n, i, s) => i === s.length - 1 ? n - 1 : -1)),
    );
    assert(tf.min(steps).item() >= 0);
  }
});

testOnDevices("eig() solves any square matrices, real and complex", () => {
  const defective = tf.tensor([[1, 1], [0, 1]], [2, 2], "float64");
  const rotation = tf.tensor([[0, -1, 0], [1, 0, 0], [0, 0, 2]], [3, 3], "float64");
  const complex = tf.complex(matrices(1, [4, 4]), matrices(2, [4, 4]));
  const cases = [
    matrices(3, [6, 6]),
    matrices(4, [2, 3, 3]),
    matrices(5, [20, 20]),
    rotation,
    defective,
    complex,
    tf.zeros([3, 3], "float64"),
    tf.zeros([2, 0, 0], "float64"),
  ];
  for (const a of cases) {
    const [e, v] = linalg.eig(a), wide = tf.cast(a, "complex128");
    close(tf.abs(tf.sub(tf.matMul(wide, v), tf.mul(v, tf.expandDims(e, -2)))), 0, 1e-10);
    close(tf.sum(tf.square(tf.abs(v)), -2), 1, 1e-10);
    close(tf.abs(tf.sub(tf.sum(e, -1), linalg.trace(wide))), 0, 1e-10);
    assertEquals(linalg.eigvals(a).shape, e.shape);
  }
  assertEquals(linalg.eig([[1, 2], [3, 4]])[0].dtype, "complex64");
});

Deno.test("the gradient of eig() is that of what does not depend on the vectors' phases", async () => {
  const a = matrices(3, [4, 4]);
  await gradCheck((a) => tf.sum(tf.square(tf.abs(linalg.eigvals(a)))), [a]);
  await gradCheck(
    (a) => {
      const [e, v] = linalg.eig(a);
      return tf.add(
        tf.sum(tf.real(tf.square(e))),
        tf.sum(
          tf.mul(tf.square(tf.abs(v)), [[1, 2, 3, 4], [4, 3, 2, 1], [2, 2, 5, 1], [1, 1, 1, 3]]),
        ),
      );
    },
    [a],
  );
});

testOnDevices("lu() has factors whose product is the matrix with its rows exchanged", () => {
  const a = matrices(9, [2, 5, 5]), [lu, p] = linalg.lu(a);
  const lower = tf.add(linalg.bandPart(lu, -1, 0), tf.sub(tf.eye(5), linalg.bandPart(lu, 0, 0)));
  close(tf.matMul(lower, linalg.bandPart(lu, 0, -1)), tf.gather(a, p, 1, 1), 1e-10);
});

testOnDevices("pinv() is NumPy's, of wide, tall and singular matrices", () => {
  const wanted = [[-4 / 3, -1 / 3, 2 / 3], [13 / 12, 1 / 3, -5 / 12]];
  for (const x of both(linalg.pinv, tf.tensor([[1, 2], [3, 4], [5, 6]]))) close(x, wanted, 1e-4);
  close(linalg.pinv([[1, 2], [2, 4]]), [[0.04, 0.08], [0.08, 0.16]]);
  close(linalg.pinv(tf.zeros([2, 3])), tf.zeros([3, 2]));
  for (const shape of [[2, 3, 5], [4, 4]]) {
    const a = matrices(3, shape), x = linalg.pinv(a);
    close(tf.matMul(tf.matMul(a, x), a), a, 1e-9);
    close(tf.matMul(tf.matMul(x, a), x), x, 1e-9);
  }
});

testOnDevices("expm() is SciPy's, and undone by its negative", () => {
  const wanted = [[51.9689562, 74.73656457], [112.10484685, 164.07380305]];
  for (const x of both(linalg.expm, tf.tensor([[1, 2], [3, 4]]))) close(x, wanted, 1e-3);
  close(linalg.expm([[0, -1e3], [1e3, 0]]), [[Math.cos(1e3), -Math.sin(1e3)], [
    Math.sin(1e3),
    Math.cos(1e3),
  ]]);
  close(linalg.expm([[-1e5]]), [[0]]);
  const a = matrices(5, [2, 4, 4]);
  close(
    tf.matMul(linalg.expm(a), linalg.expm(tf.neg(a))),
    tf.mul(tf.eye(4), tf.ones([2, 1, 1], "float64")),
    1e-10,
  );
  assertEquals(linalg.expm(tf.zeros([0, 3, 3])).shape, [0, 3, 3]);
  assert(Number.isNaN(linalg.expm([[NaN]]).item()));
});

Deno.test("gradients of functions of matrices agree with differences", async () => {
  const a = matrices(3, [3, 3]), tall = matrices(4, [4, 2]);
  await gradCheck((a) => tf.sum(tf.square(linalg.expm(a))), [a]);
  await gradCheck((a) => tf.sum(tf.square(linalg.pinv(a))), [tall]);
  await gradCheck((a) => tf.sum(linalg.svdvals(a)), [tall]);
  await gradCheck((a) => linalg.cond(a), [a]);
  await gradCheck((a) => tf.sum(tf.square(linalg.eigvalsh(tf.add(a, linalg.matrixTranspose(a))))), [
    a,
  ]);
});

testOnDevices("matrixRank() and cond() count and compare singular values", () => {
  for (
    const x of both(
      linalg.matrixRank,
      tf.tensor([[[1, 2], [2, 4]], [[1, 0], [0, 1]], [[0, 0], [0, 0]]]),
    )
  ) {
    assertEquals(x.arraySync(), [1, 2, 0]);
  }
  assertEquals(linalg.matrixRank([[1, 0], [0, 1e-3]], 0.01).item(), 1);
  close(linalg.cond([[1, 2], [3, 4]]), 14.933034373659265, 1e-3);
  assertEquals(linalg.cond([[1, 0], [0, 0]]).item(), Infinity);
  close(linalg.logdet([[4, 2], [2, 5]]), Math.log(16));
});

testOnDevices("matvec(), matrixTranspose() and adjoint() take batches", () => {
  const a = matrices(1, [2, 3, 4], "float32"), x = matrices(2, [2, 4], "float32");
  close(linalg.matvec(a, x), tf.sum(tf.mul(a, tf.expandDims(x, 1)), -1));
  assertEquals(linalg.matrixTranspose(a).shape, [2, 4, 3]);
  assertEquals(tf.imag(linalg.adjoint(tf.complex([[0, 1]], [[2, 3]]))).arraySync(), [[-2], [-3]]);
});

testOnDevices("vmap() of decompositions is a batch of them", () => {
  const a = matrices(1, [3, 4, 4]);
  close(tf.vmap((a: tf.Tensor) => linalg.svdvals(a))(a), linalg.svdvals(a), 1e-12);
  close(tf.vmap((a: tf.Tensor) => linalg.expm(a))(a), linalg.expm(a), 1e-12);
});

Deno.test("functions of matrices refuse what is none", () => {
  const cases: [() => unknown, new (...args: never[]) => Error, string][] = [
    [() => linalg.svd([1, 2]), tf.ValueError, "at least rank 2"],
    [() => linalg.eigh([[1, 2, 3]]), tf.ValueError, "'SelfAdjointEigV2'"],
    [() => linalg.eig([[1, 2, 3]]), tf.ValueError, "'Eig'"],
    [() => linalg.eig([[NaN]]), tf.errors.InvalidArgumentError, "NaN or Inf"],
    [() => linalg.expm([[1, 2, 3]]), tf.ValueError, "wanted square matrices"],
    [() => linalg.pinv([1]), tf.ValueError, "wanted matrices"],
    [() => linalg.matrixTranspose([1]), tf.ValueError, "wanted matrices"],
    [() => linalg.matvec([[1]], 1), tf.ValueError, "wanted a vector"],
    [() => linalg.lu([[0, 0], [0, 0]]), tf.errors.InvalidArgumentError, "not invertible"],
    [() => linalg.svd(["a"] as never), TypeError, ""],
  ];
  for (const [call, type, text] of cases) assertThrows(call, type, text);
});
