/** Optimizers as plain values, chains among them, and the same in `./eager`. */
import * as tf from "@weft/weft";
import * as eager from "@weft/weft/eager";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

const { schedules, transforms: t } = tf.train;
const isBias = (v: tf.Variable): boolean => v.rank === 1;

const OPTIMIZERS: Record<string, () => tf.Optimizer> = {
  sgd: () => tf.train.sgd(0.25),
  adam: () => tf.train.adam(0.125, 0.75, 0.875),
  lion: () => tf.train.lion(0.25, 0.5, 0.75, 0.125),
  lamb: () => tf.train.lamb(0.125),
  adafactor: () => tf.train.adafactor(0.125),
  muon: () => tf.train.muon(0.125, { momentum: 0.5 }),
  "every transformation": () =>
    tf.train.chain(
      ...[t.clip(2), t.clipByNorm(1.5), t.clipByGlobalNorm(1), t.centralize(0), t.scale(2)],
      ...[t.trace(0.5, true), t.scaleByAdam({ beta1: 0.75 }), t.scaleByLion(0.5), t.scaleByRms()],
      ...[t.scaleByTrustRatio(), t.clipByBlockRms(1), t.scaleByParameterRms(), t.scaleBySign()],
      ...[t.addDecayedWeights(0.25), t.scaleByLearningRate(0.125), t.lookahead(2, 0.25)],
    ),
  "an optimizer in a chain": () =>
    tf.train.chain(t.clipByGlobalNorm(0.5), tf.train.adamw(0.125, 0.5)),
  "a chain in a chain": () =>
    tf.train.chain(t.clip(0.5), tf.train.chain(t.trace(0.5), t.scaleByLearningRate(0.25))),
  accumulated: () => tf.train.accumulate(tf.train.chain(t.clip(1), tf.train.sgd(0.25)), 2),
};

const WITH_FUNCTIONS: Record<string, () => tf.Optimizer> = {
  "a schedule": () => tf.train.chain(t.scaleByLearningRate(schedules.cosineDecay(0.5, 4))),
  "a schedule of scale": () =>
    tf.train.chain(t.scaleBySchedule((n: tf.Tensor) => tf.div(-1, tf.add(n, 1)))),
  masked: () =>
    tf.train.chain(t.masked(t.masked(t.scaleByAdam(), isBias), () => true), t.scale(-0.25)),
  stateless: () => tf.train.chain(t.stateless((u) => tf.mul(u, -0.25))),
};

/** The variables after three steps. */
function trained(optimizer: tf.Optimizer): unknown {
  using w = tf.variable([[1, -2], [3, 4]]), b = tf.variable([0.5, -0.25]);
  const cost = (): tf.Scalar => tf.add(tf.sum(tf.square(w)), tf.sum(tf.square(b))) as tf.Scalar;
  for (let i = 0; i < 3; i++) optimizer.minimize(cost);
  return [w.arraySync(), b.arraySync()];
}

for (const [name, make] of Object.entries({ ...OPTIMIZERS, ...WITH_FUNCTIONS })) {
  testOnDevices(`an optimizer of plain values trains alike: ${name}`, () => {
    using first = make();
    const saved = tf.train.serialize(first);
    const kept = name in OPTIMIZERS ? JSON.parse(JSON.stringify(saved)) : saved;
    using again = tf.train.deserialize(kept);
    assertEquals(tf.train.serialize(again), saved);
    assertEquals(trained(again), trained(first));
  });
}

Deno.test("a chain's settings name its parts and the rate that is set", () => {
  const optimizer = tf.train.chain(t.clipByGlobalNorm(1), tf.train.momentum(0.5, 0.75));
  optimizer.learningRate = 0.25;
  assertEquals(optimizer.getConfig(), {
    learningRate: 0.25,
    parts: [
      { transform: "clipByGlobalNorm", args: [1] },
      {
        className: "Momentum",
        config: { learningRate: 0.5, momentum: 0.75, useNesterov: false },
      },
    ],
  });
  assertEquals(tf.train.deserialize(tf.train.serialize(optimizer)).learningRate, 0.25);
});

Deno.test("the entry ./eager has the library's optimizers, transformations and schedules", () => {
  const { train, chains, transforms, schedules } = eager;
  for (const [name, made] of Object.entries({ ...train, ...chains })) {
    assertEquals(tf.train[name as "sgd"], made as unknown, name);
  }
  assertEquals(Object.entries(transforms), Object.entries(tf.train.transforms));
  assertEquals(Object.entries(schedules), Object.entries(tf.train.schedules));
  assertEquals(eager.ExponentialMovingAverage, tf.train.ExponentialMovingAverage);
  const w = eager.variable([3, 4]);
  chains.chain(
    transforms.clipByGlobalNorm(5),
    transforms.scaleByLearningRate(schedules.constant(1)),
  )
    .minimize(() => eager.sum(eager.square(w)));
  assertEquals(w.arraySync(), [0, 0]);
});

Deno.test("optimizers are not made of values that are none", () => {
  const { serialize, deserialize } = tf.train;
  // deno-lint-ignore no-explicit-any
  const any = (x: unknown): any => x;
  const chain = (parts: unknown) => any({ className: "Chain", config: { learningRate: 1, parts } });
  const cases: [() => unknown, string][] = [
    [() => serialize(any({})), "Argument 'optimizer' passed to 'serialize'"],
    [() => deserialize(any(null)), "Argument 'saved' passed to 'deserialize'"],
    [() => deserialize(any({ className: "Adam" })), "Argument 'config' passed to 'deserialize'"],
    [() => deserialize({ className: "Adamant", config: {} }), 'no class "Adamant" is known'],
    [() => deserialize(chain(3)), "Argument 'parts' passed to 'deserialize' must be a list"],
    [() => deserialize(chain([3])), "Argument 'parts' passed to 'deserialize'"],
    [() => deserialize(chain([{ transform: "toString", args: [] }])), 'no transformation "toStr'],
    [() => deserialize(chain([{ transform: "clip" }])), "Argument 'args' passed to 'deserialize'"],
    [() => deserialize(chain([{ transform: "clip", args: [-1] }])), "limit must be above 0"],
    [() => deserialize(chain([])), "received no transformation"],
  ];
  for (const [call, text] of cases) assertThrows(call, Error, text);
});
