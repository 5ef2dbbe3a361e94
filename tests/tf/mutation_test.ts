/** Readers of files meet damaged ones: whatever byte is wrong, they read it or refuse it with an error that names the file. */

import { assert } from "@std/assert";
import * as tf from "@weft/weft";
import { loadSavedModel, readCheckpoint, readGraphDef } from "@weft/weft/tf";
import { effort } from "../effort.ts";

const FIXTURES = new URL("./fixtures/", import.meta.url);

/** Uniform numbers in [0, 1) (mulberry32). */
function uniform(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A file with a few bytes changed, left out, put in, repeated, or its end cut off. */
function mutated(bytes: Uint8Array, next: () => number): Uint8Array<ArrayBuffer> {
  const at = (n: number): number => Math.floor(next() * n);
  let out = [...bytes];
  for (let k = 1 + at(3); k > 0; k--) {
    const place = at(out.length + 1);
    const kind = at(6);
    if (kind === 0) out[place] = at(256);
    else if (kind === 1) out[place] ^= 1 << at(8);
    else if (kind === 2) out.splice(place, 1 + at(8));
    else if (kind === 3) out.splice(place, 0, ...Array.from({ length: 1 + at(4) }, () => at(256)));
    else if (kind === 4) out.splice(place, 0, ...out.slice(place, place + 1 + at(32)));
    else if (next() < 0.2) out = out.slice(0, place);
    else out[place] = [0, 127, 128, 255][at(4)];
  }
  return Uint8Array.from(out);
}

/** Fails where an error is not ours, or does not name the file. */
function assertRefusal(e: unknown, file: string, seed: number): void {
  const isOurs = e instanceof tf.errors.OpError || e instanceof tf.ValueError ||
    e instanceof tf.RuntimeError;
  const text = e instanceof Error ? `${e.name}: ${e.message}\n${e.stack}` : String(e);
  assert(isOurs, `seed ${seed}: ${text}`);
  assert((e as Error).message.includes(file), `seed ${seed}, no "${file}" in: ${text}`);
}

/** Reads `count` mutations of a file; `read` takes one and says what errors call it. */
async function survives(
  bytes: Uint8Array,
  count: number,
  { file, read }: { file: string; read: (bytes: Uint8Array<ArrayBuffer>) => Promise<unknown> },
): Promise<void> {
  for (let seed = 1; seed <= count; seed++) {
    try {
      await read(mutated(bytes, uniform(seed)));
    } catch (e) {
      assertRefusal(e, file, seed);
    }
  }
}

for (const name of ["cnn_frozen.pb", "ops.pb"]) {
  Deno.test(`readGraphDef() reads or refuses mutations of ${name}`, async () => {
    const bytes = await Deno.readFile(new URL(name, FIXTURES));
    await survives(bytes, effort(200, 20_000), {
      file: "bytes",
      read: async (b) => await readGraphDef(b),
    });
  });
}

Deno.test("readCheckpoint() reads or refuses mutations of an index and of data", async () => {
  const folder = await Deno.makeTempDir();
  const from = new URL("module/variables/", FIXTURES);
  const data = "variables.data-00000-of-00001", index = "variables.index";
  for (const damaged of [index, data]) {
    for (const f of [index, data]) await Deno.copyFile(new URL(f, from), `${folder}/${f}`);
    const bytes = await Deno.readFile(new URL(damaged, from));
    await survives(bytes, effort(150, 20_000), {
      file: folder,
      async read(b) {
        await Deno.writeFile(`${folder}/${damaged}`, b);
        const checkpoint = await readCheckpoint(`${folder}/variables`);
        try {
          for (const key of checkpoint.keys()) await checkpoint.read(key);
        } finally {
          await checkpoint.close();
        }
      },
    });
  }
});

Deno.test("loadSavedModel() reads or refuses mutations of a saved_model.pb", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.mkdir(`${folder}/variables`);
  const from = new URL("version_1/", FIXTURES);
  for (const { name } of Deno.readDirSync(new URL("variables/", from))) {
    await Deno.copyFile(new URL(`variables/${name}`, from), `${folder}/variables/${name}`);
  }
  const bytes = await Deno.readFile(new URL("saved_model.pb", from));
  await survives(bytes, effort(100, 5_000), {
    file: folder,
    async read(b) {
      await Deno.writeFile(`${folder}/saved_model.pb`, b);
      (await loadSavedModel(folder)).dispose();
    },
  });
});

/** A model of two layers, its weights stored as they are and quantized. */
function files(): { json: Uint8Array; weights: Uint8Array } {
  const node = (name: string, op: string, input: string[] = []) => ({
    name,
    op,
    input,
    attr: { T: { type: "DT_FLOAT" }, dtype: { type: "DT_FLOAT" } },
  });
  const json = {
    modelTopology: {
      node: [
        node("x", "Placeholder"),
        node("w", "Const"),
        node("b", "Const"),
        node("product", "MatMul", ["x", "w"]),
        node("y", "BiasAdd", ["product", "b"]),
      ],
    },
    signature: { inputs: { x: { name: "x:0" } }, outputs: { y: { name: "y:0" } } },
    weightsManifest: [{
      paths: ["weights.bin"],
      weights: [
        { name: "w", shape: [2, 3], dtype: "float32" },
        {
          name: "b",
          shape: [3],
          dtype: "float32",
          quantization: { dtype: "uint8", scale: 0.5, min: -1 },
        },
      ],
    }],
  };
  return {
    json: new TextEncoder().encode(JSON.stringify(json)),
    weights: Uint8Array.from({ length: 27 }, (_, i) => i),
  };
}

Deno.test("loadGraphModel() reads or refuses mutations of a model.json and of weights", async () => {
  const folder = await Deno.makeTempDir();
  const { json, weights } = files();
  const read = (name: string) => async (b: Uint8Array<ArrayBuffer>) => {
    await Deno.writeFile(`${folder}/${name}`, b);
    (await tf.loadGraphModel(`${folder}/model.json`)).dispose();
  };
  await Deno.writeFile(`${folder}/weights.bin`, weights);
  await survives(json, effort(400, 40_000), { file: folder, read: read("model.json") });
  await Deno.writeFile(`${folder}/model.json`, json);
  await survives(weights, effort(50, 2_000), { file: folder, read: read("weights.bin") });
});
