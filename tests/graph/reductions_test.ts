/** Pointwise ops in the reductions beside them: what becomes of a graph, and that it computes the same. */
import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import { difference } from "../../src/library/testing/compare.ts";
import { HAS_WEBGPU, testOnDevices } from "../devices.ts";
import { optimized, withPasses } from "./graph_text.ts";

type Inputs = Readonly<Record<"a" | "b" | "column" | "row" | "scalar" | "i", tf.Tensor>>;
type Build = (t: Inputs) => tf.Tensor | tf.Tensor[];

/** The reduction of each case, its number of dispatches on the GPU, and the ops left by the passes. */
const FUSED: readonly [what: string, ops: string[], Build][] = [
  ["a sum of products", ["Sum after prologue"], ({ a, b }) => tf.sum(tf.mul(a, b), [0, 1, 2])],
  [
    "a mean of rows",
    ["Mean after prologue"],
    ({ a, column }) => tf.mean(tf.square(tf.sub(a, column)), -1),
  ],
  [
    "a mean of columns",
    ["Mean after prologue"],
    ({ a, row }) => tf.mean(tf.square(tf.sub(a, row)), [0, 1]),
  ],
  [
    "a mean of the middle",
    ["Mean after prologue"],
    ({ a, row }) => tf.mean(tf.mul(a, row), 1, true),
  ],
  [
    "a sum of both ends",
    ["Sum after prologue"],
    ({ a, column }) => tf.sum(tf.mul(a, column), [0, 2]),
  ],
  ["the greatest of magnitudes", ["Max after prologue"], ({ a }) => tf.max(tf.abs(a))],
  ["the least of columns", ["Min after prologue"], ({ a, scalar }) => tf.min(tf.sub(scalar, a), 0)],
  ["a product", ["Prod after prologue"], ({ a }) => tf.prod(tf.add(tf.mul(a, 0.01), 1), 1)],
  ["an all", ["All after prologue"], ({ a }) => tf.all(tf.greater(a, -3), [0, 2])],
  [
    "an any",
    ["Any after prologue"],
    ({ a, b }) => tf.any(tf.logicalAnd(tf.less(a, b), tf.less(b, 0)), 2),
  ],
  ["a count", ["Sum after prologue"], ({ a, b }) => tf.sum(tf.cast(tf.less(a, b), "int32"), 1)],
  ["integers", ["Max after prologue"], ({ i }) => tf.max(tf.mul(i, tf.add(i, 1)), 0)],
  [
    "costly elements",
    ["Sum after prologue"],
    ({ a, b }) => tf.sum(tf.mul(tf.tanh(a), tf.exp(b)), 1),
  ],
  [
    "costly columns",
    ["Sum after prologue"],
    ({ a }) => tf.sum(tf.log(tf.add(tf.square(a), 1)), [0, 1]),
  ],
  ["several operands", ["Sum after prologue"], ({ a, b, row, column, scalar }) => {
    return tf.sum(tf.add(tf.mul(a, row), tf.mul(tf.mul(b, column), scalar)), [0, 1]);
  }],
  [
    "a norm",
    ["Sum after prologue with epilogue"],
    ({ a }) => tf.sqrt(tf.add(tf.sum(tf.square(a), 2), 1e-3)),
  ],
  [
    "a norm that has a prologue and an epilogue of its own",
    ["EuclideanNorm after prologue with epilogue"],
    ({ a, b }) => tf.sub(1, tf.euclideanNorm(tf.sub(a, b), 2)),
  ],
  [
    "a reader alone",
    ["Mean with epilogue"],
    ({ a, scalar }) => tf.mul(tf.mean(a, [1, 2]), scalar),
  ],
  [
    "a reader with an operand",
    ["Sum after prologue with epilogue"],
    ({ a, b, column }) => tf.sub(column, tf.mul(0.1, tf.sum(tf.mul(a, b), [0, 1]))),
  ],
  ["a reader of another dtype", ["Max with epilogue"], ({ a }) => tf.greater(tf.max(a, 0), 0.5)],
  [
    "a reader of two reductions",
    ["Sum after prologue", "Max after prologue with epilogue"],
    ({ a, b }) => {
      return tf.add(tf.max(tf.abs(a), 0), tf.sum(tf.abs(b), 0));
    },
  ],
  ["what two reductions read", ["Sum after prologue", "Max after prologue"], ({ a }) => {
    const t = tf.abs(a);
    return [tf.sum(t, 0), tf.max(t, 1)];
  }],
];

const APART: readonly [what: string, Build][] = [
  ["what is fetched", ({ a }) => {
    const t = tf.abs(a);
    return [tf.sum(t), t];
  }],
  ["what another op reads", ({ a }) => {
    const t = tf.abs(a);
    return [tf.sum(t), tf.matMul(t, t, false, true)];
  }],
  ["what costs much and two reductions read", ({ a }) => {
    const t = tf.tanh(a);
    return [tf.sum(t, 0), tf.max(t, 1)];
  }],
  ["what must run first", ({ a, b }) => {
    const t = tf.abs(a), u = tf.controlDependencies([t], () => tf.identity(b));
    return [tf.sum(t), u];
  }],
  ["what waits", ({ a, b }) => {
    const t = tf.controlDependencies([tf.tanh(b)], () => tf.abs(a));
    return [tf.sum(t), tf.transpose(b)];
  }],
  ["what is elsewhere", ({ a }) => tf.sum(tf.device("/CPU:0", () => tf.abs(a)))],
  ["sums that are fetched and read", ({ a }) => {
    const t = tf.sum(a, [0, 2]);
    return [t, tf.neg(t)];
  }],
  ["a reader that is larger", ({ a }) => tf.sub(a, tf.mean(a, -1, true))],
];

const SHAPES: Readonly<Record<keyof Inputs, (number | null)[]>> = {
  a: [3, 8, 12],
  b: [3, 8, 12],
  column: [12],
  row: [3, 8, 1],
  scalar: [],
  i: [7, 5],
};

function fed(build: Build, shapes: Readonly<Record<string, (number | null)[]>>): tf.Tensor[] {
  const inputs = Object.entries(shapes).map(([name, shape]) => [
    name,
    tf.placeholder(name === "i" ? "int32" : "float32", shape, name),
  ]);
  const made = build(Object.fromEntries(inputs));
  return Array.isArray(made) ? made : [made];
}

const opsOf = (lines: readonly string[]): string[] =>
  lines.flatMap((l) => {
    const [, op, fused] = / = (\w+)\(.*\)((?: \w+)*) :/.exec(l) ?? [];
    return op === undefined || op === "Placeholder" || op === "Const" ? [] : [op + fused];
  });

for (const [what, ops, build] of FUSED) {
  Deno.test(`fuseReductions() leaves of ${what} ${ops.join(" and ")}`, () => {
    const lines = optimized(() => fed(build, SHAPES), ["fuse", "reductions"]);
    assertEquals(opsOf(lines), ops, lines.join("\n"));
  });
}

Deno.test("fuseReductions() leaves apart what others need, and what is not alike", () => {
  for (const [what, build] of APART) {
    const both = ["fuse", "reductions"] as const;
    assertEquals(
      optimized(() => fed(build, SHAPES), both),
      optimized(() => fed(build, SHAPES), ["fuse"]),
      what,
    );
  }
});

Deno.test("fuseReductions() leaves sums to be grouped that nothing is computed for", () => {
  const lines = optimized(() => {
    const [x, y] = ["x", "y"].map((name) => tf.placeholder("float32", [8, 4], name));
    return [tf.neg(tf.sum(x, 0)), tf.neg(tf.sum(y, 0))];
  });
  assert(opsOf(lines).includes("_GroupedColumnSum"), lines.join("\n"));
});

const TOLERANCE = { ulps: 64, ulpsOfLargest: 64, absolute: 1e-6 };

/** Values for placeholders; unknown extents are `unknown`. */
function feedsOf(
  shapes: Readonly<Record<string, (number | null)[]>>,
  unknown: number,
): Map<string, tf.NdArray> {
  return new Map(
    Object.entries(shapes).map(([name, partial], k) => {
      const shape = partial.map((d) => d ?? unknown), size = shape.reduce((n, d) => n * d, 1);
      const value = (i: number): number => 2 * Math.sin(i * 1.7 + k) + 0.01 * (i % 7);
      const array = name === "i"
        ? new tf.NdArray("int32", shape, Int32Array.from({ length: size }, (_, i) => i * 37 % 91))
        : new tf.NdArray("float32", shape, Float32Array.from({ length: size }, (_, i) => value(i)));
      return [`${name}:0`, array];
    }),
  );
}

async function compare(
  build: Build,
  shapes: Readonly<Record<string, (number | null)[]>>,
  extents: readonly number[],
  what: string,
): Promise<void> {
  const graph = new tf.Graph();
  const fetches = graph.asDefault(() => fed(build, shapes));
  for (const extent of extents) {
    const feeds = feedsOf(shapes, extent);
    const results: tf.NdArray[][] = [];
    for (const passes of [[], ["fuse", "reductions"]] as const) {
      await using session = new tf.Session({ graph });
      const out = await withPasses(passes, () => session.run(fetches, { feeds }));
      const scalar = (v: unknown): tf.NdArray =>
        new tf.NdArray("float32", [], Float32Array.of(Number(v)));
      results.push(out.map((v) => v instanceof tf.NdArray ? v : scalar(v)));
    }
    results[0].forEach((wanted, k) => {
      const wrong = difference(results[1][k], wanted, "float32", TOLERANCE);
      assert(wrong === null, `${what}, extent ${extent}: result ${k} ${wrong}`);
    });
  }
}

testOnDevices("fused reductions compute what their parts do", async (device) => {
  for (const [what, , build] of FUSED) {
    await compare(build, SHAPES, [0], `${what} on ${device}`);
  }
});

testOnDevices("fused reductions of unknown extents are prepared for each", async (device) => {
  const shapes = { ...SHAPES, a: [null, 8, null], b: [null, 8, null], row: [null, 8, 1] };
  for (const [what, , build] of FUSED.filter(([, , f]) => !/column/.test(String(f)))) {
    await compare(build, shapes, [5, 1, 13], `${what} on ${device}`);
  }
});

testOnDevices("large fused reductions, in parts, compute what their parts do", async (device) => {
  const wide = { a: [2, 40, 700], b: [2, 40, 700], column: [700], row: [2, 40, 1], scalar: [] };
  const long = { a: [300, 41, 6], b: [300, 41, 6], column: [6], row: [300, 41, 1], scalar: [] };
  const cases = FUSED.filter(([what]) => what !== "integers" && what !== "a product");
  for (const shapes of [wide, long]) {
    for (const [what, , build] of cases) {
      await compare(build, shapes, [0], `${what} of ${shapes.a} on ${device}`);
    }
  }
});

testOnDevices("results with unknown extents may be broadcast by what reads them", async () => {
  const g = new tf.Graph();
  const [x, y, most, product] = g.asDefault(() => {
    const x = tf.placeholder("float32", [null, 3]), y = tf.placeholder("float32", [null, 3]);
    return [x, y, tf.mul(tf.max(x, 0, true), y), tf.mul(tf.matMul(x, tf.ones([3, 3])), y)];
  });
  const feeds = new Map([[x, [[1, 2, 3]]], [y, [[1, 1, 1], [2, 2, 2]]]]);
  await using session = new tf.Session({ graph: g });
  const results = await session.run([most, product], { feeds }) as tf.NdArray[];
  assertEquals(results.map((r) => r.toArray()), [[[1, 2, 3], [2, 4, 6]], [[6, 6, 6], [
    12,
    12,
    12,
  ]]]);
});

testOnDevices("fused reductions of nothing are what reductions of nothing are", async (device) => {
  const shapes = { ...SHAPES, a: [null, 8, 12], b: [null, 8, 12], row: [null, 8, 1] };
  for (const [what, , build] of FUSED) await compare(build, shapes, [0], `${what} on ${device}`);
});

Deno.test({
  name: "a fused reduction of rows is one dispatch [webgpu]",
  ignore: !HAS_WEBGPU,
  async fn() {
    await tf.setBackend("webgpu");
    {
      using a = tf.randomNormal([64, 48]);
      const f = tf.function((x: tf.Tensor) => tf.sqrt(tf.mean(tf.square(tf.sub(x, 0.5)), 1)));
      f(a).dispose();
      const { dispatches } = await tf.profile(() => f(a).dispose());
      assertEquals(dispatches, 1);
    }
    await tf.setBackend("cpu");
  },
});

testOnDevices("gradients of what is reduced are the same with fused reductions and without", () => {
  const f = tf.function((x: tf.Tensor, y: tf.Tensor): tf.Tensor[] => {
    const loss = tf.sqrt(tf.add(tf.mean(tf.square(tf.sub(tf.mul(x, y), 0.25))), 1e-3));
    return tf.gradients(loss, [x, y]) as tf.Tensor[];
  });
  const x = tf.randomNormal([6, 10], 0, 1, "float32", 3);
  const y = tf.randomNormal([10], 0, 1, "float32", 4);
  const fused = f(x, y).map((t) => t.ndarraySync());
  const eager = tf.grads((x: tf.Tensor, y: tf.Tensor) =>
    tf.sqrt(tf.add(tf.mean(tf.square(tf.sub(tf.mul(x, y), 0.25))), 1e-3))
  )([x, y]).map((t) => t.ndarraySync());
  fused.forEach((g, k) => {
    const wrong = difference(g, eager[k], "float32", TOLERANCE);
    assert(wrong === null, `gradient ${k} ${wrong}`);
  });
  tf.dispose([x, y]);
});
