/** Seeds, generators and shuffles of `tf.random`; the numbers of generators are TensorFlow 2.21's. */

import { assert, assertAlmostEquals, assertEquals, assertRejects, assertThrows } from "@std/assert";
import * as tf from "@weft/weft";
import { difference } from "../../src/library/testing/compare.ts";
import { testOnDevices } from "../devices.ts";
import { arrayOf, type GoldenCase, runCases } from "./golden_cases.ts";
import DRAWS from "./draws.json" with { type: "json" };

// deno-lint-ignore no-explicit-any
type Any = any;

const { Generator } = tf.random;
const CASES = DRAWS as unknown as readonly GoldenCase[];
const OF_SEEDS = CASES.filter(({ fn }) => fn.startsWith("random."));
const OF_GENERATORS = CASES.filter((row) => !OF_SEEDS.includes(row));

testOnDevices("seeds are split and folded as TensorFlow does", () => runCases(OF_SEEDS));

/** Arguments of a call, which the cases have as lists. */
const argsOf = ({ args }: GoldenCase): Any[] => args.map((a: Any) => a?.list ?? a);

/** Everything that a method draws: tensors, or the states of generators. */
function results(x: Any): tf.Tensor[] {
  if (x instanceof tf.Tensor) return [x];
  return x.map((g: Any) => tf.identity(g.state));
}

/** Two calls of a method, and the state then. */
function draws(g: tf.random.Generator, { fn, args }: GoldenCase): tf.Tensor[] {
  const [, ...given] = argsOf({ args } as GoldenCase);
  const call = () => results((g as Any)[fn](...given));
  return [...call(), ...call(), tf.identity(g.state)];
}

testOnDevices("generators draw TensorFlow's numbers, eagerly and in functions", async () => {
  const faults: string[] = [];
  for (const row of OF_GENERATORS) {
    const [seed] = argsOf(row), wanted = row.want.map(arrayOf);
    const check = async (how: string, got: readonly tf.Tensor[]) => {
      assertEquals(got.length, wanted.length);
      for (const [i, want] of wanted.entries()) {
        const x = await got[i].ndarray(), name = `${row.fn} ${JSON.stringify(row.args)} ${how}`;
        assertEquals(x.dtype, want.dtype, name);
        const text = difference(x, want, want.dtype, { ulps: 8, ulpsOfLargest: 8 });
        if (text !== null) faults.push(`${name}, result ${i}: ${text}`);
      }
    };
    await check("eagerly", draws(Generator.fromSeed(seed), row));
    if (row.fn === "split") continue;
    const g = Generator.fromSeed(seed), f = tf.function(() => draws(g, row));
    await check("compiled", await f.async() as tf.Tensor[]);
    const h = Generator.fromSeed(seed), once = tf.function(() => draws(h, row)[0]);
    await once.async();
    // The second call goes on where the first ended, after two draws.
    const again = Generator.fromSeed(seed);
    draws(again, row);
    const next = await draws(again, row)[0].ndarray();
    assertEquals(
      difference(await (await once.async() as tf.Tensor).ndarray(), next, next.dtype, {
        ulps: 0,
        ulpsOfLargest: 0,
      }),
      null,
    );
  }
  assertEquals(faults, []);
});

testOnDevices("generators have states that are read, set and shared", async () => {
  using g = Generator.fromSeed(7);
  assertEquals(await g.state.array(), [7n, 0n, 0n] as Any);
  using same = Generator.fromState(g.state);
  assertEquals(await g.normal([3]).array(), await same.normal([3]).array());
  const first = await g.uniform([2]).array();
  g.resetFromSeed(7);
  await g.normal([3]).data();
  assertEquals(await g.uniform([2]).array(), first);
  using keyed = Generator.fromKeyCounter(9, [1, 2]);
  assertEquals(await keyed.state.array(), [1n, 2n, 9n] as Any);
  assertEquals([await keyed.key.data(), keyed.algorithm], [BigInt64Array.of(9n), 1]);
  keyed.resetFromKeyCounter(3n, [0, 0]);
  assertEquals(await keyed.state.array(), [0n, 0n, 3n] as Any);
  keyed.reset([5, 6, 7]);
  assertEquals(await keyed.state.array(), [5n, 6n, 7n] as Any);
  const other = Generator.fromNonDeterministicState(), more = Generator.fromNonDeterministicState();
  assert(String(await other.state.array()) !== String(await more.state.array()));
  tf.random.setGlobalGenerator(g);
  assert(tf.random.getGlobalGenerator() === g);
  tf.random.setGlobalGenerator(other);
  const before = await tf.memory().numTensors;
  tf.tidy(() => [g.normal([2]), g.uniform([2], 0, 5, "int32"), g.makeSeeds(2), g.key]).forEach((
    t,
  ) => t.dispose());
  assertEquals(tf.memory().numTensors, before);
});

testOnDevices("each run of a session moves the state of a generator on", async () => {
  const { random } = tf, eager = random.Generator.fromSeed(3), graph = new tf.Graph();
  const wanted = [0, 1, 2, 3].map(() => eager.normal([2]).arraySync());
  const { first, second, init } = graph.asDefault(() => {
    const g = random.Generator.fromSeed(3);
    const [first, second] = [g.normal([2]), g.normal([2])];
    return { first, second, init: tf.compat.v1.globalVariablesInitializer() };
  });
  await using session = new tf.Session({ graph });
  await session.run(init);
  for (const k of [0, 2]) {
    const found = await session.run([second, first]);
    assertEquals(found.map((x) => (x as tf.NdArray).toArray()), [wanted[k + 1], wanted[k]]);
  }
  await session.run(init);
  assertEquals((await session.run(first) as tf.NdArray).toArray(), wanted[0]);
  assertEquals((await session.run(first) as tf.NdArray).toArray(), wanted[1]);
  eager.dispose();
});

testOnDevices("draws of a shape below 0 are refused, also where a run finds it", async () => {
  const { random } = tf, g = random.Generator.fromSeed(1), at = [1, 2];
  const below = tf.tensor([-1], [1], "int32");
  const draws: Readonly<Record<string, (shape: Any) => tf.Tensor>> = {
    uniform: (s) => g.uniform(s),
    integers: (s) => g.uniform(s, 0, 5, "int32"),
    normal: (s) => g.normal(s),
    truncatedNormal: (s) => g.truncatedNormal(s),
    uniformFullInt: (s) => g.uniformFullInt(s),
    binomial: (s) => g.binomial(s, [3], [0.5]),
    statelessUniform: (s) => random.statelessUniform(s, at),
    statelessGamma: (s) => random.statelessGamma(s, at, 2),
    randomUniform: (s) => tf.randomUniform(s),
    zeros: (s) => tf.zeros(s),
    fill: (s) => tf.fill(s, 3),
  };
  for (const [name, draw] of Object.entries(draws)) {
    const compiled = tf.function((s: tf.Tensor) => draw(s), {
      inputSignature: [tf.TensorSpec([1], "int32")],
    });
    const run = async () => void await (await compiled.async(below) as tf.Tensor).data();
    await assertRejects(run, Error, "non-negative", `${name} compiled`);
    await assertRejects(async () => void await draw([-1]).data(), Error, "non-negative", name);
  }
  g.dispose();
});

testOnDevices("shapes of draws may be known at run time", async () => {
  using g = Generator.fromSeed(1);
  const f = tf.function((x: tf.Tensor) => g.normal(tf.shape(x)), {
    inputSignature: [tf.TensorSpec([null, null], "float32")],
  });
  using same = Generator.fromSeed(1);
  assertEquals(
    await (await f.async(tf.ones([2, 3])) as tf.Tensor).array(),
    await same.normal([2, 3]).array(),
  );
  assertEquals(await g.state.array(), await same.state.array());
});

testOnDevices("rows are shuffled, each once, with gradients", async () => {
  const x = tf.range(0, 20).reshape([10, 2]);
  const drawn = await tf.random.shuffle(x, 3).array() as number[][];
  assertEquals(drawn.map(([a, b]) => b - a), new Array(10).fill(1));
  assertEquals(drawn.map(([a]) => a / 2).sort((a, b) => a - b), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert(drawn.some(([a], i) => a !== 2 * i));
  assertEquals(await tf.random.shuffle(x, 3).array(), drawn);
  const slope = tf.grad((x) =>
    tf.sum(tf.mul(tf.random.shuffle(x, 3), tf.range(0, 10).reshape([10, 1])))
  )(x);
  const wanted: number[][] = [];
  drawn.forEach(([a], i) => wanted[a / 2] = [i, i]);
  assertEquals(await slope.array(), wanted);
  const f = tf.function((x: tf.Tensor) => tf.random.shuffle(x), {
    inputSignature: [tf.TensorSpec([null], "string")],
  });
  const words = await (await f.async(tf.tensor(["a", "b", "c"])) as tf.Tensor).array() as string[];
  assertEquals(words.sort(), ["a", "b", "c"]);
});

testOnDevices("stateless draws repeat, and have the means of their distributions", async () => {
  const { statelessCategorical, statelessGamma } = tf.random;
  const drawn = statelessCategorical([[0, Math.log(3)], [0, -Infinity]], 4000, [1, 2], "int32");
  assertEquals([drawn.shape, drawn.dtype], [[2, 4000], "int32"]);
  assertAlmostEquals(await tf.mean(tf.cast(drawn.slice([0], [1]), "float32")).item(), 0.75, 0.03);
  assertEquals(await tf.max(drawn.slice([1], [1])).item(), 0);
  assertEquals(statelessCategorical([[0, 1]], 2, [1, 2]).dtype, "int64");
  const gamma = () => statelessGamma([4000, 2], [3, 4], [2, 6], [1, 2]);
  const x = await gamma().data();
  assertEquals(await gamma().data(), x);
  const means = await tf.mean(gamma(), 0).data();
  assertAlmostEquals(means[0] as number, 2, 0.12);
  assertAlmostEquals(means[1] as number, 3, 0.12);
  assertEquals(statelessGamma([2], [1, 2], 3, 1, "float64").dtype, "float64");
});

testOnDevices("what cannot be drawn is refused", async () => {
  const { ValueError } = tf, g = Generator.fromSeed(1), { random } = tf;
  const refusals: [() => unknown, Any, string][] = [
    [() => random.split([1, 2, 3]), ValueError, "wanted [2]"],
    [() => random.split([1.5, 2]), TypeError, "Cannot convert 1.5"],
    [() => random.split([1, 2], -1), ValueError, "from 0 on"],
    [() => random.foldIn([1, 2], [1]), ValueError, "wanted a scalar"],
    [() => random.foldIn([1, 2], tf.scalar(1.5)), TypeError, "int32 or int64"],
    [() => random.shuffle(3), ValueError, "scalar"],
    [() => Generator.fromSeed("a" as Any), TypeError, "a whole number"],
    [() => Generator.fromState([1, 2]), ValueError, "wanted [3]"],
    [() => Generator.fromKeyCounter(1, [2]), TypeError, "'counter'"],
    [() => g.normal([2], 0, 1, "int32"), TypeError, "wanted floats"],
    [() => g.uniform([2], 0, null, "int32"), ValueError, "maxval must be given"],
    [() => g.uniform([2], 0, 5, "uint8"), TypeError, "wanted int32"],
    [() => g.uniform([2], 5, 5, "int32"), tf.errors.InvalidArgumentError, "minval < maxval"],
    [() => g.uniform([2], 0.5, 5, "int32"), TypeError, "a whole number"],
    [() => g.uniformFullInt([2], "int8"), TypeError, "wanted int32"],
    [() => g.skip(tf.scalar(1.5)), TypeError, "whole number"],
    [() => g.split(-1), ValueError, "from 0 on"],
    [() => random.statelessCategorical([1], 2, [1, 2]), ValueError, "a matrix"],
    [() => random.statelessCategorical([[1]], 2, [1, 2], "float32"), TypeError, "int64"],
    [
      () => random.statelessCategorical(tf.zeros([2, 0]), 2, [1, 2]),
      tf.errors.InvalidArgumentError,
      "0 columns",
    ],
    [() => random.statelessGamma([2], [1, 2], 1, 1, "int32"), TypeError, "float64"],
  ];
  for (const [run, error, text] of refusals) {
    await assertRejects(
      async () => {
        const x = run();
        if (x instanceof tf.Tensor) await x.data();
      },
      error,
      text,
      String(run),
    );
  }
  assertThrows(() => random.setGlobalGenerator({} as Any), TypeError, "a Generator");
});
