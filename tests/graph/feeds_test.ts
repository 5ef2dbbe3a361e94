/** Feeds of a run: read as they were at the call, uploaded once, and freed. */
import * as tf from "@weft/weft";
import { assertEquals, assertRejects } from "@std/assert";
import { HAS_WEBGPU, testOnDevices } from "../devices.ts";

interface Model {
  readonly sess: tf.Session;
  readonly x: tf.Tensor;
  readonly y: tf.Tensor;
}

/** cumsum(x·x) reversed, with a script in the middle where asked for. */
function model(script?: (x: tf.NdArray) => tf.NdArray | Promise<tf.NdArray>): Model {
  const graph = new tf.Graph();
  const { x, y } = graph.asDefault(() => {
    const x = tf.placeholder("float32", [4], "x");
    const square = tf.cumsum(tf.mul(x, x));
    const z = script ? tf.numpyFunction(script, [square], "float32") as tf.Tensor : square;
    return { x, y: tf.reverse(tf.add(z, tf.reverse(x, [0])), [0]) };
  });
  return { sess: new tf.Session({ graph }), x, y };
}

const WANTED = [31, 16, 8, 5];

async function result({ sess, x, y }: Model, value: tf.TensorLike): Promise<unknown> {
  return (await sess.run(y, { feeds: new Map([[x, value]]) }) as tf.NdArray).toArray();
}

const SCRIPTS = {
  "no script": undefined,
  "a script": (x: tf.NdArray) => x,
  "a script that awaits": (x: tf.NdArray) => Promise.resolve(x),
} as const;

for (const [what, script] of Object.entries(SCRIPTS)) {
  testOnDevices(`what is written to a fed array after the call is not seen: ${what}`, async () => {
    const m = model(script);
    for (let round = 0; round < 3; round++) {
      const data = Float32Array.of(1, 2, 3, 4);
      const running = result(m, data);
      data.fill(9);
      assertEquals(await running, WANTED);
    }
    await m.sess.close();
  });
}

testOnDevices("a script that writes to what the caller fed does not change the run", async () => {
  const data = Float32Array.of(1, 2, 3, 4);
  const m = model((x) => {
    data.fill(9);
    return x;
  });
  for (let round = 0; round < 3; round++) {
    data.set([1, 2, 3, 4]);
    assertEquals(await result(m, data), WANTED);
  }
  await m.sess.close();
});

testOnDevices("runs leave nothing behind, whatever they are fed", async () => {
  const m = model();
  const tensor = tf.tensor([1, 2, 3, 4]), variable = tf.variable([1, 2, 3, 4]);
  const integers = tf.tensor([1, 2, 3, 4], [4], "int32");
  const values: tf.TensorLike[] = [
    [1, 2, 3, 4],
    Float32Array.of(1, 2, 3, 4),
    new tf.NdArray("float32", [4], Float32Array.of(1, 2, 3, 4)),
    tensor,
    variable,
    integers,
  ];
  for (const value of values) assertEquals(await result(m, value), WANTED);
  const before = tf.memory();
  for (let round = 0; round < 3; round++) {
    for (const value of values) assertEquals(await result(m, value), WANTED);
  }
  const after = tf.memory();
  assertEquals([after.numTensors, after.numBytes, after.numDataBuffers], [
    before.numTensors,
    before.numBytes,
    before.numDataBuffers,
  ]);
  assertEquals(tensor.arraySync(), [1, 2, 3, 4]);
  assertEquals(variable.arraySync(), [1, 2, 3, 4]);
  tf.dispose([tensor, variable, integers]);
  await m.sess.close();
});

Deno.test({
  name: "a fed array goes up once, before and after a script [webgpu]",
  ignore: !HAS_WEBGPU,
  async fn() {
    await tf.setBackend("webgpu");
    const plain = model(), scripted = model((x) => x);
    const data = Float32Array.of(1, 2, 3, 4);
    for (let round = 0; round < 3; round++) {
      const one = await tf.profile(() => result(plain, data));
      assertEquals(one.bytesToDevice, 16);
      // What the script returns goes up as well.
      const two = await tf.profile(() => result(scripted, data));
      assertEquals(two.bytesToDevice, 32);
    }
    await plain.sess.close();
    await scripted.sess.close();
    await tf.setBackend("cpu");
  },
});

testOnDevices("an empty list feeds no rows, whatever the axes below are", async () => {
  const graph = new tf.Graph();
  const xs = graph.asDefault(() =>
    ([[null, 7], [null], [0, 2], [null, null], null, [3], []] as const).map((shape) =>
      tf.placeholder("float32", shape)
    )
  );
  await using sess = new tf.Session({ graph });
  const shapes = [[0, 7], [0], [0, 2], [0, 0], [0]];
  for (const [i, shape] of shapes.entries()) {
    const y = graph.asDefault(() => tf.add(xs[i], 1));
    const out = await sess.run(y, { feeds: new Map([[xs[i], []]]) }) as tf.NdArray;
    assertEquals(out.shape, shape);
  }
  for (const x of xs.slice(shapes.length)) {
    await assertRejects(
      () => sess.run(x, { feeds: new Map([[x, []]]) }),
      tf.ValueError,
      "Cannot feed value of shape (0,)",
    );
  }
});

Deno.test("feeds of another dtype are widened where nothing is lost, and refused elsewhere", async () => {
  const good: [from: tf.DType, to: tf.DType][] = [
    ["int32", "float32"],
    ["uint8", "int32"],
    ["int8", "int64"],
    ["uint8", "bool"],
    ["float32", "float64"],
    ["float64", "float32"],
    ["float32", "complex64"],
    ["int32", "int32"],
    ["bool", "float32"],
  ];
  const bad: [from: tf.DType, to: tf.DType][] = [
    ["int64", "int32"],
    ["uint32", "int32"],
    ["int32", "uint8"],
    ["float32", "int32"],
    ["float32", "bool"],
    ["int32", "bool"],
    ["complex64", "float32"],
    ["int32", "string"],
    ["string", "float32"],
  ];
  const array = (dtype: tf.DType) =>
    dtype === "string"
      ? new tf.NdArray("string", [1], [new Uint8Array(1)])
      : tf.cast([1], dtype).ndarraySync();
  const feed = async (from: tf.DType, to: tf.DType) => {
    const graph = new tf.Graph();
    const y = graph.asDefault(() => tf.identity(tf.placeholder(to, [1], "x")));
    await using session = new tf.Session({ graph });
    return await session.run(y, { feeds: { "x:0": array(from) } }) as tf.NdArray;
  };
  for (const [from, to] of good) assertEquals((await feed(from, to)).dtype, to);
  for (const [from, to] of bad) {
    await assertRejects(() => feed(from, to), TypeError, `${from} to ${to} without loss`);
  }
});

testOnDevices(
  "an operation that is fed leaves an equal one as it is, in any order of feeds",
  async () => {
    const graph = new tf.Graph();
    const { x, fed, y } = graph.asDefault(() => {
      const x = tf.placeholder("float32", [2], "x"), [fed, own] = [tf.square(x), tf.square(x)];
      return { x, fed: fed!, y: [tf.neg(fed!), tf.neg(own!)] };
    });
    await using session = new tf.Session({ graph });
    const values: [tf.Tensor, number[]][] = [[x, [1, 2]], [fed, [7, 8]]];
    for (const feeds of [new Map(values), new Map(values.toReversed())]) {
      const found = await session.run(y, { feeds }) as tf.NdArray[];
      assertEquals(found.map((a) => a.toArray()), [[-7, -8], [-1, -4]]);
    }
  },
);
