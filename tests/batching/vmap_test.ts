/** `vmap` and `vectorizedMap` joined with gradients, functions, control flow, scripts, variables and themselves. */

import { assertEquals, assertThrows } from "@std/assert";
import * as tf from "@weft/weft";
import { apply1 } from "../../src/engine/core/apply.ts";
import { lookupOp } from "../../src/engine/core/op.ts";
import { loopWarning } from "../../src/engine/batching/walk.ts";
import { testOnDevices, testRowOnDevices } from "../devices.ts";

type Fn = (x: tf.Tensor) => tf.Tensor;

const double = (a: tf.NdArray) => a.map((v) => 2 * Number(v));
const w = [[0.5, -1], [2, 0.25], [-0.75, 1]];
const image = (x: tf.Tensor) => tf.reshape(x, [1, 1, 3, 1]);
const filter = (): tf.Tensor => tf.fill([1, 2, 1, 2], 0.5);

/** Functions of a row of three numbers, and whether all their ops have rules. */
const PROGRAMS: Readonly<Record<string, { readonly fn: Fn; readonly loops?: boolean }>> = {
  "a product": { fn: (x) => tf.matMul(tf.reshape(x, [1, 3]), w) },
  "its row": { fn: (x) => tf.dot(x, w) },
  "an outer product": { fn: (x) => tf.outerProduct(x, x) },
  "an Einstein sum": { fn: (x) => tf.einsum("i,ij->j", x, w) },
  "a softmax of a product": { fn: (x) => tf.softmax(tf.dot(x, w)) },
  "a norm": { fn: (x) => tf.div(x, tf.norm(x)) },
  moments: { fn: (x) => tf.sub(x, tf.moments(x).mean) },
  "a shape": { fn: (x) => tf.mul(x, tf.cast(tf.gather(tf.shape(x), 0), "float32")) },
  "parts joined": { fn: (x) => tf.concat([tf.slice(x, [1], [2]), tf.reverse(x, 0), [7]]) },
  "a stack of parts": { fn: (x) => tf.stack(tf.split(x, 3, 0), 1) },
  "a gather by what differs": {
    fn: (x) => tf.gather([10, 20, 30], tf.cast(tf.less(x, 0), "int32")),
  },
  "a scatter": { fn: (x) => tf.tensorScatterUpdate(x, [[1]], tf.reshape(tf.sum(x), [1])) },
  "a convolution": {
    fn: (x) => tf.conv2d(image(x) as tf.Tensor4D, filter() as tf.Tensor4D, 1, "same"),
  },
  "a largest element": { fn: (x) => tf.add(tf.max(x), tf.cast(tf.argMax(x), "float32")) },
  "a cumulative sum": { fn: (x) => tf.cumsum(x) },
  attention: {
    fn: (x) => {
      const q = tf.reshape(x, [3, 1]);
      return tf.matMul(tf.softmax(tf.matMul(q, q, false, true)), q);
    },
  },
  "a choice by element": { fn: (x) => tf.where(tf.greater(x, 0), tf.log(tf.add(x, 3)), x) },
  "a branch by what differs": {
    fn: (x) => tf.cond(tf.greater(tf.sum(x), 0), () => tf.square(x), () => tf.neg(x)),
  },
  "a branch that all take": {
    fn: (x) => tf.cond(tf.greater(tf.sum(w), 0), () => tf.square(x), () => tf.neg(x)),
  },
  "a loop of turns that differ": {
    fn: (x) =>
      tf.whileLoop((x: tf.Tensor) => tf.less(tf.max(tf.abs(x)), 9), (x: tf.Tensor) => [
        tf.mul(x, 2),
      ], [tf.add(x, 0.1)])[0]!,
  },
  "a loop of turns that are the same": {
    fn: (x) =>
      tf.whileLoop(
        (i: tf.Tensor) => tf.less(i, 3),
        (i: tf.Tensor, x: tf.Tensor) => [tf.add(i, 1), tf.mul(x, 2)],
        [tf.scalar(0, "int32"), x],
      )[1]!,
  },
  "mapFn()": { fn: (x) => tf.mapFn((v: tf.Tensor) => tf.mul(v, tf.sum(x)), x) },
  "scan()": { fn: (x) => tf.scan((a, v) => tf.add(tf.mul(a, 0.5), v), x) },
  "foldr()": { fn: (x) => tf.foldr((a, v) => tf.sub(v, a), x) },
  "a function": { fn: (x) => tf.function((x: tf.Tensor) => tf.tanh(tf.dot(x, w)))(x) },
  "itself": { fn: (x) => tf.vmap((v: tf.Tensor) => tf.mul(v, x))(x) },
  "a script": {
    fn: (x) => tf.numpyFunction(double, [x], tf.TensorSpec([3], "float32"), { stateful: false }),
    loops: true,
  },
  "a vectorised script": {
    fn: (x) => tf.numpyFunction(double, [x], tf.TensorSpec([3], "float32"), { vectorized: true }),
  },
  "a script of tensors": {
    fn: (x) => tf.pyFunction((x: tf.Tensor) => tf.square(x), [x], tf.TensorSpec([3], "float32")),
    loops: true,
  },
  "a gradient": { fn: tf.grad((x) => tf.sum(tf.pow(tf.dot(x, w), 2))) },
  "a second gradient": { fn: tf.grad((x) => tf.sum(tf.grad((x) => tf.sum(tf.pow(x, 3)))(x))) },
  "a gradient of a convolution": {
    fn: tf.grad((x) =>
      tf.sum(tf.square(tf.conv2d(image(x) as tf.Tensor4D, filter() as tf.Tensor4D, 1, "same")))
    ),
  },
  "a gradient of a loss": {
    fn: tf.grad((x) =>
      tf.sum(
        tf.softmaxCrossEntropyWithLogits({ labels: [[1, 0, 0]], logits: tf.reshape(x, [1, 3]) }),
      )
    ),
  },
  "a gradient of a branch": {
    fn: tf.grad((x) =>
      tf.cond(tf.greater(tf.sum(x), 0), () => tf.sum(tf.square(x)), () => tf.sum(x))
    ),
    loops: true,
  },
};

const ROWS = [[1, 2, -3], [0.5, -0.25, 4], [-1, -2, 0.75], [3, 0.1, 0.2]];

async function texts(fn: () => Promise<void>): Promise<string[]> {
  const { write } = loopWarning, told: string[] = [];
  loopWarning.write = (text) => told.push(text);
  try {
    await fn();
  } finally {
    loopWarning.write = write;
  }
  return told;
}

async function assertClose(found: tf.Tensor, wanted: number[]): Promise<void> {
  const data = Array.from(await found.data(), Number);
  const isClose = data.length === wanted.length &&
    data.every((v, i) => Math.abs(v - wanted[i]!) <= 1e-4 * (1 + Math.abs(wanted[i]!)));
  if (!isClose) assertEquals(data, wanted);
}

for (const [name, { fn, loops = false }] of Object.entries(PROGRAMS)) {
  testRowOnDevices(`vmap() of ${name} is a loop over the rows`, async () => {
    const before = tf.memory().numTensors;
    {
      using _scope = tf.scope();
      const rows = await Promise.all(
        ROWS.map(async (row) =>
          Array.from(await (await tf.function(fn).async(tf.tensor(row))).data(), Number)
        ),
      );
      const wanted = rows.flat(), x = tf.tensor(ROWS);
      const told = await texts(async () => {
        const mapped = tf.vmap(fn);
        await assertClose(await tf.function(mapped).async(x), wanted);
        const open = tf.function(mapped, { inputSignature: [tf.TensorSpec([null, 3])] });
        await assertClose(await open.async(x), wanted);
        await assertClose(await tf.function(() => tf.vectorizedMap(fn, x)).async(), wanted);
        await assertClose(mapped(x), wanted);
        const columns = tf.vmap(fn, { inAxes: 1, outAxes: -1 });
        const moved = await tf.function(columns).async(tf.transpose(x));
        await assertClose(
          tf.transpose(moved, [moved.rank - 1, ...Array(moved.rank - 1).keys()]),
          wanted,
        );
      });
      if (!loops) assertEquals(told, []);
    }
    assertEquals(tf.memory().numTensors, before);
  });

  const isSmooth = !/script|element$|gradient|what differs|turns that differ/.test(name);
  if (!isSmooth) continue;
  testRowOnDevices(
    `the gradient of vmap() of ${name} is that of a loop over the rows`,
    async () => {
      using _scope = tf.scope();
      const loss = (x: tf.Tensor) => tf.sum(tf.sin(tf.vmap(fn)(x)));
      const byRow = (x: tf.Tensor) => tf.sum(tf.sin(tf.stack(tf.unstack(x).map((row) => fn(row)))));
      const x = tf.tensor(ROWS);
      const wanted = Array.from(await tf.grad(byRow)(x).data(), Number);
      await assertClose(tf.grad(loss)(x), wanted);
      await assertClose(await tf.function(tf.grad(loss)).async(x), wanted);
    },
  );
}

testOnDevices("vmap() takes nests, arguments that all rows share, and variables", async () => {
  using v = tf.variable([1, 10]), shared = tf.tensor([2, 3]), x = tf.tensor([[1, 2], [3, 4]]);
  const f = tf.vmap(
    ({ a, b }: { a: tf.Tensor; b: tf.Tensor }, c: tf.Tensor) => ({
      sum: tf.sum(tf.mul(tf.add(a, b), c)),
      scaled: tf.mul(a, v),
    }),
    { inAxes: [0, null] },
  );
  using sum = f({ a: x, b: x }, shared).sum;
  assertEquals(await sum.array(), [16, 36]);
  const { grads } = tf.variableGrads(() => tf.sum(f({ a: x, b: x }, shared).scaled));
  assertEquals(await Object.values(grads)[0]!.array(), [4, 6]);
  tf.dispose(grads);
});

testOnDevices("vmap() calls a vectorised script once, another for each row", async () => {
  let calls = 0;
  const count = (a: tf.NdArray) => {
    calls++;
    return double(a);
  };
  using x = tf.ones([4, 2]);
  for (const [vectorized, wanted] of [[true, 1], [false, 4]] as const) {
    calls = 0;
    using y = tf.vmap((row: tf.Tensor) =>
      tf.numpyFunction(count, [row], tf.TensorSpec([2], "float32"), { vectorized })
    )(x);
    assertEquals(await y.array(), new Array(4).fill([2, 2]));
    assertEquals(calls, wanted);
  }
});

testOnDevices("each row of vmap() draws its own numbers, and counts once", async () => {
  using x = tf.zeros([3, 2]), count = tf.variable(0);
  using y = tf.vmap((row: tf.Tensor) => {
    count.assignAdd(1);
    return tf.add(row, tf.randomUniform([2]));
  })(x);
  const rows = await y.array() as number[][];
  assertEquals(new Set(rows.flat()).size, 6);
  assertEquals(count.item(), 3);
});

testOnDevices("each row of vmap() draws the next numbers of a generator", async () => {
  const told: string[] = [], { write } = loopWarning;
  loopWarning.write = (text) => told.push(text);
  type Draw = (g: tf.random.Generator, row: tf.Tensor) => tf.Tensor;
  const draws: Readonly<Record<string, Draw>> = {
    uniform: (g, row) => tf.add(row, g.uniform([2])),
    "in a branch": (g, row) =>
      tf.cond(tf.greater(tf.sum(row), 0), () => tf.mul(row, g.normal([])), () => row) as tf.Tensor,
    "in a function": (g, row) => tf.function((x: tf.Tensor) => tf.add(x, g.normal([])))(row),
    "with a gradient": (g, row) => tf.grad((x: tf.Tensor) => tf.sum(tf.mul(x, g.normal([2]))))(row),
    "in a map of rows": (g, row) =>
      tf.vectorizedMap((x: tf.Tensor) => tf.add(x, g.uniform([])), row) as tf.Tensor,
  };
  try {
    const x = tf.tensor([[1, 2], [-3, -4], [5, 6]]);
    for (const [name, draw] of Object.entries(draws)) {
      const [a, b, c] = [1, 2, 3].map(() => tf.random.Generator.fromSeed(7));
      const rows = tf.mapFn((row: tf.Tensor) => draw(a, row), x) as tf.Tensor;
      const all = tf.vectorizedMap((row: tf.Tensor) => draw(b, row), x) as tf.Tensor;
      const compiled = tf.function((x: tf.Tensor) => tf.vmap((row: tf.Tensor) => draw(c, row))(x));
      const wanted = await rows.array();
      assertEquals(await all.array(), wanted, name);
      assertEquals(await (await compiled.async(x) as tf.Tensor).array(), wanted, name);
      const states = await Promise.all([a, b, c].map((g) => tf.identity(g.state).array()));
      assertEquals(states[1], states[0], name);
      assertEquals(states[2], states[0], name);
      [a, b, c].forEach((g) => g.dispose());
    }
  } finally {
    loopWarning.write = write;
  }
  assertEquals(told.every((text) => text.includes("generators")), true, told.join("\n"));
});

testOnDevices(
  "vmap() of maps, scans and folds over rows takes scripts of unknown shapes",
  async () => {
    const { write } = loopWarning;
    loopWarning.write = () => {};
    const script = (x: tf.Tensor) =>
      tf.pyFunction((v: tf.Tensor) => tf.mul(v, 2), [x], "float32") as tf.Tensor;
    const half = (x: tf.Tensor) =>
      tf.numpyFunction((v: tf.NdArray) => v, [x], "float32") as tf.Tensor;
    const bodies: Readonly<Record<string, (row: tf.Tensor) => tf.Tensor>> = {
      scan: (row) =>
        tf.scan((a: tf.Tensor, e: tf.Tensor) => script(tf.add(a, e)), row) as tf.Tensor,
      "scan backwards": (row) =>
        tf.scan((a: tf.Tensor, e: tf.Tensor) => tf.add(half(a), e), row, {
          reverse: true,
        }) as tf.Tensor,
      mapFn: (row) => tf.mapFn((e: tf.Tensor) => script(e), row) as tf.Tensor,
      "mapFn of a sum": (row) => tf.mapFn((e: tf.Tensor) => tf.add(half(e), 1), row) as tf.Tensor,
      foldl: (row) =>
        tf.foldl((a: tf.Tensor, e: tf.Tensor) => script(tf.sub(a, e)), row) as tf.Tensor,
      "an op of it": (row) => tf.mul(half(row), 3),
    };
    try {
      for (const x of [tf.tensor([[1, 2, 3], [4, 5, 6]]), tf.reshape(tf.range(0, 24), [2, 3, 4])]) {
        for (const [name, body] of Object.entries(bodies)) {
          const wanted = await (tf.mapFn(body, x) as tf.Tensor).array();
          assertEquals(await (tf.vectorizedMap(body, x) as tf.Tensor).array(), wanted, name);
          const compiled = tf.function((x: tf.Tensor) => tf.vmap(body)(x));
          assertEquals(await (await compiled.async(x) as tf.Tensor).array(), wanted, name);
        }
      }
    } finally {
      loopWarning.write = write;
    }
  },
);

testOnDevices("vmap() of no rows has results of none", async () => {
  using x = tf.zeros([0, 3]);
  using y = tf.vmap((row: tf.Tensor) => tf.dot(row, w))(x);
  assertEquals([y.shape, await y.array()], [[0, 2], []]);
});

Deno.test("vmap() refuses what has no rows", () => {
  const f = tf.vmap((a: tf.Tensor, b: tf.Tensor) => tf.add(a, b));
  const cases: [() => unknown, ErrorConstructor | typeof tf.ValueError, string][] = [
    [() => f(tf.ones([2]), tf.ones([3])), tf.ValueError, "arguments with 2, 3 rows"],
    [() => f(tf.ones([2]), tf.scalar(1)), tf.ValueError, "tensor 1 of shape []"],
    [
      () => tf.vmap(f as never, { inAxes: [null, null] })(tf.ones([2]), tf.ones([2])),
      tf.ValueError,
      "none of its arguments has rows",
    ],
    [
      () => tf.vmap(f as never, { inAxes: [0] })(tf.ones([2]), tf.ones([2])),
      tf.ValueError,
      "inAxes has 1",
    ],
    [
      () => tf.vmap((x: tf.Tensor) => x, { outAxes: [0, 1] })(tf.ones([2, 2])),
      tf.ValueError,
      "outAxes has 2",
    ],
    [() => tf.vmap(3 as never), TypeError, "Argument 'fn' passed to 'vmap' must be a function"],
    [() => tf.vmap((x: tf.Tensor) => x, { axes: 0 } as never), TypeError, "axes"],
    [
      () => tf.vmap((x: tf.Tensor) => tf.scalar(x.item() as number))(tf.ones([2])),
      tf.errors.OperatorNotAllowedInGraphError ?? Error,
      "",
    ],
  ];
  for (const [call, type, text] of cases) assertThrows(call, type as ErrorConstructor, text);
});

testOnDevices(
  "rows of vmap() may be ragged, and follow each other in one ragged tensor",
  async () => {
    using x = tf.tensor([[1, 2], [3, 4]]);
    const f = (row: tf.Tensor) => ({
      rows: tf.RaggedTensor.fromRowSplits(tf.mul(row, 10), [0, 0, 2]),
      sum: tf.sum(row),
    });
    const told = await texts(async () => {
      for (const run of [tf.vmap(f as never), tf.function(tf.vmap(f as never))]) {
        const { rows, sum } = (run as (x: tf.Tensor) => unknown)(x) as ReturnType<typeof f>;
        assertEquals([rows.toList(), await sum.array()], [[[[], [10, 20]], [[], [30, 40]]], [
          3,
          7,
        ]]);
      }
      const mapped = tf.vectorizedMap(f as never, x) as unknown as ReturnType<typeof f>;
      assertEquals(mapped.rows.toList(), [[[], [10, 20]], [[], [30, 40]]]);
    });
    assertEquals(told.length, 3);
    assertThrows(
      () => tf.vmap(f as never, { outAxes: 1 })(x as never),
      tf.ValueError,
      "another axis than 0",
    );
  },
);

testOnDevices("what the function of vmap() throws comes out, and nothing is left", () => {
  using x = tf.ones([3, 2]);
  const before = tf.memory().numTensors;
  const mapped = tf.vmap((row: tf.Tensor): tf.Tensor => {
    tf.mul(row, 2);
    throw new RangeError("mine");
  });
  assertThrows(() => mapped(x), RangeError, "mine");
  assertEquals(tf.memory().numTensors, before);
});

testOnDevices("straight-through estimates are the gradient of each row", async () => {
  using _scope = tf.scope();
  const estimate =
    (name: string, attrs: Record<string, unknown> = {}, bits: number[] = []) =>
    (x: tf.Tensor, low: tf.Tensor, high: tf.Tensor): tf.Tensor =>
      apply1(lookupOp(name)!, [
        x,
        low,
        high,
        ...bits.map((b) => new tf.NdArray("int32", [], Int32Array.of(b))),
      ], attrs);
  const wide = (x: tf.Tensor): tf.Tensor => tf.fill([3], tf.sum(x));
  const ranged = { range_given: true };
  const rows: Record<string, (x: tf.Tensor, low: tf.Tensor, high: tf.Tensor) => tf.Tensor> = {
    FakeQuantWithMinMaxVars: estimate("FakeQuantWithMinMaxVars"),
    FakeQuantWithMinMaxVarsPerChannel: (x, low, high) =>
      estimate("FakeQuantWithMinMaxVarsPerChannel")(x, wide(low), wide(high)),
    QuantizeAndDequantizeV2: estimate("QuantizeAndDequantizeV2", ranged),
    QuantizeAndDequantizeV3: estimate("QuantizeAndDequantizeV3", ranged, [8]),
    QuantizeAndDequantizeV4: estimate("QuantizeAndDequantizeV4", ranged),
  };
  const x = tf.tensor([[1, -2, 0.5], [3, 0.25, -1]]),
    low = tf.tensor([-1, -2]),
    high = tf.tensor([2, 1]);
  for (const [name, row] of Object.entries(rows)) {
    const slopes = (all: (x: tf.Tensor, low: tf.Tensor, high: tf.Tensor) => tf.Tensor) => {
      using tape = new tf.GradientTape();
      tape.watch([x, low, high]);
      const y = all(x, low, high);
      const found = tape.gradient(tf.sum(tf.mul(y, [[1, 2, 3], [4, 5, 6]])), [x, low, high]);
      return Promise.all((found as (tf.Tensor | null)[]).map((g) => g && g.array()));
    };
    const vectorized = tf.vmap(row as never) as unknown as typeof row;
    const each = (x: tf.Tensor, low: tf.Tensor, high: tf.Tensor): tf.Tensor =>
      tf.stack([0, 1].map((i) => row(tf.gather(x, i), tf.gather(low, i), tf.gather(high, i))));
    assertEquals(await slopes(vectorized), await slopes(each), name);
  }
});
