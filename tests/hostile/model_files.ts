/**
 * Files of models with random mutations, by kind of file: whatever they hold, there comes what they mean or an error of ours that
 * names the file, in little time, in memory that the file is worth, and nothing is left behind.
 */
import { assert, AssertionError } from "@std/assert";
import { cpuUsage } from "node:process";
import * as tf from "@weft/weft";
import {
  encodeGraphDef,
  type LoadedObject,
  loadSavedModel,
  readCheckpoint,
  readGraphDef,
} from "@weft/weft/tf";
import { readTable, writeTable } from "../../src/tensorflow/files/table.ts";
import { type Json, mutateBytes, mutateJson, Random } from "./mutate.ts";
import {
  mutateOnnxBytes,
  mutateOnnxMessages,
  SECRET,
  soundModels,
  useModel,
} from "./onnx_files.ts";
import { outcome } from "./outcome.ts";
import { soundGraphs } from "./sound_graphs.ts";

const FIXTURES = new URL("../tf/fixtures/", import.meta.url);

/** Bytes that reading may take beside four times the file: twice what the sound files take, as the engine frees when it likes, and these. */
const BASE = 8 << 20;
/** Milliseconds of the processor for one file of some kilobytes: the clock would count what else the machine does. */
const LIMIT_MS = 5000;

/** A kind of file that is mutated. */
interface Kind {
  /** The files of a folder, by their paths in it. */
  files(): Promise<Record<string, Uint8Array>>;
  /** A path in the folder, and what stands there instead. */
  mutate(files: Readonly<Record<string, Uint8Array>>, random: Random): [string, Uint8Array];
  /** Reads what is in the folder; `path` is the file that was mutated. */
  read(folder: string, path: string): Promise<unknown>;
}

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Mutates the bytes of one of these files, by default of any. */
function bytesOf(...names: readonly string[]): Kind["mutate"] {
  return (files, random) => {
    const name = random.of(names.length > 0 ? names : Object.keys(files));
    return [name, mutateBytes(files[name]!, random, Object.values(files))];
  };
}

/** Mutates what a JSON file says: it remains JSON. */
function valuesOf(...names: readonly string[]): Kind["mutate"] {
  return (files, random) => {
    const name = random.of(names.length > 0 ? names : Object.keys(files));
    const json = JSON.parse(new TextDecoder().decode(files[name])) as Json;
    return [name, utf8(JSON.stringify(mutateJson(json, random)))];
  };
}

async function folderOf(
  folder: string,
  inside: readonly string[] = ["", "variables/"],
): Promise<Record<string, Uint8Array>> {
  const out: Record<string, Uint8Array> = {}, at = new URL(`${folder}/`, FIXTURES);
  for (const inner of inside) {
    for await (const { name, isFile } of Deno.readDir(new URL(inner, at))) {
      if (isFile && name !== "expected.json") {
        out[inner + name] = await Deno.readFile(new URL(inner + name, at));
      }
    }
  }
  return out;
}

/** Sound graphs as files. */
function graphs(encode: (def: tf.GraphDefJson) => Uint8Array): Record<string, Uint8Array> {
  const defs = soundGraphs() as unknown as tf.GraphDefJson[];
  return Object.fromEntries(defs.map((def, i) => [`graph${i}`, encode(def)]));
}

/** Reads a GraphDef by its path. What imports it afterwards does not know the file. */
async function readGraph(folder: string, path: string): Promise<void> {
  const def = await readGraphDef(`${folder}/${path}`);
  await outcome(
    () => new tf.Graph().asDefault(() => tf.importGraphDef(def, { prefix: "" })),
    () => "importGraphDef()",
  );
}

async function readAll(prefix: string): Promise<void> {
  const checkpoint = await readCheckpoint(prefix);
  try {
    for (const key of checkpoint.keys()) await checkpoint.read(key);
  } finally {
    await checkpoint.close();
  }
}

/** Looks at all that objects have. They may be in each other. */
function walk(object: LoadedObject, seen = new Set<LoadedObject>()): void {
  if (seen.has(object)) return;
  seen.add(object);
  for (const { traces } of Object.values(object.methods)) void traces.length;
  void Object.keys(object.variables);
  for (const child of Object.values(object.children)) walk(child, seen);
}

async function readModel(folder: string): Promise<void> {
  const model = await loadSavedModel(folder);
  try {
    // What signatures compute is only built when it is asked for, and so is what methods take.
    void model.graph;
    walk(model.root);
  } finally {
    model.dispose();
  }
}

const VARIABLES = {
  index: "variables/variables.index",
  data: "variables/variables.data-00000-of-00001",
};

/** An index of which an entry is mutated and the checksums are right. */
function resealed(
  files: Readonly<Record<string, Uint8Array>>,
  random: Random,
): [string, Uint8Array] {
  const name = random.of(Object.keys(files).filter((n) => n.endsWith(".index")));
  const entries = readTable(files[name]!, name);
  const k = random.below(entries.length), others = entries.map((e) => e.value);
  const changed = entries.map((e, i) =>
    i === k ? { ...e, value: mutateBytes(e.value, random, others) } : e
  );
  return [name, writeTable(changed)];
}

function graphModel(): Record<string, Uint8Array> {
  const node = (name: string, op: string, input: string[] = []) => ({
    name,
    op,
    input,
    attr: { T: { type: "DT_FLOAT" }, dtype: { type: "DT_FLOAT" } },
  });
  const quantization = { dtype: "uint8", scale: 0.5, min: -1 };
  const json = {
    modelTopology: {
      node: [
        node("x", "Placeholder"),
        node("w", "Const"),
        node("b", "Const"),
        node("product", "MatMul", ["x", "w"]),
        node("y", "BiasAdd", ["product", "b"]),
        { ...node("names", "Const"), attr: { dtype: { type: "DT_STRING" } } },
      ],
    },
    signature: { inputs: { x: { name: "x:0" } }, outputs: { y: { name: "y:0" } } },
    weightsManifest: [{
      paths: ["weights.bin"],
      weights: [
        { name: "w", shape: [2, 3], dtype: "float32" },
        { name: "b", shape: [3], dtype: "float32", quantization },
        { name: "names", shape: [2], dtype: "string" },
      ],
    }],
  };
  const strings = [2, 0, 0, 0, 97, 98, 1, 0, 0, 0, 99];
  return {
    "model.json": utf8(JSON.stringify(json)),
    "weights.bin": Uint8Array.from([...Array.from({ length: 27 }, (_, i) => i), ...strings]),
  };
}

const readGraphModel = async (folder: string) =>
  (await tf.loadGraphModel(`${folder}/model.json`)).dispose();

/** The kinds of files, by name. */
export const KINDS: Readonly<Record<string, Kind>> = {
  "a binary GraphDef": {
    files: () => Promise.resolve(graphs((def) => encodeGraphDef(def))),
    mutate: bytesOf(),
    read: readGraph,
  },
  "a GraphDef in JSON form": {
    files: () => Promise.resolve(graphs((def) => utf8(JSON.stringify(def)))),
    mutate: valuesOf(),
    read: readGraph,
  },
  "a GraphDef in text form": {
    files: () =>
      Promise.resolve({
        "graph.pbtxt": utf8(
          `node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "c" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "value" value {
  tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } } float_val: 1.5 float_val: -2 } } } }
node { name: "y" op: "AddV2" input: "x" input: "c" attr { key: "T" value { type: DT_FLOAT } } }`,
        ),
      }),
    mutate: bytesOf(),
    read: readGraph,
  },
  "the bytes of a checkpoint": {
    files: () => folderOf("module"),
    mutate: bytesOf(VARIABLES.index, VARIABLES.data),
    read: (folder) => readAll(`${folder}/variables/variables`),
  },
  "the index of a checkpoint, its checksums right": {
    files: async () => {
      const out: Record<string, Uint8Array> = {}, at = new URL("checkpoints/", FIXTURES);
      for await (const { name } of Deno.readDir(at)) {
        out[name] = await Deno.readFile(new URL(name, at));
      }
      return out;
    },
    mutate: resealed,
    async read(folder) {
      await readAll(`${folder}/objects`);
      await readAll(`${folder}/saver`);
    },
  },
  "a SavedModel of version 1": {
    files: () => folderOf("version_1"),
    mutate: bytesOf("saved_model.pb"),
    read: readModel,
  },
  "a SavedModel": {
    files: () => folderOf("module"),
    mutate: bytesOf("saved_model.pb", "saved_model.pb", VARIABLES.index, VARIABLES.data),
    read: readModel,
  },
  "the objects of a SavedModel": {
    files: () => folderOf("objects", ["", "variables/", "assets/"]),
    mutate: bytesOf("saved_model.pb", "saved_model.pb", "saved_model.pb", "assets/vocabulary.txt"),
    read: readModel,
  },
  "the bytes of a model.json": {
    files: () => Promise.resolve(graphModel()),
    mutate: bytesOf("model.json"),
    read: readGraphModel,
  },
  "the values of a model.json": {
    files: () => Promise.resolve(graphModel()),
    mutate: valuesOf("model.json"),
    read: readGraphModel,
  },
  "the bytes of a model of ONNX": {
    files: () => Promise.resolve(soundModels()),
    mutate: mutateOnnxBytes,
    read: useModel,
  },
  "the messages of a model of ONNX": {
    files: () => Promise.resolve(soundModels()),
    mutate: mutateOnnxMessages,
    read: useModel,
  },
  "the weights of a model.json": {
    files: () => Promise.resolve(graphModel()),
    mutate: bytesOf("weights.bin"),
    read: readGraphModel,
  },
};

function milliseconds({ user, system }: ReturnType<typeof cpuUsage>): number {
  return (user + system) / 1000;
}

function memory(): number {
  const { heapUsed, external } = Deno.memoryUsage();
  return heapUsed + external;
}

/** Files of one kind in a folder of their own, one of them mutated at a time. */
export class MutatedFiles implements AsyncDisposable {
  readonly #kind: Kind;
  readonly #files: Readonly<Record<string, Uint8Array>>;
  readonly #folder: string;
  /** Bytes that reading the sound files takes. */
  #usual = 0;

  private constructor(kind: Kind, files: Readonly<Record<string, Uint8Array>>, folder: string) {
    this.#kind = kind;
    this.#files = files;
    this.#folder = folder;
  }

  /** Sound files of a kind, which must be readable. */
  static async create(kind: string): Promise<MutatedFiles> {
    const files = await KINDS[kind]!.files();
    const around = await Deno.makeTempDir({ prefix: "weft-files-" });
    const folder = `${around}/files`;
    await Deno.mkdir(folder);
    // What lies outside of the folder is not theirs.
    await Deno.writeFile(`${around}/secret`, SECRET);
    await Deno.symlink(`${around}/secret`, `${folder}/link`);
    for (const [path, bytes] of Object.entries(files)) {
      const at = `${folder}/${path}`;
      await Deno.mkdir(at.slice(0, at.lastIndexOf("/")), { recursive: true });
      await Deno.writeFile(at, bytes);
    }
    const made = new MutatedFiles(KINDS[kind]!, files, folder);
    try {
      for (const path of Object.keys(files)) {
        const before = memory();
        await made.#kind.read(folder, path);
        made.#usual = Math.max(made.#usual, memory() - before);
      }
    } catch (e) {
      await made[Symbol.asyncDispose]();
      throw e;
    }
    return made;
  }

  /** Reads the mutation of a seed: true where it was read, false where it was refused. Throws `AssertionError` for anything else. */
  async read(seed: number): Promise<boolean> {
    const random = new Random(seed);
    const [path, bytes] = this.#kind.mutate(this.#files, random);
    const at = `${this.#folder}/${path}`;
    Deno.writeFileSync(at, bytes);
    const tensors = tf.memory().numTensors, before = memory();
    const started = cpuUsage();
    try {
      const read = await this.#outcome(seed, path);
      const ms = milliseconds(cpuUsage(started)), grown = memory() - before;
      const most = BASE + 2 * this.#usual + 4 * bytes.length;
      assert(grown <= most, `seed ${seed}: ${grown} bytes of memory for ${bytes.length}`);
      assert(ms <= LIMIT_MS, `seed ${seed}: ${ms} ms for ${bytes.length} bytes`);
      const left = tf.memory().numTensors - tensors;
      assert(left === 0, `seed ${seed}: ${left} tensors are left`);
      return read;
    } finally {
      Deno.writeFileSync(at, this.#files[path]!);
    }
  }

  async #outcome(seed: number, path: string): Promise<boolean> {
    try {
      await this.#kind.read(this.#folder, path);
      return true;
    } catch (e) {
      if (e instanceof AssertionError) throw e;
      const isOurs = e instanceof tf.errors.OpError || e instanceof tf.ValueError ||
        e instanceof tf.RuntimeError;
      const text = e instanceof Error ? `${e.name}: ${e.message}\n${e.stack}` : String(e);
      assert(isOurs, `seed ${seed} gave an error that is not ours: ${text}`);
      assert(
        (e as Error).message.includes(this.#folder),
        `seed ${seed}: no file is named: ${text}`,
      );
      return false;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.#folder.slice(0, this.#folder.lastIndexOf("/")), { recursive: true });
  }
}
