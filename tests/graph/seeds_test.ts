/**
 * Which draws of seeded random ops are equal. `tensorflow_seeds.json` says what TensorFlow 2.21 does with the same programs: a
 * letter for each draw, the same for equal ones. Weft's numbers are others, what is equal is the same.
 */

import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import sequences from "./tensorflow_seeds.json" with { type: "json" };

type Program = () => readonly tf.Tensor[] | Promise<readonly unknown[]>;

const uniform = (seed?: number) => tf.randomUniform([2], 0, 1, "float32", seed);
/** A dropout mask: eagerly a random function with a seed gives the same at each call, dropout does not. */
const mask = (seed?: number) => tf.dropout(tf.ones([40]), 0.5, null, seed);
/** `n` results of a function, each in parts. */
const calls = (n: number, f: () => tf.Tensor | readonly tf.Tensor[]): tf.Tensor[] =>
  Array.from({ length: n }, () => f()).flat() as tf.Tensor[];

interface SeededGraph {
  readonly graph: tf.Graph;
  readonly fetches: readonly tf.Tensor[];
}
function graphOf(
  build: () => readonly tf.Tensor[],
  globalSeed: number | null = null,
): SeededGraph {
  tf.setRandomSeed(globalSeed);
  const graph = new tf.Graph();
  const fetches = graph.asDefault(build);
  tf.setRandomSeed(null);
  return { graph, fetches };
}
/** Runs a new session; each run fetches the tensors of these numbers. */
async function runs(
  { graph, fetches }: SeededGraph,
  ...wanted: readonly (readonly number[])[]
): Promise<unknown[]> {
  await using session = new tf.Session({ graph });
  const values: unknown[] = [];
  for (const list of wanted) values.push(...await session.run(list.map((i) => fetches[i])));
  return values;
}

const range = (n: number) => tf.data.range(n);
async function elements<E>(ds: tf.data.Dataset<E>): Promise<unknown[]> {
  const list: unknown[] = [];
  for await (const e of ds.asNumpyIterator()) list.push(...(Array.isArray(e) ? e : [e]));
  return list;
}
const N = 30;
/** The whole order of each pass as one value. */
async function orders(...passes: readonly tf.data.Dataset<tf.Tensor>[]): Promise<unknown[]> {
  const list: unknown[] = [];
  for (const ds of passes) {
    const order = (await elements(ds) as tf.NdArray[]).map((x) => x.item());
    for (let i = 0; i < order.length; i += N) list.push(order.slice(i, i + N));
  }
  return list;
}

/** Equal names are equal programs in both languages. */
const PROGRAMS: Readonly<Record<keyof typeof sequences, Program>> = {
  "eager, global seed: set u u set u u": () => {
    const draw = () => (tf.setRandomSeed(5), [uniform(), uniform()]);
    return [...draw(), ...draw()];
  },
  "eager dropout, seed: d d d": () => calls(3, () => mask(3)),
  "eager dropout, two seeds: d31 d32 d31 d32": () => [mask(31), mask(32), mask(31), mask(32)],
  "eager dropout, global seed: set d d set d d": () => {
    const draw = () => (tf.setRandomSeed(3), [mask(), mask()]);
    return [...draw(), ...draw()];
  },
  "eager dropout, global seed and seed: set d d set d": () => {
    tf.setRandomSeed(3);
    const first = calls(2, () => mask(3));
    tf.setRandomSeed(3);
    return [...first, mask(3)];
  },
  "functions, seed: f1 f1 f2 f2": () => {
    const f1 = tf.function(() => uniform(7)), f2 = tf.function(() => uniform(7));
    return [f1(), f1(), f2(), f2()];
  },
  "function, two ops of one seed: f f": () => {
    const f = tf.function(() => [uniform(7), uniform(7)]);
    return calls(2, f);
  },
  "functions of one body, global seed: f f g g": () => {
    tf.setRandomSeed(5);
    const f = tf.function(() => [uniform(), uniform()]);
    const g = tf.function(() => [uniform(), uniform()]);
    return [...calls(2, f), ...calls(2, g)];
  },
  "function, global seed: f f set f f": () => {
    tf.setRandomSeed(5);
    const f = tf.function(() => uniform()), first = calls(2, f);
    tf.setRandomSeed(5);
    return [...first, ...calls(2, f)];
  },
  "function, global seed and seed: f f set f f": () => {
    tf.setRandomSeed(5);
    const f = tf.function(() => uniform(3)), first = calls(2, f);
    tf.setRandomSeed(5);
    return [...first, ...calls(2, f)];
  },
  "function, seed, another global seed: f f set f f": () => {
    tf.setRandomSeed(5);
    const f = tf.function(() => uniform(3)), first = calls(2, f);
    tf.setRandomSeed(6);
    return [...first, ...calls(2, f)];
  },
  "functions, no seed: f f g g": () => {
    const f = tf.function(() => uniform()), g = tf.function(() => uniform());
    return [f(), f(), g(), g()];
  },
  "function and eager, global seed: set f u f u": () => {
    tf.setRandomSeed(5);
    const f = tf.function(() => uniform());
    return [f(), uniform(), f(), uniform()];
  },
  "eager dropout and in a function: d f d f": () => {
    const f = tf.function(() => mask(21));
    return [mask(21), f(), mask(21), f()];
  },
  "function, traced again: f(2) f(2) f(3) f(2)": () => {
    const f = tf.function((x: tf.Tensor) => tf.add(uniform(31), tf.mul(tf.sum(x), 0)));
    return [[2], [2], [3], [2]].map((shape) => f(tf.ones(shape)));
  },
  "function that calls g twice: f f": () => {
    const g = tf.function(() => uniform(41)), f = tf.function(() => [g(), g()]);
    return calls(2, f);
  },
  "function that calls g, and g: f g f g": () => {
    const g = tf.function(() => uniform(42)), f = tf.function(() => g());
    return [f(), g(), f(), g()];
  },
  "functions that call g: f h f h": () => {
    const g = tf.function(() => uniform(43));
    const f = tf.function(() => tf.add(g(), 0)), h = tf.function(() => tf.add(g(), 0));
    return [f(), h(), f(), h()];
  },
  "function, draw and twice g, global seed: f f": () => {
    tf.setRandomSeed(5);
    const g = tf.function(() => uniform()), f = tf.function(() => [uniform(), g(), g()]);
    return calls(2, f);
  },
  "function, loop of three: f f": () => {
    const f = tf.function(() => {
      const all = tf.whileLoop(
        (i: tf.Tensor) => tf.less(i, 3),
        (i: tf.Tensor, rows: tf.Tensor) => [
          tf.add(i, 1),
          tf.concat([rows, tf.expandDims(uniform(51), 0)]),
        ],
        [tf.tensor(0, [], "int32"), tf.zeros([0, 2])],
        { shapeInvariants: [[], [null, 2]] },
      );
      return (all as tf.Tensor[])[1];
    });
    return [...tf.unstack(f()), ...tf.unstack(f())];
  },
  "function, mapFn over two rows: f f": () => {
    const f = tf.function((x: tf.Tensor) =>
      tf.mapFn((row: tf.Tensor) => tf.add(tf.mul(row, 0), uniform(3)), x)
    );
    return [...tf.unstack(f(tf.ones([2, 2]))), ...tf.unstack(f(tf.ones([2, 2])))];
  },
  "function, branches of one seed: f(true) f(false) f(true) f(false)": () => {
    const f = tf.function((c: tf.Tensor) => tf.cond(c, () => uniform(61), () => uniform(61)));
    return [true, false, true, false].map((c) => f(tf.tensor(c)) as tf.Tensor);
  },
  "function, two branches, global seed: f f": () => {
    tf.setRandomSeed(5);
    const f = tf.function((c: tf.Tensor) => {
      const draw = () => tf.cond(c, () => uniform(), () => tf.zeros([2])) as tf.Tensor;
      return [draw(), draw()];
    });
    return calls(2, () => f(tf.tensor(true)));
  },
  "function and its gradient: y dy/dx": () => {
    const f = tf.function((x: tf.Tensor) => tf.mul(x, uniform(3)));
    const x = tf.ones([2]);
    using tape = new tf.GradientTape();
    tape.watch(x);
    const y = f(x);
    return [y, tape.gradient(y, x)!];
  },
  "function, taped in between: f taped-f f": () => {
    const f = tf.function((x: tf.Tensor) => tf.mul(x, uniform(3)));
    const x = tf.ones([2]), first = f(x);
    let taped: tf.Tensor;
    {
      using tape = new tf.GradientTape();
      tape.watch(x);
      taped = f(x);
    }
    return [first, taped, f(x)];
  },
  "dropout in functions, seed: f f g g": () => {
    const f = tf.function(() => mask(4)), g = tf.function(() => mask(4));
    return [f(), f(), g(), g()];
  },
  "dropout in a function, two of one seed: f f": () => {
    const f = tf.function(() => [mask(3), mask(3)]);
    return calls(2, f);
  },
  "two sessions of one graph, seed: s s t t": async () => {
    const g = graphOf(() => [uniform(7)]);
    return [...await runs(g, [0], [0]), ...await runs(g, [0], [0])];
  },
  "session, two ops of one seed: s s": async () =>
    await runs(graphOf(() => [uniform(7), uniform(7)]), [0, 1], [0, 1]),
  "session, fetched alone and together: x xy y": async () =>
    await runs(graphOf(() => [uniform(7), uniform(7)]), [0], [0, 1], [1]),
  "graphs of one program, global seed: s s t t": async () => {
    const build = () => [uniform(), uniform()];
    return [
      ...await runs(graphOf(build, 5), [0, 1], [0, 1]),
      ...await runs(graphOf(build, 5), [0, 1], [0, 1]),
    ];
  },
  "graphs of one program, seed: s s t t": async () => {
    const build = () => [uniform(9)];
    return [...await runs(graphOf(build), [0], [0]), ...await runs(graphOf(build), [0], [0])];
  },
  "session, no seed: s s t": async () => {
    const g = graphOf(() => [uniform()]);
    return [...await runs(g, [0], [0]), ...await runs(g, [0])];
  },
  "session, seed: s set s": async () => {
    const { graph, fetches: [x] } = graphOf(() => [uniform(7)]);
    await using session = new tf.Session({ graph });
    const first = await session.run(x);
    tf.setRandomSeed(5);
    return [first, await session.run(x)];
  },
  "session, global seed: s set s": async () => {
    const { graph, fetches: [x] } = graphOf(() => [uniform()], 5);
    await using session = new tf.Session({ graph });
    const first = await session.run(x);
    tf.setRandomSeed(5);
    return [first, await session.run(x)];
  },
  "sessions, loop of three, seed: s s t": async () => {
    const g = graphOf(() => {
      const [, all] = tf.whileLoop(
        (i: tf.Tensor) => tf.less(i, 3),
        (i: tf.Tensor, rows: tf.Tensor) => [
          tf.add(i, 1),
          tf.concat([rows, tf.expandDims(uniform(5), 0)]),
        ],
        [tf.tensor(0, [], "int32"), tf.zeros([0, 2])],
        { shapeInvariants: [[], [null, 2]] },
      ) as tf.Tensor[];
      return tf.unstack(tf.reshape(all, [3, 2]));
    });
    return [...await runs(g, [0, 1, 2], [0, 1, 2]), ...await runs(g, [0, 1, 2])];
  },
  "sessions, gamma, whole numbers, categories: s s t": async () => {
    const g = graphOf(() => [
      tf.randomGamma([2], 2, 1, "float32", 7),
      tf.randomUniformInt([2], 0, 1000000, 7),
      tf.multinomial(tf.zeros([9999]), 2, 7),
    ]);
    return [...await runs(g, [0, 1, 2], [0, 1, 2]), ...await runs(g, [0, 1, 2])];
  },
  "map, seed, two passes of two": async () => {
    const ds = range(2).map(() => uniform(7));
    return [...await elements(ds), ...await elements(ds)];
  },
  "map and repeat(2), seed, two passes of four": async () => {
    const ds = range(2).map(() => uniform(7)).repeat(2);
    return [...await elements(ds), ...await elements(ds)];
  },
  "repeat(2) and map, seed, two passes of four": async () => {
    const ds = range(2).repeat(2).map(() => uniform(7));
    return [...await elements(ds), ...await elements(ds)];
  },
  "map, global seed, two passes of two": async () => {
    tf.setRandomSeed(5);
    const ds = range(2).map(() => uniform());
    return [...await elements(ds), ...await elements(ds)];
  },
  "map, two ops of one seed": async () =>
    await elements(range(2).map(() => [uniform(7), uniform(7)])),
  "two datasets, map, seed": async () => {
    const [a, b] = [range(2).map(() => uniform(7)), range(2).map(() => uniform(7))];
    return [...await elements(a), ...await elements(b)];
  },
  "two datasets, map, global seed": async () => {
    tf.setRandomSeed(5);
    const [a, b] = [range(2).map(() => uniform()), range(2).map(() => uniform())];
    return [...await elements(a), ...await elements(b)];
  },
  "map of a function g, g, another pass": async () => {
    const g = tf.function((i: tf.Tensor) => tf.add(uniform(7), tf.mul(tf.cast(i, "float32"), 0)));
    const ds = range(2).map((i) => g(i));
    const first = await elements(ds), alone = g(tf.tensor(0, [], "int32"));
    return [...first, alone, ...await elements(ds)];
  },
  "map, no seed, two passes of two": async () => {
    const ds = range(2).map(() => uniform());
    return [...await elements(ds), ...await elements(ds)];
  },
  "zip of a mapped dataset with itself": async () => {
    const ds = range(2).map(() => uniform(7));
    return await elements(tf.data.zip(ds, ds));
  },
  "shuffle, seed: a a b b": async () => {
    const [a, b] = [range(N).shuffle(N, 1), range(N).shuffle(N, 1)];
    return await orders(a, a, b, b);
  },
  "shuffle, seed, always alike: a a b b, and one that is not": async () => {
    const [a, b] = [range(N).shuffle(N, 1, false), range(N).shuffle(N, 1, false)];
    return await orders(a, a, b, b, range(N).shuffle(N, 1));
  },
  "shuffle and repeat(2), seed: a a": async () => {
    const a = range(N).shuffle(N, 1).repeat(2);
    return await orders(a, a);
  },
  "shuffle and repeat(2), seed, always alike: a a": async () => {
    const a = range(N).shuffle(N, 1, false).repeat(2);
    return await orders(a, a);
  },
  "shuffle, no seed: a a b": async () => {
    const [a, b] = [range(N).shuffle(N), range(N).shuffle(N)];
    return await orders(a, a, b);
  },
  "shuffle, no seed, always alike: a a b": async () => {
    const always = { reshuffleEachIteration: false };
    const [a, b] = [range(N).shuffle(N, always), range(N).shuffle(N, always)];
    return await orders(a, a, b);
  },
  "shuffle, global seed: set a a b, set again": async () => {
    const list: unknown[] = [];
    for (let i = 0; i < 2; i++) {
      tf.setRandomSeed(5);
      const [a, b] = [range(N).shuffle(N), range(N).shuffle(N)];
      list.push(...await orders(a, a, b));
    }
    return list;
  },
  "shuffle, global seeds 5 6 5 and seed": async () => {
    const list: unknown[] = [];
    for (const seed of [5, 6, 5]) {
      tf.setRandomSeed(seed);
      list.push(...await orders(range(N).shuffle(N, 1)));
    }
    return list;
  },
  "shuffle, global seed: a set a": async () => {
    tf.setRandomSeed(5);
    const a = range(N).shuffle(N), first = await orders(a);
    tf.setRandomSeed(5);
    return [...first, ...await orders(a)];
  },
};

/** A letter for each value, the same for equal ones. */
function letters(values: readonly unknown[]): string {
  const seen: string[] = [];
  return values.map((v) => {
    const text = JSON.stringify(
      v instanceof tf.Tensor ? v.arraySync() : v instanceof tf.NdArray ? v.toArray() : v,
    );
    if (!seen.includes(text)) seen.push(text);
    return String.fromCharCode(65 + seen.indexOf(text));
  }).join(" ");
}

for (const name of Object.keys(PROGRAMS) as (keyof typeof sequences)[]) {
  testOnDevices(`the same draws are equal as in TensorFlow: ${name}`, async () => {
    tf.setRandomSeed(null);
    using _scope = tf.scope();
    assertEquals(letters(await PROGRAMS[name]()), sequences[name]);
    tf.setRandomSeed(null);
  });
}
