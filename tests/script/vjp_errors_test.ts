/** Errors of a gradient that a script op was given: they name the function, its op and node, and the user's line, however it is run. */

import * as tf from "@weft/weft";
import { assert, assertEquals, assertInstanceOf, assertMatch, assertRejects } from "@std/assert";
import { testOnDevices } from "../devices.ts";

type Vjp = NonNullable<tf.NumpyFunctionOptions["vjp"]>;

const SPEC = tf.TensorSpec([2]);

/** Gradients that fail when they are called, or when what they made runs. */
const VJPS: Readonly<Record<string, Vjp>> = {
  "that throws": () => {
    throw new TypeError("no slope");
  },
  "whose op refuses its inputs": ({ inputs: [x] }, dy) => tf.matMul(x, dy),
  "whose op fails when it runs": (_, dy) => {
    const body = (): tf.NdArray => {
      throw new TypeError("no slope");
    };
    return tf.numpyFunction(body, [dy], SPEC);
  },
};

const score = (v: tf.NdArray): tf.NdArray => v;

/** Ways to differentiate a function. */
const WAYS: Readonly<
  Record<string, (f: (x: tf.Tensor) => tf.Tensor, x: tf.Tensor) => Promise<unknown>>
> = {
  "eagerly": async (f, x) => await tf.grad(f)(x),
  "in a function": async (f, x) => await tf.function((x: tf.Tensor) => tf.grad(f)(x)).async(x),
  "through a function": async (f, x) => await tf.grad(tf.function(f) as typeof f)(x),
  "in a session": async (f) => {
    const graph = new tf.Graph();
    await using sess = new tf.Session({ graph });
    const dx = graph.asDefault(() => {
      const x = tf.placeholder("float32", [2], "x");
      return tf.gradients(f(x), [x])[0] as tf.Tensor;
    });
    await sess.run(dx, { feeds: { "x:0": [1, 2] } });
  },
};

for (const [what, vjp] of Object.entries(VJPS)) {
  for (const [way, differentiate] of Object.entries(WAYS)) {
    testOnDevices(`a vjp ${what} is named, ${way}`, async () => {
      const before = tf.memory().numTensors;
      const x = tf.tensor([1, 2]);
      const f = (x: tf.Tensor): tf.Tensor =>
        tf.sum(tf.numpyFunction(score, [x], SPEC, { vjp, stateful: what.length % 2 === 0 }));
      const error = await assertRejects(() => differentiate(f, x), tf.errors.OpError);
      assertInstanceOf(error, tf.errors.InvalidArgumentError);
      assertMatch(error.message, /[Ii]n the vjp of 'score'/);
      assertMatch(error.op!, /^PyFunc/);
      assertMatch(error.message, /vjp_errors_test\.ts:(14|16|19)\b/);
      if (way === "eagerly") assertEquals(error.node, undefined);
      else assert(error.message.includes(`[[{{node ${error.node}}}]]`), error.message);
      const causes: unknown[] = [];
      for (let e: unknown = error; e instanceof Error; e = e.cause) causes.push(e);
      assert(causes.length > 1);
      if (what !== "whose op refuses its inputs") {
        assertEquals(String(causes.at(-1)), "TypeError: no slope");
      }
      x.dispose();
      assertEquals(tf.memory().numTensors, before);
    });
  }
}

testOnDevices("a vjp that worked leaves no name behind", async () => {
  const body = (): tf.NdArray => {
    throw new TypeError("no slope");
  };
  const graph = new tf.Graph();
  await using sess = new tf.Session({ graph });
  const y = graph.asDefault(() => {
    const x = tf.constant([1, 2]);
    const y = tf.numpyFunction(score, [x], SPEC, { vjp: (_, dy) => tf.mul(dy, 2) });
    const [dx] = tf.gradients(y, [x]);
    return tf.numpyFunction(body, [dx as tf.Tensor], SPEC);
  });
  const error = await assertRejects(() => sess.run(y), tf.errors.InvalidArgumentError);
  assert(!error.message.includes("vjp of"), error.message);
});
