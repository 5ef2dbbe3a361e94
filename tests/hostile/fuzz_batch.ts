/**
 * A batch of mutated files for `deno task fuzz`, in a process of its own: reads those of a kind from a seed on and writes what came of
 * them as JSON. Without arguments it writes the names of all kinds.
 */
import * as tf from "@weft/weft";
import { MESSAGES, MutatedMessages } from "./messages.ts";
import { KINDS, MutatedFiles } from "./model_files.ts";
import type { Batch, Outcome } from "../../tools/fuzz.ts";

/** Reads the files of a batch. The place of the seed in hand is where `progress` tells it. */
async function readBatch(batch: Batch, progress: string): Promise<Outcome> {
  await tf.setBackend("cpu");
  await using files = batch.kind in MESSAGES
    ? await MutatedMessages.create(batch.kind)
    : await MutatedFiles.create(batch.kind);
  const failures: { seed: number; message: string }[] = [];
  let read = 0, refused = 0;
  // An open file: to open it for each seed would take longer than most messages.
  using file = Deno.openSync(progress, { write: true, create: true });
  const encoder = new TextEncoder();
  for (let seed = batch.from; seed < batch.from + batch.count; seed++) {
    file.seekSync(0, Deno.SeekMode.Start);
    file.writeSync(encoder.encode(`${seed}\n`));
    try {
      if (await files.read(seed)) read++;
      else refused++;
    } catch (e) {
      failures.push({ seed, message: String((e as Error).stack ?? e).slice(0, 2000) });
    }
  }
  return { ...batch, read, refused, failures };
}

if (import.meta.main) {
  const [batch, progress] = Deno.args;
  const result = batch === undefined
    ? [...Object.keys(KINDS), ...Object.keys(MESSAGES)]
    : await readBatch(JSON.parse(batch), progress!);
  console.log(JSON.stringify(result));
}
