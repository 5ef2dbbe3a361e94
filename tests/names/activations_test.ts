// Activations of tf.nn beside JAX and Keras, and what they refuse.

import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import RECORDED from "./fixtures/activations.json" with { type: "json" };
import { type Recorded, testTable } from "./harness.ts";

const { nn } = tf;

testTable("activation nn", RECORDED as unknown as Record<string, Recorded>, {
  celu: (x) => nn.celu(x),
  "celu alpha": (x) => nn.celu(x, 0.5),
  "celu 0": (x) => nn.celu(x),
  glu: (x) => nn.glu(x),
  "glu 0": (x) => nn.glu(x, 0),
  hardSigmoid: (x) => nn.hardSigmoid(x),
  hardSilu: (x) => nn.hardSilu(x),
  hardSwish: (x) => nn.hardSwish(x),
  hardTanh: (x) => nn.hardTanh(x),
  hardShrink: (x) => nn.hardShrink(x),
  "hardShrink 2": (x) => nn.hardShrink(x, 2),
  softShrink: (x) => nn.softShrink(x),
  "softShrink 2": (x) => nn.softShrink(x, 2),
  tanhShrink: (x) => nn.tanhShrink(x),
  threshold: (x) => nn.threshold(x, 0.5, -7),
  sparsePlus: (x) => nn.sparsePlus(x),
  "sparsePlus Keras": (x) => nn.sparsePlus(x),
  sparseSigmoid: (x) => nn.sparseSigmoid(x),
  mish: (x) => nn.mish(x),
  squareplus: (x) => nn.squareplus(x),
  "squareplus b": (x) => nn.squareplus(x, 0.2),
  sparsemax: (x) => nn.sparsemax(x),
  "sparsemax 0": (x) => nn.sparsemax(x, 0),
  "sparsemax ties": (x) => nn.sparsemax(x),
  "sparsemax deep": (x) => nn.sparsemax(x, 1),
  logMeanExp: (x) => nn.logMeanExp(x),
  "logMeanExp 0": (x) => nn.logMeanExp(x, 0),
  // float16 has 300 to a quarter.
  "logMeanExp kept": { body: (x) => nn.logMeanExp(x, [0, 1], true), dtypes: ["float64"] },
  standardize: (x) => nn.standardize(x),
  "standardize 0": (x) => nn.standardize(x, 0, { epsilon: 0.5 }),
  "standardize given": (x, mean, variance) => nn.standardize(x, 0, { mean, variance }),
  "whole numbers": (x) => nn.celu(x),
  booleans: (x) => nn.hardTanh(x),
  none: (x) => nn.mish(x),
}, "JAX and Keras");

testOnDevices("activations keep what is no number, and second slopes are there", async () => {
  using _s = tf.scope();
  const odd = [NaN, Infinity, -Infinity];
  assertEquals(await nn.hardTanh(odd).array(), [NaN, 1, -1]);
  assertEquals(await nn.mish([NaN, Infinity]).array(), [NaN, Infinity]);
  assertEquals(await nn.celu(odd).array(), [NaN, Infinity, -1]);
  assertEquals(await nn.squareplus([NaN, Infinity]).array(), [NaN, Infinity]);
  const bend = tf.grad((x) => tf.sum(tf.grad((x) => tf.sum(nn.sparsePlus(x)))(x)));
  assertEquals(await bend(tf.tensor([-2, 0, 2])).array() as unknown, [0, 0.5, 0]);
  const [y, dy] = tf.jvp((x: tf.Tensor) => nn.glu(x), [tf.tensor([2, 0])], [tf.tensor([1, 0])]);
  assertEquals([await (y as tf.Tensor).array(), await (dy as tf.Tensor).array()], [[1], [0.5]]);
});

testOnDevices("sparsemax() sums to one along its axis, of any rank and in ties", async () => {
  using _s = tf.scope();
  for (const axis of [0, 1, -1]) {
    const p = nn.sparsemax(tf.randomNormal([4, 5, 3], 0, 2, "float32", 7), axis);
    const off = tf.max(tf.abs(tf.sub(tf.sum(p, axis), 1)));
    assertEquals(await tf.less(off, 1e-5).array() as unknown, true);
    assertEquals(await tf.min(p).array() as unknown, 0);
  }
});

Deno.test("activations refuse what is no real number, odd halves and axes out of range", () => {
  const n = nn as unknown as Record<string, (...args: unknown[]) => unknown>;
  const unary = ["celu", "glu", "hardSigmoid", "hardSilu", "hardTanh", "hardShrink", "softShrink"];
  const more = ["sparsePlus", "sparseSigmoid", "mish", "squareplus", "tanhShrink", "sparsemax"];
  for (const fn of [...unary, ...more, "logMeanExp", "standardize"]) {
    for (const x of [tf.complex([1, 2], [0, 0]), tf.tensor(["a", "b"])]) {
      const wanted = `Cannot use ${x.dtype} as x of ${fn}: wanted real numbers`;
      assertThrows(() => n[fn](x), TypeError, wanted);
    }
    assertThrows(() => n[fn](), TypeError, `'x' passed to '${fn}'`);
  }
  const refusals: [() => unknown, new (...args: never[]) => Error, string][] = [
    [() => nn.glu([1, 2, 3]), tf.ValueError, "x of shape [3]: wanted an even extent along axis -1"],
    [() => nn.glu([1, 2], 1), tf.ValueError, "axis 1"],
    [() => nn.glu(1), tf.ValueError, "axis -1"],
    [() => nn.sparsemax(1), tf.ValueError, "axis -1"],
    [() => nn.sparsemax([1], 2), tf.ValueError, "axis 2"],
    [() => nn.logMeanExp([1], 3), tf.ValueError, "axis"],
    [() => n.threshold([1], "a", 0), TypeError, "'threshold'"],
    [() => n.threshold([1], 0), TypeError, "'defaultValue'"],
    [() => n.celu([1], "a"), TypeError, "'alpha'"],
    [() => n.squareplus([1], null), TypeError, "'b'"],
    [() => n.hardShrink([1], "a"), TypeError, "'threshold'"],
    [() => n.standardize([1], 0, { eps: 1 }), TypeError, "epsilon"],
  ];
  for (const [run, kind, text] of refusals) assertThrows(run, kind, text);
});
