/** Optimizers of chained transformations and schedules beside Keras and PyTorch: `make_keras_chains.py` writes what these make. */
import * as tf from "@weft/weft";
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { effort } from "../effort.ts";
import type { WebGpuDevice } from "../../src/engine/devices/webgpu/webgpu_device.ts";
import { gpuDevice } from "../../src/engine/runtime/devices/devices.ts";
import { testOnDevices, testRowOnDevices } from "../devices.ts";
import KERAS from "./keras_chains.json" with { type: "json" };

const { schedules, transforms } = tf.train;
const adamw = (): tf.Optimizer => tf.train.adamw(0.0625, 0.125, 0.75, 0.875);

const OPTIMIZERS: Record<keyof typeof KERAS.steps, () => tf.Optimizer> = {
  "lion": () => tf.train.lion(0.0625, 0.875, 0.75),
  "lion with decay": () => tf.train.lion(0.0625, 0.875, 0.75, 0.125),
  "lamb": () => tf.train.lamb(0.0625, 0.75, 0.875, 1e-6),
  "adafactor": () => tf.train.adafactor(0.125, -0.75, 1e-30, 0.0078125, 0.5),
  "muon": () =>
    tf.train.muon(0.0625, { beta1: 0.75, beta2: 0.875, weightDecay: 0.125, momentum: 0.75 }),
  "muon, plain": () =>
    tf.train.muon(0.0625, {
      ...{ beta1: 0.75, beta2: 0.875, weightDecay: 0, momentum: 0.75, nesterov: false },
      rmsRate: 0,
    }),
  "adam, clipnorm": () => tf.train.chain(transforms.clipByNorm(0.5), adamw()),
  "adam, global_clipnorm": () => tf.train.chain(transforms.clipByGlobalNorm(0.5), adamw()),
  "adam, clipvalue": () => tf.train.chain(transforms.clip(0.5), adamw()),
  "adam of a schedule": () =>
    tf.train.adamw(
      schedules.cosineDecay(0.125, 6, { alpha: 0.25, warmupTarget: 0.5, warmupSteps: 3 }),
      ...[0.125, 0.75, 0.875],
    ),
  "momentum, accumulated": () => tf.train.accumulate(tf.train.momentum(0.0625, 0.5), 2),
};

const SHAPES: Record<string, number[]> = {
  wide: [3, 4],
  tall: [5, 2],
  bias: [4],
  cube: [2, 3, 2],
  scalar: [],
};
const sizeOf = (shape: number[]): number => shape.reduce((a, b) => a * b, 1);
const numbers = (shape: number[], of: (i: number) => number): tf.Tensor =>
  tf.reshape(Array.from({ length: sizeOf(shape) }, (_, i) => of(i)), shape);

interface Model {
  readonly vs: Record<string, tf.Variable>;
  readonly cost: () => tf.Tensor;
}

/** Variables of all shapes, and the sum of weights times squares of their distance from 0.5. */
function model(dtype: tf.DType): Model {
  const entries = Object.entries(SHAPES);
  const vs = Object.fromEntries(entries.map(([name, shape]) => [
    name,
    tf.variable(numbers(shape, (i) => i * 7 % 11 / 4 - 1), true, undefined, dtype),
  ]));
  const weights = entries.map(([, shape]) =>
    tf.cast(numbers(shape, (i) => i * 5 % 7 / 8 + 0.25), dtype)
  );
  const cost = (): tf.Tensor =>
    tf.addN(
      entries.map(([name], k) => tf.sum(tf.mul(weights[k], tf.square(tf.sub(vs[name], 0.5))))),
    );
  return { vs, cost };
}

function far(vs: Model["vs"], wanted: Record<string, number[]>): number {
  return Math.max(
    ...Object.entries(vs).flatMap(([name, v]) =>
      [...v.dataSync() as Float32Array].map((x, i) => Math.abs(x - wanted[name][i]))
    ),
  );
}

type Way = (optimizer: tf.Optimizer, cost: Model["cost"]) => () => void | Promise<unknown>;
const WAYS: Record<string, Way> = {
  eager: (optimizer, cost) => () => void optimizer.minimize(cost),
  compiled: (optimizer, cost) => {
    const step = tf.function(() => optimizer.minimize(cost, true));
    return () => step().dispose();
  },
  session: (optimizer, cost) => {
    const graph = new tf.Graph();
    const train = graph.asDefault(() => optimizer.minimize(cost()))!;
    const session = new tf.Session({ graph });
    return () => session.run(train);
  },
};

const ALL_DTYPES = ["float64", "float32", "float16"] as const;
/** Dtypes that each way is tried with as a rule. */
const DTYPES: Record<string, readonly (typeof ALL_DTYPES)[number][]> = {
  ...{ eager: ["float64", "float16"], compiled: ["float32"], session: ["float32"] },
};

/** Greatest distance from Keras; Adam's epsilon stands elsewhere in Muon's share of it. */
const FAR: Record<string, number> = { float64: 2e-6, float32: 3e-5, float16: 0.02 };

for (const [name, make] of Object.entries(OPTIMIZERS)) {
  const wanted = KERAS.steps[name as keyof typeof OPTIMIZERS];
  testRowOnDevices(`${name} takes Keras's steps in every way`, async () => {
    for (const [way, begin] of Object.entries(WAYS)) {
      for (const dtype of effort(0, 1) ? ALL_DTYPES : DTYPES[way]) {
        // The signs of two numbers that are equal but for rounding may differ.
        if (dtype === "float16" && name === "muon, plain") continue;
        const { vs, cost } = model(dtype), optimizer = make();
        const step = begin(optimizer, cost);
        for (let i = 0; i < 8; i++) await step();
        const distance = far(vs, wanted);
        assert(distance < FAR[dtype], `${way}, ${dtype}: ${distance}`);
        assertEquals(optimizer.iterations, 8);
        optimizer.dispose();
        tf.dispose(Object.values(vs));
      }
    }
  });

  testRowOnDevices(`${name} goes on from saved weights, and frees everything`, async () => {
    const { vs, cost } = model("float32");
    const before = tf.memory().numTensors;
    const first = make(), second = make();
    const run = (o: tf.Optimizer): void => void tf.tidy(() => void o.minimize(() => tf.tidy(cost)));
    run(first);
    const weights = await first.getWeights();
    await second.setWeights(weights);
    const kept = Object.fromEntries(Object.entries(vs).map(([k, v]) => [k, v.clone()]));
    run(first);
    const wanted = Object.fromEntries(
      Object.entries(vs).map(([k, v]) => [k, [...v.dataSync() as Float32Array]]),
    );
    for (const [k, v] of Object.entries(vs)) v.assign(kept[k]);
    run(second);
    assertEquals(far(vs, wanted), 0);
    weights[0].tensor.dispose();
    tf.dispose(Object.values(kept));
    for (const x of [first, second]) x.dispose();
    assertEquals(tf.memory().numTensors, before);
    tf.dispose(Object.values(vs));
  });
}

testOnDevices("optimizers of halves keep their state in float32", async () => {
  // Squares of these gradients are below what float16 holds.
  const v = tf.variable([1, 2], true, undefined, "float16");
  const optimizer = tf.train.adam(0.125, 0.5, 0.5, 1e-12);
  for (let i = 0; i < 2; i++) optimizer.minimize(() => tf.sum(tf.mul(v, 2 ** -14)));
  assertEquals(v.arraySync(), [0.75, 1.75]);
  const weights = await optimizer.getWeights();
  assertEquals(weights.map((w) => w.tensor.dtype), ["int32", "float32", "float32"]);
  // Checkpoints of before hold halves.
  const halves = weights.map((w, i) =>
    i === 0 ? w : { ...w, tensor: tf.cast(w.tensor, "float16") }
  );
  await optimizer.setWeights(halves);
  optimizer.dispose();
  v.dispose();
});

const RATES: Record<keyof typeof KERAS.rates, tf.Schedule> = {
  "cosine": schedules.cosineDecay(0.5, 8, { alpha: 0.25 }),
  "cosine, warm": schedules.cosineDecay(0.125, 8, {
    ...{ alpha: 0.25, warmupTarget: 0.5, warmupSteps: 4 },
  }),
  "exponential": schedules.exponentialDecay(0.5, 4, 0.75),
  "exponential, staircase": schedules.exponentialDecay(0.5, 4, 0.75, { staircase: true }),
  "inverse time": schedules.inverseTimeDecay(0.5, 4, 0.75),
  "inverse time, staircase": schedules.inverseTimeDecay(0.5, 4, 0.75, { staircase: true }),
  "polynomial": schedules.polynomialDecay(0.5, 8, { endRate: 0.0625, power: 2 }),
  "polynomial, cycle": schedules.polynomialDecay(0.5, 4, { endRate: 0.0625, cycle: true }),
  "piecewise": schedules.piecewiseConstant([3, 7], [0.5, 0.25, 0.125]),
  "one cycle": schedules.oneCycle(0.5, 16),
  "one cycle, other": schedules.oneCycle(0.5, 16, {
    ...{ warmupPart: 0.5, divFactor: 10, finalDivFactor: 100 },
  }),
};

for (const [name, rate] of Object.entries(RATES)) {
  testOnDevices(
    `schedule ${name} is that of Keras or PyTorch, of numbers, tensors and in steps`,
    () => {
      const wanted = KERAS.rates[name as keyof typeof KERAS.rates];
      const compiled = tf.function((step: tf.Tensor) => rate(step));
      using v = tf.variable(0), w = tf.variable(0);
      using optimizer = tf.train.sgd(rate), other = tf.train.sgd(rate);
      const step = tf.function(() => other.minimize(() => tf.neg(w), true));
      let sum = 0;
      wanted.forEach((want, i) => {
        assertAlmostEquals(rate(i), want, 1e-6, `number ${i}`);
        assertAlmostEquals(rate(tf.scalar(i, "int32")).item(), want, 1e-6, `tensor ${i}`);
        assertAlmostEquals(compiled(tf.scalar(i, "int32")).item(), want, 1e-6, `compiled ${i}`);
        assertAlmostEquals(optimizer.learningRate, want, 1e-6);
        optimizer.minimize(() => tf.neg(v));
        step();
        sum += want;
        assertAlmostEquals(v.item(), sum, 1e-5, `step ${i}`);
        assertAlmostEquals(w.item(), sum, 1e-5, `compiled step ${i}`);
      });
    },
  );
}

testOnDevices("a rate may be any function of the step, and schedules may be joined", () => {
  const rates: Record<string, [tf.Rate, number[]]> = {
    "a function": [(step: tf.Tensor) => tf.div(1, tf.add(step, 1)), [1, 1 / 2, 1 / 3, 1 / 4]],
    "joined": [
      schedules.join([schedules.linear(0, 1, 2), (s: tf.Tensor) => tf.add(s, 4), 3], [1, 3]),
      [0, 4, 5, 3],
    ],
    "constant": [schedules.constant(0.5), [0.5, 0.5, 0.5, 0.5]],
  };
  for (const [name, [rate, wanted]] of Object.entries(rates)) {
    for (const compiled of [false, true]) {
      using v = tf.variable(0), optimizer = tf.train.sgd(rate);
      const once = (): void => void optimizer.minimize(() => tf.neg(v));
      const step = compiled ? tf.function(once) : once;
      let sum = 0;
      for (const want of wanted) {
        step();
        assertAlmostEquals(v.item(), sum += want, 1e-6, `${name}, ${compiled}`);
      }
      assertThrows(() => optimizer.learningRate = 1, tf.ValueError, "a function of the step");
      assertEquals(optimizer.getConfig().learningRate, rate);
    }
  }
});

testOnDevices("lookahead() moves the slow weights at each period", async () => {
  // A step of plain descent comes to 4, where it stays.
  const wanted = [[4, 4], [4, 4], [1, 7], [4, 4], [4, 4], [1.75, 6.25]];
  for (const way of ["eager", "compiled", "session"]) {
    using v = tf.variable([0, 8]);
    using optimizer = tf.train.chain(tf.train.sgd(0.5), transforms.lookahead(3, 0.25));
    const loss = (): tf.Scalar => tf.sum(tf.square(tf.sub(v, 4))) as tf.Scalar;
    const graph = new tf.Graph(), seen: unknown[] = [];
    const operation = way === "session" ? graph.asDefault(() => optimizer.minimize(loss())) : null;
    await using session = new tf.Session({ graph });
    const once = (): void => void optimizer.minimize(loss);
    const step = way === "compiled" ? tf.function(once) : once;
    for (let i = 0; i < 6; i++) {
      if (operation !== null) await session.run(operation);
      else step();
      seen.push(v.arraySync());
    }
    assertEquals(seen, wanted, way);
  }
});

testOnDevices("transformations that follow each other are one dispatch", async (device) => {
  using v = tf.variable([1, -2, 3]);
  const parts = [
    transforms.scale(2),
    transforms.clip(4),
    transforms.scaleByAdam({ epsilon: 0 }),
    transforms.addDecayedWeights(0.5),
    transforms.scaleByLearningRate(0.25),
    transforms.lookahead(5, 0.5),
  ];
  using optimizer = tf.train.chain(...parts);
  const grads = [[tf.tensor([1, -3, 2]), v]] as const;
  optimizer.applyGradients(grads);
  assertEquals(v.arraySync(), [1 - 0.25 * 1.5, -2 + 0.25 * 2, 3 - 0.25 * 2.5]);
  const { dispatches } = await tf.profile(() => void optimizer.applyGradients(grads));
  if (device !== "webgpu") return;
  // Where few buffers may be bound at once, what is joined comes in parts.
  const { maxBuffers } = (gpuDevice() as WebGpuDevice).profile;
  assertEquals(dispatches, maxBuffers > 10 ? 1 : 4);
});

testOnDevices(
  "chains leave rows alone that a sparse gradient does not name, where they may",
  () => {
    const cases: Record<string, [() => tf.Optimizer, boolean]> = {
      "clipped descent": [
        () => tf.train.chain(transforms.clipByGlobalNorm(1), transforms.scaleByLearningRate(1)),
        true,
      ],
      "of an optimizer": [() => tf.train.chain(transforms.clip(0.5), tf.train.sgd(1)), true],
      "adagrad": [() => tf.train.chain(transforms.scale(2), tf.train.adagrad(1)), true],
      "decay": [
        () => tf.train.chain(transforms.addDecayedWeights(0.5), transforms.scaleByLearningRate(1)),
        false,
      ],
      "adam": [() => tf.train.chain(transforms.clip(1), tf.train.adam(1)), false],
      "accumulated": [() => tf.train.accumulate(tf.train.sgd(1), 2), false],
      "lion": [() => tf.train.lion(1), false],
    };
    for (const [name, [make]] of Object.entries(cases)) {
      const run = (sparse: boolean, compiled: boolean): number[] => {
        using table = tf.variable([[1, 2], [3, 4], [5, 6]]), optimizer = make();
        const values = tf.tensor([[1, 1], [2, 2], [4, 4]]), at = tf.tensor([2, 0, 2], [3], "int32");
        const slices = new tf.IndexedSlices(values, at, [3, 2]);
        const dense = tf.tensor([[2, 2], [0, 0], [5, 5]]);
        const once = (): void => void optimizer.applyGradients([[sparse ? slices : dense, table]]);
        const step = compiled ? tf.function(once) : once;
        for (let i = 0; i < 4; i++) step();
        return [...table.dataSync() as Float32Array];
      };
      const wanted = run(false, false);
      for (const [sparse, compiled] of [[true, false], [true, true], [false, true]]) {
        run(sparse, compiled).forEach((x, i) =>
          assertAlmostEquals(x, wanted[i], 1e-4, `${name}: sparse ${sparse}, compiled ${compiled}`)
        );
      }
    }
  },
);

testOnDevices("masked(), stateless() and the rest do what they say", () => {
  const { scaleByLearningRate } = transforms;
  const step = (part: tf.train.Transformation, x: tf.TensorLike, g: tf.TensorLike): unknown => {
    using v = tf.variable(x as tf.Tensor);
    using optimizer = tf.train.chain(part, scaleByLearningRate(1));
    optimizer.applyGradients([[tf.tensor(g as number[]), v]]);
    return tf.neg(tf.sub(v, x)).arraySync();
  };
  assertEquals(step(transforms.stateless((g, x) => tf.mul(g, x)), [2, 3], [4, 5]), [8, 15]);
  assertEquals(step(transforms.masked(transforms.scale(3), (v) => v.rank > 1), [2], [4]), [4]);
  assertEquals(step(transforms.masked(transforms.scale(3), (v) => v.rank > 0), [2], [4]), [12]);
  assertEquals(step(transforms.scaleBySign(), [2, 3], [-4, 0]), [-1, 0]);
  const gradient = [[1, 2], [3, 6]];
  const columns = [[-1, -2], [1, 2]], rows = [[-0.5, 0.5], [-1.5, 1.5]];
  assertEquals(step(transforms.centralize(), [[1, 2], [3, 4]], gradient), columns);
  assertEquals(step(transforms.centralize(0), [[1, 2], [3, 4]], gradient), rows);
  assertEquals(step(transforms.centralize(-2), [[1, 2], [3, 4]], gradient), rows);
  assertEquals(step(transforms.centralize(5), [1, 2], [3, 4]), [3, 4]);
  assertThrows(() => step(transforms.centralize(2), [[1]], [[2]]), tf.ValueError, "Invalid axis 2");
  assertEquals(step(transforms.clipByBlockRms(1), [0, 0], [2, 2]), [1, 1]);
  assertEquals(step(transforms.scaleByTrustRatio(), [3, 4], [0, 2]), [0, 5]);
  assertEquals(step(transforms.scaleByRms(0.75, 0), [1, 1], [4, -2]), [2, -2]);
  assertEquals(step(transforms.trace(0.5, true), [1], [4]), [6]);
  assertEquals(step(transforms.scaleBySchedule((s: tf.Tensor) => tf.add(s, 2)), [1], [4]), [8]);
});

Deno.test("chain() and transformations refuse what they cannot use", () => {
  const { clip, lookahead, scale, scaleByLearningRate } = transforms;
  const cases: [() => unknown, string][] = [
    [() => tf.train.chain(), "received no transformation"],
    [() => tf.train.chain(scale as never), "parts[0]"],
    [() => tf.train.chain(scaleByLearningRate(1), tf.train.sgd(1)), "has a learning rate"],
    [() => tf.train.chain(tf.train.sgd(1), scale(2)), "stands after what changes variables"],
    [() => tf.train.chain(scaleByLearningRate(1), lookahead(2), clip(1)), "clip() at parts[2]"],
    [() => clip(0), "limit must be above 0"],
    [() => lookahead(1.5), "period must be whole"],
    [() => tf.train.accumulate(tf.train.sgd(1), 0), "received 0"],
    [() => tf.train.accumulate(3 as never, 2), "'optimizer'"],
    [
      () => tf.train.lion("fast" as never),
      "learningRate must be defined as a number or a function",
    ],
    [() => schedules.cosineDecay(1, 0), "decaySteps must be above 0"],
    [() => schedules.piecewiseConstant([1], [1]), "one boundary less"],
    [() => tf.train.muon(0.1, { speed: 1 } as never), "speed"],
  ] as [() => unknown, string][];
  for (const [call, text] of cases) assertThrows(call, Error, text);
});

testOnDevices("averages of weights follow them, eagerly and compiled", () => {
  for (const compiled of [false, true]) {
    using w = tf.variable([8, 0]), n = tf.variable(0, false, undefined, "int32");
    using ema = new tf.train.ExponentialMovingAverage(0.75, { numUpdates: n });
    const once = (): void => {
      w.assignAdd([1, 1]);
      ema.apply([w]);
      n.assignAdd(1);
    };
    // The average is made before the first step.
    ema.apply([w]);
    const step = compiled ? tf.function(once) : once;
    let average = 8;
    for (let i = 0; i < 4; i++) {
      step();
      const decay = Math.min(0.75, (1 + i) / (10 + i));
      average = decay * average + (1 - decay) * (9 + i);
      assertAlmostEquals((ema.average(w)!.arraySync() as number[])[0], average, 1e-5);
    }
    assertAlmostEquals(
      ema.withAverages(() => tf.slice(w, 0, 1).dataSync()[0] as number),
      average,
      1e-5,
    );
    assertEquals(w.arraySync(), [12, 4]);
    assertThrows(
      () =>
        ema.withAverages(() => {
          throw new tf.ValueError("no");
        }),
      tf.ValueError,
      "no",
    );
    assertEquals(w.arraySync(), [12, 4]);
    ema.assignAverages();
    assertAlmostEquals((w.arraySync() as number[])[0], average, 1e-5);
  }
});
