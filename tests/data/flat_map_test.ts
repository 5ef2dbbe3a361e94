import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { collect, specText } from "./collect.ts";

const { data } = tf;

/** `10 n`, `10 n + 1`, … */
const decade = (n: tf.Tensor, count = 4) => data.range(count).map((x) => tf.add(tf.mul(n, 10), x));

// What TensorFlow 2.21 gives for range(1, 6).interleave(lambda n: Dataset.range(4).map(lambda x: 10 * n + x), cycle_length, block_length).
const INTERLEAVED: [cycleLength: number, blockLength: number, elements: number[]][] = [
  [2, 1, [10, 20, 11, 21, 12, 22, 13, 23, 30, 40, 31, 41, 32, 42, 33, 43, 50, 51, 52, 53]],
  [2, 3, [10, 11, 12, 20, 21, 22, 13, 23, 30, 31, 32, 40, 41, 42, 33, 43, 50, 51, 52, 53]],
  [3, 2, [10, 11, 20, 21, 30, 31, 12, 13, 22, 23, 32, 33, 40, 41, 50, 51, 42, 43, 52, 53]],
  [1, 1, [10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33, 40, 41, 42, 43, 50, 51, 52, 53]],
];

for (const [cycleLength, blockLength, wanted] of INTERLEAVED) {
  Deno.test(`interleave() has TensorFlow's order: cycle ${cycleLength}, block ${blockLength}`, async () => {
    for (const numParallelCalls of [1, 2, 5]) {
      const options = { cycleLength, blockLength, numParallelCalls };
      const ds = data.range(1, 6).interleave((n) => decade(n), options);
      assertEquals(await collect(ds), wanted, `${numParallelCalls} at once`);
    }
  });
}

Deno.test("interleave() in any order gives each element once", async () => {
  const ds = data.range(5).interleave((n) => decade(n, 3), {
    ...{ cycleLength: 3, numParallelCalls: 3, deterministic: false },
  });
  const wanted = [0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32, 40, 41, 42];
  assertEquals((await collect(ds) as number[]).sort((a, b) => a - b), wanted);
});

Deno.test("flatMap() goes through datasets of unequal and of no length", async () => {
  const ds = data.fromTensorSlices(tf.tensor1d([2, 0, 3], "int32")).flatMap((n) =>
    data.range(9).takeWhile((x) => tf.less(x, n))
  );
  assertEquals(specText(ds.elementSpec), "int32[]");
  assertEquals(ds.size, null);
  assertEquals(await collect(ds), [0, 1, 0, 1, 2]);
});

testOnDevices(
  "flatMap() and interleave() call functions that read their element with values alone",
  async () => {
    const outputSignature = tf.TensorSpec([], "int32"), seen: unknown[] = [];
    const few = (n: tf.Tensor) => {
      const first = Number(n.item());
      seen.push(first);
      return data.range(10 * first, 10 * first + first % 3);
    };
    const before = tf.memory().numTensors;
    const ds = data.range(1, 5).flatMap(few, { outputSignature });
    assertEquals([specText(ds.elementSpec), ds.size, seen], ["int32[]", null, []]);
    assertEquals(await collect(ds), [10, 20, 21, 40]);
    assertEquals(seen, [1, 2, 3, 4]);
    const turns = data.range(1, 6).interleave(few, { outputSignature, cycleLength: 2 });
    assertEquals(await collect(turns), [10, 20, 21, 40, 50, 51]);
    assertEquals(tf.memory().numTensors, before);
    // Without it the error says what to do, and what the datasets hold must be what was said.
    const error = assertThrows(() => data.range(3).flatMap(few), TypeError);
    assert(/Cannot call item\(\).*pass \{ outputSignature \}/s.test(error.message), error.message);
    await assertRejects(
      () => collect(data.range(3).flatMap(few, { outputSignature: "float32" })),
      TypeError,
      "float32<unknown> and int32[] have no common element type",
    );
    await assertRejects(
      () =>
        collect(data.range(1, 3).flatMap(few, { outputSignature: tf.TensorSpec([2], "int32") })),
      tf.errors.InvalidArgumentError,
      "Incompatible shapes at component 0: expected [2] but got []",
    );
    assertThrows(
      () => data.range(3).flatMap(few, { outputSignatures: "int32" } as never),
      TypeError,
      "outputSignatures",
    );
  },
);

testOnDevices(
  "flatMap() gives records and lists their components, and frees what its function makes",
  async () => {
    const pairs = data.fromTensorSlices({
      row: [[1, 2], [3, 4]],
      id: tf.tensor1d([7, 8], "int32"),
    });
    const before = tf.memory().numTensors;
    const ds = pairs.flatMap(({ row, id }) =>
      data.zip({ value: data.fromTensorSlices(tf.mul(row, 2)), id: data.fromTensors(id).repeat() })
    );
    assertEquals(specText(ds.elementSpec), { value: "float32[]", id: "int32[]" });
    const wanted = [{ value: 2, id: 7 }, { value: 4, id: 7 }, { value: 6, id: 8 }, {
      value: 8,
      id: 8,
    }];
    assertEquals(await collect(ds), wanted);
    assertEquals(await collect(ds.take(3)), wanted.slice(0, 3));
    assertEquals(tf.memory().numTensors, before);
  },
);

Deno.test("flatMap() refuses what is no dataset, at once", () => {
  assertThrows(
    () => data.range(3).flatMap((x) => x as unknown as tf.data.Dataset),
    TypeError,
    "`mapFunc` of flatMap must return a Dataset object",
  );
  assertThrows(
    () => data.range(3).interleave(3 as unknown as () => tf.data.Dataset),
    tf.ValueError,
    "callable",
  );
  const ok = (x: tf.Tensor) => data.fromTensors(x);
  assertThrows(
    () => data.range(3).interleave(ok, { cycleLength: 0 }),
    tf.ValueError,
    "cycleLength",
  );
  assertThrows(
    () => data.range(3).interleave(ok, { blockLength: 0 }),
    tf.ValueError,
    "blockLength",
  );
});

Deno.test("an error in one of the datasets comes in its place, and the others go on", async () => {
  const body = (x: tf.NdArray) => {
    if (Number(x.item()) === 11) throw new RangeError("eleven");
    return x;
  };
  const ds = data.range(3).interleave(
    (n) => decade(n, 2).map((x) => tf.numpyFunction(body, [x], tf.TensorSpec([], "int32"))),
    { cycleLength: 2 },
  );
  await assertRejects(() => collect(ds), tf.errors.InvalidArgumentError, "eleven");
  assertEquals(await collect(ds.ignoreErrors()), [0, 10, 1, 20, 21]);
});

Deno.test("what is random in interleaved datasets differs from one to the next, and repeats", async () => {
  const build = () =>
    data.range(4).interleave(
      () => data.range(3).map(() => tf.randomUniform([], 0, 1, "float32", 1)),
      {
        cycleLength: 2,
      },
    );
  const first = await collect(build()) as number[];
  assertEquals(new Set(first).size, first.length);
  assertEquals(await collect(build()), first);
});

Deno.test("chooseFromDatasets() follows its numbers and ends as it is told", async () => {
  const two = [data.range(3), data.range(10, 12)];
  const choices = (...numbers: number[]) => data.fromTensorSlices(tf.tensor1d(numbers, "int32"));
  const chosen = (c: tf.data.Dataset<tf.Tensor>, stop?: boolean) =>
    collect(data.chooseFromDatasets(two, c, stop));
  assertEquals(await chosen(choices(1, 0, 1, 1, 0)), [10, 0, 11]);
  assertEquals(await chosen(choices(1, 0, 1, 1, 0), false), [10, 0, 11, 1]);
  await assertRejects(
    () => chosen(choices(0, 2)),
    tf.errors.InvalidArgumentError,
    "Selector index out of range: 2",
  );
  assertThrows(
    () => data.chooseFromDatasets(two, data.fromTensors(1)),
    TypeError,
    "scalar integers",
  );
  assertThrows(() => data.chooseFromDatasets([], choices(0)), tf.ValueError, "empty list");
  const other = data.fromTensors(1) as tf.data.Dataset<tf.Tensor>;
  assertThrows(() => data.chooseFromDatasets([two[0], other], choices(0)), TypeError, "differ");
});

Deno.test("sampleFromDatasets() draws by weights, the same with a seed", async () => {
  const endless = [data.range(1).repeat(), data.range(1, 2).repeat()];
  const drawn = (seed: number) =>
    collect(data.sampleFromDatasets(endless, { weights: [3, 1], seed }).take(800)) as Promise<
      number[]
    >;
  const first = await drawn(4);
  assertEquals(await drawn(4), first);
  const ones = first.reduce((a, b) => a + b, 0);
  assert(Math.abs(ones - 200) < 60, `${ones} of 800 at a weight of a quarter`);
  const all = data.sampleFromDatasets([data.range(3), data.range(10, 12)], { seed: 1 });
  assertEquals((await collect(all) as number[]).sort((a, b) => a - b), [0, 1, 2, 10, 11]);
  const stopped = data.sampleFromDatasets([data.range(0), data.range(9)], {
    weights: [1, 0],
    stopOnEmptyDataset: true,
  });
  assertEquals(await collect(stopped), []);
  for (const weights of [[1], [0, 0], [1, -1], [1, NaN]]) {
    assertThrows(() => data.sampleFromDatasets(endless, { weights }), tf.ValueError, "weights");
  }
});

/** Datasets of elements whose functions capture the element. */
const CAPTURING: Readonly<Record<string, () => tf.data.Dataset>> = {
  interleave: () => data.range(6).interleave((n) => decade(n)),
  "interleave ahead": () => data.range(6).interleave((n) => decade(n), { numParallelCalls: 2 }),
  flatMap: () => data.range(6).flatMap((n) => decade(n)),
  "flatMap within flatMap": () =>
    data.range(3).flatMap((n) => data.range(2).flatMap((m) => decade(tf.add(n, m)))),
  "flatMap that filters": () =>
    data.range(6).flatMap((n) => data.range(3).filter((m) => tf.less(m, n))),
  "flatMap of windows": () =>
    data.range(6).window(2).flatMap((w) => w.map((x) => tf.add(x, 1)).batch(2)),
  "flatMap that fails": () =>
    data.range(6).flatMap((n) => data.range(3).map((m) => tf.floorDiv(m, tf.sub(n, 2)))),
  "flatMap whose function fails": () =>
    data.range(6).flatMap(
      (n) => n.arraySync() === 3 ? data.range(tf.scalar("a") as never) : decade(n),
      { outputSignature: tf.TensorSpec([], "int32") },
    ),
};
for (const [name, make] of Object.entries(CAPTURING)) {
  testOnDevices(`${name}: what inner datasets capture is freed with their pass`, async () => {
    const ds = make();
    for (const most of [Infinity, 3]) {
      const before = tf.memory().numTensors;
      let n = 0;
      try {
        for await (const e of ds) {
          tf.dispose(e);
          if (++n === most) break;
        }
      } catch (error) {
        assert(name.includes("fail"), String(error));
      }
      // Passes that read ahead end in turn.
      for (let k = 0; k < 50 && tf.memory().numTensors !== before; k++) await Promise.resolve();
      assertEquals(tf.memory().numTensors, before, `${most}`);
    }
  });
}
