/** Objects with a state in tf.train.Checkpoint: generators, tables, iterators, modules, optimizers of Keras 3, averages. */
import { assertAlmostEquals, assertEquals, assertRejects, assertThrows } from "@std/assert";
import * as tf from "@weft/weft";
import { readCheckpoint } from "@weft/weft/tf";
import { testOnDevices } from "../devices.ts";

const { Checkpoint } = tf.train;
const STATES = new URL("../tf/fixtures/checkpoints/states", import.meta.url).pathname;

async function inFolder(fn: (prefix: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "weft_states_" });
  const before = tf.memory().numTensors;
  try {
    await fn(`${folder}/ck`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  assertEquals(tf.memory().numTensors, before);
}

async function keysOf(prefix: string): Promise<string[]> {
  const file = await readCheckpoint(prefix);
  await file.close();
  return file.keys().filter((k) => !k.startsWith("_CHECKPOINTABLE"))
    .map((k) => k.replace(".ATTRIBUTES/VARIABLE_VALUE", "*"));
}

class Dense extends tf.Module {
  readonly w: tf.Variable;
  constructor(start: number) {
    super();
    this.w = tf.variable([start, 2]);
  }
}

class Model extends tf.Module {
  layers = [new Dense(1), new Dense(3)];
  named = { scale: tf.variable(5, false), shape: [1, 2], rows: tf.variable([1n], false) };
  rate = 0.5;
  again = this.layers[0];
  self = this;
}

testOnDevices("a Checkpoint saves each object with a state under TensorFlow's names", async () => {
  await inFolder(async (prefix) => {
    using generator = tf.random.Generator.fromSeed(7);
    using model = new Model();
    using average = new tf.train.ExponentialMovingAverage(0.5);
    average.apply([model.layers[0].w]);
    const table = new tf.lookup.MutableHashTable("string", "int64", -1n);
    table.insert(["a", "bc"], [1n, 2n]);
    const words = tf.lookup.StaticVocabularyTable.of(["a"], 1);
    const metric = tf.metrics.mean();
    metric.updateState([1, 3]);
    const pass = tf.data.range(6).shuffle(6, 3).iterator();
    (await pass.next()).value.dispose();
    const inner = new Checkpoint({ generator });
    const objects = { inner, model, average, table, words, metric, pass };
    const checkpoint = new Checkpoint(objects);
    await checkpoint.write(prefix);
    const [first, second] = model.layers.map(({ w }) => w);
    assertEquals(
      await keysOf(prefix),
      [
        `average/${first.name}/*`,
        "inner/generator/_state_var/*",
        "metric/mean.Scount/*",
        "metric/mean.Stotal/*",
        "model/layers/0/w/*",
        "model/layers/1/w/*",
        "model/named/rows/*",
        "model/named/scale/*",
        "pass/.ATTRIBUTES/ITERATOR_STATE",
        "save_counter/*",
        "table/.ATTRIBUTES/table-keys",
        "table/.ATTRIBUTES/table-values",
      ].map((k) => k.replace(/^average.*/, (k) => k.replaceAll(/(?<=.)\/(?=.*\/)/g, "/"))).sort(),
    );
    const next = async () => {
      const rest: number[] = [];
      for await (const x of pass) {
        rest.push(x.item() as number);
        x.dispose();
      }
      return [
        tf.tidy(() => generator.normal([2]).arraySync()),
        tf.tidy(() => table.lookup(["a", "bc", "d"]).arraySync()),
        tf.tidy(() => metric.result().item()),
        first.arraySync(),
        second.arraySync(),
        average.average(first)!.arraySync(),
        rest,
      ];
    };
    const expected = await next();
    for (const v of model.variables) tf.tidy(() => v.assign(tf.zerosLike(v)));
    average.apply([first]);
    table.insert(["d"], [9n]);
    table.remove(["a"]);
    metric.updateState([100]);
    (await checkpoint.restore(prefix)).assertConsumed();
    assertEquals(await next(), expected);
    metric.dispose();
  });
});

Deno.test("a Checkpoint restores what TensorFlow saved of generators, tables, modules and Keras 3's optimizers", async () => {
  await tf.setBackend("cpu");
  await inFolder(async (prefix) => {
    using generator = tf.random.Generator.fromSeed(1);
    using model = new Model();
    const table = new tf.lookup.MutableHashTable("string", "int64", -1n);
    const { train } = tf;
    const optimizers = {
      adam: train.adam(0.1),
      sgd: train.momentum(0.1, 0.9),
      rmsprop: train.rmsprop(0.1),
      centered: train.rmsprop(0.1, 0.9, 0.9, 1e-7, true),
      adagrad: train.adagrad(0.1),
      adadelta: train.adadelta(0.1),
      adamax: train.adamax(0.1),
    };
    const weights = Object.fromEntries(
      Object.keys(optimizers).map((name) => [name, tf.variable([0, 0])]),
    );
    const checkpoint = new Checkpoint({ generator, model, table, weights, optimizers });
    const status = await checkpoint.restore(STATES);
    assertThrows(
      () => status.assertExistingObjectsMatched(),
      tf.RuntimeError,
      "no values for model.named.rows",
    );
    assertEquals(model.layers.map(({ w }) => w.arraySync()), [[1, 2], [3, 2]]);
    assertEquals(tf.tidy(() => table.lookup(["bc", "a", "x"]).arraySync()), [2n, 1n, -1n]);
    const drawn = tf.tidy(() => generator.normal([2]).arraySync()) as number[];
    [-1.2344412, 0.09916726].forEach((x, i) => assertAlmostEquals(drawn[i], x, 1e-6));
    // Adadelta takes TensorFlow.js's steps, which are others.
    const expected: Record<string, readonly [number, number]> = {
      adam: [0.8004141449928284, -1.8001683950424194],
      sgd: [0.46000000834465027, -0.9200000166893005],
      rmsprop: [0.4988706707954407, -1.4738754034042358],
      centered: [0.16556775569915771, -1.1350064277648926],
      adagrad: [0.8347373008728027, -1.83154296875],
      adamax: [0.8051683902740479, -1.8025341033935547],
    };
    for (const [name, optimizer] of Object.entries(optimizers)) {
      const w = weights[name];
      tf.tidy(() => void optimizer.applyGradients({ [w.name]: tf.mul(w, 2) }));
      const now = w.arraySync() as number[];
      expected[name]?.forEach((x, i) => assertAlmostEquals(now[i], x, 2e-5, name));
      w.dispose();
      optimizer.dispose();
    }
    // The state of an iterator is TensorFlow's own.
    const pass = tf.data.range(5).iterator();
    await assertRejects(
      () => new Checkpoint({ iterator: pass }).restore(STATES),
      tf.errors.UnimplementedError,
      "no array here holds variant",
    );
    await pass.return();
    const other = new tf.lookup.MutableHashTable("string", "float32", 0);
    await assertRejects(
      () => new Checkpoint({ table: other }).restore(STATES),
      tf.ValueError,
      "Cannot restore a table of string to float32: the checkpoint has 2 keys of string, 2 values of int64",
    );
    void prefix;
  });
});

Deno.test("an iterator goes on from a state in place", async () => {
  await tf.setBackend("cpu");
  const rest = (pass: tf.data.DatasetIterator<tf.Tensor>) =>
    Array.fromAsync(pass, (x) => tf.tidy(() => (x.dispose(), 1)));
  const dataset = tf.data.range(5).map((x) => tf.mul(x, 2));
  const pass = dataset.iterator();
  (await pass.next()).value.dispose();
  const state = await pass.save();
  assertEquals([(await rest(pass)).length, pass.count], [4, 5]);
  await pass.restore(state);
  assertEquals([pass.count, (await rest(pass)).length], [1, 4]);
  await pass.restore(state);
  await pass.return();
  await pass.restore(state);
  const { value } = await pass.next();
  assertEquals([value.item(), pass.count], [2, 2]);
  value.dispose();
  // A state of another pipeline changes nothing.
  const other = await tf.data.range(3).batch(2).iterator().save();
  await assertRejects(() => pass.restore(other), tf.ValueError, "the state is of a pipeline");
  await assertRejects(() => pass.restore(Uint8Array.of(1, 2)), tf.errors.DataLossError);
  await assertRejects(() => pass.restore("state" as never), TypeError, "wanted the bytes");
  assertEquals(pass.count, 2);
  await pass.return();
});

Deno.test("a Checkpoint refuses what has no state", () => {
  for (
    const [value, text] of [
      [3, "received 3 of type number"],
      [null, "received null"],
      ["w", 'received "w"'],
      [new Date(0), "received"],
      [tf.scalar(1), "received a tensor, which never changes"],
    ] as const
  ) {
    assertThrows(() => new Checkpoint({ value: value as never }), TypeError, text);
    assertThrows(() => new Checkpoint({ list: [{ value: value as never }] }), TypeError, text);
  }
});

Deno.test("tf.Module lists variables by names of attributes, then those of its modules", () => {
  class Block extends tf.Module {
    z = tf.variable([1]);
    a = [tf.variable([2], false), { k: tf.variable([3]) }] as const;
    constructor(readonly inner: tf.Module[] = [], name?: string) {
      super(name);
    }
  }
  using block = new Block();
  using outer = new Block([block, block], "outer");
  const own = ({ a: [first, { k }], z }: Block): tf.Variable[] => [first, k, z];
  assertEquals(outer.variables, [...own(outer), ...own(block)]);
  assertEquals(outer.trainableVariables.length, 4);
  assertEquals(outer.nonTrainableVariables, [outer.a[0], block.a[0]]);
  assertEquals([outer.submodules, block.submodules], [[block], []]);
  assertEquals([outer.name, block.name, new tf.Module().name], ["outer", "block", "module"]);
  assertEquals(String(new tf.Module("m")), "<tf.Module m: >");
});
