/** Compositions of `vmap`, `grad`, `jvp` and `recomputeGrad` against loops over the rows and against differences of values. */
import { assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { loopWarning } from "../../src/engine/batching/walk.ts";
import { testOnDevices } from "../devices.ts";

type Fn = (x: tf.Tensor) => tf.Tensor;

const SIZE = 4;
const square = (x: tf.Tensor): tf.Tensor => tf.reshape(x, [2, 2]);
/** A matrix that is symmetric and positive definite. */
const definite = (x: tf.Tensor): tf.Tensor =>
  tf.add(tf.matMul(square(x), square(x), false, true), tf.cast(tf.eye(2), x.dtype));
const complex = (x: tf.Tensor): tf.Tensor => tf.complex(x, tf.reverse(tf.sin(x), 0));
const column = (x: tf.Tensor): tf.Tensor => tf.reshape(tf.slice(x, [0], [2]), [2, 1]);
const total = (x: tf.Tensor): tf.Tensor => tf.sum(tf.mul(x, tf.sin(x)));

/** Functions of a row of four numbers to one. */
const FUNCTIONS: Readonly<Record<string, Fn>> = {
  pointwise: (x) => tf.sum(tf.mul(tf.tanh(x), tf.exp(tf.mul(x, 0.5)))),
  product: (x) => total(tf.matMul(square(x), tf.tanh(square(x)))),
  reductions: (x) => tf.add(tf.logSumExp(x), tf.mul(tf.mean(tf.square(x)), tf.max(x))),
  "a product of elements": (x) => tf.prod(tf.add(x, 3)),
  gather: (x) => total(tf.gather(tf.square(x), tf.tensor([0, 2, 2], [3], "int32"))),
  "a gather along the last axis": (x) =>
    total(tf.gather(square(x), tf.tensor([1, 1, 0], [3], "int32"), -1)),
  cholesky: (x) => total(tf.linalg.cholesky(definite(x))),
  solve: (x) => total(tf.linalg.solve(definite(x), column(x))),
  qr: (x) => total(tf.linalg.qr(definite(x))[1]),
  "singular values": (x) => total(tf.linalg.svd(definite(x))[0]),
  "complex numbers": (x) => tf.sum(tf.real(tf.mul(complex(x), tf.exp(complex(x))))),
  "a complex product": (x) =>
    tf.sum(tf.square(tf.abs(tf.matMul(square(complex(x)), square(complex(x)))))),
};

const grad = (f: Fn): Fn => (x) => tf.grad(f)(x);
const along = (f: Fn, v: (x: tf.Tensor) => tf.Tensor): Fn => (x) => tf.jvp(f, [x], [v(x)])[1];
const direction = (x: tf.Tensor): tf.Tensor => tf.cos(tf.mul(x, 3));
const seed = (x: tf.Tensor): tf.Tensor => tf.cast([0.5, -0.25, 0.75, 1], x.dtype);
const loop = (f: Fn): Fn => (x) => tf.stack(tf.unstack(x).map((row) => f(row)));
const slopes = (f: Fn): Fn => loop(grad(f));

/** Compositions over rows, and what they are by loops. */
const COMPOSITIONS: Readonly<Record<string, readonly [made: (f: Fn) => Fn, by: (f: Fn) => Fn]>> = {
  "vmap of grad": [(f) => tf.vmap(grad(f)) as Fn, slopes],
  "grad of vmap": [(f) => grad((x) => tf.sum(tf.vmap(f)(x) as tf.Tensor)), slopes],
  "vmap of jvp": [
    (f) => tf.vmap(along(f, direction)) as Fn,
    (f) => (x) => tf.sum(tf.mul(slopes(f)(x), direction(x)), 1),
  ],
  "vmap of jvp of grad": [
    (f) => tf.vmap(along(grad(f), direction)) as Fn,
    (f) => loop(along(grad(f), direction)),
  ],
  "vmap of grad of grad": [
    (f) => tf.vmap(grad((x) => tf.sum(tf.mul(tf.grad(f)(x), seed(x))))) as Fn,
    (f) => loop(along(grad(f), seed)),
  ],
  "vmap of vmap of grad": [
    (f) => (x) => tf.reshape(tf.vmap(tf.vmap(grad(f)))(tf.stack([x, x])) as tf.Tensor, [-1, SIZE]),
    (f) => (x) => tf.concat([slopes(f)(x), slopes(f)(x)], 0),
  ],
};

function far(a: tf.Tensor, b: tf.Tensor): number {
  const x = Array.from(a.dataSync(), Number), y = Array.from(b.dataSync(), Number);
  if (x.length !== y.length) return Infinity;
  return Math.max(...x.map((v, i) => Math.abs(v - y[i]!) / (1 + Math.abs(y[i]!))));
}

/** The derivative along the direction, by differences. */
const difference = (f: Fn): Fn => (x) => {
  const step = tf.mul(direction(x), 1e-5);
  return tf.div(tf.sub(f(tf.add(x, step)), f(tf.sub(x, step))), 2e-5);
};

testOnDevices(
  "compositions of vmap, grad, jvp and recomputeGrad are loops over the rows",
  (device) => {
    const dtype = device === "cpu" ? "float64" : "float32", faults: string[] = [];
    const near = device === "cpu" ? 1e-8 : 2e-3;
    // Rules do not know devices: on a GPU, whose every kernel is compiled, two functions show that they run there.
    const names = device === "cpu" ? Object.keys(FUNCTIONS) : ["product", "gather"];
    const { write } = loopWarning;
    // Gradients of what is recomputed run in a loop as a whole.
    loopWarning.write = () => {};
    for (const name of names) {
      const fn = FUNCTIONS[name]!;
      using _scope = tf.scope();
      const x = tf.tensor(Array.from({ length: 3 * SIZE }, (_, i) => Math.sin(1.7 * i + 1)), [
        3,
        SIZE,
      ], dtype);
      const again = tf.recomputeGrad(fn as never) as unknown as Fn;
      const check = (text: string, run: () => number, limit: number): void => {
        try {
          const found = run();
          if (!(found < limit)) faults.push(`${name}, ${text}: ${found}`);
        } catch (error) {
          faults.push(`${name}, ${text}: ${(error as Error).message.split("\n")[0]}`);
        }
      };
      for (const [how, [made, by]] of Object.entries(COMPOSITIONS)) {
        check(how, () => far(made(fn)(x), by(fn)(x)), near);
        check(`${how}, recomputed`, () => far(made(again)(x), by(fn)(x)), near);
      }
      if (device !== "cpu") continue;
      const first = loop(difference(fn)), second = loop(difference(grad(fn)));
      check("differences", () => far(COMPOSITIONS["vmap of jvp"]![0](fn)(x), first(x)), 1e-6);
      check(
        "differences of grad",
        () => far(COMPOSITIONS["vmap of jvp of grad"]![0](fn)(x), second(x)),
        1e-6,
      );
    }
    loopWarning.write = write;
    assertEquals(faults, []);
  },
);
