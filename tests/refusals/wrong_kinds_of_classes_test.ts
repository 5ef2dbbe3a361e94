/** Constructors and methods of every exported class are called with values of a wrong kind: they tell so in words of ours. */
import * as tf from "@weft/weft";
import * as cluster from "@weft/weft/distribute";
import * as onnx from "@weft/weft/onnx";
import * as ort from "@weft/weft/ort";
import * as testing from "@weft/weft/testing";
import * as files from "@weft/weft/tf";
import { assert, assertEquals } from "@std/assert";
import { KINDS, nativeError, SECOND, type Untyped } from "./kinds.ts";

type Class = new (...args: never[]) => object;

/** Every exported class by its name, once. */
function classesOf(module: object, above: readonly object[] = [], prefix = ""): [string, Class][] {
  return Object.entries(module).flatMap(([name, value]): [string, Class][] => {
    if (Object.prototype.toString.call(value) === "[object Module]") {
      return above.includes(value) ? [] : classesOf(value, [...above, value], `${prefix}${name}.`);
    }
    const isClass = typeof value === "function" &&
      /^class\b/.test(Function.prototype.toString.call(value));
    return isClass ? [[prefix + name, value as Class]] : [];
  });
}

const CLASSES: readonly [string, Class][] = [
  ["", tf] as const,
  ["distribute ", cluster] as const,
  ["onnx ", onnx] as const,
  ["ort ", ort] as const,
  ["testing ", testing] as const,
  ["tf ", files] as const,
].flatMap(([entry, module]) => classesOf(module, [module], entry))
  .filter(([, found], i, all) => all.findIndex(([, other]) => other === found) === i);

const graph = new tf.Graph();
const placeholder = graph.asDefault(() => tf.placeholder("float32", [2], "x"));

const v1 = tf.compat.v1;
const pairs = () => new tf.lookup.KeyValueTensorInitializer(["a"], [1], { valueDtype: "int32" });
const rows = () => tf.data.range(4).batch(2);

/** An instance of each class that has methods of its own. */
const INSTANCES: readonly (() => object)[] = [
  () => new tf.ForwardAccumulator(tf.tensor([1, 2]), tf.tensor([1, 2])),
  () => new tf.GradientTape({ persistent: true }),
  () => new tf.Graph(),
  () => new tf.IndexedSlices(tf.ones([1, 2]), tf.tensor([0], [1], "int32"), [2, 2]),
  () => new tf.Module("m"),
  () => tf.NdArray.zeros("float32", [2, 2]),
  () => placeholder.op!,
  () => placeholder,
  () => tf.train.sgd(0.1),
  () => tf.train.momentum(0.1, 0.9),
  () => tf.train.chain(tf.train.transforms.clip(1)),
  () => tf.ragged.constant([[1, 2], [3]]),
  () => tf.ragged.constant([[1, 2], [3]]).spec,
  () => tf.sparse.fromDense(tf.tensor([[0, 1], [2, 0]])),
  () => new tf.Session({ graph }),
  () => tf.tensor([[1, 2], [3, 4]]),
  () => new tf.TensorArray("float32", 3, { elementShape: [2] }),
  () => tf.buffer([2, 2]),
  () => tf.variable([1, 2]),
  () => tf.function((x: tf.Tensor) => tf.square(x)),
  () => tf.function((x: tf.Tensor) => tf.square(x)).getConcreteFunction(tf.TensorSpec([2])),
  () => rows(),
  () => rows().iterator(),
  () => tf.data.range(4).window(2).elementSpec as object,
  () => pairs(),
  () => new tf.lookup.StaticHashTable(pairs(), 0),
  () => new tf.lookup.MutableHashTable("string", "int64", 0),
  () => tf.lookup.StaticVocabularyTable.of(["a", "b"], 1),
  () => tf.metrics.precision(),
  () => tf.metrics.mean(),
  () => tf.random.Generator.fromSeed(1),
  () => new tf.train.Checkpoint({ w: tf.variable(1) }),
  () => new tf.train.ExponentialMovingAverage(0.9),
  () => graph.asDefault(() => new v1.ConditionalAccumulator("float32", { shape: [2] })),
  () => new v1.Session({ graph }),
  () => new v1.train.AdamOptimizer(0.1),
  () => new v1.train.ExponentialMovingAverage(0.9),
  () => new cluster.MemoryTransport(),
  () => new cluster.Server({ cluster: { worker: ["localhost:2222"] }, job: "worker", task: 0 }),
  () => new ort.Tensor("float32", [1, 2], [2]),
];

/** Methods that wait for a device or others or write files, and those that the library calls itself. */
const LEFT_OUT = new RegExp(
  `^(?:${
    [
      ...["print", "start", "listen", "connect", "write\\w*", "save", "restore\\w*", "flush"],
      ...["convertInput", "capture", "foreign", "resource", "atRoot", "onOperation", "onResource"],
      ...[
        "preventFeeding",
        "isFeedable",
        "addOp",
        "asSite",
        "setAttrs",
        "addOutput",
        "copyTo",
        "run",
      ],
      ...[
        "addedTo",
        "withValues",
        "asOpInput",
        "applyOp",
        "rowNumbers",
        "row",
        "kept",
        "on",
        "add",
      ],
      ...["pack", "unstack", "stack", "ofRows", "ofSpec", "partsOfRow", "relaxed", "batched"],
      ...[
        "componentsOfArray",
        "unbatched",
        "isCompatibleWith",
        "update",
        "finish",
        "keep",
        "stage",
      ],
      ...["setShape", "fromGpuBuffer", "fromTexture", "fromMLTensor", "fromPinnedBuffer"],
    ].join("|")
  })$`,
);

/** Names of methods of an instance, those of its classes above included. */
function methodsOf(instance: object): string[] {
  const names = new Set<string>();
  for (let at = instance; at !== Object.prototype && at !== Function.prototype;) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (typeof value === "function" && name !== "constructor" && !LEFT_OUT.test(name)) {
        names.add(name);
      }
    }
    at = Object.getPrototypeOf(at);
  }
  return [...names];
}

/** The messages of an engine about calls with one and two arguments of wrong kinds. */
async function found(name: string, call: Untyped): Promise<string[]> {
  const messages: string[] = [];
  for (const [kind, make] of Object.entries(KINDS)) {
    for (const second of SECOND) {
      const message = await nativeError(call, [make(), second]);
      if (message) messages.push(`${name}(${kind}, ${String(second)}): ${message}`);
    }
  }
  return messages;
}

Deno.test("constructors of classes refuse values of wrong kinds in our words", async () => {
  const messages: string[] = [];
  assert(CLASSES.length > 80, `${CLASSES.length} classes`);
  for (const [name, constructor] of CLASSES) {
    // Messages of errors may be anything that JavaScript's own take.
    if (constructor.prototype instanceof Error) continue;
    const call = (...args: unknown[]) => String(Reflect.construct(constructor, args));
    messages.push(...await found(`new ${name}`, call));
  }
  assertEquals(messages, []);
});

Deno.test("static methods of classes refuse values of wrong kinds in our words", async () => {
  const messages: string[] = [];
  for (const [name, constructor] of CLASSES) {
    for (
      const [method, { value }] of Object.entries(Object.getOwnPropertyDescriptors(constructor))
    ) {
      if (typeof value !== "function" || LEFT_OUT.test(method)) continue;
      messages.push(...await found(`${name}.${method}`, value.bind(constructor)));
    }
  }
  assertEquals(messages, []);
});

for (const make of INSTANCES) {
  const { name } = make().constructor;
  Deno.test(`methods of ${name} refuse values of wrong kinds in our words: ${make}`, async () => {
    const messages: string[] = [];
    for (const method of methodsOf(make())) {
      messages.push(
        ...await found(`${name}.${method}`, (...args) => {
          const instance = make() as Record<string, Untyped>;
          try {
            return instance[method]!(...args);
          } finally {
            // Tapes would follow what later tests compute.
            if (/^ForwardAccumulator|^GradientTape/.test(name)) instance.dispose!();
          }
        }),
      );
    }
    assertEquals(messages, []);
  });
}
