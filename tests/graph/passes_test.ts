/** Passes: what they do to a graph, and that results stay the same with each of them on, off, or alone. */
import * as tf from "@weft/weft";
import fc from "fast-check";
import { assert, assertEquals } from "@std/assert";
import { buildIr } from "../../src/graph/ir.ts";
import {
  PASSES,
  type PassName,
  pipelineOptions,
  runPasses,
} from "../../src/graph/passes/pipeline.ts";
import { irText, verify } from "../../src/graph/passes/verify.ts";
import type { SymbolicTensor } from "../../src/graph/operation.ts";
import { testOnDevices } from "../devices.ts";

const NAMES = Object.keys(PASSES) as PassName[];

function withPasses<R>(passes: readonly PassName[], fn: () => R): R {
  const before = { ...pipelineOptions };
  Object.assign(pipelineOptions, { passes, verify: true });
  try {
    return fn();
  } finally {
    Object.assign(pipelineOptions, before);
  }
}

/** What the passes make of the graph that `build` returns the results of. */
function optimized(
  build: () => tf.Tensor | tf.Tensor[],
  passes: readonly PassName[] = NAMES,
): string[] {
  const results = new tf.Graph().asDefault(build);
  const fetches = (Array.isArray(results) ? results : [results]) as unknown as SymbolicTensor[];
  const text = withPasses(
    passes,
    () => irText(runPasses(buildIr({ fetches, targets: [], feeds: [] }))),
  );
  return text.split("\n").map((line) => line.replace(/ {2}#.*/, ""));
}
const x = (shape: number[] = [4], name = "x"): tf.Tensor => tf.placeholder("float32", shape, name);

Deno.test("fuse() makes one op of a tree of pointwise ops, small constants included", () => {
  assertEquals(
    optimized(() => {
      const t = x();
      return tf.mul(
        0.5,
        tf.mul(
          t,
          tf.add(
            1,
            tf.tanh(tf.mul(0.7978845608, tf.add(t, tf.mul(0.044715, tf.mul(t, tf.mul(t, t)))))),
          ),
        ),
      );
    }),
    ["%0 = Placeholder() : float32[4]", "%1 = _FusedPointwise(%0) : float32[4]", "return %1"],
  );
});

Deno.test("fuse() leaves apart what is fetched, read elsewhere, smaller, or placed elsewhere", () => {
  const count = (build: () => tf.Tensor | tf.Tensor[]): number =>
    optimized(build).filter((l) => l.includes("= ")).length;
  const cases: [string, () => tf.Tensor | tf.Tensor[], number][] = [
    ["fetched", () => {
      const a = tf.exp(x());
      return [a, tf.neg(a)];
    }, 3],
    ["read by a reduction too", () => {
      const a = tf.exp(x());
      return tf.add(tf.neg(a), tf.sum(a));
    }, 5],
    ["smaller", () => tf.add(tf.exp(x([1])), x([4], "y")), 4],
    ["elsewhere", () => tf.neg(tf.device("/CPU:0", () => tf.exp(x()))), 3],
    ["together", () => tf.neg(tf.exp(x())), 2],
  ];
  for (const [what, build, nodes] of cases) {
    assertEquals(count(build), nodes, `${what}: ${optimized(build).join("\n")}`);
  }
});

Deno.test("cse() merges equal pure nodes and no others", () => {
  const lines = optimized(() => {
    const t = x();
    return [
      tf.exp(t),
      tf.exp(t),
      tf.sum(t, 0),
      tf.sum(t, 0, true),
      tf.randomUniform([2], 0, 1),
      tf.randomUniform([2], 0, 1),
    ];
  }, ["cse"]);
  const [, ...fetches] = lines.at(-1)!.match(/%\d+/g)
    ? ["", ...lines.at(-1)!.match(/%\d+/g)!]
    : [""];
  assertEquals(new Set(fetches).size, 5);
});

Deno.test("verify() refuses a graph in the wrong order or of wrong dtypes", () => {
  const y = new tf.Graph().asDefault(() => tf.exp(x())) as unknown as SymbolicTensor;
  const ir = buildIr({ fetches: [y], targets: [], feeds: [] });
  for (
    const broken of [
      { ...ir, nodes: [...ir.nodes].reverse() },
      { ...ir, nodes: ir.nodes.slice(1) },
      { ...ir, fetches: [{ ...ir.fetches[0] }] },
    ]
  ) {
    let refused = false;
    try {
      verify(broken, "the test");
    } catch (e) {
      refused = e instanceof tf.errors.InternalError;
    }
    assert(refused);
  }
});

/** A random graph as a list of steps: an op and the numbers of the values it reads. */
interface Step {
  readonly op: number;
  readonly a: number;
  readonly b: number;
}
type Make = (a: tf.Tensor, b: tf.Tensor) => tf.Tensor;
const OPS: readonly Make[] = [
  (a, b) => tf.add(a, b),
  (a, b) => tf.sub(a, b),
  (a, b) => tf.mul(a, b),
  (a) => tf.tanh(a),
  (a) => tf.sigmoid(a),
  (a) => tf.relu(a),
  (a, b) => tf.maximum(a, b),
  (a) => tf.neg(a),
  (a) => tf.mul(a, 0.5),
  (a) => tf.square(tf.tanh(a)),
  (a, b) => tf.where(tf.greater(a, b), a, b),
  (a) => tf.sub(a, tf.mean(a, -1, true)),
  (a) => tf.softmax(a),
  (a, b) => tf.matMul(a, b, false, true),
  (a) => tf.transpose(a),
  (a) => tf.cumsum(a, 1),
  (a) => tf.cast(tf.cast(tf.mul(a, 8), "int32"), "float32"),
  (a) => tf.slice(tf.concat([a, a], 1), [0, 1], [3, 3]),
  (a, b) =>
    tf.numpyFunction(
      (p: tf.NdArray, q: tf.NdArray) => p.map((v, i) => Number(v) - Number(q.data[i])),
      [a, b],
      tf.TensorSpec([3, 3], "float32"),
      { stateful: false },
    ),
  (a, b) => tf.controlDependencies([a], () => tf.tanh(b)),
];
const graphs = fc.array(
  fc.record({ op: fc.nat(OPS.length - 1), a: fc.nat(1000), b: fc.nat(1000) }),
  { minLength: 10, maxLength: 60 },
);

testOnDevices("random graphs compute the same with every pass on, off, and alone", async () => {
  await fc.assert(
    fc.asyncProperty(graphs, async (steps: Step[]) => {
      const graph = new tf.Graph();
      const fetches = graph.asDefault(() => {
        const values = [x([3, 3], "x"), x([3, 3], "y")];
        for (const { op, a, b } of steps) {
          const value = OPS[op](values[a % values.length], values[b % values.length]);
          values.push(tf.mul(tf.tanh(value), 2));
        }
        return values.slice(-3);
      });
      const feeds = {
        "x:0": [[0.1, -0.2, 0.3], [1, -1, 0.5], [2, -2, 0]],
        "y:0": [[1, 2, 3], [-1, -2, -3], [0.1, 0.2, 0.3]],
      };
      const run = async (passes: readonly PassName[]): Promise<number[]> => {
        await using sess = new tf.Session({ graph });
        const out = await withPasses(passes, () => sess.run(fetches, { feeds })) as tf.NdArray[];
        return out.flatMap((a) => [...a.data as Float32Array]);
      };
      const plain = await run([]);
      for (const passes of [NAMES, ...NAMES.map((n) => [n])]) {
        const other = await run(passes);
        plain.forEach((v, i) =>
          assert(
            Math.abs(v - other[i]) <= 1e-4 * (1 + Math.abs(v)),
            `${passes}: ${v} and ${other[i]} at ${i}`,
          )
        );
      }
    }),
    { numRuns: 25, seed: 7 },
  );
});
