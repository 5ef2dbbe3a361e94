/** tf.train.Checkpoint and CheckpointManager: files as TensorFlow has them, kept and deleted as there. */
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import * as tf from "@weft/weft";
import { readCheckpoint } from "@weft/weft/tf";
import { testOnDevices } from "../devices.ts";

const { Checkpoint, CheckpointManager } = tf.train;

/** Calls `fn` with a folder, and fails where tensors are left. */
async function inFolder(fn: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "weft_checkpoint_" });
  const before = tf.memory().numTensors;
  try {
    await fn(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  assertEquals(tf.memory().numTensors, before);
}

async function keysOf(prefix: string): Promise<string[]> {
  const file = await readCheckpoint(prefix);
  await file.close();
  return file.keys().filter((k) => !k.startsWith("_CHECKPOINTABLE"));
}

const VALUE = "/.ATTRIBUTES/VARIABLE_VALUE";

testOnDevices("a Checkpoint is restored where it was saved", async () => {
  await inFolder(async (folder) => {
    using w = tf.variable([[1, 2]]), b = tf.variable(3, true, undefined, "int32");
    using shared = tf.variable([7]);
    const objects = { model: { layers: [{ w }, { b }], "a.b/c": shared }, again: shared };
    const checkpoint = new Checkpoint(objects);
    const path = await checkpoint.save(`${folder}/ck`);
    assertEquals([path, checkpoint.saveCounter], [`${folder}/ck-1`, 1]);
    // Two names of one variable are one value, under the first of them.
    assertEquals(
      await keysOf(path),
      ["model/a..b.Sc", "model/layers/0/w", "model/layers/1/b", "save_counter"]
        .map((k) => k + VALUE).sort(),
    );
    tf.tidy(() => [w, b, shared].forEach((v) => v.assign(tf.zerosLike(v))));
    (await checkpoint.restore(path)).assertConsumed();
    assertEquals([w.arraySync(), b.item(), shared.arraySync()], [[[1, 2]], 3, [7]]);
    assertEquals(await tf.train.latestCheckpoint(folder), path);
  });
});

testOnDevices("training goes on from a Checkpoint as it would have", async () => {
  await inFolder(async (folder) => {
    using w = tf.variable([1, 2]);
    const optimizer = tf.train.adam(0.1),
      step = () => optimizer.minimize(() => tf.sum(tf.square(w)));
    // The optimizer comes before what it has slots for.
    const checkpoint = new Checkpoint({ a: { optimizer }, model: { w } });
    step();
    const path = await checkpoint.write(`${folder}/ck`);
    assertEquals((await keysOf(path)).filter((k) => k.includes("SLOT")), [
      `model/w/.OPTIMIZER_SLOT/a/optimizer/m${VALUE}`,
      `model/w/.OPTIMIZER_SLOT/a/optimizer/v${VALUE}`,
    ]);
    step();
    const expected = await w.array();
    step();
    (await checkpoint.restore(path)).assertConsumed();
    step();
    assertEquals(await w.array(), expected);
    optimizer.dispose();
  });
});

Deno.test("a Checkpoint reads what TensorFlow saved, and says what does not fit", async () => {
  await tf.setBackend("cpu");
  const prefix = new URL("../tf/fixtures/checkpoints/objects", import.meta.url).pathname;
  await inFolder(async (folder) => {
    using v = tf.variable([0, 0]), n = tf.variable(0, true, undefined, "int32");
    using other = tf.variable([5]);
    (await new Checkpoint({ v, n }).restore(prefix)).assertConsumed();
    assertEquals([v.arraySync(), n.item()], [[1, 2], 3]);
    const partial = await new Checkpoint({ v }).restore(prefix);
    partial.assertExistingObjectsMatched().expectPartial();
    assertThrows(
      () => partial.assertConsumed(),
      tf.RuntimeError,
      `no variable took the checkpoint's values n${VALUE}`,
    );
    const more = await new Checkpoint({ v, n, model: { other } }).restore(prefix);
    assertThrows(
      () => more.assertExistingObjectsMatched(),
      tf.RuntimeError,
      "the checkpoint has no values for model.other",
    );
    // Nothing is changed where one does not fit.
    v.assign([8, 9]);
    await assertRejects(
      () => new Checkpoint({ v, n: other }).restore(prefix),
      tf.ValueError,
      "int32[], the variable is float32[1]",
    );
    assertEquals([v.arraySync(), other.arraySync()], [[8, 9], [5]]);
    await assertRejects(
      () => new Checkpoint({ v }).restore(`${folder}/none`),
      tf.errors.NotFoundError,
    );
    const saver = prefix.replace("objects", "saver");
    await assertRejects(
      () => new Checkpoint({ v }).restore(saver),
      tf.errors.NotFoundError,
      "no checkpoint of objects",
    );
    assertThrows(
      () => new Checkpoint({ v: 3 as unknown as tf.Variable }),
      TypeError,
      "received 3 of type number",
    );
  });
});

Deno.test("a CheckpointManager keeps the last checkpoints, and goes on in a folder that has some", async () => {
  await tf.setBackend("cpu");
  await inFolder(async (folder) => {
    using w = tf.variable(0), step = tf.variable(5, false, undefined, "int32");
    const checkpoint = new Checkpoint({ w, step });
    const options = {
      maxToKeep: 2,
      checkpointName: "ck",
      stepCounter: step,
      checkpointInterval: 2,
    };
    const manager = await CheckpointManager.create(checkpoint, folder, options);
    assertEquals([manager.latestCheckpoint, await manager.restoreOrInitialize()], [null, null]);
    assertEquals([await manager.save(), await manager.save()], [`${folder}/ck-1`, null]);
    for (const by of [1, 1, 2]) {
      step.assignAdd(by);
      w.assignAdd(1);
      await manager.save();
    }
    assertEquals(manager.checkpoints, [`${folder}/ck-2`, `${folder}/ck-3`]);
    assertEquals([...Deno.readDirSync(folder)].map((f) => f.name).sort(), [
      "checkpoint",
      ...[2, 3].flatMap((n) => [`ck-${n}.data-00000-of-00001`, `ck-${n}.index`]),
    ]);
    const state = await Deno.readTextFile(`${folder}/checkpoint`);
    assertEquals(
      state.replace(/: [\d.]+$/gm, ": T"),
      [
        'model_checkpoint_path: "ck-3"',
        'all_model_checkpoint_paths: "ck-2"',
        'all_model_checkpoint_paths: "ck-3"',
        "all_model_checkpoint_timestamps: T",
        "all_model_checkpoint_timestamps: T",
        "last_preserved_timestamp: T\n",
      ].join("\n"),
    );
    w.assign(0);
    assertEquals([await manager.restoreOrInitialize(), w.item()], [`${folder}/ck-3`, 3]);
    const next = await CheckpointManager.create(new Checkpoint({ w, step }), `${folder}/`, {
      maxToKeep: null,
    });
    assertEquals(next.checkpoints, manager.checkpoints);
    await next.restoreOrInitialize();
    assertEquals(await next.save(), `${folder}/ckpt-4`);
    assertEquals(next.checkpoints.length, 3);
    assertEquals(await next.save(77), `${folder}/ckpt-77`);
    for (
      const [options, text] of [
        [{ maxToKeep: 0 }, "Cannot keep 0"],
        [{ maxToKeep: -1 }, "Cannot keep -1"],
        [{ checkpointInterval: 2 }, "stepCounter should be passed"],
      ] as const
    ) {
      await assertRejects(
        () => CheckpointManager.create(checkpoint, folder, options),
        tf.ValueError,
        text,
      );
    }
  });
});

Deno.test("saves that are written at a time end in the order of their calls", async () => {
  await tf.setBackend("cpu");
  await inFolder(async (folder) => {
    using w = tf.variable(0);
    const checkpoint = new Checkpoint({ w });
    const manager = await CheckpointManager.create(checkpoint, `${folder}/managed`, {
      maxToKeep: 2,
    });
    const write = checkpoint.writeNumbered.bind(checkpoint);
    const saves = {
      manager: () => manager.save(),
      checkpoint: () => checkpoint.save(`${folder}/m`),
    };
    for (const [name, save] of Object.entries(saves)) {
      const gates = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
      const written: Promise<string>[] = [];
      checkpoint.writeNumbered = async (...given) => {
        const gate = gates[written.length];
        written.push(write(...given));
        const prefix = await written.at(gates.indexOf(gate))!;
        await gate.promise;
        return prefix;
      };
      const all = gates.map((_, i) => {
        w.assign(10 + i);
        return save();
      });
      await Promise.all(written);
      for (const gate of gates.toReversed()) {
        gate.resolve();
        for (let i = 0; i < 9; i++) await null;
      }
      const paths = await Promise.all(all);
      if (name === "manager") {
        assertEquals(manager.checkpoints, paths.slice(2));
        assertEquals(manager.latestCheckpoint, paths[3]);
      }
      const place = name === "manager" ? manager.directory : folder;
      const latest = await tf.train.latestCheckpoint(place);
      assertEquals(latest, paths[3]);
      w.assign(0);
      await new Checkpoint({ w }).restore(latest!);
      assertEquals(w.item(), 13);
      // One that fails holds up none behind it.
      checkpoint.writeNumbered = () => Promise.reject(new Error("The disk is full"));
      const failed = save();
      checkpoint.writeNumbered = write;
      const next = save();
      await assertRejects(() => failed, Error, "The disk is full");
      assertEquals(await next, await tf.train.latestCheckpoint(place));
    }
  });
});
