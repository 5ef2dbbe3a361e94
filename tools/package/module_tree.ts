/**
 * The package as bundlers read it: a file for each module, beside the few files that all other users load. A bundler
 * leaves out modules of which a page uses nothing, and package.json lists those that it must not leave out.
 *
 * @module
 */

import { build, type BuildOptions, type BuildResult, type Plugin } from "esbuild";
import { dirname, join } from "node:path/posix";
import { read } from "../files.ts";
import { TARGET as ALL_MODULES } from "../modules.ts";

/** The folder of the modules in the package. */
export const TREE = "modules";

/** Module by which the CPU has all kernels from the start. Pages load them by kind, as they do with `./eager`. */
export const ALL_KERNELS = "src/engine/devices/cpu/all_kernels.ts";

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

type Outputs = NonNullable<BuildResult["metafile"]>["outputs"];

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
  texts.set(placeOf(ALL_KERNELS), `import "./lazy_kernels.js";\n`);
  texts.set(placeOf(ALL_MODULES), keepFound(metafile!.outputs));
  return [...texts];
}

/** Modules in which something is found otherwise than by importing it: ops by their names, and what modules below are given. */
function isFound(module: string): boolean {
  const text = read(module);
  if (/\.provide\(/.test(text)) return true;
  // Readers of TensorFlow's graphs import the ops that these alone have.
  return !module.startsWith("src/tensorflow/") && /(?<!Object\.)\bdefine[A-Z]\w*\(/.test(text);
}

/**
 * Text that uses something of each module of `mod.ts` in which something is found without an import, so that bundlers leave out none of
 * these. Kernels of the CPU are loaded later.
 */
function keepFound(outputs: Outputs): string {
  const listed = new Set(importedBare(ALL_MODULES).map(placeOf));
  const lines: string[] = [], names: string[] = [];
  for (const place of reached(placeOf("mod.ts"), outputs)) {
    const source = place.slice(`${TREE}/`.length).replace(/\.js$/, ".ts");
    if (!listed.has(place) || !isFound(source)) continue;
    const from = JSON.stringify(`./${place.slice(`${TREE}/src/`.length)}`);
    const [name] = outputs[place].exports.filter((name) => name !== "default");
    if (name === undefined) lines.push(`import ${from};\n`);
    else {
      lines.push(`import { ${name} as m${names.length} } from ${from};\n`);
      names.push(`m${names.length}`);
    }
  }
  return `${lines.join("")}globalThis[Symbol.for("weft.modules")] = [${names.join(", ")}];\n`;
}

/** The modules that a module loads, but for those of the CPU's kernels. */
function reached(start: string, outputs: Outputs): Set<string> {
  const found = new Set([start]);
  for (const place of found) {
    if (place === placeOf(ALL_KERNELS) || place === placeOf(ALL_MODULES)) continue;
    for (const { path, kind } of outputs[place].imports) {
      const to = join(dirname(place), path);
      if (kind === "import-statement" && to in outputs) found.add(to);
    }
  }
  return found;
}

/** The modules of `mod.ts` in which something is found without an import, and those that others import for their effects. */
export function lastingModules(): {
  readonly found: readonly string[];
  readonly effects: Set<string>;
} {
  const listed = importedBare(ALL_MODULES), found = listed.filter(isFound);
  return { found, effects: new Set([...found, ...["mod.ts", ...listed].flatMap(importedBare)]) };
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
