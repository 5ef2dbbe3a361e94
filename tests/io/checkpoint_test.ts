/** Checkpoints: training that stops, is saved and goes on elsewhere does what training that never stopped does, to the bit. */
import * as tf from "@weft/weft";
import { assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { loss, type Model, MODELS, type Parameters } from "../graph/models.ts";

const MODEL: Model = MODELS[0];

const OPTIMIZERS: Readonly<Record<string, () => tf.Optimizer>> = {
  sgd: () => tf.train.sgd(0.1),
  momentum: () => tf.train.momentum(0.05, 0.9, true),
  rmsprop: () => tf.train.rmsprop(0.01, 0.9, 0.5, 1e-4, true),
  adam: () => tf.train.adam(0.01),
  adamax: () => tf.train.adamax(0.01, 0.9, 0.99, 1e-7, 0.1),
};

/** A step of training, and what it keeps open. */
interface Trainer {
  readonly step: () => Promise<number>;
  readonly close?: () => Promise<void>;
}

const MODES: Readonly<Record<string, (p: Parameters, optimizer: tf.Optimizer) => Trainer>> = {
  eagerly: (p, optimizer) => called(p, optimizer, (f) => f),
  // deno-lint-ignore no-explicit-any
  "in a function": (p, optimizer) => called(p, optimizer, <F>(f: F) => tf.function(f as any) as F),
  "in a session": (p, optimizer) => {
    const graph = new tf.Graph();
    const fetches = graph.asDefault(() => {
      const cost = loss(MODEL, p, tf.constant(MODEL.x), tf.constant(MODEL.labels));
      return [cost, optimizer.minimize(cost)!];
    });
    const session = new tf.Session({ graph });
    return {
      step: async () => (await session.run(fetches))[0] as number,
      close: () => session.close(),
    };
  },
};

function called(p: Parameters, optimizer: tf.Optimizer, compile: <F>(f: F) => F): Trainer {
  const step = compile((x: tf.Tensor, labels: tf.Tensor) =>
    optimizer.minimize(() => loss(MODEL, p, x, labels), true, Object.values(p))
  );
  return {
    step: async () => {
      using _scope = tf.scope();
      return (await step(tf.tensor(MODEL.x), tf.tensor(MODEL.labels)).data())[0] as number;
    },
  };
}

async function steps({ step }: Trainer, n: number): Promise<number[]> {
  const out: number[] = [];
  for (let k = 0; k < n; k++) out.push(await step());
  return out;
}

/** Runs `fn` with new variables and a new optimizer. */
async function fresh<R>(
  make: () => tf.Optimizer,
  mode: string,
  fn: (state: { model: Parameters; optimizer: tf.Optimizer }, trainer: Trainer) => Promise<R>,
): Promise<R> {
  const model = MODEL.variables(), optimizer = make();
  const trainer = MODES[mode](model, optimizer);
  try {
    return await fn({ model, optimizer }, trainer);
  } finally {
    await trainer.close?.();
    optimizer.dispose();
    tf.dispose(Object.values(model));
  }
}

for (const mode of Object.keys(MODES)) {
  testOnDevices(
    `training ${mode} goes on from a checkpoint as if it had never stopped`,
    async () => {
      for (const [name, make] of Object.entries(OPTIMIZERS)) {
        const bytes: Uint8Array[] = [];
        const whole = await fresh(make, mode, async (state, trainer) => {
          const first = await steps(trainer, 3);
          bytes.push(await tf.io.serializeVariables(state));
          const rest = await steps(trainer, 3);
          bytes.push(await tf.io.serializeVariables(state));
          // Back to where it was, in the same optimizer and what was compiled with it.
          await tf.io.restoreVariables(state, bytes[0]);
          assertEquals(await steps(trainer, 3), rest, `${name}, restored in place`);
          assertEquals(await tf.io.serializeVariables(state), bytes[1], `${name}, saved again`);
          return [...first, ...rest];
        });
        assertNotEquals(whole[0], whole[3]);
        await fresh(make, mode, async (state, trainer) => {
          for (const v of Object.values(state.model)) v.assign(tf.zerosLike(v));
          await tf.io.restoreVariables(state, bytes[0]);
          assertEquals(state.optimizer.iterations, 3);
          assertEquals(await steps(trainer, 3), whole.slice(3), `${name}, restored elsewhere`);
          assertEquals(await tf.io.serializeVariables(state), bytes[1], `${name}, at the end`);
        });
      }
    },
  );
}

Deno.test("a checkpoint names what an optimizer keeps by the path of its variable, in files too", async () => {
  const path = await Deno.makeTempFile({ suffix: ".safetensors" });
  using w = tf.variable([1, 2]);
  using optimizer = tf.train.adam(0.1);
  const state = { net: { w }, optimizer };
  optimizer.minimize(() => tf.sum(tf.square(w)));
  await tf.io.saveVariables(path, state);
  const { tensors } = tf.io.readSafetensors(await Deno.readFile(path));
  assertEquals(Object.keys(tensors).sort(), [
    "net/w",
    "optimizer/iter",
    "optimizer/net/w/m",
    "optimizer/net/w/v",
  ]);
  const saved = w.arraySync();
  optimizer.minimize(() => tf.sum(tf.square(w)));
  await tf.io.loadVariables(path, state);
  assertEquals([w.arraySync(), optimizer.iterations], [saved, 1]);
  await Deno.remove(path);
});

Deno.test("a checkpoint that does not fit changes nothing", async () => {
  using w = tf.variable([1, 2]), other = tf.variable([1, 2, 3]);
  using optimizer = tf.train.adam(0.1), otherOptimizer = tf.train.adam(0.1);
  const cost = (v: tf.Variable) => () => tf.sum(tf.square(v));
  optimizer.minimize(cost(w));
  otherOptimizer.minimize(cost(other));
  const bytes = await tf.io.serializeVariables({ w, optimizer });
  const before = other.arraySync();
  await assertRejects(
    () => tf.io.restoreVariables({ w: other, optimizer: otherOptimizer }, bytes),
    tf.errors.InvalidArgumentError,
    "the file has float32[2], the variable is float32[3]",
  );
  await assertRejects(
    () => tf.io.restoreVariables({ other, optimizer: otherOptimizer }, bytes, { strict: false }),
    tf.ValueError,
    "the saved shape is [2]",
  );
  await assertRejects(
    () => tf.io.restoreVariables({ w, trained: optimizer }, bytes),
    tf.errors.NotFoundError,
    'lacks "trained/iter" and has "optimizer/iter", "optimizer/w/m", "optimizer/w/v" besides',
  );
  assertEquals([other.arraySync(), otherOptimizer.iterations], [before, 1]);
});
