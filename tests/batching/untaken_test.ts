/** Rows that do not take a branch or a turn of a loop give it no infinity and no NaN, whatever their values. */
import { assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { loopWarning } from "../../src/engine/batching/walk.ts";
import { testOnDevices } from "../devices.ts";
import { some } from "../effort.ts";

type Fn = (x: tf.Tensor) => tf.Tensor;

const VALUES = [0.5, -0.25, 0, Infinity, -Infinity, NaN, 1e30, -3e38, 2];

const pair = (x: tf.Tensor): tf.Tensor => tf.stack([x, x]);

/** Bodies with each hazard: none, infinities that only infinite or huge operands make, and what they refuse. */
const BODIES: Readonly<Record<string, Fn>> = {
  "a sum": (x) => tf.sub(tf.add(x, 1), tf.mul(x, 3)),
  "a choice": (x) => tf.where(tf.greater(x, 0), tf.mul(x, 2), tf.neg(x)),
  "the nearest of a range": (x) => tf.clipByValue(x, -1, 0.25),
  "a mean": (x) => tf.mean(tf.stack([x, tf.mul(x, 2)])),
  "a square": (x) => tf.square(x),
  "a cube": (x) => tf.mul(tf.mul(x, x), x),
  "a sine": (x) => tf.mul(x, tf.sin(x)),
  "an error function": (x) => tf.add(tf.erf(x), tf.tanh(tf.mul(x, x))),
  "an inverse": (x) => tf.add(tf.atan(tf.square(x)), tf.asinh(tf.square(x))),
  "an absolute value": (x) => tf.abs(tf.mul(x, tf.floor(x))),
  "a largest": (x) => tf.max(tf.stack([x, tf.mul(x, 2)])),
  "a product of matrices": (x) =>
    tf.sum(tf.matMul(tf.reshape(pair(x), [1, 2]), tf.reshape(pair(x), [2, 1]))),
  "a convolution": (x) =>
    tf.sum(tf.conv1d(tf.reshape(pair(x), [1, 2, 1]), tf.ones([1, 1, 2]), 1, "same")),
  "an exponential": (x) => tf.mul(x, tf.exp(x)),
  "a logarithm": (x) => tf.log(tf.add(x, 1)),
  "a quotient": (x) => tf.div(x, tf.sub(1.5, x)),
  "a power": (x) => tf.pow(tf.add(x, 2), x),
  "a softmax": (x) => tf.gather(tf.softmax(tf.stack([x, tf.neg(x)])), 0) as tf.Tensor,
  "a norm": (x) => tf.norm(tf.stack([x, tf.constant(1)])),
  "a product": (x) => tf.prod(tf.stack([x, tf.mul(x, 3)])),
  "a picked element": (x) =>
    tf.mul(x, tf.gather([2, 3], tf.cast(tf.greater(x, 0), "int32")) as tf.Tensor),
  "a spectrum": (x) => tf.sum(tf.abs(tf.fft(tf.cast(tf.stack([x, tf.constant(1)]), "complex64")))),
  "an inverse matrix": (x) =>
    tf.sum(tf.linalg.inv(tf.add(tf.mul(tf.eye(2), 2), tf.reshape(tf.stack([x, x, x, x]), [2, 2])))),
};

const isSmall = (x: tf.Tensor): tf.Tensor => tf.less(tf.abs(x), 1);

/** Ways to go round a body. */
const WAYS: Readonly<Record<string, (body: Fn) => Fn>> = {
  "a branch": (body) => (x) => tf.cond(isSmall(x), () => body(x), () => tf.mul(x, 2)),
  "the other branch": (body) => (x) =>
    tf.cond(tf.logicalNot(isSmall(x)), () => tf.neg(x), () => body(x)),
  "a branch in a branch": (body) => (x) =>
    tf.cond(
      isSmall(x),
      () => tf.cond(tf.less(x, 0), () => tf.mul(x, 2), () => body(x)),
      () => tf.add(x, 1),
    ),
  "a loop": (body) => (x) =>
    tf.whileLoop(
      (i: tf.Tensor, a: tf.Tensor) => tf.logicalAnd(tf.less(i, 2), isSmall(a)),
      (i: tf.Tensor, a: tf.Tensor) => [tf.add(i, 1), body(a)],
      [tf.scalar(0, "int32"), x],
    )[1]!,
  "a loop around what it captures": (body) => (x) =>
    tf.whileLoop(
      (i: tf.Tensor, _: tf.Tensor) => tf.logicalAnd(tf.less(i, 2), isSmall(x)),
      (i: tf.Tensor, a: tf.Tensor) => [tf.add(i, 1), tf.add(a, body(x))],
      [tf.scalar(0, "int32"), tf.mul(x, 0.5)],
    )[1]!,
};

function faultOf(found: tf.Tensor, wanted: readonly number[]): string | null {
  const list = Array.from(found.dataSync(), Number);
  const isNear = (v: number, i: number): boolean => {
    const w = wanted[i]!;
    return Object.is(v, w) || v === w || Math.abs(v - w) <= 1e-4 * (1 + Math.abs(w));
  };
  return list.length === wanted.length && list.every(isNear)
    ? null
    : `[${list}], wanted [${wanted}]`;
}

/** Each row by itself. */
function eachRow(fn: Fn): number[] {
  return VALUES.map((v) => fn(tf.scalar(v)).dataSync()[0] as number);
}

for (const [way, around] of Object.entries(WAYS)) {
  testOnDevices(`vmap() keeps ${way} from values of rows that do not take it`, async (device) => {
    // A GPU compiles every kernel: fewer show that it does as the rules say.
    const chosen = some(Object.entries(BODIES), device === "webgpu" ? 4 : 10);
    const { write } = loopWarning, faults: string[] = [];
    loopWarning.write = () => {};
    try {
      for (const [name, body] of chosen) {
        using _scope = tf.scope();
        const fn = around(body), x = tf.tensor(VALUES);
        const of = tf.vmap(fn), total = (x: tf.Tensor) => tf.sum(of(x));
        const rows = eachRow(fn), slopes = eachRow(tf.grad(fn) as Fn);
        const open = { inputSignature: [tf.TensorSpec([null], "float32")] };
        const check = (how: string, found: tf.Tensor, wanted: readonly number[]): void => {
          const fault = faultOf(found, wanted);
          if (fault !== null) faults.push(`${name}, ${how}: ${fault}`);
        };
        check("eagerly", of(x), rows);
        check("in a function", await tf.function(of).async(x), rows);
        check("gradient of vmap", tf.grad(total)(x), slopes);
        check(
          "its function of unknown extents",
          await tf.function(tf.grad(total), open).async(x),
          slopes,
        );
        check("vmap of the gradient", tf.vmap(tf.grad(fn))(x), slopes);
        check("forward", tf.jvp(of, [x], [tf.onesLike(x)])[1], slopes);
        check(
          "forward in a function",
          await tf.function((x: tf.Tensor) => tf.jvp(of, [x], [tf.onesLike(x)])[1]).async(x),
          slopes,
        );
      }
    } finally {
      loopWarning.write = write;
    }
    assertEquals(faults, []);
  });
}
