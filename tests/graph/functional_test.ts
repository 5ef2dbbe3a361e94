/** Loops over rows: mapFn, scan, folds, TensorArray, and loops and branches around scripts, in every mode with gradients. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

type Fn = (x: tf.Tensor) => tf.Tensor;

const sinh = tf.registerScript(
  "weft.tests.functional.sinh@1",
  (a: tf.NdArray) => a.map((v) => Math.sinh(Number(v))),
  { vjp: ({ inputs }, dy) => tf.mul(dy, tf.cosh(inputs[0])) },
);
const cube = tf.registerScript(
  "weft.tests.functional.cube@1",
  (t: tf.Tensor) => tf.mul(t, tf.mul(t, t)),
);
const later = tf.registerScript(
  "weft.tests.functional.later@1",
  async (t: tf.Tensor) => await Promise.resolve(tf.mul(t, t)),
);
const like = (x: tf.Tensor): tf.TensorSpec => tf.TensorSpec(x.staticShape, "float32");
const numpySinh: Fn = (x) => tf.numpyFunction(sinh, [x], like(x)) as tf.Tensor;
const pyCube: Fn = (x) => tf.pyFunction(cube, [x], like(x)) as tf.Tensor;
const rowsOf = (x: tf.Tensor): tf.Tensor[] => tf.unstack(x);

/** A way to write something with loops, and without any: both differentiate to second order. */
interface Case {
  readonly name: string;
  readonly loop: Fn;
  readonly plain: Fn;
}

const CASES: readonly Case[] = [
  {
    name: "mapFn() with a numpyFunction",
    loop: (x) => tf.mapFn((row) => tf.mul(numpySinh(row), row), x),
    plain: (x) => tf.mul(tf.sinh(x), x),
  },
  {
    name: "mapFn() with a pyFunction over a nest, to a nest",
    loop: (x) => {
      const out = tf.mapFn(
        ({ a, b }) => ({ sum: tf.add(a, pyCube(b[0])), twice: [tf.mul(b[1], 2)] }),
        { a: x, b: [tf.neg(x), tf.square(x)] },
      );
      return tf.add(out.sum, out.twice[0]);
    },
    plain: (x) => tf.add(tf.sub(x, tf.pow(x, 3)), tf.mul(tf.square(x), 2)),
  },
  {
    name: "mapFn() of what it captures",
    loop: (x) => tf.mapFn((row) => tf.sum(tf.mul(x, row)), x),
    plain: (x) => tf.stack(rowsOf(x).map((row) => tf.sum(tf.mul(x, row)))),
  },
  {
    name: "scan() with a pyFunction",
    loop: (x) => tf.scan((a, row) => tf.add(pyCube(tf.mul(a, 0.5)), row), x),
    plain: (x) => {
      const out: tf.Tensor[] = [];
      for (const row of rowsOf(x)) {
        const a = out.at(-1);
        out.push(a ? tf.add(tf.pow(tf.mul(a, 0.5), 3), row) : row);
      }
      return tf.stack(out);
    },
  },
  {
    name: "scan() backwards with an initializer that is a nest",
    loop: (x) => {
      const start = { n: tf.scalar(1), s: tf.zeros([2]) };
      const out = tf.scan(
        ({ n, s }, row) => ({
          n: tf.add(n, 1),
          s: tf.add(numpySinh(tf.mul(s, 0.1)), tf.mul(row, n)),
        }),
        x,
        { initializer: start, reverse: true },
      );
      return tf.mul(out.s, tf.expandDims(out.n, 1));
    },
    plain: (x) => {
      let s: tf.Tensor = tf.zeros([2]);
      const out = rowsOf(x).reverse().map((row, k) => {
        s = tf.add(tf.sinh(tf.mul(s, 0.1)), tf.mul(row, k + 1));
        return tf.mul(s, k + 2);
      });
      return tf.stack(out.reverse());
    },
  },
  {
    name: "foldl() and foldr() with scripts",
    loop: (x) =>
      tf.add(
        tf.foldl((a, row) => tf.add(numpySinh(tf.mul(a, 0.3)), row), x),
        tf.foldr((a, row) => tf.mul(a, pyCube(row)), x, { initializer: [1, 1] }),
      ),
    plain: (x) => {
      const rows = rowsOf(x);
      const left = rows.slice(1).reduce((a, row) => tf.add(tf.sinh(tf.mul(a, 0.3)), row), rows[0]);
      return tf.add(left, tf.pow(tf.prod(x, 0), 3));
    },
  },
  {
    name: "a TensorArray that a loop fills",
    loop: (x) => {
      const list = new tf.TensorArray("float32", 3, { elementShape: [2] });
      const [, , filled] = tf.whileLoop(
        (i) => tf.less(i, 3),
        (i, y, list) => {
          const next = tf.mul(y, numpySinh(tf.gather(x, i)));
          return [tf.add(i, 1), next, list.write(i, next)];
        },
        [tf.scalar(0, "int32"), tf.ones([2]), list],
      );
      return filled.stack();
    },
    plain: (x) => tf.cumprod(tf.sinh(x)),
  },
  {
    name: "a TensorArray that grows, is read, gathered and joined",
    loop: (x) => {
      const [, list] = tf.whileLoop(
        (i) => tf.less(i, 4),
        (i, list) => [tf.add(i, 1), list.write(i, pyCube(list.read(tf.sub(i, 1))))],
        [
          tf.scalar(3, "int32"),
          new tf.TensorArray("float32", 3, { dynamicSize: true }).unstack(x),
        ],
      );
      const some = list.gather([3, 0]);
      return tf.add(
        tf.reshape(some, [-1]),
        list.scatter([0, 1], some).gather([1, 0]).reshape([-1]),
      );
    },
    plain: (x) => {
      const rows = rowsOf(x), last = tf.pow(rows[2], 3);
      return tf.add(tf.concat([last, rows[0]]), tf.concat([rows[0], last]));
    },
  },
  {
    name: "a cond with scripts in a whileLoop",
    loop: (x) =>
      tf.whileLoop(
        (i) => tf.less(i, 3),
        (i, y) => [
          tf.add(i, 1),
          tf.cond(
            tf.equal(tf.mod(i, 2), 0),
            () => pyCube(tf.mul(y, 0.5)),
            () => tf.add(numpySinh(y), x),
          ),
        ],
        [tf.scalar(0, "int32"), x],
      )[1],
    plain: (x) => {
      const half = (y: tf.Tensor): tf.Tensor => tf.pow(tf.mul(y, 0.5), 3);
      return half(tf.add(tf.sinh(half(x)), x));
    },
  },
  {
    name: "mapFn() in scan() in a whileLoop",
    loop: (x) =>
      tf.whileLoop(
        (i) => tf.less(i, 2),
        (i, y) => [
          tf.add(i, 1),
          tf.scan((a, row) => tf.mapFn((v) => numpySinh(tf.mul(v, 0.5)), tf.add(a, row)), y, {
            initializer: [0.5, 0.25],
          }),
        ],
        [tf.scalar(0, "int32"), x],
      )[1],
    plain: (x) => {
      const once = (y: tf.Tensor): tf.Tensor => {
        let a: tf.Tensor = tf.tensor([0.5, 0.25]);
        return tf.stack(rowsOf(y).map((row) => a = tf.sinh(tf.mul(tf.add(a, row), 0.5))));
      };
      return once(once(x));
    },
  },
];

const X = [[0.5, -0.25], [0.75, 1], [-0.5, 0.4]];

/** The value, and both orders of the gradient of a sum of it with weights. */
function eagerly(fn: Fn): tf.NdArray[] {
  using _scope = tf.scope();
  const x = tf.tensor2d(X);
  using outer = new tf.GradientTape(), inner = new tf.GradientTape();
  outer.watch(x);
  inner.watch(x);
  const y = fn(x);
  const dx = inner.gradient(y, x) as tf.Tensor;
  const d2 = outer.gradient(tf.mul(dx, dx), x) as tf.Tensor;
  return [y, dx, d2].map((t) => t.ndarraySync());
}

async function inSession(fn: Fn, rows: number | null): Promise<tf.NdArray[]> {
  const graph = new tf.Graph();
  const fetches = graph.asDefault(() => {
    const x = tf.placeholder("float32", [rows, 2], "x");
    const y = tf.identity(fn(x));
    const dx = tf.gradients(y, x)[0]!;
    return [y, dx, tf.gradients(tf.mul(dx, dx), x)[0]!];
  });
  await using session = new tf.Session({ graph });
  const feeds = { "x:0": X };
  const out = await session.run(fetches, { feeds }) as tf.NdArray[];
  const def = JSON.parse(JSON.stringify(graph.toGraphDef({ portable: false })));
  const copy = new tf.Graph();
  const [again] = copy.asDefault(() =>
    tf.importGraphDef(def, { prefix: "", returnElements: [fetches[0].name] })
  ) as tf.Tensor[];
  await using other = new tf.Session({ graph: copy });
  assertNear([await other.run(again, { feeds }) as tf.NdArray], out.slice(0, 1), "the GraphDef");
  return out;
}

function assertNear(
  actual: readonly tf.NdArray[],
  wanted: readonly tf.NdArray[],
  mode: string,
): void {
  wanted.forEach((want, k) => {
    const what = `${["the value", "the gradient", "the second gradient"][k]} of ${mode}`;
    assertEquals(actual[k].shape, want.shape, what);
    const a = actual[k].data as Float32Array, b = want.data as Float32Array;
    const scale = b.reduce((m, v) => Math.max(m, Math.abs(v)), 1);
    b.forEach((v, i) => assert(Math.abs(v - a[i]) <= 2e-5 * scale, `${what}: ${a} for ${b}`));
  });
}

for (const { name, loop, plain } of CASES) {
  testOnDevices(`${name} is what it says, eagerly, in functions and graphs`, async () => {
    const wanted = eagerly(plain);
    assertNear(eagerly(loop), wanted, "eager code");
    assertNear(eagerly(tf.function(loop)), wanted, "tf.function");
    assertNear(await inSession(loop, 3), wanted, "a session");
    const before = tf.memory();
    eagerly(loop);
    const after = tf.memory();
    assertEquals([after.numTensors, after.liveTapes], [before.numTensors, before.liveTapes]);
  });
}

testOnDevices(
  "mapFn(), scan() and folds take rows whose number is known at run time only",
  async () => {
    const cases = CASES.filter((c) => /^(mapFn|scan|foldl)\(\) (with|back|and)/.test(c.name));
    assert(cases.length >= 4);
    for (const { loop, plain } of cases) {
      assertNear(await inSession(loop, null), eagerly(plain), "a session");
    }
  },
);

testOnDevices("loops over rows await their bodies, and leave nothing behind", async () => {
  const graph = new tf.Graph();
  const [y, dx] = graph.asDefault(() => {
    const x = tf.placeholder("float32", [3], "x");
    const square = (v: tf.Tensor): tf.Tensor =>
      tf.pyFunction(later, [v], tf.TensorSpec([], "float32")) as tf.Tensor;
    const y = tf.add(
      tf.sum(tf.mapFn((v) => square(v), x)),
      tf.foldl((a, v) => tf.add(a, square(v)), x, { initializer: 1 }),
    );
    return [y, tf.gradients(y, x)[0]!];
  });
  await using session = new tf.Session({ graph });
  const run = () => session.run([y, dx], { feeds: { "x:0": [1, 2, 3] } });
  const [value, gradient] = await run() as [number, tf.NdArray];
  assertEquals([value, gradient.toArray()], [29, [4, 8, 12]]);
  const before = tf.memory();
  await run();
  const after = tf.memory();
  assertEquals([after.numTensors, after.liveTapes], [before.numTensors, before.liveTapes]);
});

testOnDevices("mapFn() without effects awaits all bodies at the same time", async () => {
  const started: (() => void)[] = [];
  const meet = (a: tf.NdArray): Promise<tf.NdArray> =>
    new Promise((resolve) => {
      started.push(() => resolve(a));
      if (started.length === 3) { for (const go of started.reverse()) go(); }
    });
  const graph = new tf.Graph();
  const y = graph.asDefault(() =>
    tf.mapFn(
      (v) =>
        tf.numpyFunction(meet, [v], tf.TensorSpec([], "float32"), { stateful: false }) as tf.Tensor,
      tf.placeholder("float32", [3], "x"),
    )
  );
  await using session = new tf.Session({ graph });
  const out = await session.run(y, { feeds: { "x:0": [1, 2, 3] } }) as tf.NdArray;
  assertEquals(out.toArray(), [1, 2, 3]);
});

testOnDevices("loops over rows give variables their gradients", async () => {
  using w = tf.variable(2);
  const loss = (x: tf.Tensor): tf.Tensor =>
    tf.add(
      tf.foldl((a, v) => tf.add(tf.mul(a, w), v), x, { initializer: 0 }),
      tf.sum(tf.mapFn((v) =>
        tf.pyFunction((t: tf.Tensor) => tf.mul(t, w), [v], tf.TensorSpec([], "float32")), x)),
    );
  const x = tf.tensor([1, 2, 3]);
  // w² + 2w + 3 + 6w
  for (const f of [loss, tf.function(loss)]) {
    using tape = new tf.GradientTape();
    const y = f(x);
    assertEquals([y.item(), (tape.gradient(y, w) as tf.Tensor).item()], [23, 12]);
  }
  const graph = new tf.Graph();
  const dw = graph.asDefault(() => tf.gradients(loss(tf.constant([1, 2, 3])), w)[0]!);
  await using session = new tf.Session({ graph });
  assertEquals(await session.run(dw), 12);
});

Deno.test("loops over no rows give no rows, of the shape that the function says", async () => {
  const none = tf.zeros([0, 3]);
  const fns: Fn[] = [
    (x) => tf.mapFn((row) => tf.stack([row, row]), x),
    (x) => tf.scan((a, row) => tf.add(a, row), x, { initializer: tf.ones([3]) }),
    (x) => tf.foldr((a, row) => tf.add(a, row), x, { initializer: tf.ones([3]) }),
  ];
  const graph = new tf.Graph();
  const symbolic = graph.asDefault(() => {
    const x = tf.placeholder("float32", [null, 3], "x");
    return fns.map((f) => f(x));
  });
  await using session = new tf.Session({ graph });
  const ran = await session.run(symbolic, { feeds: { "x:0": none } }) as tf.NdArray[];
  assertEquals(ran.map((a) => a.shape), [[0, 2, 3], [0, 3], [3]]);
  assertEquals(fns.map((f) => f(none).shape), [[0, 2, 3], [0, 3], [3]]);
});

Deno.test("loops over rows and TensorArrays refuse what does not fit, in both modes", () => {
  const x = [1, 2], f = (v: tf.Tensor): tf.Tensor => v;
  const list = (n: number): tf.TensorArray =>
    new tf.TensorArray("float32", n, { elementShape: [] });
  const loose = (fn: unknown): (...args: unknown[]) => unknown => fn as never;
  const cases: [() => unknown, new (m: string) => Error, string][] = [
    [() => tf.mapFn(f, tf.scalar(1)), tf.ValueError, "must be 1+ dimensional Tensors, not scalars"],
    [() => loose(tf.mapFn)(3, x), TypeError, "must be callable"],
    [() => tf.mapFn(([a]) => a, [tf.ones([1]), tf.ones([2])]), tf.ValueError, "1 and 2"],
    [
      () => loose(tf.scan)((a: tf.Tensor) => [a, a], x),
      tf.ValueError,
      "don't have the same nested structure",
    ],
    [
      () => tf.scan((a) => tf.cast(a, "int32"), x),
      TypeError,
      "enters the loop with type float32 but has type int32",
    ],
    [() => tf.foldl((a) => tf.stack([a, a]), x), tf.ValueError, "must keep its shape"],
    [() => tf.foldl(f, tf.zeros([0])), tf.errors.OutOfRangeError, "array size is: 0"],
    [
      () => list(3).write(5, 1),
      tf.errors.OutOfRangeError,
      "Tried to write to index 5 but array is not resizeable and size is: 3",
    ],
    [
      () => list(3).write(-1, 1),
      tf.errors.OutOfRangeError,
      "Writing to negative indices (index -1) is not allowed",
    ],
    [
      () => list(3).read(3),
      tf.errors.OutOfRangeError,
      "Tried to read from index 3 but array size is: 3",
    ],
    [
      () => list(3).write(0, tf.scalar(1, "int32")),
      TypeError,
      "TensorArray dtype is float32 but Op is trying to write dtype int32",
    ],
    [
      () => list(3).write(0, [1, 2]),
      tf.ValueError,
      "Incompatible shape for value ((2,)), expected (())",
    ],
    [() => new tf.TensorArray("float32", 2).stack(), tf.ValueError, "pass { elementShape }"],
    [() => new tf.TensorArray("float32", -1), tf.ValueError, "-1 elements"],
  ];
  for (const [fn, kind, phrase] of cases) {
    assertThrows(fn, kind, phrase);
    assertThrows(() => new tf.Graph().asDefault(fn), kind, phrase);
  }
});
