/** `console.log` of instances of every exported class says in a line or two what they are, in Deno and in Node. */
import * as tf from "@weft/weft";
import {
  DataServiceDispatcher,
  DataServiceWorker,
  MemoryTransport,
  Server,
} from "@weft/weft/distribute";
import { definePointwise, scalar as s } from "@weft/weft/ops";
import { assert, assertEquals } from "@std/assert";
import { inspect } from "node:util";
import { readConfig, ROOT } from "../../tools/files.ts";

const SYMBOLS = [Symbol.for("Deno.customInspect"), Symbol.for("nodejs.util.inspect.custom")];

/** Classes that consoles may show by their fields, with the reason. */
const PLAIN: Readonly<Record<string, string>> = {
  CompositeArrayBuffer: "TensorFlow.js's list of buffers",
  DataStorage: "a base class for backends of users",
  Engine: "TensorFlow.js's engine, a table of functions",
  EngineState: "numbers",
  Environment: "TensorFlow.js's flags, by their names",
  KernelBackend: "a base class for backends of users",
  SerializationMap: "TensorFlow.js's table of classes",
  Tensor: "abstract",
};

/** A class of an entry and of the namespaces in it, by its name. */
type Class = (abstract new (...args: never[]) => object) & { readonly prototype: object };

function classesOf(module: object, above: readonly object[] = []): [string, Class][] {
  return Object.entries(module).flatMap(([name, value]): [string, Class][] => {
    if (typeof value === "function" && /^class\b/.test(Function.prototype.toString.call(value))) {
      return [[name, value as Class]];
    }
    const isNamespace = Object.prototype.toString.call(value) === "[object Module]";
    return isNamespace && !above.includes(value) ? classesOf(value, [...above, value]) : [];
  });
}

for (const [entry, path] of Object.entries(readConfig().exports)) {
  if (entry === "./numpy") continue; // Its classes are those of a package.
  Deno.test(`classes of ${entry} have a text for consoles`, async () => {
    const module = await import(new URL(path, ROOT).href);
    const bare = classesOf(module, [module]).filter(([name, { prototype }]) =>
      !(prototype instanceof Error) && !(name in PLAIN) &&
      !SYMBOLS.every((symbol) => symbol in prototype)
    );
    assertEquals(bare.map(([name]) => name), []);
  });
}

const scalar = () => tf.scalar(3);
const twice = tf.function((x: tf.Tensor) => tf.mul(x, 2), { name: "twice" });
const words = () => new tf.lookup.KeyValueTensorInitializer(["a"], [1], { valueDtype: "int32" });
const v1 = tf.compat.v1;

/** Instances and their texts; `…` stands for any text. */
const SHOWN: Readonly<Record<string, readonly [make: () => unknown, text: string]>> = {
  "an op of one's own": [
    () => definePointwise("Shown>Cube", ([x]) => s.mul(x, s.mul(x, x))),
    "<Op 'Shown>Cube' (…) → (…)>",
  ],
  "a spec": [() => tf.TensorSpec([null, 2]), "TensorSpec(float32[?,2])"],
  "a spec of unknown rank": [() => tf.TensorSpec(null, "int32"), "TensorSpec(int32<unknown>)"],
  "a spec with a name": [() => tf.TensorSpec([], "bool", "on"), "TensorSpec(bool[] 'on')"],
  "a ragged spec": [() => tf.ragged.constant([[1], [2, 3]]).spec, "ragged float32[2,?]"],
  "a spec of a dataset": [() => tf.data.range(4).window(2).elementSpec, "Dataset(int32[])"],
  "an optimizer": [
    () => tf.train.momentum(0.1, 0.9),
    "<Momentum learningRate=0.1 momentum=0.9 useNesterov=false: 0 steps>",
  ],
  "an optimizer after a step": [() => {
    const w = tf.variable([1]), sgd = tf.train.sgd(0.5);
    sgd.minimize(() => tf.sum(w), false, [w]);
    return sgd;
  }, "<SGD learningRate=0.5: 1 step>"],
  "an optimizer with a schedule": [
    () => tf.train.sgd(tf.train.schedules.linear(0, 1, 4)),
    "<SGD learningRate=tf.train.schedules.linear(0, 1, 4): 0 steps>",
  ],
  "a schedule": [
    () => tf.train.schedules.exponentialDecay(8, 2, 0.5, { staircase: true }),
    'tf.train.schedules.exponentialDecay(8, 2, 0.5, {"staircase":true})',
  ],
  "an average of variables": [
    () => new tf.train.ExponentialMovingAverage(0.9),
    "<tf.train.ExponentialMovingAverage decay=0.9: 0 variables>",
  ],
  "a chain of transformations": [
    () => tf.train.chain(tf.train.transforms.clip(1), tf.train.transforms.scaleByLearningRate(2)),
    "<Chain learningRate=2 parts=clip,scaleByLearningRate: 0 steps>",
  ],
  "a metric": [() => tf.metrics.precision(), "<tf.metrics.precision: truePositives [1], all [1]>"],
  "an optimizer of version 1": [
    () => new v1.train.AdamOptimizer(0.1),
    "<tf.compat.v1.train.Optimizer 'Adam'>",
  ],
  "an average": [
    () => new v1.train.ExponentialMovingAverage(0.9),
    "<tf.train.ExponentialMovingAverage 'ExponentialMovingAverage' of 0 values>",
  ],
  "a tape": [() => {
    using tape = new tf.GradientTape({ persistent: true });
    return tape;
  }, "<tf.GradientTape: persistent, ended, 0 variables read>"],
  "a forward accumulator": [() => {
    using f = new tf.ForwardAccumulator([scalar(), scalar()], [1, 1]);
    return f;
  }, "<tf.ForwardAccumulator of 2 primals>"],
  "a dataset": [() => tf.data.range(4).batch(2), "<BatchDataset:… elementSpec=int32[?]>"],
  "a dataset of nested elements": [
    () => tf.data.range(4).map((n) => ({ x: [n, tf.fill([2], n)], y: tf.ones([3]) })),
    "<MapDataset:… elementSpec={x: [int32[], int32[2]], y: float32[3]}>",
  ],
  "rows of CSV": [
    () => tf.data.csv(new Blob(["a\n1\n"]), { columns: { a: "int32" } }),
    "<CSVDataset:… elementSpec={a: int32[]}>",
  ],
  "a pass of a dataset": [
    () => tf.data.range(4).iterator(),
    "<tf.data.DatasetIterator: 0 elements>",
  ],
  "a list of tensors": [
    () => new tf.TensorArray("float32", 3, { elementShape: [2] }),
    "<tf.TensorArray 3 of float32[2]>",
  ],
  "a generator of random numbers": [
    () => tf.random.Generator.fromSeed(1),
    "<tf.random.Generator: Philox>",
  ],
  "a module": [
    () => Object.assign(new tf.Module("block"), { w: tf.variable([1]) }),
    "<tf.Module block: Variable…>",
  ],
  "a buffer": [() => tf.buffer([2], "int32"), "TensorBuffer(int32[2]) [0, 0]"],
  "a function": [() => twice, "<tf.function twice: … trace…>"],
  "a concrete function": [
    () => twice.getConcreteFunction(tf.TensorSpec([2])),
    "<concrete tf.function twice: float32[2] -> float32[2]>",
  ],
  "a checkpoint": [
    () => new tf.train.Checkpoint({ w: tf.variable(1) }),
    "<tf.train.Checkpoint of w: 0 saves>",
  ],
  "pairs of a table": [words, "<tf.lookup.KeyValueTensorInitializer string to int32: 1 key>"],
  "a table": [
    () => new tf.lookup.StaticHashTable(words(), 0),
    "<tf.lookup HashTableV2 string to int32: 1 key>",
  ],
  "a table that grows": [() => {
    const table = new tf.lookup.MutableHashTable("string", "int64", 0);
    table.insert(["a", "b"], [1, 2]);
    return table;
  }, "<tf.lookup MutableHashTableV2 string to int64: 2 keys>"],
  "a vocabulary": [
    () => tf.lookup.StaticVocabularyTable.of(["a", "b"], 1),
    "<tf.lookup.StaticVocabularyTable: 2 words, 1 bucket for others>",
  ],
  "an accumulator": [
    () => new v1.ConditionalAccumulator("float32", { shape: [2] }),
    "<tf.ConditionalAccumulator float32[2]>",
  ],
  "a variable of a graph": [
    () => new tf.Graph().asDefault(() => tf.variable([1, 2], true, "w")),
    "<tf.Variable 'w' float32[2]> in a graph",
  ],
  "collections of a graph": [() => {
    const graph = new tf.Graph();
    graph.asDefault(() => tf.variable([1], true, "w"));
    return graph.collections;
  }, "<tf.Graph collections: variables 1, trainable_variables 1>"],
  "a transport": [() => new MemoryTransport(), "<MemoryTransport: no listener>"],
  "a server": [
    () => new Server({ cluster: { worker: ["localhost:2222"] }, job: "worker", task: 0 }),
    "<Server /job:worker/task:0 not started>",
  ],
  "a dispatcher": [() => new DataServiceDispatcher(), "<DataServiceDispatcher not started>"],
  "a worker": [
    () => new DataServiceWorker({ dispatcher: "localhost:1" }),
    "<DataServiceWorker not started: 0 tasks>",
  ],
  "an error": [() => {
    const { stack: _, ...fields } = new tf.errors.NotFoundError("no");
    return fields;
  }, '{ name: "NotFoundError", code: 5 }'],
};

for (const [what, [make, text]] of Object.entries(SHOWN)) {
  Deno.test(`console.log() of ${what} is a line`, () => {
    tf.tidy(() =>
      tf.device("/CPU:0", () => {
        const x = make();
        const escaped = text.split("…").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
        const wanted = new RegExp(`^${escaped.join(".*")}$`);
        assert(wanted.test(Deno.inspect(x)), Deno.inspect(x));
        if (what !== "an error") assert(wanted.test(inspect(x)), inspect(x));
      })
    );
  });
}

Deno.test("the rows of a matrix stand below each other", () => {
  tf.tidy(() =>
    tf.device("/CPU:0", () => {
      const [first, second] = Deno.inspect(tf.tensor([[1, 20], [3, 4]])).split("\n");
      assertEquals(second!.indexOf("[3"), first!.indexOf("[1"));
      assertEquals(second!.indexOf("4"), first!.indexOf("20"));
    })
  );
});
