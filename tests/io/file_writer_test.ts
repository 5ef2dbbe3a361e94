/** Files that the library writes: whatever fails, and wherever a process dies, the old file or the new one is there. */

import * as tf from "@weft/weft";
import { createFileWriter, saveModel } from "@weft/weft/tf";
import * as tfc from "@weft/weft/tfjs-core";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { convertModel } from "../../src/tensorflow/files/convert.ts";
import { DiskError, failing } from "./failing_disk.ts";

/** Writes a number to a path, and reads it again. */
interface Kind {
  readonly write: (path: string, value: number) => Promise<unknown>;
  readonly read: (path: string) => Promise<number>;
}

const variables: Kind = {
  async write(path, value) {
    using w = tf.variable(tf.fill([100], value));
    await tf.io.saveVariables(path, { w });
  },
  async read(path) {
    using w = tf.variable(tf.zeros([100]));
    await tf.io.loadVariables(path, { w });
    return w.dataSync()[99];
  },
};

const records = (compression: "" | "GZIP"): Kind => ({
  async write(path, value) {
    const writer = new tf.io.TFRecordWriter(path, { compression });
    await writer.write("first");
    await writer.flush();
    await writer.write(String(value));
    await writer.close();
  },
  async read(path) {
    const [, last] = await Array.fromAsync(
      tf.data.tfrecord(path, { compression }).asNumpyIterator(),
      (x) => x.text(),
    );
    return Number(last);
  },
});

const elements = async (dataset: tf.data.Dataset<tf.Tensor>): Promise<number> =>
  Number((await Array.fromAsync(dataset.asNumpyIterator(), (x) => x.item()))[0]);

/** A folder of models to convert, which the disk keeps: a file that fails is one of the converter's. */
let models = "";
Deno.test.beforeAll(async () => {
  models = await Deno.makeTempDir({ prefix: "weft_models_" });
  for (const value of [1, 2, 3]) await writeModel(`${models}/${value}`, value);
});
Deno.test.afterAll(() => Deno.remove(models, { recursive: true }));

/** Converts a model of {@linkcode models}. */
const writeConverted: Kind["write"] = (path, value) => convertModel(`${models}/${value}`, path);

/** The model x ↦ x + value, with a variable of that value. */
async function writeModel(folder: string, value: number): Promise<void> {
  using w = tf.variable(value);
  const f = tf.function((x: tf.Tensor) => ({ y: tf.add(x, w) }), {
    inputSignature: [tf.TensorSpec([], "float32", "x")],
  });
  await saveModel(folder, { signatures: { serving_default: f } });
}

const KINDS: Readonly<Record<string, Kind>> = {
  "variables.safetensors": variables,
  "variables.npz": variables,
  "checkpoint": {
    async write(path, value) {
      using w = tf.variable(value);
      await new tf.train.Checkpoint({ w }).write(path);
    },
    async read(path) {
      using w = tf.variable(0);
      await new tf.train.Checkpoint({ w }).restore(path);
      return w.item() as number;
    },
  },
  "manager": {
    async write(path, value) {
      using w = tf.variable(value);
      const checkpoint = new tf.train.Checkpoint({ w });
      await (await tf.train.CheckpointManager.create(checkpoint, path, { maxToKeep: 1 })).save();
    },
    async read(path) {
      using w = tf.variable(0);
      const checkpoint = new tf.train.Checkpoint({ w });
      await (await tf.train.CheckpointManager.create(checkpoint, path)).restoreOrInitialize();
      return w.item() as number;
    },
  },
  "records": records(""),
  "records.gz": records("GZIP"),
  "snapshot": {
    write: (path, value) => tf.data.range(value, value + 3).save(path),
    read: async (path) => await elements(await tf.data.load(path) as tf.data.Dataset<tf.Tensor>),
  },
  "graph.pb": {
    write: writeConverted,
    async read(path) {
      const def = await (await import("@weft/weft/tf")).readGraphDef(path);
      const constant = def.node.find((n) => n.op === "Const" && n.attr?.dtype?.type === "DT_FLOAT");
      const graph = new tf.Graph();
      const [value] = graph.asDefault(() =>
        tf.importGraphDef(def, { returnElements: [`${constant!.name}:0`] })
      ) as tf.Tensor[];
      return await new tf.Session({ graph }).run(value) as number;
    },
  },
  "model.json": {
    write: writeConverted,
    async read(path) {
      const model = await tf.loadGraphModel(path);
      return (model.predict(tf.scalar(0)) as tf.Tensor).item() as number;
    },
  },
  "layers": {
    write: (path, value) =>
      tfc.io.getSaveHandlers(`file://${path}`)[0].save!({
        modelTopology: { value },
        weightSpecs: [{ name: "w", shape: [], dtype: "float32" }],
        weightData: new Float32Array([value]).buffer,
      }),
    async read(path) {
      const { modelTopology, weightData } = await tfc.io.getLoadHandlers(
        `file://${path}/model.json`,
      )[0].load!();
      const [value] = new Float32Array(tfc.io.CompositeArrayBuffer.join(weightData));
      assertEquals(modelTopology, { value }, "the topology and the weights are of one model");
      return value;
    },
  },
};

for (const [name, { write, read }] of Object.entries(KINDS)) {
  for (const dies of [false, true]) {
    const what = dies ? "a process that dies" : "a disk that fails";
    Deno.test(`${what} at any change leaves the old or the new ${name}`, async () => {
      const folder = await Deno.makeTempDir({ prefix: "weft_writer_" });
      try {
        for (let at = 0;; at++) {
          assert(at < 200, "the writer comes to an end");
          const path = `${folder}/${at}/${name}`;
          await Deno.mkdir(`${folder}/${at}`);
          await write(path, 1);
          const isDone = await failing(() => write(path, 2), at, { dies });
          const value = await read(path);
          if (isDone) {
            assertEquals(value, 2);
            break;
          }
          assert(value === 1 || value === 2, `change ${at}: read ${value}`);
          await write(path, 3);
          assertEquals(await read(path), 3, `a save after change ${at} failed`);
          if (dies) continue;
          const left = [...Deno.readDirSync(`${folder}/${at}`)].filter((e) => /tmp-/.test(e.name));
          // Where the removal itself fails, the next save of another process takes it away.
          assert(left.length <= 1, "a failed save leaves no file of its own");
        }
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    });
  }
}

const inFolder = async (work: (folder: string) => Promise<void>): Promise<void> => {
  const folder = await Deno.makeTempDir({ prefix: "weft_writer_" });
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
};

Deno.test("a full disk is a FailedPreconditionError that names the file", () =>
  inFolder(async (folder) => {
    const path = `${folder}/w.safetensors`;
    let error: unknown;
    await failing(() => variables.write(path, 2).catch((e) => error = e), 1);
    assert(error instanceof tf.errors.FailedPreconditionError);
    assertEquals(error.message.split("\n")[0], `Cannot write ${path}: No space left on device`);
    assert(error.cause instanceof DiskError);
  }));

Deno.test("a save removes what dead writers have left, and nothing of living ones", () =>
  inFolder(async (folder) => {
    const living = new tf.io.TFRecordWriter(`${folder}/living`);
    await living.write("a");
    await living.flush();
    const left = [`other.tmp-${crypto.randomUUID()}`, `w.npz.tmp-${crypto.randomUUID()}`];
    for (const name of left) await Deno.writeTextFile(`${folder}/${name}`, "half");
    await Deno.writeTextFile(`${folder}/mine.tmp-1`, "no file of ours");
    const old = new Date(Date.now() - 60_000);
    for (const { name } of Deno.readDirSync(folder)) {
      await Deno.utime(`${folder}/${name}`, old, old);
    }
    await Deno.writeTextFile(`${folder}/new.tmp-${crypto.randomUUID()}`, "of a writer that begins");
    await variables.write(`${folder}/w.npz`, 1);
    const names = [...Deno.readDirSync(folder)].map((e) => e.name.replace(/-[0-9a-f-]{36}/, ""));
    assertEquals(names.sort(), ["living.tmp", "mine.tmp-1", "new.tmp", "w.npz"]);
    await living.close();
    assertEquals((await tf.data.tfrecord(`${folder}/living`).toArray()).length, 1);
  }));

Deno.test("a save keeps the mode of a file, writes through links, and into what is no file", () =>
  inFolder(async (folder) => {
    const path = `${folder}/w.safetensors`, link = `${folder}/link.safetensors`;
    await variables.write(path, 1);
    await Deno.chmod(path, 0o600);
    await Deno.symlink(path, link);
    await variables.write(link, 2);
    assertEquals((await Deno.lstat(link)).isSymlink, true);
    assertEquals((await Deno.stat(path)).mode! & 0o777, 0o600);
    assertEquals(await variables.read(path), 2);
    await variables.write("/dev/null", 1);
    assertEquals((await Deno.stat("/dev/null")).isFile, false);
    await assertRejects(() => variables.write("/dev/full", 1), tf.errors.FailedPreconditionError);
  }));

Deno.test("a writer whose write has failed leaves the earlier file when it is closed", () =>
  inFolder(async (folder) => {
    const path = `${folder}/records`;
    await records("").write(path, 1);
    for (const compression of ["", "GZIP"] as const) {
      const writer = new tf.io.TFRecordWriter(path, { compression });
      const big = crypto.getRandomValues(new Uint8Array(60_000));
      await failing(async () => {
        for (let k = 0; k < 8; k++) await writer.write(big);
        await writer.flush();
      }, 1);
      await assertRejects(() => writer.close());
      assertEquals(await records("").read(path), 1);
    }
    assertEquals([...Deno.readDirSync(folder)].length, 1);
  }));

Deno.test("events that a full disk does not take are cut off, and later ones can be read", () =>
  inFolder(async (folder) => {
    let path = "";
    await failing(async () => {
      await using events = await createFileWriter(folder);
      path = events.path;
      await events.scalar("a", 1, 1);
      await assertRejects(() => events.flush(), tf.errors.FailedPreconditionError);
      await events.scalar("b", 1, 2);
    }, 3);
    const read = await tf.data.tfrecord(path).toArray();
    assertEquals(read.length, 2, "the version, and what came after the failure");
  }));
