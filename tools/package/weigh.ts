/**
 * `deno task weigh`: what pages load of the library, as a bundler makes them of the package and compressed by brotli, and which
 * folders and modules that is. `deno task weigh mlp --modules=40` lists more of one page.
 *
 * @module
 */

import { build, stop } from "esbuild";
import { parseArgs } from "node:util";
import { brotliCompressSync } from "node:zlib";
import { buildPackage } from "../build.ts";
import { answerHelp } from "../dev/help.ts";
import { enterRoot } from "../files.ts";
import { packageFolder } from "../npm.ts";
import { MODEL } from "./small_model.ts";

const TRAIN = (device: string) => `
  await tf.setBackend("${device}");
  const w = tf.variable(tf.randomNormal([4, 8], 0, 1, "float32", 3)), v = tf.variable(tf.zeros([8, 3]));
  const x = tf.tensor2d([[1, 2, 3, 4], [4, 3, 2, 1]]), labels = tf.oneHot([0, 2], 3);
  const loss = () => tf.tidy(() =>
    tf.losses.softmaxCrossEntropy(labels, tf.matMul(tf.relu(tf.matMul(x, w)), v)));
  const optimizer = tf.train.adam(0.05), sgd = tf.train.sgd(0.05);
  const first = loss().item();
  for (let i = 0; i < 20; i++) optimizer.minimize(loss);
  sgd.applyGradients(tf.variableGrads(loss).grads);
  const after = (await loss().data())[0];
  console.log(after < first / 2 ? "learned" : "failed", tf.getBackend());`;

const RUN = (provider: string) => `
  import { InferenceSession, Tensor } from "@weft/weft/ort";
  const model = Uint8Array.from(atob("${MODEL}"), (c) => c.charCodeAt(0));
  const session = await InferenceSession.create(model, { executionProviders: ["${provider}"] });
  const { y } = await session.run({ x: new Tensor("float32", [1, 1], [1, 2]) });
  console.log(y.data.join());`;

/** Pages: programs and what they write. */
export const PAGES: Readonly<
  Record<string, { readonly program: string; readonly writes: string }>
> = {
  add: {
    program: `import { add, tensor } from "@weft/weft/eager";
        console.log(add(tensor([1, 2]), 3).dataSync().join(" "));`,
    writes: "4 5",
  },
  mlp: {
    program: `import * as tf from "@weft/weft/eager";${TRAIN("cpu")}`,
    writes: "learned cpu",
  },
  mlp_webgpu: {
    program: `import * as tf from "@weft/weft/eager";${TRAIN("webgpu")}`,
    writes: "learned webgpu",
  },
  ort: { program: RUN("wasm"), writes: "5" },
  ort_webgpu: { program: RUN("webgpu"), writes: "5" },
  all: {
    program: `import * as tf from "@weft/weft";${TRAIN("cpu")}`,
    writes: "learned cpu",
  },
};

/** The files that a page loads. */
export interface Weight {
  /** Its files by name: what it begins with is "page.js". */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** Names of the files that it begins with. */
  readonly begins: ReadonlySet<string>;
  /** Compressed bytes of these. */
  readonly first: () => number;
  /** Compressed bytes of files that are loaded when they are asked for, with what only they need, by name. */
  readonly later: ReadonlyMap<string, () => number>;
  /** Compressed bytes of all files once these were loaded. */
  readonly whole: (loaded: Iterable<string>) => number;
  /** Bytes, not compressed, of each module in the files it begins with. */
  readonly modules: ReadonlyMap<string, number>;
}

/** Bundles a program of a page. `home` is a folder whose node_modules has the package, `packed` counts the bytes of a file compressed. */
export async function weigh(
  program: string,
  home: string,
  { packed = (bytes) => brotliCompressSync(bytes).length }: {
    readonly packed?: (bytes: Uint8Array) => number;
  } = {},
): Promise<Weight> {
  try {
    const { outputFiles, metafile: { outputs } } = await build({
      stdin: { contents: program, resolveDir: home, sourcefile: "page.js" },
      absWorkingDir: home,
      bundle: true,
      splitting: true,
      format: "esm",
      target: "es2022",
      minify: true,
      legalComments: "none",
      outdir: "out",
      entryNames: "page",
      write: false,
      metafile: true,
    });
    const files = new Map(outputFiles.map(({ path, contents }) => [nameOf(path), contents]));
    const sizes = new Map<string, number>();
    const bytes = (path: string): number => {
      const name = nameOf(path), size = sizes.get(name) ?? packed(files.get(name)!);
      sizes.set(name, size);
      return size;
    };
    const sum = (names: Iterable<string>) => [...names].reduce((s, name) => s + bytes(name), 0);
    const page = Object.keys(outputs).find((name) => nameOf(name) === "page.js")!;
    const first = closure(outputs, page);
    const later = new Map<string, () => number>(), modules = new Map<string, number>();
    for (const name of first) {
      for (const [module, { bytesInOutput }] of Object.entries(outputs[name].inputs)) {
        modules.set(module, (modules.get(module) ?? 0) + bytesInOutput);
      }
      for (const { kind, path } of outputs[name].imports) {
        if (kind === "dynamic-import") {
          const own = [...closure(outputs, path)].filter((n) => !first.has(n));
          later.set(nameOf(path), () => sum(own));
        }
      }
    }
    const whole = (loaded: Iterable<string>) => {
      const wanted = new Set(loaded);
      const starts = Object.keys(outputs).filter((name) => wanted.has(nameOf(name)));
      return sum(new Set([...first, ...starts.flatMap((name) => [...closure(outputs, name)])]));
    };
    const begins = new Set([...first].map(nameOf));
    return { files, begins, first: () => sum(first), later, whole, modules };
  } finally {
    await stop();
  }
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

type Outputs = Readonly<
  Record<string, {
    readonly imports: readonly { readonly kind: string; readonly path: string }[];
    readonly inputs: Readonly<Record<string, { readonly bytesInOutput: number }>>;
  }>
>;

/** A file and what it loads at once. */
function closure(outputs: Outputs, start: string): Set<string> {
  const found = new Set([start]);
  for (const name of found) {
    for (const { kind, path } of outputs[name]?.imports ?? []) {
      if (kind === "import-statement" && path in outputs) found.add(path);
    }
  }
  return found;
}

/** Puts the package into a folder as npm installs it; gives the folder. `put` writes the package. */
export async function installPackage(put: typeof buildPackage = buildPackage): Promise<string> {
  const home = await Deno.makeTempDir({ prefix: "weft-weigh-" });
  await Deno.mkdir(`${home}/node_modules/@weft/weft`, { recursive: true });
  await put(`${home}/node_modules/@weft/weft`, { types: false });
  const protobuf = await packageFolder("@bufbuild/protobuf");
  await Deno.mkdir(`${home}/node_modules/@bufbuild`);
  await Deno.symlink(protobuf, `${home}/node_modules/@bufbuild/protobuf`, { type: "dir" });
  return home;
}

function print(name: string, { first, later, modules }: Weight, most: number): void {
  const kib = (bytes: number) => (bytes / 1024).toFixed(1).padStart(7);
  console.log(`${name}: ${kib(first()).trim()} KiB brotli`);
  for (const [file, bytes] of later) console.log(`${kib(bytes())} KiB later: ${file}`);
  const short = new Map([...modules].map(([m, n]) => [m.replace(/^.*\/modules\/(src\/)?/, ""), n]));
  const folders = new Map<string, number>();
  for (const [module, bytes] of short) {
    const folder = module.split("/").slice(0, -1).slice(0, 3).join("/");
    folders.set(folder, (folders.get(folder) ?? 0) + bytes);
  }
  console.log("  KiB before compression, by folder, then the largest modules:");
  for (const list of [folders, short]) {
    for (const [what, bytes] of [...list].sort((a, b) => b[1] - a[1]).slice(0, most)) {
      console.log(`${kib(bytes)} ${what}`);
    }
  }
}

if (import.meta.main) {
  answerHelp(import.meta.url);
  const { values, positionals } = parseArgs({
    args: Deno.args,
    allowPositionals: true,
    options: { modules: { type: "string", default: "12" } },
  });
  enterRoot();
  const home = await installPackage();
  try {
    for (const name of positionals.length > 0 ? positionals : Object.keys(PAGES)) {
      print(name, await weigh(PAGES[name].program, home), Number(values.modules));
    }
  } finally {
    await Deno.remove(home, { recursive: true });
  }
}
