/** Constructors and methods of every exported class are called with values of a wrong kind: they tell so in words of ours. */
import * as tf from "@weft/weft";
import * as cluster from "@weft/weft/distribute";
import * as onnx from "@weft/weft/onnx";
import * as ort from "@weft/weft/ort";
import * as testing from "@weft/weft/testing";
import * as files from "@weft/weft/tf";
import { assert, assertEquals } from "@std/assert";
import { KINDS, nativeError, SECOND, TEXT, type Untyped } from "./kinds.ts";

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
const weight = graph.asDefault(() => tf.variable(1, true, "w"));
const doubling = onnx.encodeOnnx(
  tf.function((x: tf.Tensor) => ({ y: tf.mul(x, 2) }), {
    inputSignature: [tf.TensorSpec([2], "float32", "x")],
  }),
);
const pairs = () => new tf.lookup.KeyValueTensorInitializer(["a"], [1], { valueDtype: "int32" });
const rows = () => tf.data.range(4).batch(2);

/** An instance of each class that has methods of its own. */
const INSTANCES: readonly (() => object | Promise<object>)[] = [
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
  () => ort.InferenceSession.create(doubling),
  () => new tf.TensorSpec([2]),
  () => tf.sparse.fromDense(tf.tensor([[0, 1], [2, 0]])).spec,
  () => tf.quantize([[0, 127]], { bits: 8, axis: -1 }),
  () => tf.quantize([[0, 127]], { bits: 8, axis: -1 }).spec,
  () => tf.data.csv(new Blob(["a,b\n1,2\n"]), { columns: { a: "int32" } }),
  () => graph.asDefault(() => new v1.train.Saver({ w: weight })),
  () => tf.train.CheckpointManager.create(new tf.train.Checkpoint({ w: tf.variable(1) }), TEXT),
];

/** Methods that wait for others, and those that the library calls itself. */
const LEFT_OUT = new RegExp(
  `^(?:${
    [
      ...["print", "start", "listen", "connect", "foreign", "resource", "atRoot", "onOperation"],
      ...["onResource", "convertInput", "capture", "addOp", "asSite", "setAttrs", "addOutput"],
      ...["copyTo", "addedTo", "withValues", "asOpInput", "applyOp", "rowNumbers", "row", "kept"],
      ...["on", "pack", "unstack", "stack", "ofRows", "ofSpec", "partsOfRow", "relaxed", "batched"],
      ...["componentsOfArray", "unbatched", "update", "finish", "keep", "stage"],
    ].join("|")
  })$`,
);

/** Methods that refuse what they get after they have awaited something. */
const SETTLES =
  /^(?:close|evaluate|flush|manager|partialRun\w*|recoverLastCheckpoints|release|restore\w*|run|save|write\w*)$/;

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

/** The messages of an engine about calls with one and two arguments of wrong kinds; each call is begun anew. */
async function found(
  name: string,
  begin: () => Untyped | Promise<Untyped>,
): Promise<string[]> {
  const messages: string[] = [], settles = SETTLES.test(name.split(".").at(-1)!);
  for (const [kind, make] of Object.entries(KINDS)) {
    for (const second of SECOND) {
      const message = await nativeError(await begin(), [make(), second], { settles });
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
    messages.push(...await found(`new ${name}`, () => call));
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
      messages.push(...await found(`${name}.${method}`, () => value.bind(constructor)));
    }
  }
  assertEquals(messages, []);
});

for (const make of INSTANCES) {
  Deno.test(`methods refuse values of wrong kinds in our words: ${make}`, async () => {
    const messages: string[] = [], { name } = (await make()).constructor;
    for (const method of methodsOf(await make())) {
      messages.push(
        ...await found(`${name}.${method}`, async () => {
          const instance = await make() as Record<string, Untyped>;
          return (...args) => {
            try {
              return instance[method]!(...args);
            } finally {
              // Tapes would follow what later tests compute.
              if (/^ForwardAccumulator|^GradientTape/.test(name)) instance.dispose!();
            }
          };
        }),
      );
    }
    assertEquals(messages, []);
  });
}
