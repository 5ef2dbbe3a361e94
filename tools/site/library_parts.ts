/**
 * The library in the parts that programs of the pages load.
 *
 * @module
 */

import type { Plugin } from "esbuild";
import { dirname, join } from "node:path/posix";
import { PARTS } from "../../examples/site/library.ts";
import { read, ROOT } from "../files.ts";
import { lastingModules } from "../package/module_tree.ts";
import { named } from "./named.ts";

/** The file of all that programs may use without a part. */
const COMMON = "weft";

/** Files of the library, without endings. */
export const LIBRARY_FILES: readonly string[] = [COMMON, ...Object.keys(PARTS)];

/** Part that runs graphs of files, for which all ops are there. */
const GRAPHS = "weft_graphs";

/** The whole library, as `tf.compat.v2` has it. */
const WHOLE = "whole";

/** Modules that export what parts have. */
const BARRELS = ["mod.ts", "src/engine/ops/functions.ts"];

/** Modules of ops that only parts use. */
const OPS_OF_PARTS =
  /\/engine\/ops\/(decode|image|nn|quantised|sets|signal|text)\/|\/engine\/ops\/(array\/(histogram|partition|sequences)|conv\/(fractional_pool|patch_ops|patches)|host\/(accumulators|decode_raw|examples|lookup\w*|sequence_examples|serialize_sparse|sparse|sparse_segments)|linalg\/(banded|decompositions|diagonals|eigh_tridiagonal|matrix_functions|roots|solve)|ragged\/(ragged_segments|sparse_(count|cross|folds|makers|moves|ops|parts|rows|rows_of))|random\/(candidate_ops|candidates|distributions|parameterized|seed_input|shuffle|stateless)|state\/(optimizer_updates|transform_parts))|\/library\/(io|train|debugging)\//;

/** Pictures in notebooks, of which pages are none. */
const NOTEBOOKS = /\/jupyter\.ts$/;

const EXPORTS = /^export (?:\* as (\w+)|\{([^}]*)\}) from "(.+)";$/gm;

/** Makes the modules of {@linkcode LIBRARY_FILES}: `mod.ts` without what the parts export, and these. */
export function libraryParts(): Plugin {
  const root = decodeURIComponent(ROOT.pathname), later = new Set(Object.values(PARTS).flat());
  const texts = new Map<string, string>(), moved = new Map<string, string>();
  for (const barrel of BARRELS) {
    const text = read(barrel).replaceAll(EXPORTS, (all, space, list: string, path: string) => {
      const from = JSON.stringify(join(root, dirname(barrel), path));
      if (space !== undefined) {
        if (!later.has(space)) return all;
        // The first barrel has more in some namespaces than the second.
        if (!moved.has(space)) moved.set(space, `export * as ${space} from ${from};`);
        return "";
      }
      const names = list.split(",").map((name) => name.trim());
      for (const name of names.filter((name) => later.has(name))) {
        moved.set(name, `export { ${name} } from ${from};`);
      }
      // A list of types alone would load the module for what it does.
      const kept = names.filter((name) => !later.has(name) && !name.startsWith("type "));
      return kept.every((name) => name === "")
        ? ""
        : `export { ${kept.join(", ")} } from "${path}";`;
    });
    texts.set(root + barrel, text);
  }
  const missing = [...later].filter((name) => !moved.has(name));
  if (missing.length > 0) throw new Error(`Cannot find what parts export: ${missing.join(", ")}`);
  const linesOf = (names: Iterable<string>) => [...names].map((name) => moved.get(name)!);
  return {
    name: "library-parts",
    setup(steps) {
      steps.onResolve({ filter: /^examples\/site\/weft\w*\.ts$/ }, ({ path }) => {
        const file = path.slice("examples/site/".length, -".ts".length);
        if (file === COMMON) return { path: `${root}mod.ts` };
        return file === "weft_ops"
          ? { path: `${root}src/entries/ops/mod.ts` }
          : { path: file, namespace: "part" };
      });
      steps.onResolve(
        { filter: /\/mod\.ts$/ },
        ({ path, importer }) =>
          importer.endsWith("/compat_v1/compat.ts") &&
            join(dirname(importer), path) === `${root}mod.ts`
            ? { path: WHOLE, namespace: "part" }
            : null,
      );
      steps.onLoad({ filter: NOTEBOOKS }, () => ({ contents: "" }));
      steps.onLoad({ filter: /\.ts$/, namespace: "file" }, ({ path }) => {
        const contents = texts.get(path);
        return contents === undefined ? null : { contents, loader: "ts" };
      });
      steps.onLoad({ filter: /.*/, namespace: "part" }, ({ path }) => {
        const lines = path === WHOLE
          ? [`export * from ${JSON.stringify(`${root}mod.ts`)};`, ...linesOf(later)]
          : linesOf(PARTS[path]!);
        const ops = path === GRAPHS ? lastingModules().found : [];
        return {
          contents: [...ops.map((m) => `import ${JSON.stringify(root + m)};`), ...lines].join("\n"),
          resolveDir: root,
        };
      });
      return named({ without: OPS_OF_PARTS }).setup(steps);
    },
  };
}
