/** Elementwise functions of map() before batch() run once for a batch, with the bits that they have one by one. */
import * as tf from "@weft/weft";
import { assertEquals, assertRejects } from "@std/assert";
import { rangeSource } from "../../src/library/data/sources.ts";
import { traceFunction } from "../../src/library/data/trace.ts";
import { testOnDevices } from "../devices.ts";

type Fn = (...x: tf.Tensor[]) => tf.Tensor | tf.Tensor[];

const float = (x: tf.Tensor): tf.Tensor => tf.cast(x, "float32");

/** Functions that run side by side. */
const ELEMENTWISE: Readonly<Record<string, Fn>> = {
  "a product": (x) => tf.mul(x, 2),
  "a cast": (x) => tf.div(float(x), 255),
  "several results": (x) => [tf.add(x, 1), tf.greater(x, 3), tf.cast(x, "float64")],
  "one result twice": (x) => {
    const y = tf.add(x, 1);
    return [y, y];
  },
  "its argument": (x) => x,
  "functions of float32": (x) => {
    const y = tf.div(float(tf.sub(x, 20)), 7);
    return [
      tf.exp(y),
      tf.sin(y),
      tf.tanh(y),
      tf.sigmoid(y),
      tf.pow(tf.abs(y), 1.7),
      tf.log1p(tf.abs(y)),
      tf.erf(y),
      tf.mod(y, 0.3),
      tf.sqrt(y),
      tf.gelu(y),
    ];
  },
  "functions of float64": (x) => {
    const y = tf.div(tf.cast(x, "float64"), tf.scalar(7, "float64"));
    return [tf.exp(y), tf.cos(y), tf.add(tf.mul(y, y), y)];
  },
  "float16": (x) => tf.exp(tf.div(tf.cast(x, "float16"), tf.cast(9, "float16"))),
  "integers": (x) => [
    tf.floorDiv(tf.cast(x, "int32"), tf.scalar(3, "int32")),
    tf.mod(tf.cast(x, "int32"), tf.scalar(7, "int32")),
    tf.cast(x, "uint8"),
    tf.bitwiseAnd(tf.cast(x, "int32"), tf.scalar(2, "int32")),
  ],
  "a choice": (x) => tf.where(tf.greater(x, 3), float(x), tf.scalar(-1)),
};

/** Functions that run for an element by itself. */
const ALONE: Readonly<Record<string, Fn>> = {
  "a constant": () => tf.scalar(5),
  "a sum": (x) => tf.sum(tf.stack([float(x), float(x)])),
  "random numbers": (x) => tf.add(float(x), tf.randomUniform([], 0, 1, "float32", 1)),
  "a vector of a scalar": (x) => tf.add(float(x), tf.tensor([1, 2])),
  "a script": (x) => tf.numpyFunction((v) => v, [float(x)], "float32"),
};

const bits = (arrays: readonly tf.NdArray[]): unknown =>
  arrays.map(({ dtype, shape, data }) => [dtype, shape, [...data as Float32Array].map(String)]);

async function batches(dataset: tf.data.Dataset, n: number, isDropped = false): Promise<unknown> {
  const found: unknown[] = [];
  for await (const batch of dataset.batch(n, { dropRemainder: isDropped })) {
    const parts = [batch].flat() as unknown as tf.Tensor[];
    found.push(bits(parts.map((t) => t.ndarraySync())));
    tf.dispose(parts);
  }
  return found;
}

/** The same where a stage between gives one element at a time. */
async function oneByOne(dataset: tf.data.Dataset, n: number, isDropped = false): Promise<unknown> {
  return await batches(dataset.take(1e6), n, isDropped);
}

testOnDevices(
  "elementwise functions before batch() have the bits of those that run one by one",
  async () => {
    for (const [name, fn] of Object.entries({ ...ELEMENTWISE, ...ALONE })) {
      for (const numParallelCalls of [1, 3]) {
        for (const [size, n] of [[37, 10], [40, 10], [3, 10], [1, 1], [0, 4]]) {
          const made = () => tf.data.range(size).map(fn, { numParallelCalls });
          for (const drop of [false, true]) {
            assertEquals(await batches(made(), n, drop), await oneByOne(made(), n, drop), name);
          }
        }
      }
    }
  },
);

Deno.test("functions run side by side where all their ops are elementwise", () => {
  const input = rangeSource(0, 10, 1, "int32");
  const found = (fns: Readonly<Record<string, Fn>>): string[] =>
    Object.entries(fns).filter(([, fn]) => traceFunction(fn, input, "map").runStacked !== null)
      .map(([name]) => name);
  assertEquals(found(ELEMENTWISE), Object.keys(ELEMENTWISE));
  assertEquals(found(ALONE), []);
});

testOnDevices(
  "elements of several components, captured tensors and broadcast rows line up",
  async () => {
    const images = tf.data.fromTensorSlices({
      x: tf.reshape(tf.range(0, 7 * 2 * 3), [7, 2, 3]),
      y: tf.tensor([1, 2, 3, 4, 5, 6, 7], [7], "int32"),
    });
    const mean = tf.tensor([[1, 2, 3]]), scale = tf.variable(tf.scalar(2));
    const fns: Readonly<Record<string, (e: { x: tf.Tensor; y: tf.Tensor }) => tf.Tensor[]>> = {
      "a captured row": ({ x, y }) => [tf.sub(x, mean), y],
      "a vector": ({ x }) => [tf.mul(x, [1, 2, 3])],
      "all dimensions": ({ x }) => [tf.add(x, tf.ones([2, 3]))],
      "a scalar of each": ({ x, y }) => [tf.mul(x, tf.cast(y, "float32"))],
      "a variable": ({ x }) => [tf.mul(x, scale)],
      "more dimensions": ({ x }) => [tf.add(x, tf.ones([4, 1, 1]))],
    };
    for (const [name, fn] of Object.entries(fns)) {
      const made = () => images.map((e) => fn(e as never));
      assertEquals(await batches(made(), 3), await oneByOne(made(), 3), name);
    }
    tf.dispose([mean, scale]);
  },
);

testOnDevices("an element for which the function fails takes its batch alone", async () => {
  const made = () =>
    tf.data.range(-4, 8).map((x) => tf.floorDiv(tf.scalar(12, "int32"), tf.cast(x, "int32")));
  const read = async (dataset: tf.data.Dataset): Promise<unknown[]> => {
    const found: unknown[] = [];
    for await (const batch of dataset.batch(3).ignoreErrors()) {
      found.push((batch as tf.Tensor).arraySync());
    }
    return found;
  };
  assertEquals(await read(made()), [[-3, -4, -6], [6, 4, 3], [2, 2, 1]]);
  const unstacked = made().map((x) => x, { numParallelCalls: 2 });
  assertEquals(await read(made()), await read(unstacked));
  await assertRejects(() => batches(made(), 3), Error, "division by zero");
});

Deno.test("a pass over such stages stops and goes on anywhere", async () => {
  const made = (): tf.data.Dataset =>
    tf.data.range(20).map((x) => tf.mul(x, 3)).map((x) => tf.add(x, 1)).batch(4);
  const all: unknown[] = [];
  const first = made().iterator(), seen: unknown[] = [];
  for await (const batch of made()) all.push((batch as tf.Tensor).arraySync());
  for (let i = 0; i < 2; i++) seen.push(((await first.next()).value as tf.Tensor).arraySync());
  const rest = made().iterator(await first.save());
  for await (const batch of rest) seen.push((batch as tf.Tensor).arraySync());
  assertEquals(seen, all);
});
