/** Copies of large arrays between a graph and its numpy-style bodies, and their separation. */
import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { spy } from "@std/testing/mock";
import { testOnDevices } from "../devices.ts";

const SIZE = 1 << 14;
const spec = tf.TensorSpec([SIZE], "float32");

/** Counts the host arrays that `fn` copies. */
async function copiesOf(fn: () => Promise<unknown>): Promise<number> {
  using copied = spy(tf.NdArray.prototype, "copy");
  await fn();
  return copied.calls.length;
}

type Body = (v: tf.NdArray) => unknown;
const fresh: Body = () => new Float32Array(SIZE);
const same: Body = (v) => v;
const later: Body = (v) => Promise.resolve(v);

const CASES: readonly {
  readonly what: string;
  readonly build: (x: tf.Tensor, script: (x: tf.Tensor) => tf.Tensor) => tf.Tensor | tf.Operation;
  readonly copies: number;
  /** True: an array is fed, which is not the run's. */
  readonly isArray?: true;
}[] = [
  {
    what: "a feed that becomes a result nobody reads",
    build: (x, script) => script(x).op as unknown as tf.Operation,
    copies: 1,
  },
  { what: "a feed and a result for kernels", build: (x, script) => tf.sum(script(x)), copies: 1 },
  {
    what: "what a run computed itself",
    build: (x, script) => tf.sum(script(tf.cumsum(x))),
    copies: 0,
  },
  {
    what: "an array for kernels alone",
    build: (x, script) => tf.sum(script(tf.cumsum(x))),
    copies: 0,
    isArray: true,
  },
  { what: "a result that is fetched", build: (x, script) => script(tf.cumsum(x)), copies: 1 },
];

for (const { what, build, copies, isArray } of CASES) {
  testOnDevices(`large arrays: ${what} is copied ${copies} times`, async () => {
    for (const body of [fresh, same, later]) {
      const graph = new tf.Graph();
      const y = graph.asDefault(() =>
        build(
          tf.placeholder("float32", [SIZE], "x"),
          (x) => tf.numpyFunction(body as typeof same as () => tf.NdArray, [x], spec),
        )
      );
      await using sess = new tf.Session({ graph });
      // A tensor is the run's own where it is read to the host.
      const data = new Float32Array(SIZE);
      using tensor = tf.tensor(data);
      const feed = isArray || copies > 0 && what.includes("feed") ? data : tensor;
      await sess.run(y as tf.Tensor, { feeds: { "x:0": feed } });
      const before = tf.memory();
      const count = await copiesOf(() => sess.run(y as tf.Tensor, { feeds: { "x:0": feed } }));
      assertEquals(count, copies, String(body));
      assertEquals(tf.memory().numTensors, before.numTensors);
    }
  });
}

testOnDevices("a body may return one array again and again, and change it meanwhile", async () => {
  const kept = new Float32Array(SIZE);
  const body = (v: tf.NdArray): Float32Array => {
    kept.fill(Number(v.at(0)));
    queueMicrotask(() => kept.fill(-1));
    return kept;
  };
  const graph = new tf.Graph();
  const fetches = graph.asDefault(() => {
    const x = tf.placeholder("float32", [SIZE], "x");
    const [a, b, c] = [0, 1, 2].map((n) => tf.numpyFunction(body, [tf.add(x, n)], spec));
    return [tf.max(a!), tf.max(b!), tf.add(tf.max(c!), tf.min(c!)), c!];
  });
  await using sess = new tf.Session({ graph });
  const feeds = { "x:0": new Float32Array(SIZE).fill(5) };
  const [a, b, c, whole] = await sess.run(fetches, { feeds }) as tf.Fetched[];
  assertEquals([a, b, c], [5, 6, 14]);
  assertEquals([...new Set((whole as tf.NdArray).data as Float32Array)], [7]);
});

testOnDevices("a result that does not fit frees those that came before it", async () => {
  const graph = new tf.Graph();
  const y = graph.asDefault(() => {
    const [a, b] = tf.numpyFunction(
      () => [new Float32Array(SIZE), new Float32Array(3)],
      [tf.placeholder("float32", [], "x")],
      [spec, spec],
    );
    return tf.add(tf.sum(a), tf.sum(b));
  });
  await using sess = new tf.Session({ graph });
  const before = tf.memory();
  let message = "";
  await sess.run(y, { feeds: { "x:0": 1 } }).catch((e: Error) => message = e.message);
  assertEquals(message.includes("not compatible with the declared shape"), true);
  assertEquals(tf.memory().numTensors, before.numTensors);
  assertEquals(tf.memory().numBytes, before.numBytes);
});

testOnDevices("an array that is fed may be changed as soon as the run waits", async () => {
  const graph = new tf.Graph();
  const y = graph.asDefault(() => {
    const x = tf.placeholder("float32", [SIZE], "x"),
      start = tf.placeholder("float32", [], "start");
    const waited = tf.numpyFunction((v: tf.NdArray) => Promise.resolve(v), [start], "float32");
    return tf.add(tf.max(x), tf.reshape(waited, []));
  });
  await using sess = new tf.Session({ graph });
  const x = new Float32Array(SIZE);
  for (const value of [3, 4, 5]) {
    const running = sess.run(y, { feeds: { "x:0": x.fill(value), "start:0": 10 } });
    x.fill(-1);
    assertEquals(await running, 10 + value);
  }
});

/** Runs a body on a large constant, and on its own result again; gives what each of two runs returned. */
async function onConstant(body: Body): Promise<unknown[]> {
  const graph = new tf.Graph();
  const script = (x: tf.Tensor): tf.Tensor =>
    tf.numpyFunction(body as () => tf.NdArray, [x], tf.TensorSpec(null, "float32"));
  const y = graph.asDefault(() => script(script(tf.constant(new Float32Array(SIZE).fill(3)))));
  await using sess = new tf.Session({ graph });
  return [await sess.run(y), await sess.run(y)];
}

/** True before the elements are first read, which copies them. */
const isUncopied = (v: tf.NdArray): boolean =>
  Object.getOwnPropertyDescriptor(v, "data")!.get !== undefined;

testOnDevices(
  "large arrays: a constant is copied where a body asks for its data, and once",
  async () => {
    const seen: tf.NdArray[] = [], uncopied: boolean[] = [];
    const results = await onConstant((v) => {
      seen.push(v);
      assertEquals([v.get(1), v.at(-1), v.shape], [3, 3, [SIZE]]);
      v.toString();
      uncopied.push(isUncopied(v));
      return v;
    }) as tf.NdArray[];
    assertEquals(uncopied, [true, true, true, true]);
    const [first] = seen, { data } = first;
    assertEquals([first.data === data, isUncopied(first), first.get(0)], [true, false, 3]);
    (data as Float32Array)[0] = 5;
    // What is kept, what goes on and what is fetched are three arrays.
    assertEquals([first.get(0), ...seen.slice(1).map((v) => v.get(0))], [5, 3, 3, 3]);
    (results[0].data as Float32Array)[0] = 7;
    assertEquals(results.map((v) => v.get(0)), [7, 3]);
  },
);

testOnDevices("large arrays: what a body writes into a constant is its own", async () => {
  const results = await onConstant((v) => {
    (v.data as Float32Array)[0]++;
    return v;
  }) as tf.NdArray[];
  assertEquals(results.map((v) => v.get(0)), [5, 5]);
});

testOnDevices("large arrays: one that is copied later is an array like any other", async () => {
  const plain = new tf.NdArray("float32", [SIZE], new Float32Array(SIZE).fill(3));
  const sum = tf.sum(plain).arraySync();
  await onConstant((v) => {
    assertEquals(v, plain);
    return v;
  });
  const tries: ((v: tf.NdArray) => unknown)[] = [
    (v) => v.map((x) => x).get(2),
    (v) => v.copy().get(2),
    (v) => v.reshape([2, SIZE / 2]).get(1, 2),
    (v) => structuredClone(v).data[2],
    (v) => tf.sum(v).arraySync() as number - (sum as number) + 3,
    (v) => (v.toArray() as number[])[2],
    (v) => ({ ...v }).data[2],
  ];
  for (const body of tries) {
    let value: unknown;
    await onConstant((v) => {
      value = body(v);
      return v;
    });
    assertEquals(value, 3, String(body));
  }
});
