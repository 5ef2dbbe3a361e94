/** Files that the library writes: whatever fails, and wherever a process dies, the old file or the new one is there. */

import * as tf from "@weft/weft";
import { createFileWriter } from "@weft/weft/tf";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { DiskError, failing } from "./failing_disk.ts";
import { KINDS, makeModels, records, variables } from "./saved_kinds.ts";

let models = "";
Deno.test.beforeAll(async () => {
  models = await Deno.makeTempDir({ prefix: "weft_models_" });
  await makeModels(models);
});
Deno.test.afterAll(() => Deno.remove(models, { recursive: true }));

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
