/**
 * Factors, exponentials, all singular vectors and least squares of complex and real matrices, beside TensorFlow 2.21; gradients that it
 * does not have, those of `lu`, beside differences of its values.
 */

import * as tf from "@weft/weft";
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../../devices.ts";
import told from "./complex_functions.json" with { type: "json" };

const { linalg } = tf;
type Fn = (x: tf.Tensor) => tf.Tensor;
type Dtype = "complex64" | "complex128";

const RE = [[[1, 2, 0.5], [3, 5, -1], [0.25, 1, 2]], [[0, 1, 1.5], [2, -1, 0], [1, 0.5, -2]]];
const IM = [[[0, 1, -1], [1, 0, 2], [0.5, -2, 1]], [[2, 0, 1], [0, 1, -1], [1.5, 0, 0.5]]];
const NUMBERS = [[1, 2, 3], [4, 5, 6], [7, 8, 9]];
const given = (dtype: Dtype): tf.Tensor => tf.cast(tf.complex(RE, IM), dtype);

const isComplex = (x: tf.Tensor): boolean => /^complex/.test(x.dtype);
const complexOf = (y: tf.Tensor): tf.Tensor => isComplex(y) ? y : tf.complex(y, tf.zerosLike(y));
const right = (x: tf.Tensor): tf.Tensor =>
  tf.cast(isComplex(x) ? tf.complex(NUMBERS, tf.mul(NUMBERS, 0.5)) : tf.tensor(NUMBERS), x.dtype);
const tall: Fn = (x) => tf.stridedSlice(x, [0, 0], [0, 2], null, 1, 1, 1);
const wide: Fn = (x) => tf.stridedSlice(x, [0, 0, 0], [0, 2, 0], null, 5, 5, 1);
const upper = (x: tf.Tensor, n: number): tf.Tensor => tf.slice(x, [0, 0], [n, n]);
const shifted: Fn = (x) => tf.add(tf.real(x), 0.125);
/** Squares of components along `n` other vectors, which signs and phases do not change. */
const lengths = (x: tf.Tensor, n = 3): tf.Tensor => {
  const along = tf.matMul(upper(right(x), n), x);
  return tf.square(isComplex(along) ? tf.abs(along) : along);
};
const sides: Fn = (x) => tf.add(tf.matMul(x, x), right(x));

/** The factor with TensorFlow's signs: it turns no last element of the diagonal. */
const turned = (factor: tf.Tensor, signs: tf.TensorLike): tf.Tensor =>
  tf.mul(factor, tf.cast(signs, factor.dtype));

const CASES: Readonly<Record<keyof typeof told, Fn>> = {
  // No two pivots are of one size.
  lu: (x) => linalg.lu(tf.add(x, 0.125))[0],
  luSolve: (x) => linalg.luSolve(...linalg.lu(x), sides(x)),
  luReconstruct: (x) => linalg.luReconstruct(...linalg.lu(x)),
  luMatrixInverse: (x) => linalg.luMatrixInverse(...linalg.lu(x)),
  expm: (x) => linalg.expm(tf.mul(x, 0.25)),
  "expm large": (x) => tf.mul(linalg.expm(tf.mul(x, 2)), 1e-3),
  "u of all": (x) => lengths(linalg.svd(tall(x), true)[1]),
  "v of all": (x) => lengths(linalg.svd(wide(x), true)[2]),
  "u of all, real": (x) => lengths(linalg.svd(tall(tf.real(x)), true)[1]),
  "v of all, real": (x) => lengths(linalg.svd(wide(tf.real(x)), true)[2]),
  "shorter side of all, real": (x) => lengths(linalg.svd(wide(tf.real(x)), true)[1], 2),
  "q of real": (x) => turned(linalg.qr(shifted(x))[0], [1, 1, -1]),
  "r of real": (x) => turned(linalg.qr(shifted(x))[1], [[1], [1], [-1]]),
  "r of real tall": (x) => linalg.qr(tall(shifted(x)))[1],
  "q of real wide": (x) => turned(linalg.qr(wide(shifted(x)))[0], [1, -1]),
  "r of real wide": (x) => turned(linalg.qr(wide(shifted(x)))[1], [[1], [-1]]),
  "lstsq of tall": (x) => linalg.lstsq(tall(x), sides(x)),
  "lstsq by QR": (x) => linalg.lstsq(tall(x), sides(x), 0, false),
  "lstsq of wide": (x) => {
    const some = tf.slice(right(x), [0, 0], [2, 3]);
    return linalg.lstsq(wide(x), tf.stack([some, some]));
  },
};

async function near(y: tf.Tensor, wanted: number[][], most: number, text: string): Promise<void> {
  const c = complexOf(y);
  for (const [k, part] of [tf.real(c), tf.imag(c)].entries()) {
    const got = [...await part.data()] as number[];
    assertEquals(got.length, wanted[k]!.length, text);
    const scale = Math.max(1, ...wanted.flat().map(Math.abs));
    got.forEach((n, i) => assertAlmostEquals(n, wanted[k]![i]!, most * scale, `${text} ${k} ${i}`));
  }
}

/** Twice the sum of the real parts and that of the others. */
const loss: Fn = (y) =>
  tf.add(tf.mul(tf.sum(tf.real(complexOf(y))), 2), tf.sum(tf.imag(complexOf(y))));

const both = (f: Fn) => (x: tf.Tensor): tf.Tensor[] => {
  using tape = new tf.GradientTape();
  tape.watch(x);
  const y = f(x);
  return [y, tape.gradient(loss(y), x) as tf.Tensor];
};

for (const dtype of ["complex64", "complex128"] as const) {
  for (const [name, f] of Object.entries(CASES)) {
    const { dtype: kind, value, gradient } = told[name as keyof typeof CASES];
    testOnDevices(`${name} from ${dtype}: eager, compiled, over rows, with gradients`, async () => {
      const most = dtype === "complex64" ? 5e-4 : 5e-6, x = given(dtype);
      const real = dtype === "complex64" ? "float32" : "float64";
      for (const run of [both(f), tf.function(both(f))]) {
        const [y, dx] = run(x) as [tf.Tensor, tf.Tensor];
        assertEquals(y.dtype, kind === "complex" ? dtype : real);
        await near(y, value, most, name);
        await near(dx, gradient, most, `gradient of ${name}`);
      }
      const rows = tf.vmap(both(f))(tf.stack([x, x])) as tf.Tensor[];
      for (const row of tf.unstack(rows[1]!)) await near(row, gradient, most, name);
    });
  }
}

testOnDevices("factors of unknown extents have values and gradients in sessions", async () => {
  for (const shape of [null, [2, null, null]]) {
    for (
      const name of Object.keys(CASES).filter((n) =>
        !/lstsq|luSolve|luInv/.test(n)
      ) as (keyof typeof CASES)[]
    ) {
      if (shape === null && /^lu./.test(name)) continue;
      const graph = new tf.Graph();
      const [x, y, dx] = graph.asDefault(() => {
        const x = tf.placeholder("complex128", shape), y = CASES[name](x);
        return [x, y, tf.gradients(loss(y), [x])[0] as tf.Tensor] as const;
      });
      await using session = new tf.Session({ graph });
      const values = await session.run([y, dx], { feeds: new Map([[x, given("complex128")]]) });
      const [a, b] = (values as tf.NdArray[]).map((v) => tf.tensor(v));
      await near(a!, told[name].value, 5e-6, name);
      await near(b!, told[name].gradient, 5e-6, `gradient of ${name}`);
    }
  }
});

testOnDevices("the signs of R are those of TensorFlow.js's reflections", async () => {
  const cases: readonly (readonly [number[][], number[][]])[] = [
    [[[1, 2], [3, 4]], [[-3.1623, -4.4272], [0, 0.6325]]],
    [[[2, 1], [0, 3]], [[-2, -1], [0, -3]]],
    [[[-2, 1, 5], [0, -3, 1]], [[2, -1, -5], [0, 3, -1]]],
    [[[2, 0], [0, 0], [0, 1]], [[-2, 0], [0, 1]]],
    [[[0, 0], [0, 0]], [[0, 0], [0, 0]]],
    [[[-3]], [[3]]],
  ];
  for (const [a, wanted] of cases) {
    const [q, r] = linalg.qr(a), found = (await r.array() as number[][]).flat();
    found.forEach((n, i) => assertAlmostEquals(n, wanted.flat()[i]!, 1e-3, JSON.stringify(a)));
    assert(tf.max(tf.abs(tf.sub(tf.matMul(q, r), a))).item() < 1e-5);
  }
});

testOnDevices("all singular vectors have gradients where extents differ by 1 at most", () => {
  const slope = (m: number, n: number, k: number) =>
    tf.grad((x: tf.Tensor) => tf.sum(linalg.svd(x, true)[k]!))(
      tf.tensor(Array.from({ length: m * n }, (_, i) => Math.cos(i * i)), [m, n]),
    );
  for (const [m, n] of [[2, 4], [4, 2], [1, 3]] as const) {
    for (const k of [1, 2]) {
      assertThrows(
        () => slope(m, n, k),
        tf.errors.UnimplementedError,
        `differ by 1 at most, received ${m} and ${n}`,
      );
    }
    // Singular values do not turn with the vectors.
    assertEquals(slope(m, n, 0).shape, [m, n]);
  }
  assertEquals(slope(3, 2, 1).shape, [3, 2]);
});

testOnDevices(
  "complex matrices of no factors are refused; regularized systems have the least squares",
  () => {
    const none = tf.complex([[1, 2], [2, 4]], [[1, 2], [2, 4]]);
    assertThrows(() => linalg.lu(none), tf.errors.InvalidArgumentError, "not invertible");
    assertThrows(
      () => linalg.expm(tf.zeros([2, 3], "complex64")),
      tf.ValueError,
      "square matrices",
    );
    assertEquals(linalg.lu(tf.zeros([0, 2, 2], "complex64")).map((t) => t.shape), [[0, 2, 2], [
      0,
      2,
    ]]);
    assertEquals(linalg.expm(tf.zeros([0, 0], "complex64")).shape, [0, 0]);
    const [, p] = linalg.lu(tf.complex([[0, 1], [0, 1]], [[1, 0], [3, 0]]));
    assertEquals([...p.dataSync()], [1, 0]);
    const a = tall(given("complex128")), b = sides(given("complex128"));
    const x = linalg.lstsq(a, b, 0.5), adjoint = linalg.adjoint(a);
    const off = tf.sub(
      tf.add(tf.matMul(adjoint, tf.matMul(a, x)), tf.mul(x, 0.5)),
      tf.matMul(adjoint, b),
    );
    assert(tf.max(tf.abs(off)).item() < 1e-12);
  },
);
