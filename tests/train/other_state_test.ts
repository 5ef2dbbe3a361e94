/** The state of one optimizer or metric, given to another: what both name is taken, nothing by chance, and all of it or none. */
import { assertEquals, assertRejects } from "@std/assert";
import * as tf from "@weft/weft";
import "@weft/weft/tf";
import { testOnDevices } from "../devices.ts";

const { transforms } = tf.train;
const OPTIMIZERS: Readonly<Record<string, () => tf.Optimizer>> = {
  sgd: () => tf.train.sgd(0.1),
  momentum: () => tf.train.momentum(0.1, 0.9),
  rmsprop: () => tf.train.rmsprop(0.1),
  adagrad: () => tf.train.adagrad(0.1),
  adadelta: () => tf.train.adadelta(0.1),
  adam: () => tf.train.adam(0.1),
  adamax: () => tf.train.adamax(0.1),
  lion: () => tf.train.lion(0.1),
  lamb: () => tf.train.lamb(0.1),
  adafactor: () => tf.train.adafactor(0.1),
  "adam over two steps": () => tf.train.accumulate(tf.train.adam(0.1), 2),
  "clipped adam": () => tf.train.chain(transforms.clipByGlobalNorm(1), tf.train.adam(0.1)),
  "adam that looks ahead": () => tf.train.chain(tf.train.adam(0.1), transforms.lookahead(2, 0.5)),
};

/** Two steps of an optimizer on a variable that no other test names. */
let made = 0;
function trained(make: () => tf.Optimizer, start: number[], name = `other_state/${made++}`) {
  const w = tf.variable(start, true, name), optimizer = make();
  const step = () => void optimizer.minimize(() => tf.sum(tf.square(w)), false, [w]);
  step();
  step();
  return { w, optimizer, step, [Symbol.dispose]: () => [w, optimizer].forEach((x) => x.dispose()) };
}

/** The slots by their names, without the variable's. */
async function slotsOf(optimizer: tf.Optimizer): Promise<Record<string, unknown>> {
  const [iter, ...slots] = await optimizer.getWeights();
  iter.tensor.dispose();
  return Object.fromEntries(
    slots.map(({ name, tensor }) => [name.slice(name.lastIndexOf("/") + 1), tensor.arraySync()]),
  );
}

async function inFolder(fn: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "weft_other_" });
  const before = tf.memory().numTensors;
  try {
    await fn(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  assertEquals(tf.memory().numTensors, before);
}

/** Slots: those that both have under one name are the first's, all else stays. */
function joined(own: Record<string, unknown>, given: Record<string, unknown>) {
  return Object.fromEntries(Object.entries(own).map(([k, v]) => [k, k in given ? given[k] : v]));
}

for (const [from, makeFirst] of Object.entries(OPTIMIZERS)) {
  testOnDevices(`the state of ${from} is taken by other optimizers where names agree`, async () => {
    await inFolder(async (folder) => {
      for (const [to, makeSecond] of Object.entries(OPTIMIZERS)) {
        using first = trained(makeFirst, [1, 2]);
        using second = trained(makeSecond, [5, 6]);
        second.step();
        const given = await slotsOf(first.optimizer), own = await slotsOf(second.optimizer);
        const { Checkpoint } = tf.train, prefix = `${folder}/${to}`;
        await new Checkpoint({ w: first.w, optimizer: first.optimizer }).write(prefix);
        await new Checkpoint({ w: second.w, optimizer: second.optimizer }).restore(prefix);
        assertEquals(await slotsOf(second.optimizer), joined(own, given), to);
        assertEquals(second.w.arraySync(), first.w.arraySync(), to);
        assertEquals(second.optimizer.iterations, 2, to);
        if (from !== to) continue;
        first.step();
        second.step();
        assertEquals(second.w.arraySync(), first.w.arraySync());
      }
    });
  });

  testOnDevices(`the state of ${from} is refused by optimizers with other slots`, async () => {
    await inFolder(async (folder) => {
      for (const [to, makeSecond] of Object.entries(OPTIMIZERS)) {
        using first = trained(makeFirst, [1, 2]);
        using second = trained(makeSecond, [5, 6]);
        const path = `${folder}/${to}.safetensors`;
        const given = await slotsOf(first.optimizer), own = await slotsOf(second.optimizer);
        const names = (slots: object) => Object.keys(slots).sort().join();
        const isSame = names(given) === "" || names(given) === names(own);
        const restored = { w: second.w, optimizer: second.optimizer };
        await tf.io.saveVariables(path, { w: first.w, optimizer: first.optimizer });
        const weights = await first.optimizer.getWeights(), before = second.w.arraySync();
        if (!isSame) {
          await assertRejects(
            () => second.optimizer.setWeights(weights),
            tf.ValueError,
            "slot",
            to,
          );
          await assertRejects(() => tf.io.loadVariables(path, restored), tf.ValueError, "slot", to);
          assertEquals(await slotsOf(second.optimizer), own, to);
          assertEquals(second.w.arraySync(), before, to);
          await tf.io.loadVariables(path, restored, { strict: false });
        } else {
          await second.optimizer.setWeights(weights);
          assertEquals(await slotsOf(second.optimizer), joined(own, given), to);
          await tf.io.loadVariables(path, restored);
        }
        assertEquals(await slotsOf(second.optimizer), joined(own, given), to);
        assertEquals(second.w.arraySync(), first.w.arraySync(), to);
        weights[0].tensor.dispose();
      }
    });
  });
}

testOnDevices("a file's slots are never those of another variable", async () => {
  await inFolder(async (folder) => {
    using a = tf.variable([1, 2], true, "slots/a"), b = tf.variable([3, 4], true, "slots/b");
    const step = (optimizer: tf.Optimizer, v: tf.Variable) =>
      void optimizer.minimize(() => tf.sum(tf.square(v)), false, [v]);
    for (const how of ["checkpoint", "variables"]) {
      using first = tf.train.momentum(0.1, 0.9);
      // The second trains the other variable first.
      using second = tf.train.momentum(0.1, 0.9);
      step(first, a);
      step(second, b);
      const own = (await slotsOf(second)).momentum;
      const prefix = `${folder}/${how}`;
      if (how === "checkpoint") {
        await new tf.train.Checkpoint({ a, first }).write(prefix);
        await new tf.train.Checkpoint({ a, first: second }).restore(prefix);
      } else {
        await tf.io.saveVariables(prefix, { a, first });
        await tf.io.loadVariables(prefix, { a, first: second });
      }
      const [iter, slot] = await second.getWeights();
      assertEquals(slot.name, "slots/b/momentum");
      assertEquals(slot.tensor.arraySync(), own);
      // That of the variable comes with its first step.
      step(second, a);
      step(first, a);
      const slots = async (o: tf.Optimizer) => {
        const [count, ...all] = await o.getWeights();
        count.tensor.dispose();
        return all.find(({ name }) => name === "slots/a/momentum")!.tensor.arraySync();
      };
      assertEquals(
        (await slots(second) as number[]).map((x) => x > 0),
        (await slots(first) as number[]).map((x) => x > 0),
      );
      iter.tensor.dispose();
    }
  });
});

testOnDevices(
  "what does not fit leaves variables, optimizers and metrics as they were",
  async () => {
    await inFolder(async (folder) => {
      using first = trained(OPTIMIZERS.adam, [1, 2]);
      using good = tf.train.momentum(0.1, 0.9);
      good.minimize(() => tf.sum(first.w), false, [first.w]);
      using mean = tf.metrics.mean();
      mean.updateState([1, 3]);
      const saved = { w: first.w, good, optimizer: first.optimizer };
      await new tf.train.Checkpoint({ ...saved, mean }).write(`${folder}/ck`);
      await tf.io.saveVariables(`${folder}/st`, saved);
      const w = first.w.arraySync(), slots = await slotsOf(good);
      // Slots of another shape are found after a variable and an optimizer that fit.
      class Wide extends tf.AdamOptimizer {
        override fit(values: Parameters<tf.Optimizer["fit"]>[0], isPartial: boolean): () => void {
          const wide = new tf.NdArray("float32", [1], new Float32Array(1));
          return super.fit(
            values.map(({ name, value }) => ({ name, value: name.endsWith("/v") ? wide : value })),
            isPartial,
          );
        }
      }
      using optimizer = new Wide(0.1, 0.9, 0.999);
      optimizer.minimize(() => tf.sum(first.w), false, [first.w]);
      good.minimize(() => tf.sum(first.w), false, [first.w]);
      first.w.assign([7, 8]);
      mean.resetState();
      const before = await slotsOf(good), into = { w: first.w, good, optimizer };
      const { Checkpoint } = tf.train;
      for (
        const restore of [
          () => new Checkpoint({ ...into, mean }).restore(`${folder}/ck`),
          () => tf.io.loadVariables(`${folder}/st`, into),
          () => tf.io.loadVariables(`${folder}/st`, into, { strict: false }),
        ]
      ) {
        await assertRejects(restore as () => Promise<unknown>, tf.ValueError, "saved shape is [1]");
        assertEquals(first.w.arraySync(), [7, 8]);
        assertEquals(await slotsOf(good), before);
        assertEquals([good.iterations, optimizer.iterations], [2, 1]);
        assertEquals(tf.tidy(() => mean.result().arraySync()), 0);
      }
      await new Checkpoint({ w: first.w, good, mean }).restore(`${folder}/ck`);
      assertEquals(first.w.arraySync(), w);
      assertEquals(await slotsOf(good), slots);
      assertEquals(tf.tidy(() => mean.result().arraySync()), 2);
    });
  },
);

testOnDevices("a metric takes the parts of its state by their names", async () => {
  const METRICS = [
    tf.metrics.mean,
    tf.metrics.meanSquaredError,
    tf.metrics.precision,
    tf.metrics.recall,
    () => tf.metrics.auc(),
  ] as readonly (() => tf.metrics.Metric)[];
  const state = async (metric: tf.metrics.Metric): Promise<Record<string, unknown>> =>
    Object.fromEntries(
      (await metric.getWeights()).map(({ name, tensor }) => [
        name.slice(name.lastIndexOf("/") + 1),
        tensor.arraySync(),
      ]),
    );
  await inFolder(async (folder) => {
    for (const [i, makeFirst] of METRICS.entries()) {
      for (const [k, makeSecond] of METRICS.entries()) {
        using first = makeFirst(), second = makeSecond();
        for (const { tensor } of await first.getWeights()) {
          tf.tidy(() => void (tensor as tf.Variable).assign(tf.onesLike(tensor)));
        }
        const given = await state(first), own = await state(second), prefix = `${folder}/${i}${k}`;
        await new tf.train.Checkpoint({ metric: first }).write(prefix);
        const taking = new tf.train.Checkpoint({ metric: second }).restore(prefix);
        const names = Object.keys(own).filter((name) => name in given);
        if (names.some((name) => String(own[name]).length !== String(given[name]).length)) {
          await assertRejects(() => taking, tf.ValueError, "Cannot restore metric");
          assertEquals(await state(second), own);
          continue;
        }
        await taking;
        assertEquals(await state(second), joined(own, given), `${first} to ${second}`);
      }
    }
  });
});
