/** Chains of gradient transformations and averages of weights beside optax, eagerly, compiled and in sessions. See record_optax.py. */

import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals } from "@std/assert";
import { testRowOnDevices } from "../devices.ts";
import OPTAX from "./optax.json" with { type: "json" };

const { chain, schedules, transforms: t } = tf.train;
const rate = (): tf.train.Transformation => t.scaleByLearningRate(0.0625);
const adam = (): tf.train.Transformation =>
  t.scaleByAdam({ beta1: 0.75, beta2: 0.875, epsilon: 1e-6 });

const CHAINS: Readonly<Record<keyof typeof OPTAX, () => tf.Optimizer>> = {
  clip: () => chain(t.clip(0.25), rate()),
  clipByGlobalNorm: () => chain(t.clipByGlobalNorm(0.5), rate()),
  clipByBlockRms: () => chain(t.clipByBlockRms(0.25), rate()),
  addDecayedWeights: () => chain(t.addDecayedWeights(0.125), rate()),
  trace: () => chain(t.trace(0.75), rate()),
  "trace, nesterov": () => chain(t.trace(0.75, true), rate()),
  scaleByAdam: () => chain(adam(), rate()),
  scaleByRms: () => chain(t.scaleByRms(0.75, 1e-6), rate()),
  scaleByLion: () => chain(t.scaleByLion(0.75, 0.875), rate()),
  scaleByTrustRatio: () => chain(t.scaleByTrustRatio(), rate()),
  scaleByParameterRms: () => chain(t.scaleByParameterRms(), rate()),
  scaleBySchedule: () =>
    chain(t.scaleBySchedule((step: tf.Tensor) => tf.div(1, tf.add(step, 1))), rate()),
  masked: () => chain(t.masked(t.scale(3), (v) => v.rank === 2), rate()),
  "adamw, clipped": () =>
    chain(t.clipByGlobalNorm(0.5), adam(), t.addDecayedWeights(0.125), rate()),
  "adamw of a schedule": () =>
    chain(
      adam(),
      t.addDecayedWeights(0.125),
      t.scaleByLearningRate(schedules.cosineDecay(0.125, 6, { alpha: 0.25 })),
    ),
  lamb: () => chain(adam(), t.addDecayedWeights(0.125), t.scaleByTrustRatio(), rate()),
  "clipped, masked momentum, 20 steps": () =>
    chain(t.clipByGlobalNorm(0.5), t.masked(t.trace(0.75, true), (v) => v.rank > 0), rate()),
  "centralized adam that decays matrices, 20 steps": () =>
    chain(
      t.centralize(0),
      adam(),
      t.masked(t.addDecayedWeights(0.125), (v) => v.rank === 2),
      rate(),
    ),
  "lion, clipped by blocks, of a schedule, 20 steps": () =>
    chain(
      t.scaleByLion(0.75, 0.875),
      t.clipByBlockRms(0.5),
      t.addDecayedWeights(0.0625),
      t.scaleByLearningRate(schedules.cosineDecay(0.125, 16, { alpha: 0.25 })),
    ),
  "muon without Nesterov's momentum, 20 steps": () =>
    tf.train.muon(0.0625, {
      ...{ momentum: 0.75, nesterov: false, weightDecay: 0 },
      ...{ beta1: 0.75, beta2: 0.875, epsilon: 1e-7 },
    }),
  accumulated: () => tf.train.accumulate(chain(t.trace(0.75), rate()), 2),
};

const SHAPES: Readonly<Record<string, number[]>> = { wide: [3, 4], bias: [4], scalar: [] };

function numbers(shape: number[], of: (i: number) => number): tf.Tensor {
  const size = shape.reduce((a, b) => a * b, 1);
  return tf.reshape(Array.from({ length: size }, (_, i) => of(i)), shape);
}

/** A step of one way: it moves the variables and then their averages. */
type Way = (step: () => unknown) => () => unknown;
const WAYS: Readonly<Record<string, Way>> = {
  eager: (step) => step,
  compiled: (step) => tf.function(() => void step()),
};

function near(found: tf.Tensor, wanted: readonly number[], text: string): void {
  [...found.dataSync() as Float32Array].forEach((x, i) =>
    assertAlmostEquals(x, wanted[i], 1e-5, `${text} ${i}`)
  );
}

for (const [name, make] of Object.entries(CHAINS)) {
  const { variables, averages } = OPTAX[name as keyof typeof OPTAX] as Readonly<
    Record<"variables" | "averages", Readonly<Record<string, number[]>>>
  >;
  const count = name.endsWith("20 steps") ? 20 : 6;
  testRowOnDevices(`${name} takes the steps that optax takes`, async () => {
    for (const way of [...Object.keys(WAYS), "session"]) {
      const before = tf.memory().numTensors;
      {
        using _scope = tf.scope();
        const vs = Object.entries(SHAPES).map(([key, shape]) =>
          [key, tf.variable(numbers(shape, (i) => i * 7 % 11 / 4 - 1))] as const
        );
        const cost = (): tf.Tensor =>
          tf.addN(vs.map(([, v]) => {
            const weights = numbers(v.shape, (i) => i * 5 % 7 / 8 + 0.25);
            return tf.sum(tf.mul(weights, tf.square(tf.sub(v, 0.5))));
          }));
        using optimizer = make(), ema = new tf.train.ExponentialMovingAverage(0.75);
        const list = vs.map(([, v]) => v);
        ema.apply(list);
        if (way === "session") {
          const graph = new tf.Graph();
          const { step, follow } = graph.asDefault(() => ({
            step: optimizer.minimize(cost())!,
            follow: ema.apply(list)!,
          }));
          await using session = new tf.Session({ graph });
          for (let i = 0; i < count; i++) {
            await session.run(step);
            await session.run(follow);
          }
        } else {
          const step = WAYS[way](() => {
            optimizer.minimize(cost as () => tf.Scalar);
            ema.apply(list);
          });
          for (let i = 0; i < count; i++) step();
        }
        for (const [key, v] of vs) {
          near(v, variables[key], `${way}, ${key}`);
          near(ema.average(v)!, averages[key], `${way}, average of ${key}`);
          v.dispose();
        }
      }
      assertEquals(tf.memory().numTensors, before, way);
    }
  });
}
