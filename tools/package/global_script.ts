/**
 * The package for pages without modules: `<script src="weft.min.js">` makes the global `weft`, and `tf` unless a page has one. For programs
 * of TensorFlow.js `tf-core.min.js` makes `tf` as its own file of that name does, which `tf-layers.min.js` then adds to.
 *
 * @module
 */

import { build, type BuildOptions, type Plugin } from "esbuild";

/** A file: its module, its global, and a line of JavaScript after it. */
interface GlobalScript {
  readonly source: string;
  readonly global: string;
  readonly after: string;
}

/** The files by name. */
const SCRIPTS: Readonly<Record<string, GlobalScript>> = {
  "weft.min.js": { source: "mod.ts", global: "weft", after: "globalThis.tf ??= weft;" },
  "tf-core.min.js": { source: "src/tfjs/core/mod.ts", global: "tf", after: "" },
};

/** Browsers that have WebGPU. */
const TARGET = "es2022";

/** Tells src/engine/core/throwing/user_stack.ts that the library's lines are the script's: a page's own lie beside it. */
const HOME: Plugin = {
  name: "home",
  setup({ onLoad }) {
    onLoad({ filter: /[/\\]throwing[/\\]user_stack\.ts$/ }, async ({ path }) => {
      const text = await Deno.readTextFile(path);
      const contents = text.replace(
        /const HOME =[^;]*;/,
        "declare const weftScript: string; const HOME: string | null = weftScript;",
      );
      return { contents, loader: "ts" };
    });
  },
};

/** Writes them. `options` are those of the package's other files. */
export async function globalScripts(options: BuildOptions): Promise<[string, string][]> {
  const files: [string, string][] = [];
  for (const [file, { source, global, after }] of Object.entries(SCRIPTS)) {
    const { outputFiles } = await build({
      ...options,
      plugins: [...options.plugins ?? [], HOME],
      entryPoints: [source],
      format: "iife",
      globalName: global,
      target: TARGET,
      minify: true,
      keepNames: true,
      packages: "external",
      // A script's own address is known only while it is read, as modules of the engine are then.
      banner: { js: "var weftScript = document.currentScript?.src ?? location.href;" },
      footer: { js: after },
      define: { "import.meta.main": "false", "import.meta.url": "weftScript" },
      write: false,
    });
    files.push([file, outputFiles![0]!.text]);
  }
  return files;
}
