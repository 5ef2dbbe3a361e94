/** Whole models with scripts in them: functions and sessions compute what eager code does, to 1e-5 of each tensor's scale. */
import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { loss, type Model, MODELS, type Parameters } from "./models.ts";

const STEPS = 20;

/** Results of a model, by name. */
type Results = Record<string, tf.NdArray>;

/** A way to run a model: its logits and gradients, then some steps of training. */
interface Mode {
  readonly name: string;
  readonly run: (model: Model) => Promise<Results>;
}

/** Runs `fn` on the variables of a model and adds where they end. */
async function withModel(
  model: Model,
  fn: (p: Parameters, optimizer: tf.Optimizer) => Promise<Results>,
): Promise<Results> {
  const p = model.variables();
  using optimizer = model.optimizer();
  try {
    const results = await fn(p, optimizer);
    assertEquals(optimizer.iterations, STEPS);
    for (const [name, v] of Object.entries(p)) results[`trained ${name}`] = await v.ndarray();
    return results;
  } finally {
    tf.dispose(Object.values(p));
  }
}

/** Adds the losses of some steps. The later ones leave no tensor and no tape behind. */
async function train(results: Results, step: () => Promise<tf.NdArray>): Promise<Results> {
  let before: unknown;
  for (let k = 0; k < STEPS; k++) {
    if (k === STEPS / 2) before = left();
    results[`loss ${k}`] = await step();
  }
  assertEquals(left(), before, "tensors and tapes that ten steps left");
  return results;
}

function left(): number[] {
  const { numTensors, liveTapes } = tf.memory();
  return [numTensors, liveTapes];
}

/** Eager code, or the same code in `tf.function`. */
function called(model: Model, compile: <F>(fn: F) => F): Promise<Results> {
  return withModel(model, async (p, optimizer) => {
    using _scope = tf.scope();
    const x = tf.tensor(model.x), labels = tf.tensor(model.labels);
    const results: Results = {};
    const forward = compile((x: tf.Tensor) => model.logits(p, x));
    const cost = compile((x: tf.Tensor, labels: tf.Tensor) => loss(model, p, x, labels));
    const step = compile((x: tf.Tensor, labels: tf.Tensor) =>
      optimizer.minimize(() => loss(model, p, x, labels), true, Object.values(p))
    );
    const read = async (t: tf.Tensor): Promise<tf.NdArray> => {
      using owned = t;
      return await owned.ndarray();
    };
    results.logits = await forward(x).ndarray();
    using tape = new tf.GradientTape();
    tape.watch(x);
    const names = Object.keys(p);
    const grads = tape.gradient(cost(x, labels), [x, ...Object.values(p)]) as tf.Tensor[];
    for (const [i, g] of grads.entries()) {
      results[`gradient of ${["x", ...names][i]}`] = await g.ndarray();
    }
    return await train(results, () => read(step(x, labels)));
  });
}

/** A graph with `tf.gradients` and the optimizer's operation, run by a session. */
function ran(model: Model): Promise<Results> {
  return withModel(model, async (p, optimizer) => {
    const graph = new tf.Graph();
    const names = ["x", ...Object.keys(p)];
    const { logits, cost, grads, update } = graph.asDefault(() => {
      const x = tf.placeholder("float32", model.x.shape, "x");
      const labels = tf.placeholder("float32", model.labels.shape, "labels");
      const cost = loss(model, p, x, labels);
      const grads = tf.gradients(cost, [x, ...Object.values(p)]) as tf.Tensor[];
      const update = optimizer.minimize(cost, false, Object.values(p))!;
      return { logits: model.logits(p, x), cost, grads, update };
    });
    await using session = new tf.Session({ graph });
    const feeds = { "x:0": model.x, "labels:0": model.labels };
    const first = await session.run({ logits, grads }, { feeds }) as {
      logits: tf.NdArray;
      grads: tf.NdArray[];
    };
    const results: Results = { logits: first.logits };
    first.grads.forEach((g, i) => results[`gradient of ${names[i]}`] = g);
    return await train(results, async () => {
      const [value] = await session.run([cost, update], { feeds });
      return new tf.NdArray("float32", [], Float32Array.of(value as number));
    });
  });
}

const EAGER: Mode = { name: "eager", run: (m) => called(m, (f) => f) };
const COMPILED: readonly Mode[] = [
  // deno-lint-ignore no-explicit-any
  { name: "tf.function", run: (m) => called(m, <F>(f: F) => tf.function(f as any) as F) },
  { name: "tf.Session", run: ran },
];

/** Checks that no element is further away than 1e-5 of what the largest is, or of 1. */
function assertClose(actual: Results, wanted: Results, where: string): void {
  assertEquals(Object.keys(actual).sort(), Object.keys(wanted).sort(), where);
  for (const [name, want] of Object.entries(wanted)) {
    const got = actual[name];
    assertEquals([got.dtype, got.shape], [want.dtype, want.shape], `${where}: ${name}`);
    const a = got.data as Float32Array, b = want.data as Float32Array;
    const scale = b.reduce((m, v) => Math.max(m, Math.abs(v)), 1);
    const worst = b.reduce((m, v, i) => Math.max(m, Math.abs(v - a[i])), 0);
    assert(worst <= 1e-5 * scale, `${where}: ${name} is ${worst} off, on a scale of ${scale}`);
  }
}

for (const model of MODELS) {
  testOnDevices(`${model.name}: compiled is eager, forward, backward and in training`, async () => {
    const wanted = await EAGER.run(model);
    for (const mode of COMPILED) {
      assertClose(await mode.run(model), wanted, `${model.name} by ${mode.name}`);
    }
    const losses = Object.keys(wanted).filter((n) => n.startsWith("loss"));
    const at = (k: number): number => Number(wanted[losses[k]].data[0]);
    assert(at(STEPS - 1) < at(0), `the loss went from ${at(0)} to ${at(STEPS - 1)}`);
  });
}
