/** Errors of a gradient that a script op was given: they name the function, its op and node, and the user's line, however it is run. */

import * as tf from "@weft/weft";
import { assert, assertEquals, assertInstanceOf, assertMatch, assertRejects } from "@std/assert";
import { fileName, isBundled, testOnDevices } from "../devices.ts";

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

/** The lines of {@linkcode VJPS} that fail. */
const LINE = new RegExp(
  `${fileName(import.meta.url)}:${isBundled(import.meta.url) ? "\\d+" : "(14|16|19)"}\\b`,
);

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
      assertInstanceOf(error, tf.errors.InvalidArgumentError, error.message);
      assertMatch(error.message, new RegExp(`[Ii]n the vjp of '${score.name}'`));
      assertMatch(error.op!, /^PyFunc/);
      assertMatch(error.message, LINE);
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

/** Gradients of an input of shape [2], and the shapes that they have. */
const SHAPED: Readonly<Record<string, (x: tf.Tensor, dy: tf.Tensor) => tf.Tensor>> = {
  "float32[2]": (x, dy) => tf.mul(dy, tf.mul(x, 3)),
  "float32[3]": () => tf.constant([1, 2, 3]),
  "float32[]": (_, dy) => tf.sum(dy),
  "float32[1,2]": (_, dy) => tf.reshape(dy, [1, -1]),
  "float32[4]": (_, dy) => tf.concat([dy, dy]),
};

type Own = (x: tf.Tensor, gradient: (x: tf.Tensor, dy: tf.Tensor) => tf.Tensor) => tf.Tensor;

/** Ops with gradients of users', and what errors call them. */
const OWN: Readonly<Record<string, readonly [Own, RegExp]>> = {
  "a vjp": [
    (x, gradient) =>
      tf.numpyFunction(score, [x], "float32", {
        shapeFn: (spec) => spec,
        vjp: ({ inputs: [x] }, dy) => gradient(x, dy),
      }),
    new RegExp(
      `vjp of ${score.name} returned (.*) as the gradient of input 0, which is float32\\[2\\]`,
    ),
  ],
  "customGrad()": [
    (x, gradient) =>
      tf.customGrad((x, save) => {
        save([x]);
        const value = tf.mul(x, 1);
        return { value, gradFunc: (dy, [x]) => gradient(x, dy) };
      })(x),
    /gradient of input 0 that `obj\.gradFunc` of customGrad\(f\) returned: received (.*), wanted float32\[2\]/,
  ],
};

for (const [what, [own, text]] of Object.entries(OWN)) {
  testOnDevices(`the shape of a gradient of ${what} is checked when it is known`, async () => {
    for (const [received, gradient] of Object.entries(SHAPED)) {
      for (const shape of [null, [null], [2]]) {
        const f = (x: tf.Tensor): tf.Tensor => tf.square(own(x, gradient));
        const graph = new tf.Graph();
        const ways: Record<string, () => unknown> = {
          "in a session": async () => {
            await using sess = new tf.Session({ graph });
            const dx = graph.asDefault(() =>
              tf.gradients(f(tf.placeholder("float32", shape, "x")), [
                graph.getTensorByName("x:0"),
              ])[0] as tf.Tensor
            );
            return await sess.run(dx, { feeds: { "x:0": [1, 2] } });
          },
          "in a function": async () => {
            const df = tf.function((x: tf.Tensor) => tf.grad(f)(x), {
              inputSignature: [tf.TensorSpec(shape)],
            });
            return await (await df.async(tf.tensor([1, 2])) as tf.Tensor).ndarray();
          },
        };
        for (const [way, run] of Object.entries(ways)) {
          const place = `${received} of ${shape} ${way}`;
          if (received === "float32[2]") {
            assertEquals([...(await run() as tf.NdArray).data as Float32Array], [6, 24], place);
            continue;
          }
          const error = await assertRejects(async () => await run(), Error, undefined, place);
          assertInstanceOf(error, tf.errors.ValueError, `${place}: ${error}`);
          assertEquals(text.exec(error.message.replaceAll("?", "2"))?.[1], received, place);
        }
      }
    }
  });
}

testOnDevices("a gradient whose shape is checked is differentiated, and written", async () => {
  const graph = new tf.Graph();
  const [d, dd] = graph.asDefault(() => {
    const x = tf.placeholder("float32", null, "x");
    const vjp: Vjp = ({ inputs: [x] }, dy) => tf.mul(tf.mul(x, x), dy);
    const options = { shapeFn: (spec: unknown) => spec, vjp };
    const y = tf.numpyFunction(score, [x], "float32", options);
    const [d] = tf.gradients(y, [x]) as tf.Tensor[];
    return [d, tf.gradients(d, [x])[0] as tf.Tensor];
  });
  await using sess = new tf.Session({ graph });
  const feeds = { "x:0": [1, 3] };
  const found = await sess.run([d, dd] as const, { feeds }) as tf.NdArray[];
  assertEquals(found.map((a) => a.toArray()), [[1, 9], [2, 6]]);
  const def = graph.toGraphDef({ allowAnonymousScripts: true });
  assert(def.node.every(({ op }) => !op.startsWith("_")), def.node.map((n) => n.op).join());
  const copy = new tf.Graph();
  const [again] = copy.asDefault(() =>
    tf.importGraphDef(def, { prefix: "", returnElements: [dd.name] })
  );
  await using other = new tf.Session({ graph: copy });
  assertEquals((await other.run(again as tf.Tensor, { feeds }) as tf.NdArray).toArray(), [2, 6]);
});
