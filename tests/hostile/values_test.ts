/** Hostile values: lists that contain themselves, nests without end, holes, arrays that lie. Every entry gives a result or an error of ours. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { outcome } from "./outcome.ts";

function nested(depth: number): unknown {
  let list: unknown = 1;
  for (let i = 0; i < depth; i++) list = [list];
  return list;
}
function selfContaining(): Record<string, unknown> {
  const first: unknown[] = [],
    twice: unknown[] = [],
    later: unknown[] = [1],
    object: Record<string, unknown> = {};
  first.push(first);
  twice.push(twice, twice);
  later.push(later);
  object.self = [object, object];
  const pair: unknown[] = [[]];
  (pair[0] as unknown[]).push(pair);
  return {
    "a list that contains itself": first,
    "a list that contains itself twice": twice,
    "a list that contains itself after a number": later,
    "an object that contains itself": object,
    "two lists that contain each other": pair,
  };
}
/** A list that holds one list twice, which holds one list twice, and so on: few lists, and more values than can be counted. */
function shared(leaf: unknown): unknown {
  let list: unknown = [leaf];
  for (let i = 0; i < 60; i++) list = [list, list];
  return list;
}
const foreign = (shape: unknown, dtype: unknown, data: unknown, more = {}) => ({
  shape,
  dtype,
  data,
  ...more,
});

const VALUES: Readonly<Record<string, unknown>> = {
  ...selfContaining(),
  "255 lists in each other": nested(255),
  "100,000 lists in each other": nested(100_000),
  "numbers in lists that are shared": shared(1),
  "texts in lists that are shared": shared("a"),
  "nothing in lists that are shared": shared([]),
  "objects in lists that are shared": shared({ a: 1 }),
  "an array of holes": new Array(100_000),
  "a number and many holes": Object.assign([1], { length: 100_000 }),
  "a ragged list": [[1], [2, 3]],
  "a list of a value and a list": [1, [2]],
  "a symbol": Symbol("s"),
  "a list of symbols": [Symbol("s")],
  "a list of functions": [() => 1],
  "a list of null": [null],
  "a list of undefined": [undefined],
  "a list of dates": [new Date(0)],
  "a map": new Map([[1, 2]]),
  "a bigint beyond 64 bits": [2n ** 80n],
  "a list of bigints and text": [1n, "a"],
  "an object without a prototype": Object.create(null),
  "a list of objects without a prototype": [Object.create(null)],
  "a view of nothing": new DataView(new ArrayBuffer(4)),
  "a foreign array of negative extents": foreign([-1, -2], "float32", new Float32Array(2)),
  "a foreign array of extents that are texts": foreign(["2"], "float32", new Float32Array(2)),
  "a foreign array of extents that are no numbers": foreign([NaN], "float32", new Float32Array(2)),
  "a foreign array of huge extents": foreign([2 ** 40, 2 ** 40], "float32", new Float32Array(2)),
  "a foreign array of many extents": foreign(
    new Array(10_000).fill(1),
    "float32",
    new Float32Array(1),
  ),
  "a foreign array of too little data": foreign([3], "float32", new Float32Array(2)),
  "a foreign array of unknown type": foreign([2], "__proto__", [1, 2]),
  "a foreign array of type toString": foreign([2], "toString", [1, 2]),
  "a foreign array of strange data": foreign([2], "float32", { length: 2 }),
  "a foreign array of strange strides": foreign([2, 2], "float32", new Float32Array(4), {
    strides: ["a", null],
  }),
  "a foreign array whose copy is itself": foreign([2, 2], "float32", new Float32Array(4), {
    strides: [1, 2],
    copy() {
      return this;
    },
  }),
  "pixels of negative extents": { width: -2, height: -2, data: new Uint8Array(16) },
  "pixels of huge extents": { width: 1e9, height: 1e9, data: new Uint8Array(16) },
  "pixels of extents that are no integers": { width: 1.5, height: NaN, data: new Uint8Array(16) },
  "pixels that are missing": { width: 2, height: 2, data: null },
  "pixels that are too few": { width: 2, height: 2, data: new Uint8Array(3) },
};

// deno-lint-ignore no-explicit-any
type Any = any;
const inGraph = async (build: () => Any): Promise<unknown> => {
  const graph = new tf.Graph();
  const fetch = graph.asDefault(build);
  await using session = new tf.Session({ graph });
  return await session.run(fetch);
};
const feed = async (value: Any): Promise<unknown> => {
  const graph = new tf.Graph();
  const x = graph.asDefault(() => tf.placeholder("float32", null));
  await using session = new tf.Session({ graph });
  return await session.run(graph.asDefault(() => tf.add(x, 1)), {
    feeds: new Map([[x, value]]),
  });
};
async function first(dataset: Any): Promise<unknown> {
  for await (const element of dataset) return element;
}

const ENTRIES: Readonly<Record<string, (value: Any) => unknown>> = {
  tensor: (v) => tf.tensor(v),
  "tensor of float64": (v) => tf.tensor(v, undefined, "float64"),
  "tensor of int64": (v) => tf.tensor(v, undefined, "int64"),
  "tensor of bool": (v) => tf.tensor(v, undefined, "bool"),
  "tensor of string": (v) => tf.tensor(v, undefined, "string"),
  "tensor of complex64": (v) => tf.tensor(v, undefined, "complex64"),
  "tensor with a shape": (v) => tf.tensor(v, [2, 2]),
  tensor1d: (v) => tf.tensor1d(v),
  tensor2d: (v) => tf.tensor2d(v),
  scalar: (v) => tf.scalar(v),
  constant: (v) => tf.constant(v, "int32", [2]),
  "constant in a graph": (v) => inGraph(() => tf.constant(v)),
  variable: (v) => {
    using w = tf.variable(v);
    return w.shape;
  },
  "assign to a variable": (v) => {
    using w = tf.variable([1, 2]);
    w.assign(v);
  },
  fill: (v) => tf.fill(v, 1),
  zeros: (v) => tf.zeros(v),
  reshape: (v) => tf.reshape([1, 2], v),
  transpose: (v) => tf.transpose([[1, 2]], v),
  add: (v) => tf.add(v, 1),
  sum: (v) => tf.sum([[1, 2]], v),
  concat: (v) => tf.concat(v),
  stack: (v) => tf.stack([v, v]),
  where: (v) => tf.where(v, v, v),
  pad: (v) => tf.pad([1, 2], v),
  buffer: (v) => tf.buffer(v),
  NdArray: (v) => new tf.NdArray("float32", v, new Float32Array(2)),
  dispose: (v) => tf.dispose(v),
  tidy: (v) => tf.tidy(() => v),
  feed,
  fetch: async (v) => {
    const graph = new tf.Graph();
    graph.asDefault(() => tf.constant(1));
    await using session = new tf.Session({ graph });
    return await session.run(v);
  },
  "argument of a function": (v) => tf.function((_: Any) => tf.constant(1))(v),
  "argument of a signature": (v) =>
    tf.function((x: Any) => x, { inputSignature: [tf.TensorSpec([null], "float32")] })(v),
  "result of a function": (v) => tf.function(() => v)(),
  "result of a numpy-style body": (v) => inGraph(() => tf.numpyFunction(() => v, [], "float32")),
  "result of a numpy-style body of several": (v) =>
    inGraph(() => tf.numpyFunction(() => v, [], ["float32", "int32"])),
  "result of an eager-style body": (v) => inGraph(() => tf.pyFunction(() => v, [], "float32")),
  "arguments of a body": (v) => tf.numpyFunction(() => 1, v, "float32"),
  Tout: (v) => tf.numpyFunction(() => 1, [], v),
  "slices of a dataset": (v) => first(tf.data.fromTensorSlices(v)),
  "tensors of a dataset": (v) => first(tf.data.fromTensors(v)),
  "elements of a generator": (v) =>
    first(tf.data.fromGenerator(function* () {
      yield v;
    }, { outputTypes: "float32" } as Any)),
  "elements of a mapped dataset": (v) => first(tf.data.range(2).map(() => v)),
  "variables to write": (v) => tf.io.serializeVariables(v),
  "npy to write": (v) => tf.io.writeNpy(v),
  "npy to read": (v) => tf.io.readNpy(v),
  "npz to write": (v) => tf.io.writeNpz(v),
  "npz to read": (v) => tf.io.readNpz(v),
  "safetensors to write": (v) => tf.io.writeSafetensors(v),
  "safetensors to read": (v) => tf.io.readSafetensors(v),
  "GraphDef to read": (v) => new tf.Graph().asDefault(() => tf.importGraphDef(v)),
  fromPixels: (v) => tf.browser.fromPixels(v),
  toPixels: (v) => tf.browser.toPixels(v),
  TensorSpec: (v) => tf.TensorSpec(v, "float32"),
  "a dtype": (v) => tf.cast([1], v),
  "a device": (v) => tf.device(v, () => tf.add(1, 1)),
};

for (const [entry, act] of Object.entries(ENTRIES)) {
  Deno.test(`hostile values give results or errors of ours: ${entry}`, async () => {
    await tf.setBackend("cpu");
    const before = tf.memory().numTensors;
    for (const [name, value] of Object.entries(VALUES)) {
      await outcome(async () => {
        using _scope = tf.scope();
        await act(value);
      }, () => `${entry} of ${name}`);
    }
    assert(
      tf.memory().numTensors - before < 4,
      `${tf.memory().numTensors - before} tensors leaked`,
    );
  });
}

Deno.test("tensor() names what is wrong with lists that nest too deep, contain themselves or have holes", () => {
  const deep = "nested deeper than the 254 dimensions of a tensor, or contains itself";
  const own = selfContaining();
  for (const list of [own["a list that contains itself"], nested(255), nested(100_000)]) {
    assertThrows(() => tf.tensor(list as number[]), tf.ValueError, deep);
    assertThrows(
      () => tf.numpyFunction(() => list, [], "float32"),
      tf.errors.InvalidArgumentError,
      deep,
    );
  }
  const row = new Array(2 ** 14).fill(true);
  assertThrows(
    () => tf.tensor(new Array(2 ** 14).fill(row)),
    tf.errors.ResourceExhaustedError,
    "of shape [16384,16384]: it would have 268435456 values",
  );
  assertEquals(tf.tensor(nested(254) as number[]).rank, 254);
  assertThrows(() => tf.tensor(new Array(2 ** 32 - 1)), TypeError, "Cannot convert undefined");
  assertThrows(
    () => tf.tensor([1], new Array(255).fill(1)),
    tf.ValueError,
    "a tensor has at most 254 dimensions",
  );
  assertThrows(
    () => tf.reshape([1], new Array(255).fill(1)),
    tf.ValueError,
    "at most 254 dimensions",
  );
  assertThrows(
    () => tf.function((_: Any) => tf.constant(1))(own["a list that contains itself twice"]),
    tf.ValueError,
    "Cannot walk a structure: it is nested deeper than 1000 levels, or contains itself",
  );
});

Deno.test("dispose() and tidy() find each tensor once, in lists that contain themselves or are shared", () => {
  const before = tf.memory().numTensors;
  const list: unknown[] = [0, tf.scalar(1), { x: tf.scalar(2) }];
  list.push(list, shared(list));
  const kept = tf.tidy(() => (tf.scalar(3), [list, shared(tf.scalar(4))]));
  assertEquals(tf.memory().numTensors, before + 3);
  tf.dispose(kept);
  assertEquals(tf.memory().numTensors, before);
});

Deno.test("an array of nothing does not become more lists than memory holds", () => {
  const empty = new tf.NdArray("float32", [2 ** 40, 0], new Float32Array(0));
  assertThrows(() => empty.toArray(), tf.errors.ResourceExhaustedError, "empty lists");
  assertEquals(new tf.NdArray("float32", [2, 0, 2 ** 40], new Float32Array(0)).toArray(), [[], []]);
});

Deno.test("bigints become int32 where it holds them, and are refused by what does not", async () => {
  const run = (value: bigint | bigint[], dtype: tf.DType = "int32"): Promise<unknown> =>
    inGraph(() => tf.numpyFunction(() => value, [], dtype));
  assertEquals(await run(2n ** 31n - 1n), 2147483647);
  assertEquals((await run([-(2n ** 31n), 5n]) as tf.NdArray).toArray(), [-2147483648, 5]);
  const refused = [
    [2n ** 31n, "int32"],
    [-(2n ** 31n) - 1n, "int32"],
    [-1n, "uint8"],
    [2n ** 63n, "int64"],
    [-1n, "uint64"],
    [1n, "float32"],
  ] as const;
  for (const [value, dtype] of refused) {
    await assertRejects(
      () => run(value, dtype),
      tf.errors.InvalidArgumentError,
      `Cannot convert ${value} of type bigint to ${dtype}`,
    );
  }
});

Deno.test("an OpError of a user's own class has the class of its code, or UnknownError", async () => {
  const { InvalidArgumentError, OpError, UnauthenticatedError, UnknownError } = tf.errors;
  const unknown = [0, 2, 17, 99, -1, 1.5, NaN, "length", "map", undefined, null];
  const cases: [unknown, new (message: string) => tf.errors.OpError][] = [
    [3, InvalidArgumentError],
    [16, UnauthenticatedError],
    ...unknown.map((code): [unknown, typeof UnknownError] => [code, UnknownError]),
  ];
  for (const [code, kind] of cases) {
    const fail = (): never => {
      throw Object.assign(new OpError("own"), { code });
    };
    for (
      const script of [
        () => tf.numpyFunction(fail, [], "float32"),
        () => tf.pyFunction(fail, [], "float32"),
      ]
    ) {
      const error = await assertRejects(
        () => inGraph(script),
        kind,
        "own",
      ) as Error;
      assert(error.constructor === kind, `${String(code)}: ${error.constructor.name}`);
    }
  }
});
