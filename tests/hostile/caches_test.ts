/** Caches are bounded and free what they drop; endless retracing is told once; what the collector finds is counted. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { stub } from "@std/testing/mock";
import { RecentMap } from "../../src/engine/core/collections/recent_map.ts";
import { attrsByKey } from "../../src/engine/ops/conv/conv_arguments.ts";
import { retracingWarning } from "../../src/engine/graph/retracing.ts";
import { testOnDevices } from "../devices.ts";

Deno.test("a RecentMap keeps what is asked for, within its limit, and frees each entry once", () => {
  const freed: number[] = [];
  const map = new RecentMap<string, number>(10, (n) => freed.push(n));
  map.set("used", -1);
  for (let i = 0; i < 1000; i++) {
    map.set(`n${i}`, i);
    assertEquals(map.get("used"), -1);
    assertEquals(map.get(`n${i}`), i);
    assert(map.size <= 10, `${map.size} entries`);
  }
  assertEquals([map.get("n0"), map.get("n990"), map.get("never")], [
    undefined,
    undefined,
    undefined,
  ]);
  // All but those that are there, in the order they came.
  assertEquals(freed, [...freed.keys()]);
  assertEquals(freed.length + map.size, 1001);
  map.set("n999", 5000);
  map.set("n999", 5000);
  assertEquals([freed.filter((n) => n === 999).length, freed.includes(5000)], [1, false]);
  map.clear();
  assertEquals([map.size, new Set(freed).size, freed.length], [0, 1002, 1002]);
});

Deno.test("attributes of windows are made once for each key, and not kept without end", () => {
  const attrsOf = attrsByKey<{ n: number }>();
  let made = 0;
  const of = (n: number) => attrsOf(`${n}`, () => ({ n: (made++, n) }));
  for (let i = 0; i < 256; i++) of(i);
  assertEquals([of(0) === of(0), of(255).n, made], [true, 255, 256]);
  assert(Object.isFrozen(of(7)));
  of(256);
  assertEquals([made, of(0).n, made], [257, 0, 258]);
});

/** Returns the warnings while `fn` runs. */
async function told(fn: () => unknown): Promise<string[]> {
  using told = stub(retracingWarning, "write");
  await fn();
  return told.calls.map(({ args: [text] }) => text);
}

testOnDevices("a function keeps 1,024 traces at most and frees what it drops", async () => {
  using scope = tf.scope();
  const weights = scope.keep(tf.tensor([2, 3]));
  let traces = 0;
  const f = tf.function((x: tf.Tensor, k: number) => {
    traces++;
    return tf.mul(tf.add(x, tf.constant([k, k])), weights);
  });
  const g = (x: tf.Tensor, k: number): tf.Tensor => tf.grad((x: tf.Tensor) => f(x, k))(x);
  const before = tf.memory().numTensors;
  let kept = 0;
  await told(() => {
    for (let k = 0; k < 1200; k++) {
      using _scope = tf.scope();
      const x = tf.tensor([1, 1]);
      const out = k % 100 === 0 ? g(x, k) : f(x, k);
      // One that is used all the time is not traced again.
      f(x, 0);
      if (k === 1199) kept = tf.memory().numTensors - before;
      if (k % 400 === 0) assertEquals(out.shape, [2]);
    }
  });
  assertEquals(traces, 1200);
  assertEquals(f.traceCount, 1200);
  // A trace keeps its constant on the device, a gradient little more.
  assert(kept <= 1040, `${kept} tensors are kept`);
  using x = tf.tensor([1, 1]);
  using y = f(x, 3);
  assertEquals([traces, await y.array()], [1201, [8, 12]]);
});

testOnDevices(
  "a session keeps 256 plans at most, those in use among them, and frees what it drops",
  async () => {
    const graph = new tf.Graph();
    const x = graph.asDefault(() => tf.placeholder("float32", [2], "x"));
    const fetches = graph.asDefault(() =>
      Array.from({ length: 600 }, (_, k) => tf.mul(x, tf.constant([k, 1])))
    );
    const before = tf.memory().numTensors;
    await using session = new tf.Session({ graph });
    for (const y of fetches) {
      await session.run(y, { feeds: { "x:0": [1, 2] } });
      const out = await session.run(fetches[1], { feeds: { "x:0": [1, 2] } }) as tf.NdArray;
      assertEquals(out.toArray(), [1, 2]);
    }
    assert(tf.memory().numTensors - before <= 256, `${tf.memory().numTensors - before} are kept`);
    await session.close();
    assertEquals(tf.memory().numTensors, before);
  },
);

Deno.test("endless retracing for shapes is told once, with the function, the shapes and what to do", async () => {
  const f = tf.function(function embed(x: tf.Tensor) {
    return tf.sum(x);
  });
  const texts = await told(() => {
    for (let n = 1; n < 40; n++) tf.tidy(() => void f(tf.zeros([n, 2])));
  });
  assertEquals(texts.length, 1);
  assertMatch(texts[0], /^weft: 5 of the last 10 calls of "embed" were traced/);
  assertMatch(texts[0], /was float32\[4,2\] and then float32\[5,2\]/);
  assertMatch(texts[0], /inputSignature .* or \{ reduceRetracing: true \}$/);
});

Deno.test("endless retracing for values is told once, and says to pass tensors", async () => {
  const f = tf.function((x: tf.Tensor, k: number) => tf.mul(x, k), { name: "scale" });
  const texts = await told(() => {
    for (let k = 0; k < 40; k++) tf.tidy(() => void f(tf.ones([2]), k));
  });
  assertEquals(texts.length, 1);
  assertMatch(texts[0], /"scale"/);
  assertMatch(texts[0], /Pass what varies as tensors/);
});

Deno.test("functions made anew at one line are told of once, with the line", async () => {
  const texts = await told(() => {
    for (let k = 0; k < 250; k++) {
      tf.tidy(() => void tf.function((x: tf.Tensor) => tf.neg(x))(tf.scalar(k)));
    }
  });
  assertEquals(texts.length, 1);
  assertMatch(texts[0], /one of 100 functions made by tf\.function\(\) at the same line/);
  // The user's line comes first: that of this test, or of the bundle that it is in.
  assertMatch(texts[0].split("\n")[1], /caches_test|tests\.m?js/);
  assert(!/tfFunction|Tracer/.test(texts[0]), texts[0]);
});

Deno.test("functions take no stack before many have their text, and those of two lines are counted apart", async () => {
  using stacks = stub(Error, "captureStackTrace");
  const call = (f: (x: tf.Tensor) => unknown): void => tf.tidy(() => void f(tf.scalar(1)));
  const here = (): ReturnType<typeof tf.function> =>
    tf.function((x: tf.Tensor) => tf.sub(x, tf.log1p(x)));
  const texts = await told(() => {
    for (let k = 0; k < 50; k++) call(here());
    assertEquals(stacks.calls.length, 0);
    stacks.restore();
    const there = tf.function;
    for (let k = 0; k < 45; k++) {
      call(here());
      call(there((x: tf.Tensor) => tf.sub(x, tf.log1p(x))));
    }
  });
  assertEquals(texts, []);
});

Deno.test("nothing is told of functions that are traced now and then", async () => {
  const texts = await told(() =>
    tf.tidy(() => {
      const f = tf.function((x: tf.Tensor) => tf.neg(x));
      for (let n = 1; n < 30; n++) for (let k = 0; k < 3; k++) f(tf.zeros([n]));
      const relaxed = tf.function((x: tf.Tensor) => tf.neg(x), { reduceRetracing: true });
      const signed = tf.function((x: tf.Tensor) => tf.neg(x), {
        inputSignature: [tf.TensorSpec([null], "float32")],
      });
      for (let n = 1; n < 30; n++) [relaxed, signed].forEach((f) => f(tf.zeros([n])));
      const layers = Array.from({ length: 60 }, () => tf.function((x: tf.Tensor) => tf.add(x, 1)));
      for (const layer of layers) layer(tf.scalar(1));
    })
  );
  assertEquals(texts, []);
});
