/** TensorFlow.js's models in files: `model.json` and the weights beside it, replaced together. */
import { removeFile, writeBytes } from "./file_writer.ts";
import { readBytes } from "./files.ts";

/** Contents of a model's files. */
export interface ModelFiles {
  /** Weights, a file each. */
  readonly weights: readonly Uint8Array[];
  /** Names the file of weights `k`. Names of two generations differ. */
  readonly nameOf: (k: number, generation: 1 | 2) => string;
  /** Makes the text of `model.json`, which names the files of weights. */
  readonly json: (names: readonly string[]) => string;
}

/**
 * Writes a model. Its weights have other names than those of an earlier model under the same path, whose files are removed once
 * `model.json` is replaced: a crash leaves all of the old or all of the new model.
 */
export async function writeModelFiles(path: string, files: ModelFiles): Promise<void> {
  const folder = path.slice(0, Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
  const before = new Set(await namesIn(path));
  const named = (generation: 1 | 2) => files.weights.map((_, k) => files.nameOf(k, generation));
  const first = named(1);
  const names = first.some((name) => before.has(name)) ? named(2) : first;
  for (const [k, name] of names.entries()) {
    await writeBytes(folder + name, files.weights[k], { makeFolder: true });
  }
  const text = new TextEncoder().encode(files.json(names));
  await writeBytes(path, text, { makeFolder: true });
  for (const name of before) {
    if (!names.includes(name)) await removeFile(folder + name);
  }
}

/** Lists the weights that a model under this path has beside it. */
async function namesIn(path: string): Promise<string[]> {
  try {
    const { weightsManifest } = JSON.parse(new TextDecoder().decode(await readBytes(path)));
    const paths = (weightsManifest as { paths: string[] }[]).flatMap((group) => group.paths);
    return paths.filter((name) => /^[\w-]+\.bin$/.test(name));
  } catch {
    return [];
  }
}
