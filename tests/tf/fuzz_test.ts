/** TensorFlow's files with random mutations: whatever they hold, there comes what they mean, or an error of ours. */
import { assert } from "@std/assert";
import * as tf from "@weft/weft";
import { loadSavedModel, readCheckpoint, readGraphDef } from "@weft/weft/tf";
import { effort } from "../effort.ts";
import { mutateBytes, Random } from "../hostile/mutate.ts";
import { outcome } from "../hostile/outcome.ts";

const FIXTURES = new URL("./fixtures/", import.meta.url);
const TEXT = `node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "c" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "value" value {
  tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } } float_val: 1.5 float_val: -2 } } } }
node { name: "y" op: "AddV2" input: "x" input: "c" attr { key: "T" value { type: DT_FLOAT } } }`;

Deno.test("mutated GraphDefs in binary and in text form give graphs or errors of ours", async () => {
  const sound = [
    await Deno.readFile(new URL("cnn_frozen.pb", FIXTURES)),
    new TextEncoder().encode(TEXT),
  ];
  const n = effort(150, 3000);
  let refused = 0;
  for (let i = 0; i < n; i++) {
    const random = new Random(i);
    const bytes = mutateBytes(random.of(sound), random, sound);
    const graph = await outcome(async () => {
      const def = await readGraphDef(bytes), graph = new tf.Graph();
      graph.asDefault(() => tf.importGraphDef(def, { prefix: "" }));
      return graph;
    }, () => `mutation ${i}`);
    if (graph === null) refused++;
  }
  assert(refused > 0 && refused < n, `${refused} of ${n} were refused`);
});

/** The files of a folder by their paths in it. */
async function filesIn(folder: URL, at = ""): Promise<[string, Uint8Array][]> {
  const files: [string, Uint8Array][] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) files.push(...await filesIn(new URL(`${name}/`, folder), `${at}${name}/`));
    else files.push([at + name, await Deno.readFile(new URL(name, folder))]);
  }
  return files.sort(([a], [b]) => (a < b ? -1 : 1));
}

const READERS: Readonly<Record<string, (folder: string) => Promise<unknown>>> = {
  checkpoints: async (folder) => {
    await readCheckpoint(`${folder}/objects`);
    await readCheckpoint(`${folder}/saver`);
  },
  module: async (folder) => (await loadSavedModel(folder)).dispose(),
};

for (const [name, read] of Object.entries(READERS)) {
  Deno.test(`a mutated file among "${name}" gives what it means or errors of ours`, async () => {
    const files = await filesIn(new URL(`${name}/`, FIXTURES));
    const folder = await Deno.makeTempDir();
    const before = tf.memory().numTensors;
    try {
      for (const [path, bytes] of files) {
        const at = `${folder}/${path}`;
        await Deno.mkdir(at.slice(0, at.lastIndexOf("/")), { recursive: true });
        await Deno.writeFile(at, bytes);
      }
      for (let i = 0; i < effort(60, 1500); i++) {
        const random = new Random(i), [path, bytes] = random.of(files);
        await Deno.writeFile(`${folder}/${path}`, mutateBytes(bytes, random, [bytes]));
        await outcome(() => read(folder), () => `mutation ${i} of ${path}`);
        await Deno.writeFile(`${folder}/${path}`, bytes);
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
    assert(tf.memory().numTensors <= before, `${tf.memory().numTensors - before} tensors leaked`);
  });
}
