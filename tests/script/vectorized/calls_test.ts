/** Vectorised scripts: calls by themselves, their arguments and results, what goes wrong, files and datasets. */
import * as tf from "@weft/weft";
import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import type { Attrs, OpDef } from "../../../src/engine/core/op.ts";
import { callBatched } from "../../../src/engine/script/batch.ts";
import { fileName, testOnDevices } from "../../devices.ts";
import { errorOf, open, plain } from "../helpers.ts";
import { calls as noted, cube, double, doubled, OPTIONS, ROW, seen, taken, X } from "./bodies.ts";

type Fn = (row: tf.Tensor) => tf.Tensor;

testOnDevices("a vectorised script called by itself gets a batch of one", async () => {
  const x = tf.tensor([1, 2]);
  const modes: Record<string, () => Promise<unknown>> = {
    eager: () => Promise.resolve(double(x).arraySync()),
    "eager, awaited": async () =>
      (await tf.numpyFunctionAsync(doubled, [x], ROW, OPTIONS)).arraySync(),
    function: () => Promise.resolve((tf.function(double as Fn) as Fn)(x).arraySync()),
    session: async () => {
      await using g = open(() => double(tf.constant([1, 2])));
      return plain(await g.sess.run(g.parts));
    },
    "mapFn() in eager mode, a plain loop": () =>
      Promise.resolve(tf.unstack(tf.mapFn(double, tf.tensor([[1, 2]])))[0]!.arraySync()),
    worker: async () => {
      const body = (x: tf.NdArray) => x.map((v) => 2 * Number(v) * x.shape[0]!);
      const y = await tf.numpyFunctionAsync(body, [x], ROW, { ...OPTIONS, worker: true });
      noted.push("1x2");
      return y.arraySync();
    },
  };
  for (const [mode, run] of Object.entries(modes)) {
    assertEquals(await run(), [2, 4], mode);
    assertEquals(taken(), ["1x2"], mode);
  }
  for (const fn of [cube, tf.function(cube as Fn) as Fn]) {
    assertEquals(tf.grad((x: tf.Tensor) => tf.sum(fn(x)))(x).arraySync(), [3, 12]);
    assertEquals(taken(), ["1x2"]);
  }
  assertEquals(tf.grad((x: tf.Tensor) => tf.sum(double(x)))(x).arraySync(), [2, 2]);
  assertEquals(taken(), ["1x2"]);
});

testOnDevices(
  "vectorised scripts take nests, several dtypes, and what is the same for all rows",
  () => {
    const names = tf.tensor(["a", "b"]), shared = tf.tensor([7, 8]);
    const f = tf.function((x: tf.Tensor, names: tf.Tensor) =>
      tf.mapFn(([row, name]) =>
        tf.numpyFunction(
          ({ row, name }: { row: tf.NdArray; name: tf.NdArray }, shared: tf.NdArray) => {
            seen(row, name, shared);
            return {
              sum: row.map((v, i) => Number(v) + Number(shared.data[i])),
              text: name.strings().map((s) => `${s}!`),
            };
          },
          [{ row: row!, name: name! }, shared],
          { sum: ROW, text: "string" },
          OPTIONS,
        ), [x, names])
    );
    const { sum, text } = f(tf.tensor([[1, 2], [3, 4]]), names) as Record<string, tf.Tensor>;
    assertEquals([plain(sum), plain(text)], [[[8, 10], [10, 12]], ["a!", "b!"]]);
    assertEquals(taken(), ["2x2,2,2x2"]);
  },
);

testOnDevices("vectorised scripts group rows of one shape", () => {
  const body = (x: tf.NdArray) => {
    seen(x);
    return (plain(x) as number[][]).map((row) => row.reduce((a, b) => a + b, 0));
  };
  const f = tf.function((n: tf.Tensor) =>
    tf.mapFn(
      (n) => tf.numpyFunction(body, [tf.range(0, n)], tf.TensorSpec([], "float32"), OPTIONS),
      n,
    )
  );
  assertEquals((f(tf.tensor([3, 1, 3, 4])) as tf.Tensor).arraySync(), [3, 0, 3, 6]);
  assertEquals(taken(), ["2x3", "1x1", "1x4"]);
});

testOnDevices("vectorised scripts without results are called once", async () => {
  const note = (x: tf.NdArray): void => seen(x);
  const f = tf.function((x: tf.Tensor) =>
    tf.mapFn((row) => {
      tf.numpyFunction(note, [tf.mul(row, 2)], [], OPTIONS);
      return row;
    }, x)
  );
  assertEquals((f(tf.tensor(X)) as tf.Tensor).arraySync(), X);
  assertEquals(taken(), ["3x2"]);
  const later = async (x: tf.NdArray) => {
    seen(x);
    return await Promise.resolve(x);
  };
  const g = tf.function((x: tf.Tensor) =>
    tf.mapFn((row) => tf.numpyFunction(later, [row], ROW, OPTIONS), x)
  );
  assertEquals((await g.async(tf.tensor(X)) as tf.Tensor).arraySync(), X);
  assertEquals(taken(), ["3x2"]);
});

testOnDevices(
  "rows whose other effects have an order call vectorised scripts one after the other",
  () => {
    const order: number[] = [];
    const f = tf.function((x: tf.Tensor) =>
      tf.mapFn((row) => {
        const y = double(row);
        return tf.numpyFunction(
          (y: tf.NdArray) => {
            order.push(Number(y.at(0)));
            return y;
          },
          [y],
          ROW,
        );
      }, x)
    );
    assertEquals((f(tf.tensor(X)) as tf.Tensor).arraySync(), [[2, 4], [6, 8], [10, 12]]);
    assertEquals([taken(), order], [["1x2", "1x2", "1x2"], [2, 6, 10]]);
  },
);

testOnDevices(
  "a vectorised script that returns another leading axis is told of by name",
  async () => {
    function first(x: tf.NdArray): unknown {
      return [...x][0];
    }
    const f = tf.function((x: tf.Tensor) =>
      tf.mapFn((row) => tf.numpyFunction(first, [row], "float32", OPTIONS), x)
    );
    const texts: [() => unknown, RegExp][] = [
      [
        () => f(tf.tensor(X)),
        /has shape \[2\] for a batch of 3: results of the vectorized script 'first'/,
      ],
      [
        () => tf.numpyFunction(first, [tf.tensor([1, 2])], "float32", OPTIONS),
        /has shape \[2\] for a batch of 1: results of the vectorized script 'first'/,
      ],
      [
        () =>
          tf.pyFunction(
            { total: (x: tf.Tensor) => tf.sum(x) }.total,
            [tf.tensor([1, 2])],
            "float32",
            OPTIONS,
          ),
        /has shape \[\] for a batch of 1: results of the vectorized script 'total'/,
      ],
      [
        () =>
          tf.grad((x: tf.Tensor) =>
            tf.sum(
              tf.numpyFunction(doubled, [x], ROW, { ...OPTIONS, vjp: (_, dy) => tf.sum(dy, 0) }),
            )
          )(tf.tensor([1, 2])),
        /vjp of doubled returned float32\[2\] as the gradient of input 0, which is float32\[1, ?2\]/,
      ],
    ];
    for (const [run, text] of texts) {
      const error = await errorOf(run);
      assertMatch(error.message, text);
    }
    taken();
    assertThrows(
      () => tf.numpyFunction(() => 1, [], "float32", OPTIONS),
      tf.ValueError,
      "it has no inputs",
    );
    const ragged = tf.ragged.constant([[1], [2, 3]]);
    assertThrows(
      () => tf.pyFunction((x: unknown) => x, [ragged], ragged.spec, OPTIONS),
      tf.ValueError,
      "it takes or returns ragged or sparse tensors",
    );
  },
);

testOnDevices("the shapes and seeds of vectorised scripts are those of rows", () => {
  const specs: unknown[] = [], seeds: bigint[] = [];
  const body = (x: tf.NdArray, ctx: tf.ScriptContext) => {
    seen(x);
    seeds.push(ctx.seed);
    return x;
  };
  const build = () =>
    tf.function((x: tf.Tensor) =>
      tf.mapFn((row) => {
        const y = tf.numpyFunction(body, [row], "float32", {
          ...OPTIONS,
          shapeFn: (spec) => {
            specs.push(spec.shape);
            return spec.shape;
          },
        });
        assertEquals(y.staticShape, [2]);
        return tf.add(y, tf.randomUniform([2], 0, 1, "float32", 3));
      }, x)
    );
  const run = (): unknown => {
    tf.setRandomSeed(5);
    return (build()(tf.tensor(X)) as tf.Tensor).arraySync();
  };
  const [a, b] = [run(), run()];
  tf.setRandomSeed(null);
  assertEquals(a, b);
  assertEquals(seeds[0], seeds[1]);
  assertEquals(taken(), ["3x2", "3x2"]);
  assertEquals(new Set(specs.map(String)), new Set(["2"]));
});

testOnDevices("callBatched() maps a call of a vectorised script over rows", () => {
  const offset = tf.tensor([10, 20]);
  const added = (x: tf.NdArray, y: tf.NdArray): tf.NdArray => {
    seen(x, y);
    return x.map((v, i) => Number(v) + Number(y.data[i]));
  };
  const vjp: tf.ScriptVjp = (_, dy) => [dy, tf.mul(dy, 3)];
  for (
    const body of [added, (x: tf.Tensor, y: tf.Tensor) => (seen(x, y), tf.add(x, tf.mul(y, 1)))]
  ) {
    const isNumpy = body === added;
    const f = tf.function((x: tf.Tensor, offset: tf.Tensor) => {
      const row = (isNumpy ? tf.numpyFunction : tf.pyFunction) as typeof tf.numpyFunction;
      const { op } = row(body as () => unknown, [tf.gather(x, 0), offset], ROW, {
        ...OPTIONS,
        ...(isNumpy && { vjp }),
      }) as unknown as { op: { def: OpDef; attrs: Attrs } };
      const [y] = callBatched(op, [x, offset], [true, false]);
      assertEquals(y!.staticShape, [3, 2]);
      return y!;
    });
    const [x] = [tf.tensor(X)];
    taken();
    assertEquals(f(x, offset).arraySync(), [[11, 22], [13, 24], [15, 26]]);
    // The call that is mapped runs too: it may have effects.
    assertEquals(taken().toSorted(), ["1x2,1x2", "3x2,3x2"]);
    const [dx, dy] = tf.grads((x: tf.Tensor, y: tf.Tensor) => tf.sum(f(x, y)))([x, offset]);
    const each = isNumpy ? 9 : 3;
    assertEquals([dx!.arraySync(), dy!.arraySync()], [[[1, 1], [1, 1], [1, 1]], [each, each]]);
  }
  taken();
});

Deno.test("a vectorised script that was registered comes out of a file as it went in", async () => {
  const body = tf.registerScript("weft.tests.vectorized@1", doubled, OPTIONS);
  const own = tf.registerScript("weft.tests.vectorized_call@1", (x: tf.NdArray) => {
    seen(x);
    return x;
  });
  const graph = new tf.Graph();
  const y = graph.asDefault(() => {
    const x = tf.placeholder("float32", [null, 2], "x");
    const row = (row: tf.Tensor) =>
      tf.numpyFunction(own, [tf.numpyFunction(body, [row], ROW)], ROW, OPTIONS);
    return tf.mapFn(row, x);
  });
  const def = graph.toGraphDef({ portable: false });
  await using g = open(() => tf.importGraphDef(def, { prefix: "" }));
  assertEquals(plain(await g.sess.run(y.name, { feeds: { "x:0": X } })), [[2, 4], [6, 8], [
    10,
    12,
  ]]);
  assertEquals(taken(), ["3x2", "3x2"]);
});

Deno.test("a vectorised script in a dataset's map() is called once for each batch", async () => {
  const later = async (x: tf.NdArray) => {
    seen(x);
    await Promise.resolve();
    if (x.data[0] === 6) throw new RangeError("no six");
    return x.map((v) => 2 * Number(v));
  };
  const range = (n: number, calls?: number) =>
    tf.data.range(n).map(
      (x) =>
        tf.add(
          tf.numpyFunction(later, [tf.cast(x, "float32")], tf.TensorSpec([], "float32"), OPTIONS),
          1,
        ),
      calls === undefined ? {} : { numParallelCalls: calls },
    );
  const all = async (ds: tf.data.Dataset): Promise<unknown[]> => {
    const values: unknown[] = [];
    for await (const x of ds) values.push(plain(x));
    return values;
  };
  for (const parallel of [undefined, 4]) {
    assertEquals(await all(range(5, parallel).batch(3)), [[1, 3, 5], [7, 9]]);
    assertEquals(taken(), ["3", "2"]);
    assertEquals(await all(range(5, parallel).batch(3, { dropRemainder: true })), [[1, 3, 5]]);
    taken();
    assertEquals(await all(range(2, parallel)), [1, 3]);
    assertEquals(taken(), ["1", "1"]);
  }
  const twice = range(4).map((x) =>
    tf.numpyFunction(later, [x], tf.TensorSpec([], "float32"), OPTIONS)
  );
  assertEquals(await all(twice.batch(4)), [[2, 6, 10, 14]]);
  assertEquals(taken(), ["4", "4"]);
  const error = await errorOf(() => all(range(9).batch(3)));
  assertMatch(error.message, /no six/);
  assertEquals(await all(range(9).batch(3).ignoreErrors()), [[1, 3, 5], [7, 9, 11]]);
});

testOnDevices(
  "vectorised functions of a dataset's map() run in workers, once for each batch",
  async () => {
    const Tout = { twice: ROW, rows: tf.TensorSpec([], "int32") };
    const body = (x: tf.NdArray) => ({
      twice: x.map((v) => 2 * Number(v)),
      rows: new Int32Array(x.shape[0]!).fill(x.shape[0]!),
    });
    const rows = tf.data.fromTensorSlices(tf.tensor([...X, [7, 8], [9, 10]]));
    const all = async (ds: tf.data.Dataset): Promise<unknown[]> => {
      const values: unknown[] = [];
      for await (const e of ds) values.push(plain(e));
      return values;
    };
    const twice = (list: number[][]) => list.map((row) => row.map((v) => 2 * v));
    const batches = [
      { twice: twice(X.slice(0, 2)), rows: [2, 2] },
      { twice: twice([X[2]!, [7, 8]]), rows: [2, 2] },
      { twice: twice([[9, 10]]), rows: [1] },
    ];
    for (const workers of [true, false]) {
      const mapped = {
        "map({ workers })": rows.map(body, { workers, Tout, vectorized: true }),
        "a script with worker": rows.map((x) =>
          tf.numpyFunction(body, [x], Tout, { ...OPTIONS, worker: workers })
        ),
        "many at once": rows.map(
          (x) => tf.numpyFunction(body, [x], Tout, { ...OPTIONS, worker: workers }),
          { numParallelCalls: 4 },
        ),
      };
      for (const [name, ds] of Object.entries(mapped)) {
        assertEquals(await all(ds.batch(2)), batches, name);
        assertEquals(await all(ds.batch(2, { dropRemainder: true })), batches.slice(0, 2), name);
        assertEquals(
          (await all(ds)).map((e) => (e as { rows: number }).rows),
          [1, 1, 1, 1, 1],
          name,
        );
      }
      const short = rows.map(() => new Float32Array(2), { workers, Tout: ROW, vectorized: true });
      const error = await errorOf(() => all(short.batch(2)));
      assertMatch(error.message, /has shape \[2\]/);
    }
    assertThrows(
      () => rows.map((x) => x, { vectorized: true } as object),
      tf.ValueError,
      "vectorized is for functions of arrays that run in workers",
    );
  },
);

testOnDevices("an error of a batched call names the line of the script in the row", async () => {
  const short = (x: tf.Tensor) =>
    tf.numpyFunction(() => new Float32Array(3), [x], "float32", { vectorized: true });
  const f = tf.function((x: tf.Tensor) => tf.mapFn(short, x)) as Fn;
  for (const way of [(x: tf.Tensor) => tf.vectorizedMap(short, x), f]) {
    const error = await errorOf(() => way(tf.tensor([1, 2])));
    assertMatch(error.message, /has shape \[3\] for a batch of 2/);
    const [, place] = error.message.split("Original stack trace for 'PyFunc':\n");
    assertMatch(place!.split("\n")[0]!, new RegExp(fileName(import.meta.url)));
  }
});
