/** Gradients of compiled loops, whose turns are one step of a tape: those of eager loops, of both orders, and nothing is left. */
import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import { Turns } from "../../../src/engine/runtime/functions/turns.ts";
import { testOnDevices } from "../../devices.ts";
import { some } from "../../effort.ts";

type Loss = (x: tf.Tensor) => tf.Tensor;

const start = (): tf.Tensor => tf.scalar(0, "int32");
const repeat = (n: number, next: (...vars: tf.Tensor[]) => tf.Tensor[], vars: tf.Tensor[]) =>
  tf.whileLoop(
    (i) => tf.less(i, n),
    (i, ...rest) => [tf.add(i, 1), ...next(...rest as tf.Tensor[])],
    [start(), ...vars],
  ).slice(1) as tf.Tensor[];
const row = (): tf.Tensor => tf.tensor([[0.5, -1]]);
const cell = (h: tf.Tensor, x: tf.Tensor, w: tf.Tensor): tf.Tensor =>
  tf.tanh(tf.add(tf.squeeze(tf.matMul(tf.expandDims(h, 0), w), [0]), x));

/** By name: a loss of a matrix `[2, 2]`. */
const LOSSES: Readonly<Record<string, Loss>> = {
  "a captured matrix": (w) => repeat(4, (y) => [tf.tanh(tf.matMul(y, w))], [row()])[0],
  "a variable that is multiplied": (w) => repeat(3, (y) => [tf.mul(tf.sin(y), y)], [w])[0],
  "a variable that stays": (w) =>
    repeat(3, (y, c) => [tf.mul(y, c), c], [tf.mul(w, 3), tf.add(w, 1)])[0],
  "variables that change places": (w) =>
    repeat(3, (y, c) => [c, tf.mul(y, 2)], [tf.mul(w, 3), tf.square(w)])[0],
  "one tensor as two variables": (w) =>
    repeat(3, (y, c) => {
      const z = tf.mul(tf.add(y, c), tf.add(y, 0.5));
      return [z, z];
    }, [w, w])[1],
  "no turn": (w) => repeat(0, (y) => [tf.mul(y, 2)], [tf.square(w)])[0],
  "picked rows": (w) =>
    tf.whileLoop(
      (i) => tf.less(i, 2),
      (i, y) => [tf.add(i, 1), tf.add(tf.mul(y, 0.5), tf.square(tf.gather(w, i)))],
      [start(), tf.ones([2])],
    )[1] as tf.Tensor,
  "a loop in a loop": (w) =>
    repeat(3, (y) => repeat(2, (z) => [tf.tanh(tf.matMul(z, w))], [y]), [row()])[0],
  "a variable without gradient": (w) =>
    repeat(3, (y, n) => [tf.mul(y, tf.cast(n, "float32")), tf.add(n, 1)], [w, start()])[0],
  "scan": (w) => tf.scan((h, x) => cell(h, x, w), w, { initializer: tf.ones([2]) }) as tf.Tensor,
  "a fold": (w) => tf.foldl((h: tf.Tensor, x: tf.Tensor) => cell(h, x, w), w) as tf.Tensor,
};

const squares = (loss: Loss): Loss => (w) => tf.sum(tf.square(loss(w)));

testOnDevices("gradients of compiled loops are those of eager ones, of both orders", () => {
  const w = tf.tensor([[0.1, 0.2], [0.3, -0.4]]);
  const before = tf.memory().numTensors;
  const entries = Object.entries(LOSSES), twice = some(entries, 3);
  for (const entry of entries) {
    const [name, loss] = entry;
    tf.tidy(() => {
      const first = (f: Loss): Loss => tf.grad(squares(f));
      const second = (f: Loss): Loss => tf.grad(squares(first(f)));
      for (const [order, gradient] of [["first", first], ["second", second]] as const) {
        if (order === "second" && !twice.includes(entry)) continue;
        const wanted = gradient(loss)(w).dataSync();
        const compiled = {
          "the loop": gradient(tf.function(loss)),
          all: tf.function(gradient(loss)),
        };
        for (const [what, f] of Object.entries(compiled)) {
          f(w).dataSync().forEach((x, i) =>
            assert(
              Math.abs(x - wanted[i]) <= 1e-4 * Math.max(1, Math.abs(wanted[i])),
              `${name}, ${order} order, ${what} compiled: ${x}, wanted ${wanted[i]}`,
            )
          );
        }
      }
    });
  }
  assertEquals(tf.memory().numTensors, before);
});

Deno.test("the turns of a loop are one step of its tape", () => {
  const { begin } = Turns.prototype, counts: number[] = [];
  Turns.prototype.begin = function (...args) {
    counts.push(this.count);
    return begin.apply(this, args);
  };
  try {
    using x = tf.ones([2]);
    const f = tf.function((x: tf.Tensor) => repeat(7, (y) => [tf.mul(tf.sin(y), x)], [x])[0]);
    tf.tidy(() => tf.grad(f)(x));
  } finally {
    Turns.prototype.begin = begin;
  }
  assertEquals(counts, [7]);
});

/** Turns on a vector; on a GPU, some of these are begun before the condition is read. */
const NEXT: Readonly<Record<string, Loss>> = {
  "double": (y) => tf.mul(y, 2),
  "sub max": (y) => tf.sub(y, tf.max(y)),
  "mul sum": (y) => tf.mul(y, tf.sum(y)),
  "abs mul sum": (y) => tf.mul(tf.abs(y), tf.sum(y)),
  "branch": (y) => tf.cond(tf.greater(tf.sum(y), 0), () => tf.sin(y), () => tf.mul(y, y)),
  "script": (y) => tf.pyFunction((v) => tf.mul(v, v), [y], tf.TensorSpec([3], "float32")),
};

/** Ends of the loop: known to the host, by what a turn made, and before the first turn. */
const WHILE: Readonly<Record<string, (i: tf.Tensor, y: tf.Tensor) => tf.Tensor>> = {
  "turns alone": (i) => tf.less(i, 2),
  "the sum": (i, y) => tf.logicalAnd(tf.less(i, 2), tf.less(tf.sum(y), 9)),
  "one element": (i, y) => tf.logicalAnd(tf.less(i, 3), tf.less(tf.gather(y, 2), 1.5)),
  "the start": (i, y) => tf.less(tf.add(tf.cast(i, "float32"), tf.sum(y)), -9),
};

testOnDevices(
  "a loop's gradient leaves out a turn that is begun before the loop is known to end",
  async () => {
    const x = tf.tensor([0.5, -0.25, 1]), before = tf.memory().numTensors;
    for (const [turn, next] of Object.entries(NEXT)) {
      for (const [end, goesOn] of Object.entries(WHILE)) {
        const loop: Loss = (x) =>
          tf.whileLoop((i, y) => goesOn(i, y), (i, y) => [tf.add(i, 1), next(y)], [start(), x])[1];
        const gradient = tf.grad((x: tf.Tensor) => tf.sum(tf.square(loop(x))));
        using _ = tf.scope();
        const have = await tf.function(gradient).async(x), want = gradient(x);
        assertEquals(await have.data(), await want.data(), `${turn} while ${end}`);
      }
    }
    assertEquals(tf.memory().numTensors, before);
  },
);
