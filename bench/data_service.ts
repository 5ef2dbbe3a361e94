// Times how fast one worker of the data service gives batches of images to a reader, each in a process of its own on this machine.
//
//   deno task bench data [--rounds 5] [--batches 64] [--size 8] [--write]
//
// The body is trivial: what is timed is the way of the bytes from a tensor there to a tensor here.

import { parseArgs } from "node:util";
import * as tf from "@weft/weft";
import { DataServiceDispatcher, DataServiceWorker } from "@weft/weft/distribute";
import { Killable } from "./killable.ts";
import { writeSection } from "./results.ts";

const WORKER = "--worker";
const IMAGE = [224, 224, 3] as const;

/** Serves until it is killed. */
async function work(dispatcher: string): Promise<void> {
  await tf.setBackend("cpu");
  await new DataServiceWorker({ dispatcher, heartbeatMs: 100 }).start();
  console.log("ready");
}

/** Bytes a second, in millions, of one epoch. */
async function rate(service: string, { batches, size }: { batches: number; size: number }) {
  const shape = [size, ...IMAGE];
  const images = tf.data.range(batches).map((i) => tf.fill(shape, tf.cast(i, "float32")))
    .distribute({ service, processingMode: "distributed_epoch", heartbeatMs: 100 });
  let bytes = 0, first = 0;
  for await (const batch of images.asNumpyIterator()) {
    // Joining and the first batch are not what is asked for.
    if (first === 0) first = performance.now();
    else bytes += (batch.data as Float32Array).byteLength;
  }
  return bytes / 1000 / (performance.now() - first);
}

/** Measures epoch after epoch. */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: "string", default: "5" },
      batches: { type: "string", default: "64" },
      size: { type: "string", default: "8" },
      write: { type: "boolean", default: false },
    },
  });
  await tf.setBackend("cpu");
  const size = Number(values.size), batches = Number(values.batches);
  await using dispatcher = new DataServiceDispatcher();
  await dispatcher.start();
  const worker = Killable.program(import.meta.filename!, WORKER, dispatcher.target);
  const rates: number[] = [];
  try {
    await worker.ready();
    for (let i = 0; i <= Number(values.rounds); i++) {
      const now = await rate(dispatcher.target, { batches, size });
      // The first epoch compiles.
      if (i > 0) rates.push(now);
    }
  } finally {
    await worker.kill();
  }
  rates.sort((a, b) => a - b);
  const text = `A worker gives ${
    rates[rates.length >> 1]!.toFixed(0)
  } MB/s of batches of ${size} images of ${
    IMAGE.join("×")
  } float32, median of ${rates.length} epochs of ${batches} (${rates[0]!.toFixed(0)} to ${
    rates.at(-1)!.toFixed(0)
  }).`;
  console.log(text);
  if (values.write) {
    const title = "Batches of a data service";
    await writeSection(new URL("RESULTS.md", import.meta.url), { title, text });
  }
  return 0;
}

if (import.meta.main && Deno.args[0] === WORKER) await work(Deno.args[1]!);
