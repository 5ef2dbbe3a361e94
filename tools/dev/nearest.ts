/**
 * The tests, documents and importers of a file of the library, for `deno task where` and `deno task watch`.
 *
 * @module
 */

import { affected } from "../affected.ts";
import { entryPoints, list, read } from "../files.ts";
import { chooseImports } from "../jsr.ts";
import { type ModuleGraph, readModuleGraph } from "../module_graph.ts";

/** The ops, which `mod.ts` exports by their file alone. */
const FUNCTIONS = "src/engine/ops/functions.ts";

/** Tests that import everything by design, and so say nothing of one file. */
const GENERAL = /^tests\/(browser|node)\/|^tests\/op_check_test\.ts$/;

/** Reads the imports of the library, its tests and its tools. */
export async function sourceGraph(): Promise<ModuleGraph> {
  const { args } = await chooseImports();
  return await readModuleGraph(
    [...entryPoints(), ...["src", "tests", "tools", "bench"].flatMap((dir) => list(dir, ".ts"))],
    args,
  );
}

/** The test files that changed files concern, nearest first. */
export function nearestTests(changed: readonly string[], graph: ModuleGraph): string[] {
  const entry = read("mod.ts") + read(FUNCTIONS).replaceAll('"./', '"./src/engine/ops/');
  return affected(changed, { graph, entry, read }).filter((file) => !GENERAL.test(file));
}

/** The files that import a file, those that import its types alone included. */
export function importersOf(file: string, graph: ModuleGraph): string[] {
  return [...graph.imports]
    .filter(([, edges]) => edges.some(({ target }) => target === file))
    .map(([importer]) => importer)
    .sort();
}

/** Documents that name a file or, as code, something that it exports; with the line of the first mention. */
export function documentsOf(file: string): string[] {
  const names = [...read(file).matchAll(/^export (?:async )?(?:function|const|class) (\w+)/gm)];
  const mentions = [file, ...names.map(([, name]) => `tf.${name}(`)];
  const documents = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "DIFFERENCES.md"];
  return [...documents, ...list("docs", ".md"), ...list("src", ".md"), ...list("tests", ".md")]
    .flatMap((document) => {
      const lines = read(document).split("\n");
      const line = lines.findIndex((text) => mentions.some((mention) => text.includes(mention)));
      return line < 0 ? [] : [`${document}:${line + 1}`];
    });
}
