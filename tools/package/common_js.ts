/**
 * The package for programs that `require` it: a small file for each entry that requires its module, as Node 20.19 and later can. For
 * others, and for tools that know CommonJS alone, one file holds all entries, each loaded when it is asked for, so that they share
 * their registries.
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
  // Where modules can be required, a program that imports the library too gets the same one.
  const own = entries.map(({ file }): [string, string] => [
    `${file}.cjs`,
    `try {
  module.exports = require("./${file}.js");
} catch (error) {
  if (!/^ERR_REQUIRE_(ESM|ASYNC_MODULE)$/.test(error.code)) throw error;
  module.exports = require("./${WHOLE}").entries[${JSON.stringify(file)}]();
}
`,
  ]);
  return [[WHOLE, outputFiles![0]!.text], ...own];
}
