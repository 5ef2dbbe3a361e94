/**
 * Files and GraphDefs with random mutations: whatever they hold, there comes a value or an error of ours, and a value is not larger than
 * a multiple of the file. `--thorough` tries twenty times as many, `WEFT_FUZZ_SEED=7` tries others.
 */
import * as tf from "@weft/weft";
import { assert } from "@std/assert";
import { effort } from "../effort.ts";
import { soundFiles } from "./files.ts";
import { soundGraphs } from "./sound_graphs.ts";
import { type Json, mutateBytes, mutateJson, Random } from "./mutate.ts";
import { outcome } from "./outcome.ts";

const SEED = Number(Deno.env.get("WEFT_FUZZ_SEED") ?? 1);

/** Bytes of an array's elements, strings and empty lists included. */
function heldBy({ data }: tf.NdArray): number {
  if (ArrayBuffer.isView(data)) return data.byteLength;
  return (data as Uint8Array[]).reduce((n, s) => n + s.length + 16, 0);
}

const READERS: Readonly<
  Record<"npy" | "npz" | "safetensors", (bytes: Uint8Array) => Promise<tf.NdArray[]>>
> = {
  npy: (bytes) => Promise.resolve([tf.io.readNpy(bytes)]),
  npz: async (bytes) => Object.values(await tf.io.readNpz(bytes)),
  safetensors: (bytes) => Promise.resolve(Object.values(tf.io.readSafetensors(bytes).tensors)),
};

for (const format of ["npy", "npz", "safetensors"] as const) {
  Deno.test(`mutated ${format} files give arrays or errors of ours`, async () => {
    const sound = (await soundFiles())[format], read = READERS[format];
    let refused = 0;
    const n = effort(1500, 30_000);
    for (let i = 0; i < n; i++) {
      const random = new Random(SEED * 1_000_003 + i);
      const bytes = mutateBytes(random.of(sound), random, sound);
      const arrays = await outcome(() => read(bytes), () => `mutation ${i} of seed ${SEED}`);
      if (arrays === null) refused++;
      else {
        // A string of one byte takes sixteen more; deflate packs 1032 bytes into one.
        const held = arrays.reduce((sum, a) => sum + heldBy(a), 0);
        assert(held <= 1100 * bytes.length, `mutation ${i}: ${held} bytes of ${bytes.length}`);
      }
    }
    // Not all are broken: the fuzzer gets past the first check.
    assert(refused > 0 && refused < n, `${refused} of ${n} were refused`);
  });
}

/** The graph's fetches that are values; null where running it may take long or much memory. */
function fetchesOf(graph: tf.Graph): tf.Tensor[] | null {
  const fetches: tf.Tensor[] = [];
  for (const op of graph.operations) {
    // A mutated condition may be true for ever.
    if (/While/.test(op.type)) return null;
    for (const t of op.outputs) {
      const size = (t.staticShape ?? []).reduce<number>((n, d) => n * (d ?? 4), 1);
      if (size > 1e5) return null;
      if (t.dtype !== "variant" && t.dtype !== "resource") fetches.push(t);
    }
  }
  return fetches;
}

Deno.test("mutated GraphDefs are imported, written and run, or give errors of ours", async () => {
  await tf.setBackend("cpu");
  const sound = soundGraphs();
  let imported = 0, ran = 0;
  const n = effort(400, 8000);
  for (let i = 0; i < n; i++) {
    const random = new Random(SEED * 1_000_003 + i);
    const def = mutateJson(random.of(sound), random);
    const what = (): string => `mutation ${i} of seed ${SEED}: ${JSON.stringify(def)}`;
    const graph = new tf.Graph();
    const known = await outcome(() => {
      graph.asDefault(() => tf.importGraphDef(def as unknown as tf.GraphDefJson, { prefix: "" }));
      return JSON.parse(JSON.stringify(graph.toGraphDef({ addShapes: true }))) as Json;
    }, what);
    if (known === null) continue;
    imported++;
    const fetches = fetchesOf(graph);
    if (fetches === null || fetches.length === 0) continue;
    await using session = new tf.Session({ graph });
    const last = fetches.at(-1)!;
    for (const fetch of [last, fetches[random.below(fetches.length)]]) {
      if (await outcome(() => session.run(fetch, { timeoutMs: 5000 }), what) !== null) ran++;
    }
  }
  assert(
    imported > n / 20 && ran > n / 20,
    `${imported} of ${n} were imported, ${ran} fetches ran`,
  );
});
