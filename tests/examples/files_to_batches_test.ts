// The example that trains from files: what its parts compute, and that a run which was killed goes on with each file once.

import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { effort } from "../effort.ts";
import { sceneBatches } from "../../examples/files_to_batches.ts";
import { cellsOf } from "../../examples/files_to_batches/network.ts";
import { makeScenes, SIDE } from "../../examples/files_to_batches/scenes.ts";

/** Files, and the batches after which the run is killed. */
const COUNT = effort(384, 10_000), KILLS = [COUNT / 96, COUNT / 48, Infinity];
const EXAMPLE = new URL("../../examples/files_to_batches.ts", import.meta.url).pathname;
const IMPORTS = new URL("../npm_only/import_map.json", import.meta.url).pathname;

/** Starts the example on a folder; its lines come as they are printed. */
function start(folder: string): { process: Deno.ChildProcess; lines: AsyncIterable<string> } {
  const process = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--quiet",
      "--no-check",
      "--import-map",
      IMPORTS,
      EXAMPLE,
      "--folder",
      folder,
      "--log",
    ],
    stdout: "piped",
    stderr: "null",
  }).spawn();
  async function* lines(): AsyncGenerator<string> {
    let rest = "";
    for await (const text of process.stdout.pipeThrough(new TextDecoderStream())) {
      const parts = (rest + text).split("\n");
      rest = parts.pop()!;
      yield* parts;
    }
  }
  return { process, lines: lines() };
}

Deno.test("a run that is killed twice and started again sees each file once", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await makeScenes(folder, COUNT);
    /** Elements up to the last saved position: later ones come again. */
    let kept: number[] = [];
    for (const killAfter of KILLS) {
      const { process, lines } = start(folder);
      const seen = [...kept];
      let isKilled = false;
      for await (const line of lines) {
        const [what, , ...ids] = line.split(" ");
        if (what === "batch") seen.push(...ids.map(Number));
        if (what !== "saved") continue;
        kept = [...seen];
        if (Number(line.split(" ")[1]) < killAfter || isKilled) continue;
        isKilled = true;
        process.kill("SIGKILL");
      }
      const { success } = await process.status;
      assertEquals(success, killAfter === Infinity);
      if (success) kept = seen;
      else assert(kept.length < COUNT, "it was killed in the middle");
    }
    assertEquals(kept.toSorted((a, b) => a - b), Array.from({ length: COUNT }, (_, i) => i));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("batches of scenes have their boxes filled up, and repeat with a seed", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await makeScenes(folder, 12);
    const first = async () => {
      tf.setRandomSeed(5);
      const batches = await Array.fromAsync(sceneBatches(folder).asNumpyIterator());
      tf.setRandomSeed(null);
      return batches;
    };
    const [batch, ...rest] = await first();
    assertEquals(rest.length, 0);
    assertEquals(batch.image.shape, [12, SIDE, SIDE, 1]);
    const [rows, most] = batch.boxes.shape;
    assertEquals([rows, batch.boxes.shape[2]], [12, 4]);
    assert(most > 1 && most <= 3);
    const boxes = batch.boxes.toArray() as number[][][];
    assert(boxes.flat().every(([y, , h]) => (y >= 0 && h === 28) || (y === -1 && h === -1)));
    const [again] = await first();
    assertEquals([again.image, again.boxes], [batch.image, batch.boxes]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

testOnDevices(
  "cellsOf() marks the cells of boxes, once each, and nothing for what fills up",
  () => {
    tf.tidy(() => {
      const boxes = tf.constant([[[0, 8, 8, 8], [2, 10, 4, 4], [56, 0, 8, 8], [-1, -1, -1, -1]]]);
      const cells = cellsOf(boxes).arraySync() as number[][][];
      const marked = cells[0].flatMap((row, y) => row.flatMap((v, x) => (v === 1 ? [[y, x]] : [])));
      assertEquals(marked, [[0, 1], [7, 0]]);
      assertEquals(cells.flat(2).reduce((a, b) => a + b), 2);
    });
  },
);
