/** Checkpoints of a training by several processes: each that a step makes due is written, and read by the next chief. */

import { assertEquals, assertRejects } from "@std/assert";
import { Server, type Transport } from "@weft/weft/distribute";
import { readCheckpoint } from "@weft/weft/tf";
import { near, Replica, together } from "./replica.ts";

Deno.test("a chief that is started anew goes on with the checkpoint of its last life", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const options = { replicas: 1, checkpoint: `${folder}/c`, checkpointEvery: 5 };
    await using whole = await Server.createLocal();
    const wanted = await together(whole, 10, { replicas: 1 });
    {
      await using server = await Server.createLocal();
      await together(server, 5, options);
    }
    await using server = await Server.createLocal();
    await using again = new Replica(server, options);
    assertEquals(await again.train(10), 5);
    near(again.losses.slice(5), wanted.losses.slice(5));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("the checkpoint of the last step is written where the reply to its update comes late, or never", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await using server = await Server.createLocal();
    let updates = 0;
    const late: Transport = {
      listen: (...args) => server.transport.listen(...args),
      connect: (...args) => {
        const { call, close } = server.transport.connect(...args);
        return {
          close,
          call: async (path, request, options) => {
            // The only fetch of an update is the step behind it.
            const isUpdate = new TextDecoder().decode(request.slice()).includes(
              "training/Identity_1:0",
            );
            if (isUpdate) updates++;
            const reply = await call(path, request, options);
            if (!isUpdate) return reply;
            options!.signal!.throwIfAborted();
            const { promise, reject } = Promise.withResolvers<never>();
            options!.signal!.addEventListener("abort", () => reject(options!.signal!.reason));
            return await promise;
          },
        };
      },
    };
    const options = { replicas: 1, checkpoint: `${folder}/c`, checkpointEvery: 1 };
    await using one = new Replica({ target: server.target, transport: late }, options);
    assertEquals(await one.train(1), 1);
    assertEquals(updates, 1);
    const written = await readCheckpoint(`${folder}/c`);
    assertEquals(Array.from((await written.read("global_step")).data), [1n]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a checkpoint that cannot be written ends the training, the last one too", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/file`, "");
    for (const checkpointEvery of [2, 5]) {
      await using server = await Server.createLocal();
      const options = { replicas: 1, checkpoint: `${folder}/file/c`, checkpointEvery };
      await using one = new Replica(server, options);
      await assertRejects(() => one.train(5), Error, `${folder}/file`);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
