import * as tf from "@weft/weft";
import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { collect, specText } from "./collect.ts";

testOnDevices("map() traces once and computes every element", async () => {
  let traces = 0;
  const ds = tf.data.range(3).map((x) => {
    traces++;
    return { square: tf.square(x), half: tf.div(tf.cast(x, "float32"), 2) };
  });
  assertEquals(specText(ds.elementSpec), { square: "int32[]", half: "float32[]" });
  const expected = [{ square: 0, half: 0 }, { square: 1, half: 0.5 }, { square: 4, half: 1 }];
  assertEquals(await collect(ds), expected);
  assertEquals(await collect(ds), expected);
  assertEquals([traces, ds.size], [1, 3]);
});

Deno.test("map() spreads a list over several parameters and gives it whole to one", async () => {
  const pairs = tf.data.fromTensorSlices([tf.tensor([1, 2]), tf.tensor([10, 20])]);
  assertEquals(await collect(pairs.map((x, y) => tf.add(x, y))), [11, 22]);
  assertEquals(await collect(pairs.map(([x, y]) => tf.sub(y, x))), [9, 18]);
  assertEquals(await collect(pairs.map((...all) => tf.stack(all))), [[1, 10], [2, 20]]);
  const named = tf.data.fromTensorSlices({ x: [1, 2], y: [3, 4] });
  assertEquals(await collect(named.map(({ x, y }) => [y, x])), [[3, 1], [4, 2]]);
});

Deno.test("map() may return an argument, one tensor twice, and constants", async () => {
  const ds = tf.data.range(2).map((x) => {
    const y = tf.neg(x);
    return [x, y, y, 5, tf.constant([1, 2])];
  });
  assertEquals(specText(ds.elementSpec), [
    "int32[]",
    "int32[]",
    "int32[]",
    "float32[]",
    "float32[2]",
  ]);
  assertEquals(await collect(ds), [[0, 0, 0, 5, [1, 2]], [1, -1, -1, 5, [1, 2]]]);
});

testOnDevices("map() reads captured tensors and variables as they are", async () => {
  using offset = tf.tensor([10, 20]);
  using scale = tf.variable(2);
  const ds = tf.data.range(2).map((x) => tf.mul(tf.add(offset, tf.cast(x, "float32")), scale));
  assertEquals(await collect(ds), [[20, 40], [22, 42]]);
  scale.assign(1);
  assertEquals(await collect(ds), [[10, 20], [11, 21]]);
});

testOnDevices("a script op in map() keeps the shape it declares", async () => {
  const body = (x: tf.NdArray) => [Number(x.item()), 1, 2];
  const declared = tf.data.range(3).map((x) =>
    tf.numpyFunction(body, [x], tf.TensorSpec([3], "float32"))
  );
  const undeclared = tf.data.range(3).map((x) => tf.numpyFunction(body, [x], "float32"));
  const computed = tf.data.range(3).map((x) =>
    tf.numpyFunction(body, [x], "float32", { shapeFn: () => [3] })
  );
  const promised = tf.data.range(3).map((x) => {
    const y = tf.pyFunction(
      (x: tf.Tensor) => tf.stack([tf.cast(x, "float32"), tf.scalar(1), tf.scalar(2)]),
      [x],
      "float32",
    );
    y.setShape([3]);
    return y;
  });
  assertEquals([declared, undeclared, computed, promised].map((ds) => specText(ds.elementSpec)), [
    "float32[3]",
    "float32<unknown>",
    "float32[3]",
    "float32[3]",
  ]);
  assertEquals(specText(declared.batch(2).elementSpec), "float32[?,3]");
  for (const ds of [declared, undeclared, computed, promised]) {
    assertEquals(await collect(ds), [[0, 1, 2], [1, 1, 2], [2, 1, 2]]);
  }
});

Deno.test("a promised shape that a script breaks is an error of the iteration", async () => {
  const ds = tf.data.range(1).map((x) => {
    const y = tf.numpyFunction(() => [1, 2], [x], "float32");
    y.setShape([3]);
    return { a: x, b: y };
  });
  await assertRejects(
    () => collect(ds),
    tf.errors.InvalidArgumentError,
    "Incompatible shapes at component 1: expected [3] but got [2].",
  );
  const declared = tf.data.range(1).map((x) =>
    tf.numpyFunction(() => [1, 2], [x], tf.TensorSpec([3]))
  );
  await assertRejects(() => collect(declared), tf.errors.InvalidArgumentError, "[3]");
});

testOnDevices("random ops in map() draw anew for every element and pass", async () => {
  const ds = tf.data.range(3).map(() => tf.randomUniform([4]));
  const seen = [...await collect(ds), ...await collect(ds)].map(String);
  assertEquals(new Set(seen).size, 6);
});

Deno.test("map() is lazy and runs again in every pass", async () => {
  let calls = 0;
  const body = (x: tf.NdArray) => {
    calls++;
    return x;
  };
  const ds = tf.data.range(10).map((x) => tf.numpyFunction(body, [x], "int32")).take(2);
  assertEquals(calls, 0);
  await collect(ds);
  assertEquals(calls, 2);
  await collect(ds);
  assertEquals(calls, 4);
});

/** A body that waits until `together` calls of it are running. */
function meeting(
  together: number,
): { body: (x: tf.NdArray) => Promise<tf.NdArray>; most: () => number } {
  let running = 0, most = 0;
  let open!: () => void;
  const met = new Promise<void>((resolve) => open = resolve);
  return {
    async body(x) {
      most = Math.max(most, ++running);
      if (running === together) open();
      await met;
      running--;
      return x;
    },
    most: () => most,
  };
}

testOnDevices("map() with numParallelCalls overlaps async bodies and keeps the order", async () => {
  const { body, most } = meeting(4);
  const ds = tf.data.range(8).map((x) => tf.numpyFunction(body, [x], tf.TensorSpec([], "int32")), {
    numParallelCalls: 4,
  });
  assertEquals(await collect(ds), [0, 1, 2, 3, 4, 5, 6, 7]);
  assertEquals(most(), 4);
});

/** A body that waits until `together` calls of it are running; then the one that came last goes on first. */
function turning(together: number): (x: tf.NdArray) => Promise<tf.NdArray> {
  let waiting: (() => void)[] = [];
  return async (x) => {
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      if (waiting.length < together) return;
      const all = waiting.reverse();
      waiting = [];
      for (const go of all) go();
    });
    return x;
  };
}

Deno.test("map() keeps the order of elements that are ready in another", async () => {
  const turned = (count: number, options: tf.data.MapOptions) => {
    const body = turning(count);
    return collect(
      tf.data.range(2 * count).map((x) => tf.numpyFunction(body, [x], "int32"), options),
    );
  };
  const sorted = (count: number) => Array.from({ length: 2 * count }, (_, i) => i);
  for (const options of [{}, { deterministic: true }]) {
    assertEquals(await turned(3, { numParallelCalls: 3, ...options }), sorted(3));
  }
  const numParallelCalls = tf.data.AUTOTUNE, cores = globalThis.navigator?.hardwareConcurrency ?? 4;
  assertEquals(await turned(cores, { numParallelCalls }), sorted(cores));
  // Without that promise they come as they are ready.
  const ready = await turned(3, { numParallelCalls: 3, deterministic: false }) as number[];
  assertEquals(ready.toSorted(), sorted(3));
  assertNotEquals(ready, sorted(3));
});

Deno.test("map() with deterministic: false gives elements as they are ready", async () => {
  let release!: () => void;
  const held = new Promise<void>((resolve) => release = resolve);
  const body = async (x: tf.NdArray) => {
    if (x.item() === 0) await held;
    if (x.item() === 3) release();
    return x;
  };
  const late = tf.data.range(4).map((x) => tf.numpyFunction(body, [x], "int32"), {
    numParallelCalls: 2,
    deterministic: false,
  });
  const order = await collect(late) as number[];
  assertEquals(order.toSorted(), [0, 1, 2, 3]);
  assert(order.indexOf(0) >= 2, `0 was held back and came as ${order}`);
});

Deno.test("map() with AUTOTUNE computes the same", async () => {
  const ds = tf.data.range(5).map((x) => tf.neg(x), { numParallelCalls: tf.data.AUTOTUNE });
  assertEquals(await collect(ds), [0, -1, -2, -3, -4].map((x) => x + 0 === 0 ? 0 : x));
});

const thrown: [Error, new (...args: never[]) => Error][] = [
  [new Error("blah"), tf.errors.UnknownError],
  [new TypeError("blah"), tf.errors.InvalidArgumentError],
  [new tf.ValueError("blah"), tf.errors.InvalidArgumentError],
  [new tf.NotImplementedError("blah"), tf.errors.UnimplementedError],
  [new tf.errors.NotFoundError("blah"), tf.errors.NotFoundError],
  [new tf.StopIteration("blah"), tf.errors.InvalidArgumentError],
];
for (const [error, wanted] of thrown) {
  for (const numParallelCalls of [1, 3]) {
    Deno.test(`a ${error.name} in map() is a ${wanted.name} with ${numParallelCalls} calls`, async () => {
      const fail = () => {
        throw error;
      };
      const ds = tf.data.range(3).map((x) => tf.numpyFunction(fail, [x], "int32"), {
        numParallelCalls,
      }).batch(2);
      const got = await assertRejects(() => collect(ds), wanted as new () => Error);
      const kind = numParallelCalls > 1 ? "ParallelMap" : "Map";
      assert(
        new RegExp(
          `Error in user-defined function passed to ${kind}Dataset:\\d+ transformation with iterator: Iterator::Root::Batch::${kind}: `,
        )
          .test(got.message),
        got.message,
      );
      assertStringIncludes(got.message, "blah");
      assertEquals(got.cause, error);
    });
  }
}

Deno.test("StopIteration in map() does not end the dataset", async () => {
  const stop = () => {
    throw new tf.StopIteration("done");
  };
  await assertRejects(
    () => collect(tf.data.range(3).map((x) => tf.pyFunction(stop, [x], "int32"))),
    tf.errors.InvalidArgumentError,
    "Function invocation produced OutOfRangeError: StopIteration: done",
  );
});

Deno.test("an iteration that failed is over", async () => {
  const ds = tf.data.range(3).map((x) =>
    tf.numpyFunction(
      () => {
        throw new Error("boom");
      },
      [x],
      "int32",
    )
  );
  const pass = ds[Symbol.asyncIterator]();
  await assertRejects(
    () => pass.next(),
    tf.errors.UnknownError,
    "Error in user-defined function passed to MapDataset",
  );
  assertEquals(await pass.next(), { done: true, value: undefined });
});

/** The first body goes on once two others have begun, which wait until they are cancelled. */
function waitingBodies(first: () => void) {
  const begun = Promise.withResolvers<void>(), reasons: unknown[] = [];
  let count = 0;
  const body = async (x: tf.NdArray, { signal }: { signal: AbortSignal }) => {
    if (x.item() === 0) {
      await begun.promise;
      first();
      return x;
    }
    if (++count === 2) begun.resolve();
    const cancelled = Promise.withResolvers<void>();
    if (signal.aborted) cancelled.resolve();
    signal.addEventListener("abort", () => cancelled.resolve());
    await cancelled.promise;
    reasons.push(signal.reason);
    return x;
  };
  const ds = tf.data.range(9).map((x) => tf.numpyFunction(body, [x], "int32"), {
    numParallelCalls: 3,
  });
  return { ds, reasons, begun: () => count };
}

Deno.test("leaving the loop cancels the bodies that still run", async () => {
  const { ds, reasons, begun } = waitingBodies(() => {});
  for await (using _ of ds) break;
  // A third may have begun as the first ended.
  assert(begun() >= 2);
  assertEquals(reasons.length, begun());
});

Deno.test("an element that fails cancels the bodies that still run, and tells them why", async () => {
  const { ds, reasons } = waitingBodies(() => {
    throw new RangeError("the first");
  });
  await assertRejects(() => ds[Symbol.asyncIterator]().next(), Error, "the first");
  assertEquals(reasons.map((reason) => String(reason).includes("the first")), [true, true]);
});

Deno.test("map() refuses functions that are async, are none or return no tensors", () => {
  const ds = tf.data.range(1);
  assertThrows(() => ds.map((x) => Promise.resolve(x)), TypeError, "whose bodies may be async");
  assertThrows(
    () => ds.map(1 as unknown as () => tf.Tensor),
    tf.ValueError,
    "Expected func to be callable",
  );
  assertThrows(() => ds.map(() => undefined), TypeError, "wanted tensors");
  assertThrows(() => ds.map((x) => x, { numParallelCalls: 0 }), tf.ValueError, "numParallelCalls");
});

testOnDevices("filter() keeps the elements for which a traced predicate holds", async () => {
  const even = tf.data.range(6).filter((x) => tf.equal(tf.mod(x, 2), 0));
  assertEquals([await collect(even), even.size], [[0, 2, 4], null]);
  const script = tf.data.range(4).filter((x) =>
    tf.numpyFunction((x: tf.NdArray) => Number(x.item()) > 1, [x], tf.TensorSpec([], "bool"))
  );
  assertEquals(await collect(script), [2, 3]);
  const pairs = tf.data.zip([tf.data.range(3), tf.data.range(3)]);
  assertEquals(await collect(pairs.filter((a, b) => tf.less(tf.add(a, b), 3))), [[0, 0], [1, 1]]);
  assertThrows(() => tf.data.range(1).filter((x) => x), tf.ValueError, "scalar boolean tensor");
  assertThrows(
    () => tf.data.range(1).filter((x) => tf.equal([1, 2], x)),
    tf.ValueError,
    "Was bool[2]",
  );
  for (const answer of [[true, true], [false, false], []]) {
    const unknown = tf.data.range(1).filter((x) => tf.numpyFunction(() => answer, [x], "bool"));
    await assertRejects(
      () => collect(unknown),
      tf.errors.InvalidArgumentError,
      "must return a scalar bool",
    );
  }
});

Deno.test("map() in workers gets arrays, a seed each, and keeps the order", async () => {
  const body = async ([x]: tf.NdArray[], y: tf.NdArray, ctx: tf.ScriptContext) => {
    if (Number(x.item()) % 2 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    const at = ctx.array([2], [Number(x.item()), y.data.length]);
    return { at, seed: BigInt.asIntN(64, ctx.seed) };
  };
  const Tout = { at: tf.TensorSpec([2], "float32"), seed: "int64" } as const;
  const elements = (workers = true) => {
    const pairs = tf.data.range(6).map((i) => [[i], tf.range(0, i)] as const);
    return Array.fromAsync(
      pairs.map(body, { workers, Tout }).asNumpyIterator(),
      ({ at, seed }) => [...at.toArray() as number[], seed.item()],
    );
  };
  tf.setRandomSeed(5);
  const first = await elements();
  assertEquals(first.map(([i, n]) => [i, n]), [0, 1, 2, 3, 4, 5].map((i) => [i, i]));
  assertEquals(new Set(first.map((e) => e[2])).size, 6);
  tf.setRandomSeed(5);
  assertEquals(await elements(), first);
  tf.setRandomSeed(5);
  assertEquals(await elements(false), first);
  tf.setRandomSeed(null);
});

Deno.test("map() in workers names what fails, and needs Tout", async () => {
  const fails = (x: tf.NdArray) => {
    if (x.item() === 2) throw new RangeError("no two");
    return 1;
  };
  const ds = tf.data.range(4).map(fails, { workers: true, Tout: "float32" });
  const error = await Array.fromAsync(ds.asNumpyIterator()).catch((e) => e);
  assert(error instanceof tf.errors.InvalidArgumentError);
  assertMatch(error.message, /passed to ParallelMap.*RangeError: no two/s);
  const kept = ds.ignoreErrors();
  assertEquals((await Array.fromAsync(kept.asNumpyIterator())).length, 3);
  assertThrows(
    // @ts-expect-error Tout is wanted.
    () => tf.data.range(4).map(fails, { workers: true }),
    tf.ValueError,
    "Tout must say what the function returns",
  );
});
