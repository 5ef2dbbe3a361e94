/** Slices of loops in a server's steps, which are short while other steps come. */
import type * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { MemoryTransport } from "@weft/weft/distribute";
import { heldClock } from "../../serve/held_clock.ts";
import { array, TestSession, TestTask } from "./cluster.ts";
import { sliceAt } from "../../../src/engine/runtime/run/timers.ts";
import { tensorToJson } from "../../../src/tensorflow/graph_def/values.ts";

const CONSTANT = {
  name: "c",
  op: "Const",
  attr: { dtype: { type: "DT_FLOAT" }, value: { tensor: tensorToJson(array(1)) } },
};

Deno.test("a step beside another one makes the slices of loops short, and one alone does not", async () => {
  using _ = heldClock();
  const slice = (): number => sliceAt(performance.now(), 10);
  const end = Promise.withResolvers<void>(), begun = Promise.withResolvers<void>();
  const scripts = {
    "test.held@1": async (x: tf.NdArray) => {
      begun.resolve();
      await end.promise;
      return x;
    },
  };
  await using task = await TestTask.start({ transport: new MemoryTransport(), scripts });
  const attr = {
    token: { s: btoa("test.held@1") },
    Tin: { list: { type: ["DT_FLOAT"] } },
    Tout: { list: { type: ["DT_FLOAT"] } },
  };
  const def = {
    node: [CONSTANT, { name: "p", op: "PyFunc", input: ["c"], attr }],
    versions: { producer: 2000 },
  };
  const session = await TestSession.open(task, def);
  for (let k = 0; k < 3; k++) await session.run(["c:0"]);
  const held = session.run(["p:0"]);
  await begun.promise;
  assertEquals(slice(), 10);
  await session.run(["c:0"]);
  assertEquals(slice(), 3);
  end.resolve();
  assertEquals((await held).values, [1]);
});
