/** Which checkpoints a Saver keeps, and what its state file says: as TensorFlow 2.21's `tf.compat.v1.train.Saver` did in the same steps. */
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import * as tf from "@weft/weft";
import "@weft/weft/tf";

const v1 = tf.compat.v1;

/** Calls `fn` with a folder, a session and what makes savers of its variable. */
async function withSession(
  fn: (tools: {
    readonly folder: string;
    readonly session: tf.Session;
    readonly saver: (options?: object) => InstanceType<typeof v1.train.Saver>;
    readonly files: (start: string) => string[];
    readonly state: (file?: string) => string;
  }) => Promise<void>,
): Promise<void> {
  await tf.setBackend("cpu");
  const folder = await Deno.makeTempDir({ prefix: "weft_saver_" });
  const graph = new tf.Graph();
  const v = graph.asDefault(() => v1.getVariable("v", { initializer: 1 }));
  const session = new v1.Session({ graph });
  try {
    await session.run(v.initializer!);
    await fn({
      folder,
      session,
      saver: (options) => graph.asDefault(() => new v1.train.Saver(null, options)),
      files: (start) =>
        [...Deno.readDirSync(folder)].map((f) => f.name).filter((n) =>
          n.startsWith(start) && n.endsWith(".index")
        ).map((n) => n.slice(0, -6)).sort(),
      state: (file = "checkpoint") =>
        Deno.readTextFileSync(`${folder}/${file}`).replaceAll(`${folder}/`, "F/"),
    });
  } finally {
    await session.close();
    await Deno.remove(folder, { recursive: true });
  }
}

const listed = (latest: string, ...all: string[]): string =>
  [`model_checkpoint_path: "${latest}"`, ...all.map((p) => `all_model_checkpoint_paths: "${p}"`)]
    .map((line) => `${line}\n`).join("");

Deno.test("a Saver deletes files of checkpoints beyond maxToKeep", async () => {
  await withSession(async ({ folder, session, saver, files, state }) => {
    const s = saver({ maxToKeep: 2 });
    await Deno.writeTextFile(`${folder}/m-0.meta`, "as TensorFlow writes");
    for (let globalStep = 0; globalStep < 4; globalStep++) {
      await s.save(session, `${folder}/m`, { globalStep });
    }
    assertEquals(files("m"), ["m-2", "m-3"]);
    // Two files each, and the state.
    assertEquals([...Deno.readDirSync(folder)].length, 5);
    assertEquals(state(), listed("F/m-3", "F/m-2", "F/m-3"));
    assertEquals(s.lastCheckpoints, [`${folder}/m-2`, `${folder}/m-3`]);
    await s.save(session, `${folder}/other`);
    await s.save(session, `${folder}/other`);
    assertEquals([...files("m"), ...files("o")], ["m-3", "other"]);
    assertEquals(state(), listed("F/other", "F/m-3", "F/other"));
    await s.save(session, `${folder}/q`, { globalStep: 1, latestFilename: "st" });
    assertEquals(state("st"), listed("F/q-1", "F/other", "F/q-1"));
  });
});

Deno.test("a Saver lists saves at a time in the order of their calls", async () => {
  await withSession(async ({ folder, session, saver, files, state }) => {
    const s = saver({ maxToKeep: 2 });
    await Promise.all(
      [0, 1, 2, 3].map((globalStep) => s.save(session, `${folder}/m`, { globalStep })),
    );
    assertEquals([files("m"), s.lastCheckpoints.length], [["m-2", "m-3"], 2]);
    assertEquals(state(), listed("F/m-3", "F/m-2", "F/m-3"));
  });
});

Deno.test("a Saver that keeps all lists only the latest", async () => {
  await withSession(async ({ folder, session, saver, files, state }) => {
    const s = saver({ maxToKeep: 0 });
    for (const globalStep of [0, 1, 2]) await s.save(session, `${folder}/z`, { globalStep });
    assertEquals(files("z"), ["z-0", "z-1", "z-2"]);
    assertEquals(state(), listed("F/z-2", "F/z-2"));
    assertEquals(s.lastCheckpoints, []);
  });
});

Deno.test("a Saver keeps a checkpoint for good every so many hours", async () => {
  await withSession(async ({ folder, session, saver, files }) => {
    const s = saver({ maxToKeep: 1, keepCheckpointEveryNHours: 1e-15 });
    for (const globalStep of [0, 1, 2]) await s.save(session, `${folder}/k`, { globalStep });
    assertEquals(files("k"), ["k-0", "k-1", "k-2"]);
    assertEquals(s.lastCheckpoints, [`${folder}/k-2`]);
    for (
      const options of [{ maxToKeep: -1 }, { maxToKeep: 1.5 }, { keepCheckpointEveryNHours: 0 }]
    ) {
      assertThrows(() => saver(options), tf.ValueError, "Cannot keep");
    }
  });
});

Deno.test("a Saver goes on with checkpoints of another", async () => {
  await withSession(async ({ folder, session, saver, files }) => {
    const first = saver({ maxToKeep: 2 }), second = saver({ maxToKeep: 2 });
    for (const globalStep of [3, 4]) await first.save(session, `${folder}/m`, { globalStep });
    await second.recoverLastCheckpoints([`${folder}/m-3`, `${folder}/nothing`, `${folder}/m-4`]);
    assertEquals(second.lastCheckpoints, [`${folder}/m-3`, `${folder}/m-4`]);
    await second.save(session, `${folder}/m`, { globalStep: 9 });
    assertEquals(files("m"), ["m-4", "m-9"]);
  });
});

Deno.test("a Saver's state file may name checkpoints as seen from its folder, in any characters", async () => {
  await withSession(async ({ folder, session, saver, state }) => {
    const s = saver({ saveRelativePaths: true }), name = 'ä "b';
    await s.save(session, `${folder}/${name}`);
    const text = 'model_checkpoint_path: "\\303\\244 \\"b"\n';
    assertEquals(state().split("all_")[0], text);
    assertEquals(await v1.train.latestCheckpoint(folder), `${folder}/${name}`);
    await Deno.remove(`${folder}/${name}.index`);
    assertEquals(await v1.train.latestCheckpoint(folder), null);
    await Deno.writeTextFile(`${folder}/checkpoint`, "nothing\n");
    await assertRejects(
      () => v1.train.latestCheckpoint(folder),
      tf.errors.DataLossError,
      "it has no model_checkpoint_path",
    );
  });
});

Deno.test("a Saver restores moving averages into the variables they are of", async () => {
  await withSession(async ({ folder }) => {
    const graph = new tf.Graph();
    const { w, init, update, saver, restorer } = graph.asDefault(() => {
      const w = v1.getVariable("w", { initializer: tf.constant([1, 2]) });
      const ema = new v1.train.ExponentialMovingAverage(0.5), next = w.assign([5, 6])!;
      const update = graph.controlDependencies([next.operation], () => ema.apply([w]));
      const init = v1.globalVariablesInitializer(), saver = new v1.train.Saver();
      return { w, init, update, saver, restorer: new v1.train.Saver(ema.variablesToRestore()) };
    });
    await using session = new v1.Session({ graph });
    await session.run(init);
    await session.run(update);
    const path = await saver.save(session, `${folder}/averages`);
    await restorer.restore(session, path);
    assertEquals((await session.run(w) as tf.NdArray).toArray(), [3, 4]);
  });
});
