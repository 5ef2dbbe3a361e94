/** Attention with masks, groups and windows, beside JAX: `make_jax_attention.py` writes what it makes. */
import * as tf from "@weft/weft";
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices, testRowOnDevices } from "../devices.ts";
import { inSession } from "../in_session.ts";
import { fuseAll } from "./fused.ts";
import JAX from "./jax_attention.json" with { type: "json" };

type Inputs = readonly [tf.Tensor, tf.Tensor, tf.Tensor];
interface Case {
  readonly inputs: readonly number[][][][][];
  readonly options: unknown;
  readonly output: unknown;
  readonly grads: readonly unknown[];
}
type Attend = (...inputs: Inputs) => tf.Tensor;

function near(found: tf.Tensor, wanted: unknown, text: string, limit = 2e-5): void {
  const numbers = (wanted as number[]).flat(Infinity) as number[];
  const data = found.dataSync() as Float32Array;
  assertEquals(data.length, numbers.length, text);
  data.forEach((x, i) =>
    assertAlmostEquals(x, numbers[i], limit * Math.max(1, Math.abs(numbers[i])), text)
  );
}

/** Runs with plans that fuse small attentions too. */
function fused<T>(run: () => T): T {
  using _all = fuseAll();
  return run();
}

for (const [name, { inputs, options, output, grads }] of Object.entries(JAX)) {
  testRowOnDevices(`attention with ${name} is JAX's, in every way and with gradients`, async () => {
    const given = options as tf.AttentionOptions;
    const attend: Attend = (q, k, v) => tf.scaledDotProductAttention(q, k, v, given);
    const loss = (...all: tf.Tensor[]): tf.Tensor =>
      tf.sum(tf.square(attend(...all as unknown as Inputs)));
    const unknown = inputs.map((x) => {
      const [, , heads, depth] = tf.tidy(() => tf.tensor(x).shape);
      return new tf.TensorSpec([null, null, heads, depth], "float32");
    });
    for (const dtype of ["float32", "float16", "float64"] as const) {
      const limit = dtype === "float16" ? 1e-2 : 2e-5;
      const all = inputs.map((x) => tf.cast(tf.tensor(x), dtype)) as unknown as Inputs;
      near(tf.cast(attend(...all), "float32"), output, `eager, ${dtype}`, limit);
      if (dtype !== "float32") continue;
      const ways: Record<string, Attend> = {
        compiled: tf.function(attend),
        "compiled for any shape": tf.function(attend, { inputSignature: unknown }),
      };
      for (const [way, f] of Object.entries(ways)) near(fused(() => f(...all)), output, way);
      near(await inSession(attend as (...x: tf.Tensor[]) => tf.Tensor, ...all), output, "session");
      const of = tf.grads(loss), compiled = tf.function((...x: tf.Tensor[]) => of(x));
      const found = {
        eager: of(all as unknown as tf.Tensor[]),
        compiled: fused(() => compiled(...all)),
        session: await inSession((...x) => of(x), ...all),
      };
      for (const [way, list] of Object.entries(found)) {
        grads.forEach((g, i) => near(list[i], g, `gradient ${i}, ${way}`, 1e-4));
      }
    }
  });
}

testOnDevices("compiled attention with masks is one kernel", async (on) => {
  const q = tf.randomNormal([2, 6, 4, 8]), kv = tf.randomNormal([2, 6, 2, 8]);
  const all: Record<string, tf.AttentionOptions> = {
    "a mask": { mask: tf.greater(tf.randomUniform([2, 1, 6, 6]), 0.5) },
    "a bias and a cap": { bias: tf.randomNormal([1, 1, 6, 6]), softcap: 2 },
    "lengths": { keyLengths: tf.tensor([3, 6], [2], "int32") },
    "a window": { window: 2 },
    "causal": { causal: true },
  };
  for (const [name, options] of Object.entries(all)) {
    const f = tf.function(() => tf.scaledDotProductAttention(q, kv, kv, options));
    const plain = tf.scaledDotProductAttention(q, kv, kv, options);
    const y = fused(() => f());
    near(y, plain.arraySync(), name);
    const { dispatches } = await tf.profile(() => f());
    if (on === "webgpu") assert(dispatches <= 2, `${name}: ${dispatches} dispatches`);
  }
});

testOnDevices("a query that sees no key gets zeros, and gradients of zero", () => {
  const x = tf.tensor([[[[1, 2, 3, 4]], [[5, 6, 7, 8]]]]);
  const options = {
    mask: tf.tensor([[[[false, false], [true, false]]]]),
    returnLogSumExp: true,
  } as const;
  const { output, logSumExp } = tf.scaledDotProductAttention(x, x, x, options);
  assertEquals(output.arraySync(), [[[[0, 0, 0, 0]], [[1, 2, 3, 4]]]]);
  assertEquals(logSumExp.arraySync(), [[[-Infinity], [35]]]);
  const kv = x.clone();
  const g = tf.grad((q: tf.Tensor) =>
    tf.sum(tf.square(tf.scaledDotProductAttention(q, kv, kv, { mask: options.mask })))
  )(x);
  assertEquals(g.arraySync(), tf.zerosLike(x).arraySync());
  // Padding before and causal order together hide all keys of the first query.
  const both = tf.scaledDotProductAttention(x, x, x, { causal: true, mask: [[[[false, true]]]] });
  assertEquals(both.arraySync(), [[[[0, 0, 0, 0]], [[5, 6, 7, 8]]]]);
});

testOnDevices("the logarithm of sums lets parts of attention be joined", () => {
  const q = tf.randomNormal([2, 3, 4, 8]), kv = tf.randomNormal([2, 10, 2, 8]);
  const whole = tf.scaledDotProductAttention(q, kv, kv);
  const parts = tf.split(kv, [4, 6], 1).map((x) =>
    tf.scaledDotProductAttention(q, x, x, { returnLogSumExp: true })
  );
  const weights = tf.softmax(tf.stack(parts.map((p) => p.logSumExp), -1));
  const joined = tf.addN(
    parts.map((p, i) => tf.mul(p.output, tf.slice(weights, [0, 0, 0, i], [-1, -1, -1, 1]))),
  );
  near(joined, whole.arraySync(), "joined");
});

testOnDevices(
  "the logarithm of sums is that of the scores in functions and sessions, with its gradient",
  async () => {
    const q = tf.randomNormal([2, 3, 4, 8]), k = tf.randomNormal([2, 5, 2, 8]);
    const mask = tf.less(tf.range(0, 5), 4),
      wanted = tf.tidy(() => {
        const [a, b] = [q, tf.gather(k, [0, 0, 1, 1], 2)].map((x) => tf.transpose(x, [0, 2, 1, 3]));
        const scores = tf.mul(tf.matMul(a, b, false, true), 8 ** -0.5);
        return tf.transpose(tf.logSumExp(tf.slice(scores, [0, 0, 0, 0], [2, 4, 3, 4]), -1), [
          0,
          2,
          1,
        ]);
      });
    const sums = (q: tf.Tensor): tf.Tensor =>
      tf.scaledDotProductAttention(q, k, k, { mask, returnLogSumExp: true }).logSumExp;
    near(sums(q), wanted.arraySync(), "eager");
    near(tf.function(sums)(q), wanted.arraySync(), "function");
    near(await inSession(sums, q), wanted.arraySync(), "session");
    const slope = (q: tf.Tensor): tf.Tensor => tf.grad((q: tf.Tensor) => tf.sum(sums(q)))(q);
    const g = slope(q), h = 1e-2, along = tf.sum(g).item();
    const [up, down] = [h, -h].map((d) => tf.sum(sums(tf.add(q, d))).item());
    assertAlmostEquals((up - down) / (2 * h), along, 2e-2 * Math.max(1, Math.abs(along)));
    near(tf.function(slope)(q), g.arraySync(), "gradient in a function");
    near(await inSession(slope, q), g.arraySync(), "gradient in a session");
  },
);

testOnDevices(
  "dropout of attention drops the same weights in a function's and a session's gradient",
  async () => {
    const q = tf.randomNormal([2, 3, 2, 8]);
    const [k, values] = [0, 1].map(() => tf.randomNormal([2, 6, 2, 8]));
    // The result is linear in the values: with one draw it is the product of them and their gradient.
    const both = (v: tf.Tensor): tf.Tensor => {
      using tape = new tf.GradientTape();
      tape.watch(v);
      const y = tf.sum(tf.scaledDotProductAttention(q, k, v, { dropout: 0.5, seed: 3 }));
      return tf.stack([y, tf.sum(tf.mul(tape.gradient(y, v)!, v))]);
    };
    const ways = {
      eager: both(values),
      function: tf.function(both)(values),
      session: await inSession(both, values),
    };
    for (const [way, found] of Object.entries(ways)) {
      const [y, product] = found.dataSync();
      assertAlmostEquals(product, y, 1e-4 * Math.max(1, Math.abs(y)), way);
    }
  },
);

testOnDevices("dropout of attention keeps the mean, repeats by its seed and has gradients", () => {
  const q = tf.zeros([1, 1, 1, 4]), v = tf.ones([1, 4000, 1, 4]);
  const run = (seed: number): tf.Tensor =>
    tf.scaledDotProductAttention(q, v, v, { dropout: 0.25, seed });
  tf.setRandomSeed(1);
  const first = run(7).arraySync(), mean = tf.mean(run(8)).item();
  tf.setRandomSeed(1);
  assertEquals(run(7).arraySync(), first);
  assert(Math.abs(mean - 1) < 0.05 && mean !== 1, String(mean));
  const g = tf.grad((x: tf.Tensor) =>
    tf.sum(tf.scaledDotProductAttention(q, v, x, { dropout: 0.25, seed: 3 }))
  )(v);
  assert(Math.abs(tf.sum(g).item() / 4 - 1) < 0.05);
});

testOnDevices("rows of a ragged tensor attend by their lengths", () => {
  const rows = [[[1, 0, 0, 1]], [[0, 1, 0, 0], [0, 0, 1, 0], [1, 1, 0, 0]]];
  const ragged = tf.ragged.constant(rows, { raggedRank: 1 });
  const x = tf.expandDims(ragged.toTensor(), 2) as tf.Tensor;
  const y = tf.scaledDotProductAttention(x, x, x, { keyLengths: ragged.rowLengths() });
  rows.forEach((row, b) => {
    const own = tf.expandDims(tf.tensor([row]), 2);
    const part = tf.slice(y, [b, 0, 0, 0], [1, row.length, 1, 4]);
    near(part, tf.scaledDotProductAttention(own, own, own).arraySync(), `row ${b}`);
  });
});

Deno.test("masks of attention that do not fit are refused", () => {
  const x = tf.ones([1, 3, 4, 4]), kv = tf.ones([1, 3, 2, 4]);
  const cases: [tf.AttentionOptions, string][] = [
    [{ mask: tf.ones([1, 1, 1, 3, 3]) }, "must broadcast to [batch, heads, queries, keys]"],
    [
      { mask: tf.ones([3, 3, 3]) },
      "mask must broadcast to [batch, heads, queries, keys], here [1,4,3,3], received shape [3,3,3]",
    ],
    [{ mask: tf.ones([2, 1, 3, 3]) }, "here [1,4,3,3], received shape [2,1,3,3]"],
    [{ bias: tf.ones([3, 2]) }, "bias must broadcast"],
    [{ keyLengths: [[1]] }, "keyLengths must have shape [batch]"],
    [{ window: -1 }, "window"],
    [{ dropout: 1 }, "rate"],
    [{ masks: 1 } as never, "masks"],
  ];
  for (const [options, text] of cases) {
    assertThrows(() => tf.scaledDotProductAttention(x, kv, kv, options), Error, text);
  }
  const three = tf.ones([1, 3, 3, 4]);
  assertThrows(() => tf.scaledDotProductAttention(x, three, three), tf.ValueError, "Cannot attend");
});
