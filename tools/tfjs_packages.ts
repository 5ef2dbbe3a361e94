/**
 * Packages of TensorFlow.js from npm, bundled unmodified with Weft in the place of `@tensorflow/tfjs-core`: what a bundler's alias does.
 */
import { build, stop } from "esbuild";
import { createRequire } from "node:module";
import { fromFileUrl, toFileUrl } from "./conformance/paths.ts";
import { npmFolder } from "./conformance/npm.ts";
import { ROOT } from "./files.ts";
import { moduleFor, TFJS_CORE } from "./tfjs_core.ts";

/** What a package exports: whoever uses it knows. */
// deno-lint-ignore no-explicit-any
type Any = any;

/** The packages that tests and benches use, and the names of their namespaces. */
const PACKAGES = {
  tfl: "@tensorflow/tfjs-layers",
  data: "@tensorflow/tfjs-data",
  converter: "@tensorflow/tfjs-converter",
} as const;

/** Where a package of TensorFlow.js begins as modules. */
async function entryOf(name: string): Promise<string> {
  const folder = await npmFolder(name);
  const { default: manifest } = await import(new URL("package.json", folder).href, {
    with: { type: "json" },
  });
  return fromFileUrl(new URL(manifest.module ?? manifest.main, folder));
}

/** Bundles packages into a module, and loads it. */
export async function loadPackages<K extends string>(
  packages: Readonly<Record<K, string>>,
): Promise<Record<K, Any>> {
  const folder = await Deno.makeTempDir({ prefix: "weft-packages-" });
  try {
    const path = `${folder}/packages.mjs`;
    const lines = Object.entries(packages).map(([key, name]) =>
      `export * as ${key} from "${name}";`
    );
    await build({
      stdin: { contents: lines.join("\n"), resolveDir: folder },
      bundle: true,
      format: "esm",
      platform: "node",
      outfile: path,
      logLevel: "error",
      // What their sources call with `require` in Node.
      banner: {
        js:
          `import { createRequire } from "node:module"; const require = createRequire(import.meta.url);`,
      },
      plugins: [{
        name: "packages",
        setup({ onResolve }) {
          onResolve({ filter: /^@tensorflow\/tfjs-core/ }, ({ path }) => ({
            path: new URL(moduleFor(path), ROOT).href,
            external: true,
          }));
          onResolve({ filter: /^[^./]/ }, async ({ path, importer, kind }) => {
            if (kind === "entry-point") return undefined;
            if (path.startsWith("node:")) return { path, external: true };
            if (path.startsWith(`@tensorflow/`) && path !== TFJS_CORE) {
              return { path: await entryOf(path) };
            }
            const found = createRequire(importer || import.meta.url).resolve(path);
            return found.includes("/") ? { path: found } : { path: found, external: true };
          });
        },
      }],
    });
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
