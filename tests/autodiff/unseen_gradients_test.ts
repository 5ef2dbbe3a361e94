/** Gradients of variables that only bodies of scripts read: records list those that were read, eagerly and compiled. */
import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { testOnDevices } from "../devices.ts";

const scalar = tf.TensorSpec([]);
type Grads = Record<string, tf.Tensor>;

/** Returns the gradients of the variables as values, by name. */
function values(grads: Grads): Record<string, unknown> {
  const found = Object.entries(grads).map(([name, g]) => [name, g.arraySync()] as const);
  return Object.fromEntries(found.sort(([a], [b]) => (a < b ? -1 : 1)));
}

testOnDevices("variableGrads() lists what scripts read, eagerly and compiled", async () => {
  using a = tf.variable(2, true, "unseen/a");
  using b = tf.variable(3, true, "unseen/b");
  using c = tf.variable([4, 5], true, "unseen/c");
  using _frozen = tf.variable(4, false, "unseen/frozen");
  const script = (body: (...xs: tf.Tensor[]) => tf.Tensor, xs: tf.Tensor[] = []): tf.Tensor =>
    tf.pyFunction((...given: tf.Tensor[]) => body(...given.slice(0, xs.length)), xs, scalar);
  const losses: Record<string, () => tf.Tensor> = {
    "one unseen": () => script(() => tf.mul(a, a)),
    "one unseen, one seen": () => tf.mul(b, script(() => tf.mul(a, a))),
    "one that is both": () => tf.mul(a, script((x) => tf.mul(a, x), [tf.mul(a, 1)])),
    "a vector": () => script(() => tf.sum(tf.mul(c, b))),
    "in a branch": () =>
      tf.cond(tf.constant(true), () => script(() => tf.mul(a, a)), () => tf.ones([])) as tf.Tensor,
    "in a loop": () =>
      tf.whileLoop(
        (i) => tf.less(i, 2),
        (i, x) => [tf.add(i, 1), script((x) => tf.mul(x, a), [x as tf.Tensor])],
        [tf.zeros([], "int32"), tf.mul(b, 1)],
      )[1] as tf.Tensor,
    "in two scripts": () => tf.add(script(() => tf.mul(a, 2)), script(() => tf.mul(a, a))),
    "no script": () => tf.mul(a, b),
  };
  for (const [name, loss] of Object.entries(losses)) {
    const wanted = values(tf.variableGrads(loss).grads);
    const f = tf.function(() => tf.variableGrads(loss));
    const awaited = await f.async();
    assertEquals([values(f().grads), values(awaited.grads)], [wanted, wanted], name);
    const before = tf.memory().numTensors;
    tf.dispose(f());
    assertEquals(tf.memory().numTensors, before, name);
    const deep = tf.function(() => ({ list: [tf.variableGrads(loss).grads] }));
    assertEquals(values(deep().list[0]), wanted, name);
    const graph = new tf.Graph();
    const { grads } = graph.asDefault(() => tf.variableGrads(loss));
    await using session = new tf.Session({ graph });
    const run = await session.run(grads) as Record<string, unknown>;
    for (const [key, value] of Object.entries(wanted)) {
      const found = run[key];
      assertEquals(found instanceof tf.NdArray ? found.toArray() : found, value, name);
    }
  }
});

testOnDevices("what a compiled function returned can be applied as eager gradients are", () => {
  const steps: Record<string, (loss: () => tf.Tensor) => () => Grads> = {
    eager: (loss) => () => tf.variableGrads(loss).grads,
    compiled: (loss) => tf.function(() => tf.variableGrads(loss).grads),
  };
  const results = Object.values(steps).map((make) => {
    using a = tf.variable(2, true, "applied/a");
    using b = tf.variable(3, true, "applied/b");
    using optimizer = tf.train.momentum(0.125, 0.5);
    const both = make(() => tf.pyFunction(() => tf.mul(a, b), [], scalar));
    const one = make(() => tf.pyFunction(() => tf.mul(a, a), [], scalar));
    // A zero gradient would move b on by its momentum.
    for (const step of [both, one, one]) optimizer.applyGradients(step());
    return [a.item(), b.item()];
  });
  assertEquals(results[1], results[0]);
  assertEquals(results[0][1], 2.75);
});
