/** `ctx.seed`: a number of its own for each call, which repeats with the global seed. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { type Any, open } from "./helpers.ts";

type Ctx = tf.ScriptContext;

/** A script that gives its seed. */
function seeds(options: tf.NumpyFunctionOptions = {}): tf.Tensor {
  const body = (ctx: Ctx) => BigInt.asIntN(64, ctx.seed);
  return tf.numpyFunction(body, [], tf.TensorSpec([], "int64"), options);
}

async function withSeed<R>(seed: number | null, fn: () => R | Promise<R>): Promise<R> {
  tf.setRandomSeed(seed);
  try {
    return await fn();
  } finally {
    tf.setRandomSeed(null);
  }
}

const distinct = (list: readonly unknown[]) => new Set(list.map(String)).size;

/** Where scripts are called: each gives the seeds of several calls. */
const PLACES: Readonly<Record<string, () => Promise<unknown[]> | unknown[]>> = {
  "eager mode": () => [0, 1, 2].map(() => tf.tidy(() => seeds().item())),
  "a pyFunction": () =>
    [0, 1].map(() =>
      tf.tidy(() =>
        (tf.pyFunction((ctx: Ctx) => BigInt.asIntN(64, ctx.seed), [], "int64") as tf.Tensor).item()
      )
    ),
  "a session": async () => {
    await using g = open(() => [seeds(), seeds(), seeds({ ordered: false })]);
    return [...await g.sess.run(g.parts) as Any[], ...await g.sess.run(g.parts) as Any[]];
  },
  "a function": () => {
    const f = tf.function(() => tf.stack([seeds(), seeds()]));
    return [0, 1].flatMap(() => tf.tidy(() => (f() as tf.Tensor).arraySync() as bigint[]));
  },
  "a loop": () => {
    const f = tf.function(() => tf.mapFn(() => seeds(), tf.range(0, 4)));
    return [0, 1].flatMap(() => tf.tidy(() => (f() as tf.Tensor).arraySync() as bigint[]));
  },
  "two stages of a dataset": async () => {
    const ds = tf.data.range(4).map(() => seeds()).map((x) => tf.stack([x, seeds()]));
    return (await Array.fromAsync(ds.asNumpyIterator(), (x: Any) => x.toArray())).flat();
  },
};

async function inWorkers(): Promise<bigint[]> {
  const body = (ctx: Ctx) => BigInt.asIntN(64, ctx.seed);
  const call = () => tf.numpyFunctionAsync(body, [], "int64", { worker: true });
  return (await Promise.all([call(), call()])).map((t: Any) => t.item());
}

async function assertRepeats(draw: () => Promise<unknown[]> | unknown[], place: string) {
  const a = await withSeed(7, draw), b = await withSeed(7, draw), c = await withSeed(8, draw);
  assertEquals(a, b, place);
  assertEquals(distinct([...a, ...c]), a.length + c.length, place);
  const free = [...await draw(), ...await draw()];
  assertEquals(distinct(free), free.length, place);
}

testOnDevices("ctx.seed repeats after setRandomSeed(), and is each call's own", async () => {
  for (const [place, draw] of Object.entries(PLACES)) await assertRepeats(draw, place);
});

Deno.test("ctx.seed repeats in workers, and is each call's own", async () => {
  await tf.setBackend("cpu");
  await assertRepeats(inWorkers, "a worker");
});

Deno.test("ctx.seed is 64 bits wide", async () => {
  await withSeed(1, () => {
    const all: bigint[] = [];
    for (let i = 0; i < 64; i++) {
      tf.numpyFunction((ctx: Ctx) => void all.push(ctx.seed), [], []);
    }
    assert(all.every((s) => s >= 0n && s < 1n << 64n));
    assertEquals(all.reduce((a, b) => a | b), (1n << 64n) - 1n);
  });
});

/** Element to seed, whatever order bodies end in. */
async function augment(numParallelCalls: number, deterministic = true): Promise<unknown[]> {
  const turn = [3, 1, 2, 0];
  const wait = async (x: tf.NdArray) => {
    for (let k = 0; k < turn[Number(x.item()) % 4]; k++) await new Promise((r) => setTimeout(r));
    return x;
  };
  const ds = tf.data.range(12).map((x) => {
    const late = tf.numpyFunction(wait, [x], "int32", { ordered: false });
    const seed = tf.numpyFunction(
      async (_: tf.NdArray, ctx: Ctx) => await Promise.resolve(BigInt.asIntN(64, ctx.seed)),
      [late],
      "int64",
      { ordered: false },
    );
    const noise = tf.controlDependencies([late], () => tf.randomUniform([]));
    return { late, seed, noise };
  }, { numParallelCalls, deterministic });
  const seen = await Array.fromAsync(
    ds.asNumpyIterator(),
    (e: Any) => [e.late.item(), e.seed.item(), e.noise.item()],
  );
  return seen.sort((a, b) => a[0] - b[0]);
}

testOnDevices("an augmented dataset repeats with any number of parallel calls", async () => {
  const one = await withSeed(3, () => augment(1));
  assertEquals(distinct(one.map((e: Any) => e[1])), 12);
  assertEquals(distinct(one.map((e: Any) => e[2])), 12);
  assertEquals(await withSeed(3, () => augment(2)), one);
  assertEquals(await withSeed(3, () => augment(5)), one);
  assertEquals(await withSeed(3, () => augment(5, false)), one);
  assertNotEquals(await withSeed(4, () => augment(5)), one);
});

testOnDevices("a seed is no matter of what else draws", async () => {
  const draw = (others: number) =>
    withSeed(5, () => {
      for (let k = 0; k < others; k++) tf.randomUniform([1]).dispose();
      return tf.tidy(() => seeds().item());
    });
  assertEquals(await draw(0), await draw(3));
});
