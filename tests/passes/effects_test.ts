/** Effects: each runs exactly as often as in TensorFlow, after what it was told to follow, whatever passes make of the graph. */
import * as tf from "@weft/weft";
import fc from "fast-check";
import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  addOutputLike,
  buildIr,
  type IrGraph,
  type IrNode,
  nodeLike,
} from "../../src/engine/graph/ir.ts";
import { replaceValues } from "../../src/engine/graph/passes/replace.ts";
import { joinNodes } from "../../src/engine/graph/passes/clusters.ts";
import { verify } from "../../src/engine/graph/passes/verify.ts";
import { pipelineOptions } from "../../src/engine/graph/passes/pipeline.ts";
import type { SymbolicTensor } from "../../src/engine/graph/operation.ts";
import { testOnDevices } from "../devices.ts";
import {
  ARITY,
  build,
  EFFECTS,
  effectsOf,
  nodesBefore,
  parse,
  type Program,
  type Surroundings,
  variablesOf,
  WITHOUT_VALUE,
} from "./effect_programs.ts";

/** Number of runs of each effect, and the script calls in order. */
interface Outcome {
  readonly counts: readonly number[];
  readonly log: readonly number[];
}

async function outcomeOf(
  program: Program,
  work: (around: Surroundings) => Promise<void>,
): Promise<Outcome> {
  const log: number[] = [], variables = variablesOf(program);
  const before = pipelineOptions.verify;
  pipelineOptions.verify = true;
  try {
    await work({ log, variables });
    const counts = effectsOf(program).map((i) => {
      const v = variables.get(i);
      return v ? (v.dataSync() as Float32Array)[0] : log.filter((k) => k === i).length;
    });
    return { counts, log };
  } finally {
    pipelineOptions.verify = before;
    for (const v of variables.values()) v.dispose();
  }
}

/** Runs a program twice in a session. */
function inSession(program: Program): Promise<Outcome> {
  return outcomeOf(program, async (around) => {
    const graph = new tf.Graph();
    const { x, fetches } = graph.asDefault(() => {
      const x = tf.placeholder("float32", [2], "x");
      return { x, fetches: build(program, x, around) };
    });
    await using sess = new tf.Session({ graph });
    for (let i = 0; i < 2; i++) await sess.run(fetches, { feeds: new Map([[x, [1, 2]]]) });
  });
}

/** Calls it twice as a function. */
function inFunction(program: Program): Promise<Outcome> {
  return outcomeOf(program, (around) => {
    const f = tf.function((x: tf.Tensor) => build(program, x, around));
    tf.tidy(() => {
      for (let i = 0; i < 2; i++) f(tf.tensor([1, 2]));
    });
    return Promise.resolve();
  });
}

testOnDevices("effects on every kind of node run as often as in TensorFlow", async () => {
  const list: (Program & { session: number[]; function: number[] })[] = JSON.parse(
    await Deno.readTextFile(new URL("tensorflow_effects.json", import.meta.url)),
  );
  for (const program of list) {
    const text = JSON.stringify(program);
    assertEquals((await inSession(program)).counts, program.session, `session: ${text}`);
    assertEquals((await inFunction(program)).counts, program.function, `function: ${text}`);
  }
});

const VALUES = Object.keys(ARITY).filter((k) => k !== "ph" && !(k in EFFECTS));

const programs: fc.Arbitrary<Program> = fc.array(
  fc.record({
    // A third are constants and as many effects: what is folded, and what would be lost with it.
    kind: fc.oneof(
      fc.constant("const"),
      fc.constantFrom(...VALUES),
      fc.constantFrom(...Object.keys(EFFECTS)),
    ),
    // Few lead far back: what needs an effect, needs it in one way.
    inputs: fc.tuple(fc.nat(30), fc.nat(30)),
    controls: fc.array(fc.nat(3), { maxLength: 1 }),
  }),
  { minLength: 4, maxLength: 24 },
).map((steps) => {
  const nodes = ["ph"], values = [0];
  for (const { kind, inputs, controls } of steps) {
    const texts = inputs.slice(0, ARITY[kind]).map((k) => values.at(-1 - k % values.length));
    const after = controls.map((k) => `^${nodes.length - 1 - k % nodes.length}`);
    if (!WITHOUT_VALUE.has(kind)) values.push(nodes.length);
    nodes.push([kind, ...texts, ...new Set(after)].join(" "));
  }
  return { nodes, fetch: values.slice(-1) };
});

testOnDevices("random effects run once where something needs them, in order", async () => {
  await fc.assert(
    fc.asyncProperty(programs, async (program) => {
      const before = nodesBefore(program), effects = effectsOf(program);
      const needed = new Set(program.fetch.flatMap((i) => [i, ...before[i]]));
      const often = (i: number): number => 2 * EFFECTS[parse(program.nodes[i]).kind];
      const session = await inSession(program), called = await inFunction(program);
      assertEquals(session.counts, effects.map((i) => needed.has(i) ? often(i) : 0), "session");
      assertEquals(called.counts, effects.map(often), "function");
      for (const { log } of [session, called]) {
        const first = log.slice(0, log.length / 2);
        first.forEach((i, at) => {
          for (const later of first.slice(at + 1)) {
            assert(!before[i].has(later), `${later} must come before ${i}: ${first}`);
          }
        });
      }
    }),
    { seed: 14, numRuns: 100 },
  );
});

const spec = tf.TensorSpec([2], "float32");

/** A script, exp(x) after it, and a second script after that; neg(exp(x)) is fetched too. */
function waiting(): { ir: IrGraph; names: (ir: IrGraph) => string[] } {
  const [y, z] = new tf.Graph().asDefault(() => {
    const x = tf.placeholder("float32", [2], "x");
    const script = tf.numpyFunction((v: tf.NdArray) => v, [x], spec, { name: "script" });
    const exp = tf.controlDependencies([script], () => tf.exp(x)), neg = tf.neg(exp);
    const then = tf.controlDependencies(
      [exp],
      () => tf.numpyFunction((v: tf.NdArray) => v, [x], spec, { name: "then" }),
    );
    return [neg, then];
  }) as unknown as SymbolicTensor[];
  const names = ({ nodes }: IrGraph): string[] =>
    nodes.map((n) => `${n.def.name}${n.controls.map((c) => ` ^${c.def.name}`).join("")}`);
  return { ir: buildIr({ fetches: [y, z], targets: [], feeds: [] }), names };
}

Deno.test("what a node that goes has waited for, its readers and those who waited for it wait for", () => {
  const { ir, names } = waiting();
  assertEquals(names(ir), ["Placeholder", "PyFunc", "Exp ^PyFunc", "Neg", "PyFunc ^Exp"]);
  const [x, script, exp, neg] = ir.nodes;
  const without = replaceValues(
    ir,
    new Map([[exp.outputs[0], x.outputs[0]]]),
    new Map([[exp, null]]),
  );
  assertEquals(names(without), ["Placeholder", "PyFunc", "Neg ^PyFunc", "PyFunc ^PyFunc"]);
  verify(without, "the test", ir);
  const merged = replaceValues(
    ir,
    new Map([[exp.outputs[0], script.outputs[0]]]),
    new Map([[exp, script]]),
  );
  assertEquals(names(merged), ["Placeholder", "PyFunc", "Neg ^PyFunc", "PyFunc ^PyFunc"]);
  const joined = joinNodes(ir, [
    { members: [exp, neg], node: { ...neg, inputs: x.outputs }, outputs: neg.outputs },
  ]);
  assertEquals(names(joined), ["Placeholder", "PyFunc", "Neg ^PyFunc", "PyFunc ^Neg"]);
  verify(joined, "the test", ir);
});

Deno.test("a constant waits for nothing: its readers do, and who fetches it runs what it waited for", () => {
  const build = (read: (c: tf.Tensor) => tf.Tensor): string[] => {
    const y = new tf.Graph().asDefault(() => {
      const x = tf.placeholder("float32", [2], "x");
      const script = tf.numpyFunction((v: tf.NdArray) => v, [x], spec);
      return read(tf.controlDependencies([script], () => tf.constant([1, 2])));
    }) as unknown as SymbolicTensor;
    return waiting().names(buildIr({ fetches: [y], targets: [], feeds: [] }));
  };
  assertEquals(build((c) => c), ["Placeholder", "PyFunc", "Const"]);
  assertEquals(build((c) => tf.neg(c)), ["Placeholder", "PyFunc", "Const", "Neg ^PyFunc"]);
  assertEquals(
    build((c) => tf.controlDependencies([c], () => tf.exp(tf.placeholder("float32", [2])))),
    ["Placeholder", "PyFunc", "Const", "Placeholder ^PyFunc", "Exp"],
  );
});

Deno.test("verify() refuses a graph that has lost an effect, or its place", () => {
  const { ir } = waiting();
  const lost = { ...ir, nodes: ir.nodes.slice(0, -1), fetches: ir.fetches.slice(0, 1) };
  assertThrows(() => verify(lost, "the test", ir), tf.errors.InternalError, '"then" is lost');
  const fresh = waiting().ir;
  const copy = replaceValues(fresh, new Map(), new Map());
  verify(copy, "the test", fresh);
  const before = copy.nodes.slice(0, -1), last = copy.nodes.at(-1)!;
  const hasty = nodeLike(last, last.inputs, []);
  for (const v of last.outputs) addOutputLike(hasty, v);
  const instead = (n: IrNode): IrNode => n === last ? hasty : n;
  const moved = {
    nodes: [...before, hasty],
    fetches: copy.fetches.map((v) => instead(v.node).outputs[v.index]!),
    targets: copy.targets.map(instead),
  };
  assertThrows(
    () => verify(moved, "the test", fresh),
    tf.errors.InternalError,
    'no longer waits for PyFunc "script"',
  );
});
