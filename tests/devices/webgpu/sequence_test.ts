/** Sequences: what compiled calls recorded is given again only where that does the same. */
import * as tf from "@weft/weft";
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { testOnGpu } from "../../devices.ts";
import { DOUBLE_PLAN, freshDevice, SPEC, VALUES } from "./fresh_device.ts";
import { dispatchesMade } from "./made.ts";

function chain(length: number): (x: tf.Tensor, y: tf.Tensor) => tf.Tensor {
  return tf.function((x: tf.Tensor, y: tf.Tensor) => {
    for (let i = 0; i < length; i++) x = tf.matMul(x, y);
    return tf.add(x, y);
  }) as (x: tf.Tensor, y: tf.Tensor) => tf.Tensor;
}

const eye = (k: number): tf.Tensor => tf.tensor([k, 0, 0, k], [2, 2]);

testOnGpu("a compiled call is given again, on whatever it is called with", () => {
  const f = chain(3);
  const inputs = [1, 2, 3].map(eye);
  const held: [tf.Tensor, number][] = [];
  const call = (i: number, k: number): void => {
    const y = f(inputs[i], inputs[k]);
    held.push([y, (i + 1) * (k + 1) ** 3 + k + 1]);
    // Some results outlive the next calls, whose memory must be another.
    if (held.length > 3) check(held.shift()!);
  };
  const check = ([y, value]: [tf.Tensor, number]): void => {
    assertEquals(y.arraySync(), [[value, 0], [0, value]]);
    y.dispose();
  };
  const pairs = [[0, 1], [1, 0], [2, 1], [1, 1], [0, 2], [2, 2]];
  for (let round = 0; round < 6; round++) for (const [i, k] of pairs) call(i, k);
  // Results that are held may have the memory of some.
  assert(dispatchesMade(() => pairs.forEach(([i, k]) => call(i, k))) <= 3 * pairs.length / 2);
  held.forEach(check);
  tf.dispose(inputs);
});

testOnGpu("a compiled call whose memory others have runs its kernels", () => {
  const f = chain(2), a = eye(2), b = eye(3);
  const expected = [[21, 0], [0, 21]];
  const call = (): tf.Tensor => f(a, b);
  for (let i = 0; i < 4; i++) call().dispose();
  assertEquals(dispatchesMade(() => call().dispose()), 0);
  // All free memory of that size is taken by other tensors.
  const others = Array.from({ length: 40 }, (_, i) => tf.add(a, i));
  const results: tf.Tensor[] = [];
  assert(dispatchesMade(() => results.push(call(), call())) > 0);
  for (const y of results) assertEquals(y.arraySync(), expected);
  others.forEach((t, i) => assertEquals(t.arraySync(), [[2 + i, i], [i, 2 + i]]));
  tf.dispose([...others, ...results, a, b]);
});

testOnGpu("a compiled call that is given again reads constants, fed or not", () => {
  const f = tf.function((x: tf.Tensor) => {
    const c = tf.constant([[1, 2], [3, 4]]);
    return [tf.matMul(x, c), c];
  }) as (x: tf.Tensor) => tf.Tensor[];
  const a = eye(1);
  let x = a;
  for (let i = 0; i < 8; i++) {
    const [y, c] = f(x);
    assertEquals(c.arraySync(), [[1, 2], [3, 4]]);
    const expected = x === a ? [[1, 2], [3, 4]] : [[7, 10], [15, 22]];
    assertEquals(y.arraySync(), expected);
    y.dispose();
    if (x !== a) x.dispose();
    // The constant's own memory as the input.
    x = i % 3 === 2 ? c : a;
    if (x === a) c.dispose();
  }
  tf.dispose([x, a]);
});

testOnGpu("uploads do not overtake a compiled call that is given again", () => {
  const f = chain(2);
  const a = eye(2), b = eye(3);
  for (let i = 0; i < 4; i++) f(a, b).dispose();
  const results: tf.Tensor[] = [];
  for (let i = 0; i < 20; i++) {
    const x = eye(i);
    results.push(f(x, b));
    // Its memory is free for the next upload, while the call is still to be submitted.
    x.dispose();
  }
  results.forEach((y, i) => assertEquals((y.arraySync() as number[][])[0][0], 9 * i + 3));
  tf.dispose([...results, a, b]);
});

testOnGpu("training steps are given again", () => {
  const x = tf.tensor([[0.5, -1], [1, 2]]), labels = tf.tensor([[1, 0], [0, 1]]);
  const train = (compiled: boolean): number[] => {
    const w = tf.variable([[0.1, 0.2], [0.3, -0.1]]);
    const optimizer = tf.train.momentum(0.1, 0.9);
    const body = (): tf.Tensor =>
      optimizer.minimize(
        () => tf.mean(tf.square(tf.sub(tf.tanh(tf.matMul(x, w)), labels))),
        true,
        [w],
      ) as tf.Tensor;
    const step = compiled ? tf.function(body) as () => tf.Tensor : body;
    const losses: number[] = [];
    for (let i = 0; i < 12; i++) {
      using loss = step();
      losses.push(loss.item());
    }
    if (compiled) assertEquals(dispatchesMade(() => step().dispose()), 0);
    w.dispose();
    optimizer.dispose();
    return losses;
  };
  const eager = train(false);
  train(true).forEach((loss, i) => assertAlmostEquals(loss, eager[i], 1e-5));
  tf.dispose([x, labels]);
});

testOnGpu("a sequence whose inputs cannot be told apart is not recorded", async () => {
  const device = await freshDevice();
  const kernel = device.prepareKernel("double", DOUBLE_PLAN, [SPEC]);
  const buffer = device.upload(VALUES);
  for (
    const [inputs, constants, isGiven] of [
      [[buffer], [], true],
      [[buffer, buffer], [], false],
      [[buffer], [buffer], false],
    ] as const
  ) {
    const sequence = device.sequence(constants);
    let given = false;
    for (let i = 0; i < 5; i++) {
      const again = sequence.replay(inputs);
      given = again !== null;
      let out = again as readonly unknown[];
      if (again === null) sequence.record(inputs, () => out = kernel.run([inputs[0]]));
      device.free(out[0]);
    }
    assertEquals(given, isGiven);
  }
  device.destroy();
});
