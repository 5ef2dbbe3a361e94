/**
 * The package as bundlers read it: a file for each module, beside the few files that all other users load. A bundler
 * leaves out modules of which a page uses nothing, and package.json lists those that it must not leave out.
 *
 * @module
 */

import { build, type BuildOptions, type Plugin } from "esbuild";
import { dirname, join } from "node:path/posix";
import { read } from "../files.ts";
import { TARGET as ALL_MODULES } from "../modules.ts";

/** The folder of the modules in the package. */
export const TREE = "modules";

/** Where a module stands in the package: `src/engine/core/op.ts` at `modules/src/core/op.js`. */
export function placeOf(module: string): string {
  return `${TREE}/${module.replace(/\.ts$/, ".js")}`;
}

/** Imports stay imports, of the files that the modules become. */
const APART: Plugin = {
  name: "apart",
  setup({ onResolve }) {
    onResolve({ filter: /./ }, ({ kind, path }) => {
      if (kind === "entry-point") return;
      return { path: path.startsWith(".") ? path.replace(/\.ts$/, ".js") : path, external: true };
    });
  },
};

/** Modules in files of their own, by path in the package. `options` are those of the package's other files. */
export async function moduleTree(
  modules: readonly string[],
  options: BuildOptions,
): Promise<[string, string][]> {
  const { outputFiles, metafile } = await build({
    ...options,
    entryPoints: [...modules],
    outbase: ".",
    outdir: TREE,
    metafile: true,
    write: false,
    plugins: [...options.plugins ?? [], APART],
  });
  const root = `${options.absWorkingDir!.replace(/\/$/, "")}/`;
  const texts = new Map(outputFiles.map(({ path, text }) => [path.replace(root, ""), text]));
  texts.set(placeOf(ALL_MODULES), keepAll(modules, metafile!.outputs));
  return [...texts];
}

/** Text that uses something of each module that `mod.ts` loads, so that all of them stay: ops are also found by their names. */
function keepAll(
  modules: readonly string[],
  outputs: Readonly<Record<string, { readonly exports: readonly string[] }>>,
): string {
  const listed = new Set(importedBare(ALL_MODULES));
  const lines: string[] = [], names: string[] = [];
  for (const module of modules.filter((module) => listed.has(module))) {
    const from = JSON.stringify(`./${placeOf(module).slice(`${TREE}/src/`.length)}`);
    const [name] = outputs[placeOf(module)].exports.filter((name) => name !== "default");
    if (name === undefined) lines.push(`import ${from};\n`);
    else {
      lines.push(`import { ${name} as m${names.length} } from ${from};\n`);
      names.push(`m${names.length}`);
    }
  }
  return `${lines.join("")}globalThis[Symbol.for("weft.modules")] = [${names.join(", ")}];\n`;
}

/** The modules that a module imports for what they do and not for what they export. */
function importedBare(module: string): string[] {
  return [...read(module).matchAll(/^import "(\..+)";$/gm)]
    .map(([, path]) => join(dirname(module), path));
}

/**
 * Returns the `sideEffects` of package.json: entries, and modules that others import for their effects. All other
 * modules' top-level code serves only the users of their exports.
 */
export function withSideEffects(modules: readonly string[], entries: readonly string[]): string[] {
  const imported = modules.filter((module) => module !== ALL_MODULES).flatMap(importedBare);
  return ["./*.js", ...[...new Set([...entries, ...imported])].map((m) => `./${placeOf(m)}`)];
}
