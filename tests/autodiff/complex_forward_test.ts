/** Tangents of complex numbers, beside JAX's: pointwise, reductions, products, transforms and factors of matrices. */

import * as tf from "@weft/weft";
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { loopWarning } from "../../src/engine/batching/walk.ts";
import { testOnDevices } from "../devices.ts";
import told from "./complex_forward.json" with { type: "json" };

const { linalg } = tf;
type Fn = (x: tf.Tensor, y: tf.Tensor) => tf.Tensor;
type Dtype = "complex64" | "complex128";

const A = [[0.5, -0.75, 0.25], [1.5, 0.125, -0.5], [-0.25, 0.625, 0.875]];
const A_IM = [[0.25, 0.5, -1], [0.75, -0.375, 0.5], [1.25, -0.125, 0.3125]];
const B = [[1.25, -0.5, 0.75], [0.5, 1.75, -0.25], [-0.75, 0.375, -1.5]];
const B_IM = [[-0.5, 0.25, 0.5], [1, 0.75, -0.125], [0.375, -1.5, 0.25]];
const TANGENT = [[1, -2, 0.5], [0.25, 1, -1], [2, -0.5, 1]];
const TANGENT_IM = [[0.5, 1, -1], [2, 0.25, 0.5], [-0.5, 1, 0.75]];

const of = (re: number[][], im: number[][], dtype: Dtype): tf.Tensor =>
  tf.cast(tf.complex(tf.tensor(re), tf.tensor(im)), dtype);
const hermitian = (x: tf.Tensor): tf.Tensor => tf.add(x, linalg.adjoint(x));
const positive = (x: tf.Tensor): tf.Tensor =>
  tf.add(tf.matMul(x, linalg.adjoint(x)), tf.cast(tf.eye(3), x.dtype));
const complexOf = (y: tf.Tensor): tf.Tensor =>
  /^complex/.test(y.dtype) ? y : tf.complex(y, tf.zerosLike(y));

const CASES: Readonly<Record<keyof typeof told, Fn>> = {
  add: tf.add,
  sub: tf.sub,
  mul: tf.mul,
  div: tf.div,
  pow: tf.pow,
  squaredDifference: tf.squaredDifference,
  neg: tf.neg,
  square: tf.square,
  sqrt: tf.sqrt,
  rsqrt: tf.rsqrt,
  reciprocal: tf.reciprocal,
  exp: tf.exp,
  expm1: tf.expm1,
  log: tf.log,
  log1p: tf.log1p,
  sin: tf.sin,
  cos: tf.cos,
  tan: tf.tan,
  sinh: tf.sinh,
  cosh: tf.cosh,
  tanh: tf.tanh,
  asin: tf.asin,
  acos: tf.acos,
  atan: tf.atan,
  asinh: tf.asinh,
  acosh: tf.acosh,
  atanh: tf.atanh,
  sigmoid: tf.sigmoid,
  sign: tf.sign,
  real: tf.real,
  imag: tf.imag,
  conj: tf.conj,
  abs: tf.abs,
  angle: tf.math.angle,
  complex: (x, y) => tf.complex(tf.abs(x), tf.imag(y)),
  sum: (x) => tf.sum(tf.mul(x, x), 0),
  mean: (x, y) => tf.mean(tf.mul(x, y), 1),
  prod: (x) => tf.prod(x, 1),
  norm: (x) => tf.sqrt(tf.sum(tf.square(tf.abs(x)))),
  cumsum: (x, y) => tf.cumsum(tf.mul(x, y), 1),
  cumprod: (x) => tf.cumprod(x, 1),
  matMul: tf.matMul,
  "matMul of transposes": (x, y) => tf.matMul(x, y, true, true),
  "matMul of adjoints": (x, y) => tf.matMul(linalg.adjoint(x), linalg.adjoint(y)),
  einsum: (x, y) => tf.einsum("ij,jk->ki", x, y),
  gather: (x, y) => tf.gather(tf.mul(x, y), [2, 0, 2]),
  concat: (x, y) => tf.concat([x, tf.mul(y, x)], 1),
  where: (x, y) => tf.where(tf.greater(tf.real(x), 0), tf.mul(x, y), tf.conj(y)),
  transpose: (x) => tf.transpose(tf.mul(x, x)),
  fft: (x) => tf.fft(x),
  ifft: (x) => tf.ifft(x),
  rfft: (x) => tf.rfft(tf.real(x)),
  irfft: (x) => tf.irfft(x, 4),
  inv: (x) => linalg.inv(x),
  det: (x) => linalg.det(x),
  slogdet: (x) => linalg.slogdet(x)[1],
  solve: (x, y) => linalg.solve(x, y),
  cholesky: (x) => linalg.cholesky(positive(x)),
  triangularSolve: (x, y) => linalg.triangularSolve(x, y),
  "triangularSolve of adjoints": (x, y) => linalg.triangularSolve(x, y, true, true),
  svdvals: (x) => linalg.svdvals(x),
  polar: (x) => {
    const [, u, v] = linalg.svd(x);
    return tf.matMul(u, linalg.adjoint(v));
  },
  eigvalsh: (x) => linalg.eigvalsh(hermitian(x)),
  "eigh projections": (x, y) => tf.square(tf.abs(tf.matMul(y, linalg.eigh(hermitian(x))[1]))),
  qr: (x) => {
    // Columns of Q that the phases of the diagonal of R do not turn.
    const [q, r] = linalg.qr(x), d = linalg.diagPart(r);
    return tf.mul(q, tf.div(d, tf.cast(tf.abs(d), d.dtype)));
  },
  expm: (x) => linalg.expm(x),
  "expm of product": (x, y) => linalg.expm(tf.mul(tf.matMul(x, y), 0.5)),
};

async function near(y: tf.Tensor, wanted: number[][], most: number, text: string): Promise<void> {
  const c = complexOf(y);
  for (const [k, part] of [tf.real(c), tf.imag(c)].entries()) {
    const got = [...await part.data()] as number[];
    assertEquals(got.length, wanted[k]!.length, text);
    got.forEach((n, i) => {
      const w = wanted[k]![i]!;
      assertAlmostEquals(n, w, most * Math.max(1, Math.abs(w)), `${text} ${k} ${i}`);
    });
  }
}

for (const dtype of ["complex64", "complex128"] as const) {
  testOnDevices(`jvp() of ${dtype} is JAX's: eager, compiled, over rows, accumulated`, async () => {
    const most = dtype === "complex64" ? 1e-3 : 2e-5;
    const x = of(A, A_IM, dtype), y = of(B, B_IM, dtype), dx = of(TANGENT, TANGENT_IM, dtype);
    const dy = tf.add(tf.mul(linalg.adjoint(dx), 0.5), 0.25);
    for (const [name, f] of Object.entries(CASES)) {
      const [value, tangent] = told[name as keyof typeof told] as number[][][];
      const push = (...given: tf.Tensor[]): tf.Tensor[] =>
        tf.jvp((x, y) => f(x!, y!), given.slice(0, 2), given.slice(2));
      const given = [x, y, dx, dy];
      for (const run of [push, tf.function(push)]) {
        const [out, along] = run(...given) as tf.Tensor[];
        assertEquals(along!.dtype, out!.dtype, name);
        await near(out!, value!, most, name);
        await near(along!, tangent!, most, `tangent of ${name}`);
      }
      const rows = tf.vmap(push)(...given.map((t) => tf.stack([t, t])));
      for (const row of tf.unstack(rows[1]!)) await near(row, tangent!, most, `rows of ${name}`);
      using accumulator = new tf.ForwardAccumulator([x, y], [dx, dy]);
      await near(accumulator.jvp(f(x, y))!, tangent!, most, `accumulated ${name}`);
    }
  });
}

testOnDevices(
  "tangents of complex numbers pass gradients, and real numbers beside them",
  async () => {
    const x = of(A, A_IM, "complex128"), dx = of(TANGENT, TANGENT_IM, "complex128");
    const loss = (x: tf.Tensor): tf.Tensor => tf.sum(tf.square(tf.abs(tf.exp(x))));
    const [slope, along] = tf.jvp(tf.grad(loss), [x], [dx]) as [tf.Tensor, tf.Tensor];
    // The loss is exp(2 re), whose gradient is 2 exp(2 re) and its slope 4 exp(2 re) times that of re.
    const e = tf.exp(tf.mul(tf.real(x), 2));
    const wanted = tf.mul(tf.mul(e, 4), tf.real(dx));
    assert(tf.max(tf.abs(tf.sub(tf.real(slope), tf.mul(e, 2)))).item() < 1e-12);
    assert(tf.max(tf.abs(tf.sub(tf.real(along), wanted))).item() < 1e-12);
    assert(tf.max(tf.abs(tf.imag(along))).item() < 1e-12);
    const t = tf.tensor([1, 2]);
    const [, turned] = tf.jvp((t) => tf.complex(tf.cos(t), tf.sin(t)), [t], [[1, 10]]);
    await near(
      turned,
      [[-Math.sin(1), -10 * Math.sin(2)], [Math.cos(1), 10 * Math.cos(2)]],
      1e-5,
      "",
    );
    const [, push] = tf.linearize((x) => tf.mul(tf.conj(x), x), [tf.complex([1], [2])]);
    await near(push([tf.complex([3], [1])]), [[10], [0]], 1e-5, "linearize");
    const [, cut] = tf.jvp((x) => tf.stopGradient(x), [x], [dx]);
    assertEquals([cut.dtype, tf.max(tf.abs(cut)).item()], ["complex128", 0]);
  },
);

testOnDevices(
  "products of complex rows and their gradients are one product of batches",
  async () => {
    const write = loopWarning.write, texts: string[] = [];
    loopWarning.write = (text) => texts.push(text);
    try {
      loopWarning.named.clear();
      const x = of(A, A_IM, "complex64"), y = of(B, B_IM, "complex64");
      for (const [a, b] of [[false, false], [true, false], [false, true], [true, true]] as const) {
        const f = (x: tf.Tensor, y: tf.Tensor): tf.Tensor[] => {
          using tape = new tf.GradientTape();
          tape.watch([x, y]);
          const z = tf.matMul(x, y, a, b);
          return [z, ...tape.gradient(tf.sum(tf.imag(tf.mul(z, z))), [x, y]) as tf.Tensor[]];
        };
        for (const inAxes of [0, [0, null], [null, 0]] as const) {
          const given = [x, y].map((t, i) =>
            Array.isArray(inAxes) && inAxes[i] === null ? t : tf.stack([t, t])
          );
          const rows = tf.vmap(f, { inAxes })(given[0]!, given[1]!);
          for (const [k, wanted] of f(x, y).entries()) {
            const parts = [tf.real(wanted), tf.imag(wanted)].map((t) =>
              [...t.dataSync()] as number[]
            );
            for (const row of tf.unstack(rows[k]!)) await near(row, parts, 1e-5, `${a} ${b} ${k}`);
          }
        }
      }
    } finally {
      loopWarning.write = write;
    }
    assertEquals(texts, []);
  },
);
