/** Random graphs over every op, with scripts, variables and control dependencies, compute the same with every pass on, off, and alone. */
import * as tf from "@weft/weft";
import fc from "fast-check";
import { assert, assertEquals } from "@std/assert";
import { PASSES, type PassName, pipelineOptions } from "../../src/engine/graph/passes/pipeline.ts";
import { difference } from "../../src/library/testing/compare.ts";
import { uniform } from "../../src/library/testing/op_sample.ts";
import { testOnDevices } from "../devices.ts";
import { effort, ofTheDay, Turns } from "../effort.ts";
import { type Facts, type Maker, opMakers, type Step, stepText, unfold } from "./random_graph.ts";
import { PIECES } from "./random_pieces.ts";

const NAMES = Object.keys(PASSES) as PassName[];
const OPS = opMakers();
const MAKERS: readonly Maker[] = [...OPS, ...PIECES];

const number = fc.nat(1000);
const step: fc.Arbitrary<Step> = fc.record({
  // As many pieces as ops: they are what passes look for.
  maker: fc.oneof(fc.nat(OPS.length - 1), fc.integer({ min: OPS.length, max: MAKERS.length - 1 })),
  a: number,
  b: number,
  c: number,
  fetch: fc.boolean(),
});
/** Steps that are null are none: what fails shrinks to few. */
const steps = fc.array(fc.option(step, { freq: 20 }), { minLength: 10, maxLength: 60 })
  .map((list) => list.filter((s) => s !== null));

/** Graphs that deal out every maker once, so that all take part whatever is drawn. */
function dealt(size: number): Step[][] {
  const next = uniform(5);
  const nat = (): number => Math.floor(next() * 1000);
  const order = MAKERS.map((_, maker) => ({
    maker,
    a: nat(),
    b: nat(),
    c: nat(),
    fetch: nat() < 500,
  }))
    .sort((p, q) => p.a - q.a || p.b - q.b);
  const graphs: Step[][] = [];
  for (let i = 0; i < order.length; i += size) graphs.push(order.slice(i, i + size));
  return graphs;
}

interface Result {
  readonly arrays: readonly tf.NdArray[];
  readonly log: readonly string[];
}

const START = [[0.1, -0.2, 0.3, 1.5], [1, -1, 0.5, 0.25], [1.75, -1.75, 0, -0.5]];

/** Computes the contents of each tensor eagerly. */
function factsOf(list: readonly Step[]): { facts: Facts; arrays: readonly tf.NdArray[] } {
  return tf.device("/CPU:0", () =>
    tf.tidy(() => {
      const { facts, fetches, variables } = unfold(
        list,
        [tf.tensor(START), tf.tensor(START)],
        MAKERS,
      );
      const arrays = fetches.map((t) => t.ndarraySync());
      for (const v of variables) v.dispose();
      return { facts, arrays };
    }));
}

async function run(
  list: readonly Step[],
  facts: Facts,
  passes: readonly PassName[],
): Promise<Result> {
  const graph = new tf.Graph();
  const before = { ...pipelineOptions };
  Object.assign(pipelineOptions, { passes: { CPU: passes, GPU: passes }, verify: true });
  const { fetches, log, variables } = graph.asDefault(() => {
    const start = ["x", "y"].map((name) => tf.placeholder("float32", [3, 4], name));
    return unfold(list, start, MAKERS, facts);
  });
  try {
    await using sess = new tf.Session({ graph });
    const out = await sess.run(fetches, { feeds: { "x:0": START, "y:0": START } });
    const arrays = out.map((v) =>
      v instanceof tf.NdArray ? v : new tf.NdArray("float32", [], Float32Array.of(Number(v)))
    );
    return { arrays, log: [...log] };
  } finally {
    Object.assign(pipelineOptions, before);
    for (const v of variables) v.dispose();
  }
}

const TOLERANCE = { ulps: 0, ulpsOfLargest: 2 ** 13, absolute: 1e-3 };

function same(found: readonly tf.NdArray[], wanted: readonly tf.NdArray[], what: string): void {
  assertEquals(found.length, wanted.length, what);
  found.forEach((a, i) => {
    const wrong = difference(a, wanted[i], "float32", TOLERANCE);
    assert(wrong === null, `${what}: fetch ${i} ${wrong}`);
  });
}

testOnDevices(
  "random graphs compute the same with every pass on, off, and alone",
  async (device) => {
    const turns = new Turns(), examples = ofTheDay(dealt(30), 2).map((s): [Step[]] => [s]);
    await fc.assert(
      fc.asyncProperty(steps, async (list: Step[]) => {
        const { facts, arrays } = factsOf(list);
        const plain = await run(list, facts, []);
        same(plain.arrays, arrays, "no passes and eager");
        for (const passes of [NAMES, ...turns.of(NAMES).map((n) => [n])]) {
          const other = await run(list, facts, passes);
          same(other.arrays, plain.arrays, `${passes} and no passes`);
          assertEquals([...other.log].sort(), [...plain.log].sort(), `${passes}: calls of scripts`);
        }
      }),
      {
        seed: 7,
        numRuns: examples.length + effort(4, 24),
        examples,
        reporter: (r) => {
          if (!r.failed) return;
          const [list] = r.counterexample as [Step[]];
          throw new Error(
            `On ${device}, of ${r.numRuns} runs:\n${
              list.map((s) => stepText(s, MAKERS)).join("\n")
            }\n${(r.errorInstance as Error).stack}`,
          );
        },
      },
    );
  },
);
