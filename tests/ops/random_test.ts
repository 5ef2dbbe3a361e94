import * as tf from "@weft/weft";
import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertNotEquals,
  assertThrows,
} from "@std/assert";
import { opCheck } from "@weft/weft/testing";
import { HAS_WEBGPU, testOnDevices } from "../devices.ts";
import { number, sample, vector } from "../op_samples/inputs.ts";

/** Mean, standard deviation, skewness and excess kurtosis. */
function moments(x: ArrayLike<number>): number[] {
  const n = x.length;
  const mean = Array.from(x).reduce((a, b) => a + b, 0) / n;
  const central = (k: number) => Array.from(x).reduce((a, b) => a + (b - mean) ** k, 0) / n;
  const deviation = Math.sqrt(central(2));
  return [mean, deviation, central(3) / deviation ** 3, central(4) / deviation ** 4 - 3];
}

function numbers(t: tf.Tensor): Float32Array {
  return t.dataSync() as Float32Array;
}

/** Asserts that each moment is within six standard errors of what the distribution has. */
function assertMoments(x: ArrayLike<number>, wanted: readonly number[]): void {
  const root = Math.sqrt(x.length);
  const errors = [wanted[1] / root, wanted[1] / root, Math.sqrt(6) / root, Math.sqrt(24) / root];
  moments(x).forEach((m, k) => assertAlmostEquals(m, wanted[k], 6 * errors[k], `moment ${k + 1}`));
}

const N = 40001;

testOnDevices("random bits are those of Threefry's published test vectors", () => {
  const cases = [
    { seed: [0, 0], first: [0x6b200159, 0x99ba4efe] },
    { seed: [0x13198a2e, 0x03707344], first: null },
  ];
  assertEquals(tf.random.statelessBits([2], cases[0].seed, "uint32").arraySync(), cases[0].first);
});

testOnDevices("randomUniform() covers its interval evenly", () => {
  tf.setRandomSeed(5);
  assertMoments(numbers(tf.randomUniform([N])), [0.5, Math.sqrt(1 / 12), 0, -1.2]);
  const x = numbers(tf.randomUniform([1000], -3, 5));
  assert(x.every((v) => v >= -3 && v < 5));
  assert(Math.min(...x) < -2.9 && Math.max(...x) > 4.9);
  tf.setRandomSeed(null);
});

testOnDevices("randomNormal() has the moments of a normal distribution", () => {
  tf.setRandomSeed(6);
  assertMoments(numbers(tf.randomNormal([N])), [0, 1, 0, 0]);
  assertMoments(numbers(tf.randomNormal([N], 3, 2)), [3, 2, 0, 0]);
  tf.setRandomSeed(null);
});

testOnDevices(
  "truncatedNormal() has the moments of a normal distribution cut at two deviations",
  () => {
    tf.setRandomSeed(7);
    const x = numbers(tf.truncatedNormal([N]));
    assert(x.every((v) => Math.abs(v) <= 2));
    assertMoments(x, [0, 0.8796256610342398, 0, -0.6344]);
    tf.setRandomSeed(null);
  },
);

testOnDevices("randomUniformInt() draws every number equally often", () => {
  const counts = new Array(6).fill(0);
  const x = tf.randomUniformInt([12000], -2, 4, 3);
  assertEquals(x.dtype, "int32");
  for (const v of x.dataSync() as Int32Array) counts[v + 2]++;
  counts.forEach((c) => assertAlmostEquals(c, 2000, 6 * Math.sqrt(12000 * 5 / 36)));
});

testOnDevices("randomGamma() has the mean and deviation of a gamma distribution", () => {
  for (const [alpha, beta] of [[0.5, 1], [2, 1], [9, 3]]) {
    const [mean, deviation] = moments(numbers(tf.randomGamma([N], alpha, beta, "float32", 4)));
    assertAlmostEquals(mean, alpha / beta, 0.05);
    assertAlmostEquals(deviation, Math.sqrt(alpha) / beta, 0.05);
  }
});

testOnDevices("multinomial() draws outcomes as often as their probabilities say", () => {
  const p = [0.1, 0.2, 0.7];
  for (const normalized of [false, true]) {
    const logits = p.map((q) => (normalized ? q : Math.log(q) + 3));
    const x = tf.multinomial([logits, [...logits].reverse()], 9000, 11, normalized);
    assertEquals(x.shape, [2, 9000]);
    assertEquals(x.dtype, "int32");
    const counts = [0, 0, 0];
    for (const v of (x.arraySync() as number[][])[0]) counts[v]++;
    counts.forEach((c, i) =>
      assertAlmostEquals(c / 9000, p[i], 6 * Math.sqrt(p[i] * (1 - p[i]) / 9000))
    );
  }
  assertThrows(() => tf.multinomial([1], 2), Error, "at least 2 outcomes");
  assertEquals(tf.multinomial([[1, 2, 3]], 4).shape, [1, 4]);
  // TensorFlow's function takes one class, with any logit.
  assertEquals(tf.random.categorical([[0.5], [-Infinity]], 3).arraySync(), [[0, 0, 0], [0, 0, 0]]);
  const draws = tf.function((x: tf.Tensor) => tf.random.categorical(x, 2), {
    inputSignature: [new tf.TensorSpec([null, null], "float32")],
  });
  assertEquals(draws(tf.zeros([2, 1])).arraySync(), [[0, 0], [0, 0]]);
  assertThrows(
    () => tf.random.categorical(tf.zeros([2, 0]), 3),
    tf.errors.InvalidArgumentError,
    "no classes",
  );
  assertThrows(() => tf.random.categorical(tf.zeros([1, 1, 1]), 3), tf.ValueError, "Rank");
});

testOnDevices("a call with a seed gives the same numbers each time, others do not", () => {
  const draws: Record<string, (seed?: number) => tf.Tensor> = {
    uniform: (s) => tf.randomUniform([5], 0, 1, "float32", s),
    normal: (s) => tf.randomNormal([5], 0, 1, "float32", s),
    truncated: (s) => tf.truncatedNormal([5], 0, 1, "float32", s),
    int: (s) => tf.randomUniformInt([5], 0, 1e9, s),
    gamma: (s) => tf.randomGamma([5], 2, 1, "float32", s),
  };
  for (const [name, draw] of Object.entries(draws)) {
    assertEquals(draw(3).arraySync(), draw(3).arraySync(), name);
    assertNotEquals(draw(3).arraySync(), draw(4).arraySync(), name);
    assertNotEquals(draw().arraySync(), draw().arraySync(), name);
  }
  assertEquals(
    tf.randomUniform([3], 0, 1, "float32", "dusk").arraySync(),
    tf.randomUniform([3], 0, 1, "float32", "dusk").arraySync(),
  );
});

testOnDevices("setRandomSeed() repeats what follows it, call for call", () => {
  const follow = () =>
    [tf.randomUniform([3]), tf.randomNormal([3]), tf.randomUniform([3])].map((t) => t.arraySync());
  tf.setRandomSeed(42);
  const first = follow();
  tf.random.setSeed(42);
  assertEquals(follow(), first);
  assertNotEquals(first[0], first[2]);
  tf.setRandomSeed(43);
  assertNotEquals(follow(), first);
  tf.setRandomSeed(null);
});

testOnDevices(
  "random ops of a graph draw anew in each run, and repeat from their seeds",
  async () => {
    const values = async (): Promise<unknown[]> => {
      tf.setRandomSeed(9);
      const g = new tf.Graph();
      const [x, y] = g.asDefault(
        () => [tf.randomUniform([2]), tf.randomNormal([2], 0, 1, "float32", 5)],
      );
      const session = new tf.Session({ graph: g });
      const runs = [await session.run([x, y]), await session.run([x, y])];
      tf.setRandomSeed(null);
      await session.close();
      return runs.map((r) => (r as tf.NdArray[]).map((a) => a.toArray()));
    };
    const first = await values();
    assertNotEquals(first[0], first[1]);
    assertEquals(await values(), first);
  },
);

Deno.test({
  name: "both devices draw the same bits [webgpu]",
  ignore: !HAS_WEBGPU,
  async fn() {
    const draws: Record<string, { draw: () => tf.Tensor; within: number }> = {
      bits: { draw: () => tf.random.statelessBits([1001], [5, -6], "int32"), within: 0 },
      uniform: { draw: () => tf.randomUniform([1002], 0, 1, "float32", 8), within: 0 },
      int: { draw: () => tf.randomUniformInt([1000], -5, 1000003, 8), within: 0 },
      normal: { draw: () => tf.randomNormal([4004], 0, 1, "float32", 8), within: 2e-5 },
      truncated: { draw: () => tf.truncatedNormal([4004], 0, 1, "float32", 8), within: 2e-6 },
      multinomial: { draw: () => tf.multinomial([[1, 2, 3, 4], [4, 3, 2, 1]], 100, 8), within: 0 },
    };
    for (const [name, { draw, within }] of Object.entries(draws)) {
      assert(await tf.setBackend("cpu"));
      const wanted = numbers(draw());
      assert(await tf.setBackend("webgpu"));
      const got = numbers(draw());
      got.forEach((v, i) => assertAlmostEquals(v, wanted[i], within, `${name}[${i}]`));
    }
  },
});

const differs = { "cpu = reference": "float64 takes more bits for each number" };

for (
  const [op, samples] of Object.entries({
    StatelessRandomUniform: [sample([vector(3, 5), vector(1, 2)], {}, { skip: differs })],
    StatelessRandomNormal: [sample([vector(4, 2), vector(1, 2)], {}, { gpuAbsolute: 1e-5 })],
    StatelessTruncatedNormal: [sample([vector(7), vector(1, 2)], {}, { gpuAbsolute: 1e-5 })],
    StatelessRandomUniformInt: [sample([vector(7), vector(1, 2), number(-3), number(9)])],
    StatelessRandomUniformFullInt: [sample([vector(2, 4), vector(1, 2)], { dtype: "int32" })],
  })
) {
  testOnDevices(`${op} holds what its definition says`, async (device) => {
    await opCheck(op, samples, { devices: [device === "cpu" ? "CPU" : "GPU"] });
  });
}

testOnDevices("integer and boolean dtypes are drawn as TensorFlow.js does", () => {
  const ints = tf.randomUniform([200], 0, 5, "int32", 1);
  assertEquals(ints.dtype, "int32");
  assertEquals([...new Set(ints.dataSync() as Int32Array)].sort(), [0, 1, 2, 3, 4]);
  assertEquals(tf.randomUniform([4], 0, 1, "bool").dtype, "bool");
  assertEquals(tf.randomNormal([4], 0, 1, "int32").dtype, "int32");
  assertThrows(() => tf.randomNormal([4], 0, 1, "bool"), TypeError, "Unsupported data type");
  assertThrows(() => tf.randomUniformInt([4], 3, 3), Error, "Need minval < maxval");
});

Deno.test("rand() asks a function for each number, in the dtype it is told", () => {
  let calls = 0;
  const count = () => ++calls / 2;
  const x = tf.rand([2, 2], count, null), whole = tf.rand([3], count, "int32");
  assertEquals([x.dtype, x.arraySync()], ["float32", [[0.5, 1], [1.5, 2]]]);
  assertEquals([whole.dtype, whole.arraySync()], ["int32", [2, 3, 3]]);
  assertThrows(() => tf.rand([-1], count), tf.ValueError, "non-negative integers");
});

testOnDevices("random functions leave nothing but their result behind", () => {
  const draws: Readonly<Record<string, () => tf.Tensor>> = {
    randomUniform: () => tf.randomUniform([2, 3], -1, 2),
    "randomUniform of bool": () => tf.randomUniform([4], 0, 2, "bool"),
    randomNormal: () => tf.randomNormal([2, 3], 1, 2),
    "randomNormal of int32": () => tf.randomNormal([4], 1, 2, "int32"),
    truncatedNormal: () => tf.truncatedNormal([2, 3], 1, 2),
    randomGamma: () => tf.randomGamma([4], 2, 3, "int32"),
  };
  for (const [name, draw] of Object.entries(draws)) {
    const before = tf.memory().numTensors;
    using _ = draw();
    assertEquals(tf.memory().numTensors, before + 1, name);
  }
});

testOnDevices("stateless draws are stretched and moved as asked", () => {
  const { statelessUniform, statelessNormal, statelessTruncatedNormal } = tf.random;
  const shape = [64], seed = [3, 4];
  const affine = (x: tf.Tensor, scale: number, shift: number) => tf.add(tf.mul(x, scale), shift);
  const cases: [actual: tf.Tensor, wanted: tf.Tensor][] = [
    [statelessUniform(shape, seed, -2, 6), affine(statelessUniform(shape, seed), 8, -2)],
    [statelessUniform(shape, seed, 0, 3), affine(statelessUniform(shape, seed), 3, 0)],
    [statelessUniform(shape, seed, 5, 6), affine(statelessUniform(shape, seed), 1, 5)],
    [statelessNormal(shape, seed, 10, 2), affine(statelessNormal(shape, seed), 2, 10)],
    [
      statelessTruncatedNormal(shape, seed, -1, 3),
      affine(statelessTruncatedNormal(shape, seed), 3, -1),
    ],
  ];
  for (const [actual, wanted] of cases) {
    const [a, b] = [actual, wanted].map((t) => t.dataSync() as Float32Array);
    a.forEach((v, i) => assertAlmostEquals(Number(v), Number(b[i]), 1e-5));
  }
  const [one, other] = [seed, [3, 5]].map((s) => String(statelessUniform(shape, s).dataSync()));
  assertEquals(one === other, false);
});
