/**
 * Packages of TensorFlow.js from npm, bundled unmodified with Weft in the place of `@tensorflow/tfjs-core`: what a bundler's alias does.
 */
import { build, stop } from "esbuild";
import { createRequire, isBuiltin } from "node:module";
import { fromFileUrl, toFileUrl } from "./paths.ts";
import { npmFolder } from "./npm.ts";
import { ROOT } from "./files.ts";
import { moduleFor, TFJS_CORE } from "./tfjs_core.ts";

/** The exports of a package, of unchecked types. */
// deno-lint-ignore no-explicit-any
type Any = any;

/** The packages that tests and benches use, and the names of their namespaces. */
const PACKAGES = {
  tfl: "@tensorflow/tfjs-layers",
  data: "@tensorflow/tfjs-data",
  converter: "@tensorflow/tfjs-converter",
} as const;

/** All of TensorFlow.js as one object: esbuild cannot hand on the names of modules that it leaves outside. */
export const UNION = `import * as tf from "@tensorflow/tfjs"; export { tf };`;

/** The first lines of modules that call `require`. */
export const REQUIRE =
  `import { createRequire } from "node:module"; const require = createRequire(import.meta.url);`;

/** Where a package of TensorFlow.js begins as modules. */
export async function entryOf(name: string): Promise<string> {
  const folder = await npmFolder(name);
  const { default: manifest } = await import(new URL("package.json", folder).href, {
    with: { type: "json" },
  });
  return fromFileUrl(new URL(manifest.module ?? manifest.main, folder));
}

/** Where an import of `@tensorflow/tfjs-core` or a subpath of it leads. */
export type CoreFor = (specifier: string) => { path: string; external?: boolean };

/** Weft, as modules of this repository. */
const OURS: CoreFor = (specifier) => ({
  path: new URL(moduleFor(specifier), ROOT).href,
  external: true,
});

/** TensorFlow.js's own core, for comparison. */
export async function theirCore(): Promise<CoreFor> {
  const [folder, entry] = [await npmFolder(TFJS_CORE), await entryOf(TFJS_CORE)];
  return (specifier) => {
    const subpath = specifier.slice(TFJS_CORE.length + 1).replace(/\.js$/, "");
    return { path: subpath === "" ? entry : fromFileUrl(new URL(`${subpath}.js`, folder)) };
  };
}

/** Options of bundling packages. */
export interface BundleOptions {
  /** Where imports of the core lead. Default: to Weft, as modules of this repository. */
  readonly core?: CoreFor;
  /** Where the module runs. Default: in Deno. */
  readonly platform?: "node" | "browser";
}

/** Writes a module that holds what `contents` imports from packages of TensorFlow.js. */
export async function bundlePackages(
  contents: string,
  outfile: string,
  { core = OURS, platform = "node" }: BundleOptions = {},
): Promise<void> {
  await build({
    stdin: { contents, resolveDir: fromFileUrl(new URL(".", ROOT)) },
    bundle: true,
    format: "esm",
    platform,
    outfile,
    logLevel: "error",
    // Sources that call `require` do so in Node.
    ...(platform === "node" ? { banner: { js: REQUIRE } } : {}),
    plugins: [{
      name: "packages",
      setup({ onLoad, onResolve }) {
        onResolve({ filter: /^@tensorflow\/tfjs-core/ }, ({ path, kind }) => {
          const found = core(path);
          // What stays outside is imported, by CommonJS too.
          const isRequired = found.external && kind === "require-call";
          return isRequired ? { path: found.path, namespace: "required" } : found;
        });
        onResolve({ filter: /./, namespace: "required" }, ({ path }) => ({ path, external: true }));
        onLoad({ filter: /./, namespace: "required" }, ({ path }) => ({
          contents: `export * from ${JSON.stringify(path)};`,
        }));
        onResolve({ filter: /^[^./]/ }, async ({ path, importer, kind }) => {
          if (kind === "entry-point") return undefined;
          if (path.startsWith("node:")) return { path, external: true };
          // Both names of a package's beginning lead to one copy of it.
          const [, name] = /^(@tensorflow\/[\w-]+)(?:\/dist\/index\.js)?$/.exec(path) ?? [];
          if (name) return { path: await entryOf(name) };
          if (isBuiltin(path)) return { path: `node:${path}`, external: true };
          const found = resolved(path, importer, platform);
          return found?.includes("/") ? { path: found } : { path, external: true };
        });
      },
    }],
  });
}

/**
 * Where Node finds a package. Those that a package asks for in vain, and does without, stay outside of the bundle. Vega has a file for
 * Node and another for pages.
 */
function resolved(name: string, importer: string, platform: string): string | undefined {
  try {
    const file = createRequire(importer || import.meta.url).resolve(name);
    return platform === "browser" ? file.replace(/\/vega-node\.js$/, "/vega.min.js") : file;
  } catch {
    return undefined;
  }
}

/** Bundles packages into a module over Weft, and loads it. */
export async function loadPackages<K extends string>(
  packages: Readonly<Record<K, string>>,
): Promise<Record<K, Any>> {
  const folder = await Deno.makeTempDir({ prefix: "weft-packages-" });
  try {
    const path = `${folder}/packages.mjs`;
    const lines = Object.entries(packages).map(([key, name]) =>
      `export * as ${key} from "${name}";`
    );
    await bundlePackages(lines.join("\n"), path);
    return await import(toFileUrl(path).href);
  } finally {
    await stop();
    await Deno.remove(folder, { recursive: true });
  }
}

let loaded: Promise<Record<keyof typeof PACKAGES, Any>> | undefined;

/** TensorFlow.js's layers, data and converter over Weft. */
export function tfjsPackages(): Promise<Record<keyof typeof PACKAGES, Any>> {
  return loaded ??= loadPackages(PACKAGES);
}
