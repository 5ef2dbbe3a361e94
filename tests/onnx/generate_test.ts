/** Texts of decoders: greedy and drawn tokens, caches that double, streams that end early, scripts in the middle. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  encodeOnnx,
  generate,
  type GenerateOptions,
  loadOnnx,
  type OnnxModel,
} from "@weft/weft/onnx";
import { testOnDevices } from "../devices.ts";
import { testOnGpu } from "../ops/force_variant.ts";
import { noise } from "../ops/values.ts";

const [WORDS, WIDTH, HEADS, DEPTH, ROOM] = [11, 8, 2, 4, 64];

const weights = {
  words: noise("float32", [WORDS, WIDTH], 1),
  places: noise("float32", [ROOM, WIDTH], 2),
  all: noise("float32", [WIDTH, 3 * WIDTH], 3),
  last: noise("float32", [WIDTH, WORDS], 4),
};

/** A decoder of one layer. The mask hides keys, `causal` later ones. */
function decode(
  ids: tf.Tensor,
  mask: tf.Tensor,
  places: tf.Tensor,
  past: readonly tf.Tensor[],
): { logits: tf.Tensor; present: tf.Tensor[] } {
  const x = tf.add(tf.gather(weights.words, ids), tf.gather(weights.places, places));
  const heads = (x: tf.Tensor): tf.Tensor =>
    tf.transpose(tf.reshape(x, [1, -1, HEADS, DEPTH]), [0, 2, 1, 3]);
  const [q, k, v] = tf.split(tf.matMul(x, weights.all), 3, -1).map(heads);
  const present = [k, v].map((x, i) => tf.concat([past[i], x], 2));
  const scores = tf.mul(tf.matMul(q, present[0], false, true), 0.9);
  const [n, m] = [2, 3].map((axis) => tf.slice(tf.shape(scores), [axis], [1]));
  const at = (count: tf.Tensor): tf.Tensor => tf.range(0, tf.reshape(count, []), 1, "int32");
  const rows = tf.expandDims(tf.add(at(n), tf.sub(m, n)), 1), columns = tf.expandDims(at(m), 0);
  const isSeen = tf.logicalAnd(
    tf.greaterEqual(rows, columns),
    tf.expandDims(tf.expandDims(tf.equal(mask, 1), 1), 1),
  );
  const y = tf.matMul(tf.softmax(tf.where(isSeen, scores, -1e9)), present[1]);
  const joined = tf.reshape(tf.transpose(y, [0, 2, 1, 3]), [1, -1, WIDTH]);
  return { logits: tf.mul(tf.matMul(tf.add(x, joined), weights.last), 2), present };
}

const spec = (name: string, shape: (number | null)[], dtype: tf.DType = "float32"): tf.TensorSpec =>
  new tf.TensorSpec(shape, dtype, name);

/** Writes it as an ONNX file, and loads that. */
async function decoder(): Promise<OnnxModel> {
  const f = tf.function((ids, mask, places, key, value) => {
    const { logits, present } = decode(ids, mask, places, [key, value]);
    return { logits, "present.0.key": present[0], "present.0.value": present[1] };
  }, {
    inputSignature: [
      spec("input_ids", [1, null], "int32"),
      spec("attention_mask", [1, null], "int32"),
      spec("position_ids", [1, null], "int32"),
      spec("past_key_values.0.key", [1, HEADS, null, DEPTH]),
      spec("past_key_values.0.value", [1, HEADS, null, DEPTH]),
    ],
  });
  return await loadOnnx(encodeOnnx(f));
}

/** The logits behind some tokens, computed without a cache. */
function logitsOf(tokens: readonly number[]): number[] {
  const n = tokens.length;
  const none = tf.zeros([1, HEADS, 0, DEPTH]);
  const { logits } = decode(
    tf.tensor([...tokens], [1, n], "int32"),
    tf.ones([1, n], "int32"),
    tf.reshape(tf.range(0, n, 1, "int32"), [1, n]),
    [none, none],
  );
  return Array.from(tf.slice(logits, [0, n - 1, 0], [1, 1, WORDS]).dataSync() as Float32Array);
}

async function all(
  model: OnnxModel,
  prompt: number[],
  options: GenerateOptions,
): Promise<number[]> {
  const tokens: number[] = [];
  for await (const token of generate(model, prompt, options)) tokens.push(token);
  return tokens;
}

/** The most likely tokens, one after the other. */
function likely(prompt: readonly number[], count: number): number[] {
  const tokens = [...prompt];
  for (let i = 0; i < count; i++) {
    const logits = logitsOf(tokens);
    tokens.push(logits.indexOf(Math.max(...logits)));
  }
  return tokens.slice(prompt.length);
}

testOnDevices("generate() gives the most likely tokens, while its caches double", async () => {
  const model = await decoder(), wanted = likely([3, 1, 4], 20);
  for (const capacity of [1, 4, 64]) {
    assertEquals(await all(model, [3, 1, 4], { maxTokens: 20, capacity }), wanted, `${capacity}`);
  }
  let traces = 0;
  const call = model.call.bind(model);
  model.call = (...given) => (traces++, call(...given));
  assertEquals(
    await all(model, [3, 1, 4], { maxTokens: 20, capacity: 4, temperature: 1, topK: 1 }),
    wanted,
  );
  // The prompt, and caches of 4, 8, 16 and 32 places.
  assertEquals(traces, 5);
  await all(model, [3, 1, 4], { maxTokens: 20, capacity: 4, temperature: 1, topK: 1 });
  assertEquals(traces, 5);
  const [stop] = wanted.slice(5);
  const ended = await all(model, [3, 1, 4], { maxTokens: 20, stop });
  assertEquals(ended, wanted.slice(0, wanted.indexOf(stop)));
  assertEquals(await all(model, [3], { maxTokens: 0 }), []);
  model.dispose();
});

testOnGpu("a token takes one readback and no buffer", async () => {
  await tf.setBackend("webgpu");
  const model = await decoder();
  const tokens = generate(model, [3, 1, 4], { temperature: 0.7, topK: 5, topP: 0.9, seed: 1 });
  for (let i = 0; i < 6; i++) await tokens.next();
  const { readbacks, buffersCreated } = await tf.profile(() => tokens.next());
  assertEquals([readbacks, buffersCreated], [1, 0]);
  await tokens.return();
  model.dispose();
  await tf.setBackend("cpu");
});

testOnDevices("generate() draws by seed, among the most likely", async () => {
  const model = await decoder(), prompt = [5, 2];
  const options = { maxTokens: 12, temperature: 1.5, seed: 7 };
  const drawn = await all(model, prompt, options);
  assertEquals(await all(model, prompt, options), drawn);
  assert((await all(model, prompt, { ...options, seed: 8 })).join() !== drawn.join());
  assertEquals(await all(model, prompt, { ...options, topK: 1 }), likely(prompt, 12));
  assertEquals(await all(model, prompt, { ...options, topP: 1e-6 }), likely(prompt, 12));
  for (const cold of [{ topP: 1 }, { topP: 0.9 }, { topK: 5 }]) {
    for (const temperature of [1e-12, 1e-38, 1e-50]) {
      assertEquals(
        await all(model, prompt, { ...options, ...cold, temperature }),
        likely(prompt, 12),
      );
    }
  }
  // Seeds may be as long as the time of day.
  const late = { ...options, seed: 1_764_500_000_000 };
  const drawnLate = await all(model, prompt, late);
  assertEquals(await all(model, prompt, late), drawnLate);
  const next = await all(model, prompt, { ...late, seed: late.seed + 2 ** 32 });
  assert(next.join() !== drawnLate.join());
  const counts = new Map<number, number>(), logits = logitsOf(prompt).map((x) => x / 1.5);
  const order = logits.map((_, i) => i).sort((a, b) => logits[b] - logits[a]).slice(0, 3);
  for (let seed = 0; seed < 150; seed++) {
    const [token] = await all(model, prompt, { ...options, maxTokens: 1, topK: 3, seed });
    counts.set(token, (counts.get(token) ?? 0) + 1);
  }
  const total = order.reduce((sum, i) => sum + Math.exp(logits[i]), 0);
  assert([...counts.keys()].every((t) => order.includes(t)));
  for (const i of order) {
    const share = Math.exp(logits[i]) / total;
    assert(Math.abs((counts.get(i) ?? 0) / 150 - share) < 0.15, `${counts.get(i)} of ${share}`);
  }
  model.dispose();
});

testOnDevices(
  "generate() frees what it holds where a reader stops or a signal aborts",
  async () => {
    const model = await decoder();
    await all(model, [1], { maxTokens: 3 });
    const before = tf.memory().numTensors;
    for await (const _ of generate(model, [1], { maxTokens: 9 })) break;
    const controller = new AbortController();
    const seen: number[] = [];
    await assertRejects(
      async () => {
        for await (const token of generate(model, [1], { signal: controller.signal })) {
          seen.push(token);
          if (seen.length === 2) controller.abort(new Error("Enough"));
        }
      },
      Error,
      "Enough",
    );
    assertEquals(seen.length, 2);
    assertEquals(tf.memory().numTensors, before);
    model.dispose();
  },
);

testOnDevices("texts of one model go on side by side, each in a scope of its own", async () => {
  const model = await decoder();
  const kinds: GenerateOptions[] = [
    { seed: 1, temperature: 1 },
    { seed: 2, temperature: 1, topK: 3, capacity: 1 },
    { temperature: 0, capacity: 2 },
  ];
  const wanted: number[][] = [];
  for (const options of kinds) wanted.push(await all(model, [3, 1], { ...options, maxTokens: 9 }));
  const before = tf.memory().numTensors;
  const texts = kinds.map((options) => generate(model, [3, 1], { ...options, maxTokens: 9 }));
  const found: number[][] = kinds.map(() => []);
  for (let k = 0; k < 10; k++) {
    for (const [i, text] of texts.entries()) {
      using _ = tf.scope();
      const { value, done } = await text.next();
      if (!done) found[i].push(value);
    }
  }
  assertEquals(found, wanted);
  assertEquals(tf.memory().numTensors, before);
  model.dispose();
});

testOnDevices("a script may stand in the middle of a decoder", async () => {
  const model = await decoder(), wanted = likely([3], 5);
  let calls = 0;
  model.replace("logits", (x) => {
    const same = (x: tf.NdArray): tf.NdArray => (calls++, x);
    const y = tf.numpyFunction(same, [x], "float32");
    y.setShape(x.staticShape!);
    return y;
  });
  assertEquals(await all(model, [3], { maxTokens: 5 }), wanted);
  assertEquals(calls, 5);
  model.dispose();
});

Deno.test("generate() refuses models, prompts and options that do not fit", async () => {
  const model = await decoder();
  const cases: [unknown, unknown, unknown, string][] = [
    [{}, [1], {}, "must be a model of loadOnnx()"],
    [model, [], {}, "prompt must be tokens"],
    [model, [1.5], {}, "prompt must be tokens"],
    [model, "text", {}, "prompt"],
    [model, [1], { temperature: -1 }, "temperature must be a number from 0 on, received -1"],
    [model, [1], { topP: 0 }, "topP must be above 0 and at most 1, received 0"],
    [model, [1], { topK: 0 }, "topK must be an integer from 1 on, received 0"],
    [model, [1], { maxTokens: -1 }, "maxTokens must be an integer from 0 on"],
    [model, [1], { seed: 0.5 }, "seed must be an integer from 0 on"],
    [model, [1], { tokens: 1 }, "tokens"],
    [model, [2 ** 40], {}, "prompt must be tokens"],
    [model, [1], { stop: "a" }, "stop must be an integer or a list of integers, received a"],
    [model, [1], { stop: [1, 0.5] }, "stop must be an integer or a list"],
    [model, [1], { signal: new AbortController() }, "'signal' passed to 'generate' must be an Ab"],
  ];
  for (const [m, prompt, options, text] of cases) {
    assertThrows(() => generate(m as OnnxModel, prompt as number[], options as never), Error, text);
  }
  const plain = tf.function((x) => ({ y: tf.neg(x) }), { inputSignature: [spec("x", [1])] });
  const other = await loadOnnx(encodeOnnx(plain));
  assertThrows(() => generate(other, [1]), tf.ValueError, 'the model has no input "input_ids"');
  other.dispose();
  model.dispose();
});
