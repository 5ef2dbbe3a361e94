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
import { foundByValues, type Source, splitEntry } from "./entry.ts";

/** The folder of the modules in the package. */
export const TREE = "modules";

/** Module by which the CPU has all kernels from the start. Pages load them by kind, as they do with `./eager`. */
export const ALL_KERNELS = "src/engine/devices/cpu/all_kernels.ts";

/** Where a module stands in the package: `src/engine/core/op.ts` at `modules/src/core/op.js`. */
export function placeOf(module: string): string {
  return `${TREE}/${module.replace(/\.ts$/, ".js")}`;
}

/** The entry, of which the tree has three modules. */
const ENTRY = "mod.ts";

/** All that the entry does and exports. Other modules import it in the entry's place. */
const WHOLE = `${TREE}/whole.js`;

/** Names of the entry that can make graphs. */
const GRAPHS = `${TREE}/graphs.js`;

/**
 * Imports the modules of every page. Modules that are loaded later import it: bundlers that make a file of the modules that have the
 * same users, as esbuild does, then make one of these, and not twenty that compress worse.
 */
const BASE = `${TREE}/base.js`;

/** Modules of every page, with all that they load: eager execution, loops over expressions, and the layouts that other loops share with kernels. */
const OF_ALL_PAGES = [
  "src/engine/runtime/install_eager.ts",
  "src/engine/kernels/host/pointwise.ts",
  "src/engine/devices/cpu/vectors.ts",
];
/** The folders of the devices: pages load kernels later, and only their own device's. */
const DEVICES = placeOf("src/engine/devices/");

/** The module that nothing makes graphs without, and the rooms that serve graphs alone. */
const GRAPH = "src/engine/graph/graph.ts",
  OF_GRAPHS = /^src\/(engine\/(batching|graph)|tensorflow)\//;

/** Imports stay imports, of the files that the modules become. */
const APART: Plugin = {
  name: "apart",
  setup({ onResolve, initialOptions: { absWorkingDir } }) {
    onResolve({ filter: /./ }, ({ kind, path, resolveDir }) => {
      if (kind === "entry-point") return;
      const isEntry = join(resolveDir, path) === join(absWorkingDir!, ENTRY);
      const name = isEntry ? path.replace(/mod\.ts$/, "whole.js") : path.replace(/\.ts$/, ".js");
      return { path: path.startsWith(".") ? name : path, external: true };
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
  const { outputs } = metafile!, entry = placeOf(ENTRY);
  texts.set(placeOf(ALL_MODULES), keepFound(outputs));
  texts.set(WHOLE, texts.get(entry)!);
  const split = splitEntry(texts.get(entry)!, {
    makesGraphs: (path) => makesGraphs(join(TREE, path), outputs),
    namesOf: (path) => outputs[join(TREE, path)].exports,
  });
  const found = keep(foundByValues(valuesOf(outputs)), { from: TREE, outputs });
  texts.set(entry, split.values + found);
  texts.set(GRAPHS, split.graphs);
  const base = new Set(OF_ALL_PAGES.flatMap((module) => [...reached(placeOf(module), outputs)]));
  const imports = [...base].filter((place) => !place.startsWith(DEVICES));
  texts.set(BASE, imports.map((place) => `import "${pathFrom(TREE, place)}";\n`).join(""));
  for (const place of loadedLater(outputs)) {
    const path = "../".repeat(place.split("/").length - 2);
    texts.set(place, `import "${path}base.js";\n${texts.get(place)}`);
  }
  return [...texts].map(([place, text]) => [place, atOnce(text)]);
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
  const found = [...reached(placeOf(ENTRY), outputs)]
    .filter((place) => listed.has(place) && isFound(sourceOf(place)));
  return keep(found, { from: `${TREE}/src`, outputs });
}

/** Text of a module in the folder `from` that uses something of each of these, so that bundlers leave out none. */
function keep(
  places: readonly string[],
  { from: folder, outputs }: { readonly from: string; readonly outputs: Outputs },
): string {
  const lines: string[] = [], names: string[] = [];
  for (const place of places) {
    const from = JSON.stringify(pathFrom(folder, place));
    const [name] = outputs[place].exports.filter((name) => name !== "default");
    if (name === undefined) lines.push(`import ${from};\n`);
    else {
      lines.push(`import { ${name} as m${names.length} } from ${from};\n`);
      names.push(`m${names.length}`);
    }
  }
  return `${lines.join("")}globalThis[Symbol.for("weft.modules")] = [${names.join(", ")}];\n`;
}

const sourceOf = (place: string): string => place.slice(`${TREE}/`.length).replace(/\.js$/, ".ts");

const pathFrom = (folder: string, place: string): string => `./${place.slice(folder.length + 1)}`;

function makesGraphs(place: string, outputs: Outputs): boolean {
  return reached(place, outputs, { later: true }).has(placeOf(GRAPH));
}

/** The modules of the entry that make no graphs, with their sources. */
function valuesOf(outputs: Outputs): Source[] {
  return importedBare(ALL_MODULES)
    .filter((module) => !OF_GRAPHS.test(module) && !makesGraphs(placeOf(module), outputs))
    .map((module) => {
      const place = placeOf(module);
      return { place, text: read(module), reached: reached(place, outputs) };
    });
}

/** The modules that others load when they are asked for. */
function loadedLater(outputs: Outputs): Set<string> {
  return new Set(
    Object.entries(outputs).flatMap(([place, { imports }]) =>
      imports.filter(({ kind }) => kind === "dynamic-import")
        .map(({ path }) => join(dirname(place), path))
    ).filter((place) => place in outputs),
  );
}

/**
 * Turns the dynamic import of readers of GraphModels into a static one. esbuild loads at once whatever a dynamic chunk shares with names of
 * the entry, and leaves out static imports that no name needs.
 */
function atOnce(text: string): string {
  const later = /^ *const \{ (\w+) \} = await import\("(.*\/graph_model\.js)"\);\n/m;
  const [, name, path] = later.exec(text) ?? [];
  return name === undefined
    ? text
    : `import { ${name} } from "${path}";\n${text.replace(later, "")}`;
}

/** The modules that a module loads, but for those of the CPU's kernels; `later`: also those it loads when they are asked for. */
function reached(
  start: string,
  outputs: Outputs,
  { later = false }: { readonly later?: boolean } = {},
): Set<string> {
  const found = new Set([start]);
  for (const place of found) {
    if (place === placeOf(ALL_KERNELS) || place === placeOf(ALL_MODULES)) continue;
    for (const { path, kind } of outputs[place].imports) {
      const to = join(dirname(place), path);
      if ((later || kind === "import-statement") && to in outputs) found.add(to);
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
 * Returns the `sideEffects` of package.json: entries with their files, and modules that others import for their effects. All other
 * modules' top-level code serves only the users of their exports. `./*.js` would be shorter for the files, but Rolldown, which
 * Vite bundles by, takes it for all files in all folders and leaves nothing out.
 */
export function withSideEffects(
  modules: readonly string[],
  { sources, files }: { sources: readonly string[]; files: readonly string[] },
): string[] {
  const imported = modules.filter((module) => module !== ALL_MODULES).flatMap(importedBare);
  const places = [...new Set([...sources, ...imported])].map(placeOf);
  const own = ["weft-*", ...new Set(files)].map((file) => `${file}.js`);
  return [...own, ...places, WHOLE, BASE].map((place) => `./${place}`);
}
