/** Factors of complex matrices, beside TensorFlow: values that phases do not change, and their gradients. */

import * as tf from "@weft/weft";
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../../devices.ts";
import told from "./complex_factors.json" with { type: "json" };

const { linalg } = tf;
type Parts = readonly (readonly number[])[];
type Fn = (x: tf.Tensor) => tf.Tensor;
type Dtype = "complex64" | "complex128";

const RE = [[[1, 2, 0.5], [3, 5, -1], [0.25, 1, 2]], [[0, 1, 1.5], [2, -1, 0], [1, 0.5, -2]]];
const IM = [[[0, 1, -1], [1, 0, 2], [0.5, -2, 1]], [[2, 0, 1], [0, 1, -1], [1.5, 0, 0.5]]];
const NUMBERS = [[1, 2, 3], [4, 5, 6], [7, 8, 9]];

const given = (dtype: Dtype): tf.Tensor => tf.cast(tf.complex(RE, IM), dtype);
const right = (x: tf.Tensor): tf.Tensor =>
  tf.cast(tf.complex(NUMBERS, tf.mul(NUMBERS, 0.5)), x.dtype);
const hermitian: Fn = (x) => tf.add(x, linalg.adjoint(x));
const positive: Fn = (x) => tf.add(tf.matMul(x, linalg.adjoint(x)), tf.cast(tf.eye(3), x.dtype));
const tall: Fn = (x) => tf.stridedSlice(x, [0, 0], [0, 2], null, 1, 1, 1);
const wide: Fn = (x) => tf.stridedSlice(x, [0, 0, 0], [0, 2, 0], null, 5, 5, 1);
const polar: Fn = (x) => {
  const [, u, v] = linalg.svd(x);
  return tf.matMul(u, linalg.adjoint(v));
};

const CASES: Readonly<Record<Exclude<keyof typeof told, "graph">, Fn>> = {
  cholesky: (x) => linalg.cholesky(positive(x)),
  triangularSolve: (x) => linalg.triangularSolve(x, tf.matMul(x, right(x))),
  triangularSolveAdjoint: (x) => linalg.triangularSolve(x, tf.matMul(x, right(x)), false, true),
  choleskySolve: (x) => linalg.choleskySolve(linalg.cholesky(positive(x)), tf.matMul(x, right(x))),
  q: (x) => linalg.qr(x)[0],
  r: (x) => linalg.qr(x)[1],
  qTall: (x) => linalg.qr(tall(x))[0],
  rTall: (x) => linalg.qr(tall(x))[1],
  qWide: (x) => linalg.qr(wide(x))[0],
  rWide: (x) => linalg.qr(wide(x))[1],
  eigvals: (x) => linalg.eigvalsh(hermitian(x)),
  eigproj: (x) => tf.square(tf.abs(tf.matMul(right(x), linalg.eigh(hermitian(x))[1]))),
  s: linalg.svdvals,
  uv: polar,
  uvTall: (x) => polar(tall(x)),
  uvWide: (x) => polar(wide(x)),
  lstsq: (x) => linalg.lstsq(tall(x), tf.matMul(x, right(x))),
  logdet: (x) => linalg.logdet(positive(x)),
};

const complexOf = (y: tf.Tensor): tf.Tensor =>
  /^complex/.test(y.dtype) ? y : tf.complex(y, tf.zerosLike(y));

async function near(y: tf.Tensor, wanted: Parts, most: number, what: string): Promise<void> {
  const c = complexOf(y);
  for (const [k, part] of [tf.real(c), tf.imag(c)].entries()) {
    const got = [...await part.data()] as number[];
    assertEquals(got.length, wanted[k]!.length, what);
    got.forEach((n, i) => {
      const w = wanted[k]![i]!;
      assertAlmostEquals(n, w, most * Math.max(1, Math.abs(w)), `${what} ${k} ${i}`);
    });
  }
}

/** Twice the sum of the real parts and that of the others. */
const loss: Fn = (y) => {
  const c = complexOf(y);
  return tf.add(tf.mul(tf.sum(tf.real(c)), 2), tf.sum(tf.imag(c)));
};

for (const dtype of ["complex64", "complex128"] as const) {
  for (const [name, f] of Object.entries(CASES)) {
    const { dtype: kind, value, gradient } = told[name as keyof typeof CASES];
    testOnDevices(
      `${name} of ${dtype} matrices is TensorFlow's: eager, compiled, over rows, with gradients`,
      async () => {
        const most = dtype === "complex64" ? 2e-3 : 2e-5;
        const both = (x: tf.Tensor): tf.Tensor[] => {
          using tape = new tf.GradientTape();
          tape.watch(x);
          const y = f(x);
          return [y, tape.gradient(loss(y), x) as tf.Tensor];
        };
        const x = given(dtype), real = dtype === "complex64" ? "float32" : "float64";
        for (const run of [both, tf.function(both)]) {
          const [y, dx] = run(x) as [tf.Tensor, tf.Tensor];
          assertEquals(y.dtype, kind === "complex" ? dtype : real);
          await near(y, value, most, name);
          await near(dx, gradient, most, `gradient of ${name}`);
        }
        const rows = tf.vmap(f)(tf.stack([x, x])) as tf.Tensor;
        for (const row of tf.unstack(rows)) await near(row, value, most, name);
      },
    );
  }
}

testOnDevices(
  "compiled products of complex batches read transposed matrices as they are",
  async () => {
    const f = (x: tf.Tensor): tf.Tensor =>
      tf.matMul(tf.transpose(tf.mul(x, x), [0, 2, 1]), tf.transpose(tf.add(x, x), [0, 2, 1]));
    const x = given("complex64"), eager = f(x), [re, im] = [tf.real(eager), tf.imag(eager)];
    const wanted = [re, im].map((t) => [...t.dataSync()] as number[]);
    await near(tf.function(f)(x) as tf.Tensor, wanted, 1e-5, "product");
  },
);

testOnDevices("factors of complex matrices of unknown shapes run in sessions", async () => {
  for (const name of ["cholesky", "triangularSolve", "q", "r", "eigvals", "uv"] as const) {
    const graph = new tf.Graph();
    const [x, y, dx] = graph.asDefault(() => {
      const x = tf.placeholder("complex128", null), y = CASES[name](x);
      return [x, y, tf.gradients(loss(y), [x])[0] as tf.Tensor] as const;
    });
    await using session = new tf.Session({ graph });
    const values = await session.run([y, dx], { feeds: new Map([[x, given("complex128")]]) });
    const [a, b] = (values as tf.NdArray[]).map((v) => tf.tensor(v));
    await near(a!, told[name].value, 2e-5, name);
    await near(b!, told[name].gradient, 2e-5, `gradient of ${name}`);
  }
});

testOnDevices("a graph of TensorFlow with factors of complex matrices runs", async () => {
  const graph = new tf.Graph();
  graph.asDefault(() => tf.importGraphDef(told.graph as never, { prefix: "" }));
  await using session = new tf.Session({ graph });
  const outs = Array.from({ length: 5 }, (_, i) => `out${i}:0`);
  const a = await session.run(outs, { feeds: { "a:0": given("complex64") } }) as tf.NdArray[];
  for (const [i, zeros] of a.entries()) {
    assertEquals(zeros.shape, [2, 3, 3]);
    assert(tf.max(tf.abs(tf.tensor(zeros))).item() < 1e-4, outs[i]);
  }
});

testOnDevices(
  "pseudo-inverses, conditions and products of vectors have the slopes of differences",
  async () => {
    const x = given("complex128"), step = 1e-6;
    const cases: Readonly<Record<string, Fn>> = {
      "pinv of tall": (x) => linalg.pinv(tall(x)),
      "pinv of wide": (x) => linalg.pinv(wide(x)),
      cond: linalg.cond,
      "lengths along u": (x) => tf.square(tf.abs(tf.matMul(right(x), linalg.svd(x)[1]))),
      "lengths along v": (x) => tf.square(tf.abs(tf.matMul(right(x), linalg.svd(wide(x))[2]))),
      "lengths along u of tall": (x) =>
        tf.square(tf.abs(tf.matMul(right(x), linalg.svd(tall(x))[1]))),
    };
    for (const [name, f] of Object.entries(cases)) {
      using tape = new tf.GradientTape();
      tape.watch(x);
      const dx = tape.gradient(loss(f(x)), x) as tf.Tensor;
      const none = tf.zeros([3, 3]);
      for (const way of [tf.complex(NUMBERS, none), tf.complex(none, NUMBERS)]) {
        const by = tf.mul(tf.cast(way, x.dtype), step);
        const [up, down] = [tf.add(x, by), tf.sub(x, by)].map((x) => loss(f(x)));
        const wanted = tf.sub(up!, down!).item() / (2 * step);
        const got = tf.sum(tf.real(tf.mul(tf.conj(dx), tf.cast(way, x.dtype)))).item();
        assertAlmostEquals(got, wanted, 1e-4 * Math.max(1, Math.abs(wanted)), name);
      }
    }
    const pinv = linalg.pinv(tall(x));
    assert(tf.max(tf.abs(tf.sub(tf.matMul(pinv, tall(x)), tf.eye(2)))).item() < 1e-12);
    assertEquals(await linalg.matrixRank(x).array(), [3, 3]);
    assertEquals(linalg.matrixRank(tf.complex([[1, 2], [2, 4]], [[1, 2], [2, 4]])).item(), 1);
  },
);

testOnDevices("tangents of real functions pass factors of complex matrices", () => {
  const f: Fn = (t) => {
    const x = tf.add(given("complex128"), tf.complex(t, tf.mul(t, 2)));
    return tf.add(linalg.logdet(positive(x)), tf.sum(linalg.svdvals(x)));
  };
  const at = (n: number): tf.Tensor => tf.tensor(n, [], "float64");
  const [, slope] = tf.jvp(f, [at(0.25)], [at(1)]) as [tf.Tensor, tf.Tensor];
  const wanted = tf.div(tf.sub(f(at(0.25 + 1e-6)), f(at(0.25 - 1e-6))), 2e-6);
  assert(tf.max(tf.abs(tf.sub(slope, wanted))).item() < 1e-6);
});

testOnDevices(
  "all vectors of complex matrices are unitary, at any scale; phases are Eigen's",
  () => {
    const x = given("complex128"), far = tf.cast(tf.complex(2 ** 100, 0), x.dtype);
    const off = (q: tf.Tensor): number => {
      const n = q.shape.at(-1)!;
      return tf.max(tf.abs(tf.sub(tf.matMul(linalg.adjoint(q), q), tf.eye(n)))).item();
    };
    for (const shape of [tall, wide, (x: tf.Tensor) => x]) {
      for (const y of [shape(x), tf.mul(shape(x), tf.mul(tf.mul(far, far), tf.mul(far, far)))]) {
        const [s, u, v] = linalg.svd(y, true), [, m, n] = y.shape;
        assertEquals([u.shape, v.shape], [[2, m, m], [2, n, n]]);
        assert(off(u) < 1e-12 && off(v) < 1e-12);
        const [own] = linalg.svd(shape(x));
        const ratio = tf.div(tf.max(s), tf.max(own)).item();
        assert(Math.abs(Math.log2(ratio) - (ratio > 2 ? 400 : 0)) < 1e-9, `${ratio}`);
        if (ratio > 2) continue;
        const [q, r] = linalg.qr(y, true);
        assert(off(q) < 1e-12);
        assert(tf.max(tf.abs(tf.sub(tf.matMul(q, r), y))).item() < 1e-12);
      }
    }
    const [, vectors] = linalg.eigh(hermitian(x));
    const first = tf.imag(tf.gather(vectors, 0, 1));
    assert(tf.max(tf.abs(first)).item() < 1e-12 && off(vectors) < 1e-12);
  },
);

testOnDevices(
  "complex matrices that have no factors give NaN; those of no rows nothing",
  async () => {
    const none = tf.complex([[1, 0], [0, -1]], [[0, 0], [0, 0]]);
    const l = await tf.real(linalg.cholesky(none)).array();
    assertEquals(l, [[NaN, 0], [NaN, NaN]]);
    for (const f of [linalg.eigvalsh, linalg.svdvals]) {
      const y = complexOf(f(tf.complex([[NaN, 0], [0, 1]], [[0, 0], [0, 0]])));
      assertEquals(await tf.real(y).array(), [NaN, NaN]);
    }
    const empty = tf.zeros([0, 2, 2], "complex64");
    assertEquals(linalg.cholesky(empty).shape, [0, 2, 2]);
    assertEquals(linalg.svd(empty).map((t) => t.shape), [[0, 2], [0, 2, 2], [0, 2, 2]]);
    assertEquals(linalg.eigh(tf.zeros([0, 0], "complex64"))[1].shape, [0, 0]);
    assertThrows(() => linalg.cholesky(tf.zeros([2, 3], "complex64")), tf.ValueError, "square");
  },
);
