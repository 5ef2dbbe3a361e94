/**
 * The package for programs that `require` it: one file that holds all entries, each loaded when it is asked for, so that they share
 * their registries, and a small file for each.
 *
 * Node 20.19 and later can require modules; others, and tools that know CommonJS alone, need this.
 *
 * @module
 */

import { build, type BuildOptions } from "esbuild";

/** An entry: its file without an ending, and its module. */
export interface CommonJsEntry {
  readonly file: string;
  readonly source: string;
}

/** The file that holds all; its name is one of those that stacks leave out. */
const WHOLE = "weft-chunk-require.cjs";

/** The files by name. `options` are those of the package's other files. */
export async function commonJs(
  entries: readonly CommonJsEntry[],
  options: BuildOptions,
): Promise<[string, string][]> {
  const loaders = entries.map(({ file, source }) =>
    `${JSON.stringify(file)}: () => require("./${source}")`
  );
  const { outputFiles } = await build({
    ...options,
    stdin: {
      contents: `exports.entries = {\n${loaders.join(",\n")}\n};`,
      resolveDir: options.absWorkingDir!,
      loader: "js",
    },
    format: "cjs",
    platform: "node",
    packages: "external",
    // Commands are modules.
    // Stacks name files of CommonJS by their paths.
    define: { "import.meta.main": "false", "import.meta.url": "__filename" },
    write: false,
  });
  const own = entries.map(({ file }): [string, string] => [
    `${file}.cjs`,
    `module.exports = require("./${WHOLE}").entries[${JSON.stringify(file)}]();\n`,
  ]);
  return [[WHOLE, outputFiles![0]!.text], ...own];
}
