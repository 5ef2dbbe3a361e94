// One epoch over many PNG and JPEG files, for a network elsewhere: how long its accelerator waits for batches.
//
//   deno task bench epoch [--count 10000]
//
// The files are those of examples/files_to_batches.ts: decoded and augmented in workers, boxes padded, batched, prefetched.
// First a pass as fast as it goes says what the pipeline needs for a batch. Then each step takes a fifth longer, while the
// host does nothing else, as it has where the step runs on an accelerator.

import { parseArgs } from "node:util";
import { sceneBatches } from "../examples/files_to_batches.ts";
import { makeScenes } from "../examples/files_to_batches/scenes.ts";

/** A pass; each step takes this many milliseconds. What it took, and what part of that steps waited for their batch. */
async function epoch(
  folder: string,
  step: number,
): Promise<{ seconds: number; images: number; batches: number; waited: number }> {
  let images = 0, batches = 0, waited = 0, start = 0;
  const pass = sceneBatches(folder).asNumpyIterator();
  for (;;) {
    const asked = performance.now();
    const { done, value } = await pass.next();
    const got = performance.now();
    // The first batch also pays for the start of the workers.
    if (batches === 0) start = got;
    else waited += got - asked;
    if (done) {
      const seconds = (got - start) / 1000;
      return { seconds, images, batches, waited: waited / 1000 / seconds };
    }
    batches++;
    images += value.image.shape[0];
    if (step > 0) {
      await new Promise((resolve) => setTimeout(resolve, got + step - performance.now()));
    }
  }
}

/** Prints both passes. */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { count: { type: "string", default: "10000" } },
  });
  const folder = await Deno.makeTempDir();
  try {
    await makeScenes(folder, Number(values.count));
    const { seconds, images, batches } = await epoch(folder, 0);
    const needs = 1000 * seconds / (batches - 1), step = 1.2 * needs;
    const rate = Math.round(images / seconds);
    console.log(`${images} images, ${rate} a second: ${needs.toFixed(1)} ms for a batch`);
    const { waited } = await epoch(folder, step);
    console.log(
      `Steps of ${step.toFixed(1)} ms waited for ${(100 * waited).toFixed(1)} % of the time`,
    );
    return 0;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
