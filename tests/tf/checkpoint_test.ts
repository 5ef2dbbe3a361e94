/** readCheckpoint and writeCheckpoint: TensorFlow's own bundles, and ours. */

import { assertEquals, assertRejects } from "@std/assert";
import * as tf from "@weft/weft";
import { readCheckpoint, writeCheckpoint } from "@weft/weft/tf";
import { testOnDevices } from "../devices.ts";

const FIXTURES = new URL("./fixtures/checkpoints/", import.meta.url);

Deno.test("readCheckpoint() reads a Saver's checkpoint: slices, strings, wide integers", async () => {
  const c = await readCheckpoint(new URL("saver", FIXTURES));
  assertEquals(c.keys(), ["sliced", "strings", "wide"]);
  assertEquals(c.spec("sliced"), { dtype: "float32", shape: [6, 4] });
  assertEquals(Array.from((await c.read("wide")).data as BigInt64Array), [1n, 2n ** 40n]);
  const strings = (await c.read("strings")).data as Uint8Array[];
  assertEquals(strings.map((s) => new TextDecoder().decode(s)), ["a", "bcé"]);
  // Each third of the tensor was made by itself, as a range of its own.
  const sliced = (await c.read("sliced")).toArray() as number[][];
  assertEquals(sliced.map((row) => row[0]), [0, 4, 0, 4, 0, 4]);
  await c.close();
});

Deno.test("readCheckpoint() reads an object checkpoint", async () => {
  const c = await readCheckpoint(new URL("objects", FIXTURES));
  assertEquals((await c.read("v/.ATTRIBUTES/VARIABLE_VALUE")).toArray(), [1, 2]);
  assertEquals(c.has("_CHECKPOINTABLE_OBJECT_GRAPH"), true);
  await c.close();
});

Deno.test("writeCheckpoint() writes every dtype, and many keys", async () => {
  const prefix = `${await Deno.makeTempDir()}/deep/ckpt`;
  const values: Record<string, tf.TensorLike> = {
    f: tf.tensor([[1.5, -2]]),
    i: tf.tensor([1n, -(2n ** 40n)], [2], "int64"),
    b: tf.tensor([true, false]),
    s: ["", "héllo"],
    empty: tf.zeros([0, 3]),
  };
  for (let i = 0; i < 3000; i++) values[`many/${i}/${"x".repeat(100)}`] = i;
  await writeCheckpoint(prefix, values);
  const c = await readCheckpoint(prefix);
  assertEquals(c.keys().length, 3005);
  assertEquals((await c.read("f")).toArray(), [[1.5, -2]]);
  assertEquals(Array.from((await c.read("i")).data as BigInt64Array), [1n, -(2n ** 40n)]);
  assertEquals(c.spec("empty"), { dtype: "float32", shape: [0, 3] });
  assertEquals((await c.read(`many/2999/${"x".repeat(100)}`)).item(), 2999);
  await c.close();
});

Deno.test("writeCheckpoint() replaces a checkpoint in one step", async () => {
  const folder = await Deno.makeTempDir();
  for (const round of [1, 2, 3]) {
    await writeCheckpoint(`${folder}/c`, { round });
    const names = [...Deno.readDirSync(folder)].map((e) => e.name).sort();
    assertEquals(names.length, 2, `an index and a data file, found ${names}`);
    const c = await readCheckpoint(`${folder}/c`);
    assertEquals((await c.read("round")).item(), round);
    await c.close();
  }
});

Deno.test("readCheckpoint() keeps the old checkpoint where a write was cut off", async () => {
  const folder = await Deno.makeTempDir();
  await writeCheckpoint(`${folder}/c`, { v: 1 });
  const index = await Deno.readFile(`${folder}/c.index`);
  await writeCheckpoint(`${folder}/d`, { v: [2, 3] });
  // As far as the new data file: the index still names the old one.
  await Deno.copyFile(`${folder}/d.data-00000-of-00001`, `${folder}/c.data-00000-of-00002`);
  await Deno.writeFile(`${folder}/c.index`, index);
  const c = await readCheckpoint(`${folder}/c`);
  assertEquals((await c.read("v")).item(), 1);
  await c.close();
});

Deno.test("readCheckpoint() refuses what is damaged or missing", async () => {
  const prefix = `${await Deno.makeTempDir()}/c`;
  await assertRejects(() => readCheckpoint(prefix), tf.errors.NotFoundError, "no such file");
  await writeCheckpoint(prefix, { v: [1, 2, 3], s: "text" });
  const data = `${prefix}.data-00000-of-00001`;
  const c = await readCheckpoint(prefix);
  await assertRejects(() => c.read("w"), tf.errors.NotFoundError, "Key w not found");
  const bytes = await Deno.readFile(data);
  bytes[bytes.length - 1] ^= 1;
  await Deno.writeFile(data, bytes);
  await assertRejects(() => c.read("v"), tf.errors.DataLossError, "checksum");
  await c.close();
  await Deno.truncate(data, 3);
  const short = await readCheckpoint(prefix);
  await assertRejects(() => short.read("v"), tf.errors.DataLossError, "it has 3");
  await short.close();
  const index = await Deno.readFile(`${prefix}.index`);
  for (let i = 0; i < index.length; i++) {
    const broken = index.slice();
    broken[i] ^= 1;
    await Deno.writeFile(`${prefix}.index`, broken);
    // Padding bytes are not read. All other changes are detected.
    await readCheckpoint(prefix).catch((e) => {
      if (!(e instanceof tf.errors.OpError)) throw e;
    });
  }
});

testOnDevices(
  "checkpoints have the values of their call, whatever steps run meanwhile",
  async () => {
    const folder = await Deno.makeTempDir();
    const w = tf.variable(tf.fill([300, 300], 1)), v = tf.variable([1, 2]);
    const optimizer = tf.train.momentum(0.5, 0.5);
    const step = (): void => {
      optimizer.minimize(() => tf.add(tf.sum(w), tf.sum(v)), false, [w, v]);
    };
    const valuesOf = async (prefix: string): Promise<Record<string, unknown>> => {
      const c = await readCheckpoint(prefix), found: Record<string, unknown> = {};
      for (const key of c.keys()) {
        if (key.includes("VARIABLE_VALUE") || key === "v") {
          found[key] = Array.from((await c.read(key)).data as ArrayLike<number>).at(-1);
        }
      }
      await c.close();
      return found;
    };
    const checkpoint = new tf.train.Checkpoint({ model: { w, v }, optimizer });
    step();
    const tensors = tf.memory().numTensors;
    await checkpoint.write(`${folder}/wanted`);
    const wanted = await valuesOf(`${folder}/wanted`);
    const saved = checkpoint.write(`${folder}/saved`);
    const written = writeCheckpoint(`${folder}/written`, { w, v });
    step();
    v.assign([8, 9]);
    await Promise.all([saved, written]);
    assertEquals(await valuesOf(`${folder}/saved`), wanted);
    assertEquals(await valuesOf(`${folder}/written`), { v: 0.5 + 1 });
    assertEquals(tf.memory().numTensors, tensors);
    (await checkpoint.restore(`${folder}/saved`)).assertConsumed();
    assertEquals(await valuesOf(await checkpoint.write(`${folder}/again`)), wanted);
    tf.dispose([w, v]);
    optimizer.dispose();
    await Deno.remove(folder, { recursive: true });
  },
);

Deno.test("a checkpoint that cannot be written leaves the old one, and no tensors", async () => {
  const folder = await Deno.makeTempDir();
  using w = tf.variable([1, 2]);
  const checkpoint = new tf.train.Checkpoint({ w });
  await checkpoint.write(`${folder}/c`);
  const before = tf.memory().numTensors;
  const graph = new tf.Graph(), z = graph.asDefault(() => tf.placeholder("float32", []));
  await assertRejects(() => writeCheckpoint(`${folder}/c`, { a: w, z }), Error, "out of scope");
  await assertRejects(
    () => writeCheckpoint(`${folder}/c`, { "": w, a: w }),
    tf.ValueError,
    "empty",
  );
  assertEquals(tf.memory().numTensors, before);
  assertEquals([...Deno.readDirSync(folder)].length, 2);
  w.assign([0, 0]);
  (await checkpoint.restore(`${folder}/c`)).assertConsumed();
  assertEquals(w.arraySync(), [1, 2]);
  await Deno.remove(folder, { recursive: true });
});
