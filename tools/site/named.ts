/**
 * Pages that load what they name of the library.
 *
 * @module
 */

import type { Plugin } from "esbuild";
import { dirname, join } from "node:path";
import { ROOT } from "../files.ts";
import { ALL_KERNELS, lastingModules } from "../package/module_tree.ts";

/** Options of {@linkcode named}. */
interface NamedOptions {
  /** Modules that the page never loads later: their parts would be put into the page. */
  readonly never?: RegExp;
  /** Modules that define ops which the page does without, unless it imports their names. Default: none. */
  readonly without?: RegExp;
  /** True: of ops that only files have it knows those of its own model, which others define. Default false. */
  readonly ownFiles?: boolean;
}

/** The list of ops that only files have. */
const OF_FILES = /\/engine\/ops\/of_files\.ts$/,
  FILE_OPS = /(FILE_OPS: readonly OpDef\[\] = )\[[^;]*\];/;

/** Leaves out modules of the library of which a page uses nothing, as bundlers do with the package. */
export const named = (
  { never = /^$/, without = /^$/, ownFiles = false }: NamedOptions,
): Plugin => ({
  name: "named",
  setup({ onLoad, onResolve }) {
    onResolve(
      { filter: never },
      ({ path, kind }) => kind === "dynamic-import" ? { path, external: true } : null,
    );
    const { found, effects } = lastingModules(), root = decodeURIComponent(ROOT.pathname);
    const kept = found.filter((module) => !without.test(module));
    onResolve({ filter: /^(\.\.?)?\/.*\.ts$/ }, ({ path, importer }) => {
      const full = path.startsWith("/") ? path : join(dirname(importer), path);
      if (!full.startsWith(`${root}src/`)) return null;
      const module = full.slice(root.length);
      if (module === "src/modules_generated.ts") return { path: "found", namespace: "found" };
      const isTable = module === ALL_KERNELS;
      return {
        path: isTable ? full.replace("all_kernels", "lazy_kernels") : full,
        sideEffects: isTable || effects.has(module) && !without.test(module),
      };
    });
    if (ownFiles) {
      onLoad({ filter: OF_FILES }, async ({ path }) => ({
        contents: (await Deno.readTextFile(path)).replace(FILE_OPS, "$1[];"),
        loader: "ts",
      }));
    }
    onLoad({ filter: /.*/, namespace: "found" }, () => ({
      contents: kept.map((module) => `import ${JSON.stringify(root + module)};`).join("\n"),
      resolveDir: root,
    }));
  },
});
