/**
 * Makes of an example a module that runs it: its files as they are, with the tensors of whichever library is put in the place of
 * TensorFlow.js.
 */
import { build, type Plugin } from "esbuild";
import { entryOf, REQUIRE } from "../../../tools/tfjs_packages.ts";
import { STAND_INS } from "./surroundings.ts";
import type { Driver } from "./types.ts";

/** Packages that examples import, and what stands for them: all of TensorFlow.js, which lies in a global, or a part of it. */
const UNION: Readonly<Record<string, string>> = {
  "@tensorflow/tfjs": "tfjsUnion",
  "@tensorflow/tfjs-converter": "tfjsUnion",
  "@tensorflow/tfjs-core": "tfjsUnion",
  "@tensorflow/tfjs-data": "tfjsUnion.data",
  "@tensorflow/tfjs-layers": "tfjsUnion",
  "@tensorflow/tfjs-node": "tfjsUnion",
  "@tensorflow/tfjs-node-gpu": "tfjsUnion",
};

/** Packages from npm that compute: they are bundled. */
const COMPUTING: readonly string[] = ["@tensorflow-models/mobilenet"];

/** True for a file that was written as a CommonJS module. */
function isCommonJs(source: string): boolean {
  return !/^\s*(import|export)\s/m.test(source);
}

/** The file, and the names in it that the driver asked to see. */
function shown(source: string, names: readonly string[]): string {
  const missing = names.filter((name) =>
    !new RegExp(`export\\s+(async\\s+)?(function\\*?|class|const|let)\\s+${name}\\b`).test(source)
  );
  if (missing.length === 0) return source;
  const list = missing.join(", ");
  return isCommonJs(source)
    ? `${source}\nmodule.exports = Object.assign(module.exports, { ${list} });`
    : `${source}\nexport { ${list} };`;
}

function exampleFiles(folder: string, { exposes = {}, edits = {} }: Driver): Plugin {
  return {
    name: "example",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^[^./]/ }, async ({ path, kind }) => {
        if (kind === "entry-point") return undefined;
        if (path in UNION) return { path, namespace: "union" };
        if (COMPUTING.includes(path)) return { path: await entryOf(path) };
        if (/^(node:|(fs|path|https?|os|readline|util)$)/.test(path)) {
          return { path: `node:${path.replace(/^node:/, "")}`, external: true };
        }
        return { path, namespace: "stand-in" };
      });
      onResolve({ filter: /\.(jpg|png|css)$/ }, ({ path }) => ({ path, namespace: "stand-in" }));
      onLoad({ filter: /.*/, namespace: "union" }, ({ path }) => ({
        contents: `module.exports = globalThis.${UNION[path]};`,
      }));
      onLoad({ filter: /.*/, namespace: "stand-in" }, ({ path }) => ({
        contents: STAND_INS[path] ?? "module.exports = {};",
      }));
      onLoad({ filter: /\.(js|ts|tsx)$/ }, async ({ path }) => {
        if (!path.startsWith(folder)) return undefined;
        const name = path.slice(folder.length + 1);
        let source = await Deno.readTextFile(path);
        for (const [from, to] of edits[name] ?? []) {
          if (!source.includes(from)) throw new Error(`Cannot edit ${path}: it has no "${from}"`);
          source = source.replace(from, to);
        }
        return { contents: shown(source, exposes[name] ?? []), loader: loaderOf(path) };
      });
    },
  };
}

function loaderOf(path: string): "js" | "ts" | "tsx" {
  return path.endsWith(".tsx") ? "tsx" : path.endsWith(".ts") ? "ts" : "js";
}

/** The files that a driver may start: those that it names, or all beside `index.js`. */
async function filesOf(folder: string, prefix = ""): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(`${folder}/${prefix}`)) {
    if (isDirectory) found.push(...await filesOf(folder, `${prefix}${name}/`));
    else if (/\.(js|ts)$/.test(name) && !/(_test|\.conf|\.d)\./.test(name)) {
      found.push(prefix + name);
    }
  }
  return found;
}

/** The bundle to write: the examples' folder, the example, and the platform. */
export interface ExampleBundle {
  /** Folder of all examples. */
  readonly examples: string;
  /** The example's directory. */
  readonly name: string;
  /** Its driver. */
  readonly driver: Driver;
  /** File that is written. */
  readonly outfile: string;
  /** Its platform. */
  readonly platform: "node" | "browser";
}

/** Writes a module whose `run(tf)` runs the example. */
export async function bundleExample(
  { examples, name, driver, outfile, platform }: ExampleBundle,
): Promise<void> {
  const folder = `${examples}/${name}`;
  const used = driver.files ?? await filesOf(folder);
  const starters = used.map((file) => `${JSON.stringify(file)}: () => import("${folder}/${file}")`);
  const drivers = new URL("./drivers/mod.ts", import.meta.url).pathname;
  const stage = new URL("./stage.ts", import.meta.url).pathname;
  await build({
    stdin: {
      contents: `
import { DRIVERS } from "${drivers}";
import { perform } from "${stage}";
const files = { ${starters.join(", ")} };
export function run(tf) {
  // Scripts ask whether they are the main module.
  Object.assign(globalThis, { tfjsUnion: tf, module: {} });
  return perform(tf, DRIVERS[${JSON.stringify(name)}], files);
}`,
      resolveDir: folder,
    },
    bundle: true,
    format: "esm",
    platform,
    target: "es2022",
    outfile,
    logLevel: "error",
    define: { "require.main": "undefined" },
    ...(platform === "node" ? { banner: { js: REQUIRE } } : {}),
    plugins: [exampleFiles(folder, driver)],
  });
}
