// Bundles the scanned test files into one module with esbuild.
//
// The tests import TensorFlow.js's own sources ("../index", "../jasmine_util", …). Those imports are redirected to
// what the runner puts on `globalThis` before it loads the bundle, so the bundle holds test code and nothing of the
// library those tests were written for. The bundle lives in a temporary folder and is never committed.

import * as esbuild from "esbuild";
import { createRequire } from "node:module";
import { fromFileUrl, toFileUrl } from "../../../tools/paths.ts";
import type { Suite } from "./files.ts";
import { importNpm, npmFolder } from "../../../tools/npm.ts";
import { HOST_KEY } from "./protocol.ts";
import { OUR_MODULES } from "./subject.ts";
import { type Parser, type Scanned, scanTestFile, type Surface } from "./scan.ts";

/** Modules of the suite that are bundled as they are: test data and helpers without a library inside. */
const BUNDLED_HELPERS: ReadonlySet<string> = new Set([
  "identity_pool_test",
  "image_test_util",
  "rand_util",
  "selu_util",
]);

/** Modules answered by our own stand-ins, or by modules of ours, by the expression on the host object that holds them. */
const STAND_INS: Readonly<Record<string, string>> = {
  jasmine_util: "jasmineUtil",
  reduce_util: "subject.backend_util",
  test_util: "testUtil",
  util: "subject.util",
  ...Object.fromEntries(Object.keys(OUR_MODULES).map((name) => [name, `modules.${name}`])),
};

/** One file that made it into the bundle, or did not. */
export interface BundledFile extends Scanned {
  readonly name: string;
}

/** A bundle ready to be imported. */
export interface Bundle {
  readonly path: string;
  readonly files: readonly BundledFile[];
}

function baseName(specifier: string): string {
  return specifier.split("/").at(-1)!.replace(/\.js$/, "");
}

/** True where an import in a test file leads to the library under test. */
export function importsSubject(specifier: string): boolean {
  const name = baseName(specifier);
  return specifier.startsWith(".") && !BUNDLED_HELPERS.has(name) && !(name in STAND_INS);
}

/** Scans every file of the suite against the exports of the library under test. */
export async function scanSuite(suite: Suite, surface: Surface): Promise<BundledFile[]> {
  const parser = await importNpm<Parser>("acorn");
  return await Promise.all(suite.files.map(async ({ name, url }) => {
    const text = withoutSourceMap(await Deno.readTextFile(url));
    return { name, ...scanTestFile(text, { parser, surface, importsSubject }) };
  }));
}

function withoutSourceMap(source: string): string {
  return source.replace(/^\/\/# sourceMappingURL=.*$/m, "");
}

/** esbuild plugin: suite files come from the scan, library imports from the host object. */
function suitePlugin(
  suite: Suite,
  files: readonly BundledFile[],
  seedrandom: string,
): esbuild.Plugin {
  const sources = new Map(
    files.map(({ name, source }) => [fromFileUrl(new URL(name, suite.folder)), { name, source }]),
  );
  return {
    name: "conformance-suite",
    setup(build): void {
      build.onResolve({ filter: /.*/ }, ({ path, importer, kind }) => {
        if (kind === "entry-point") return undefined;
        if (path === "seedrandom") return { path: seedrandom };
        if (!path.startsWith(".")) return undefined;
        const name = baseName(path);
        const isSuiteFile = sources.has(importer);
        if (name in STAND_INS) return { path: STAND_INS[name]!, namespace: "host" };
        if (BUNDLED_HELPERS.has(name)) {
          return { path: fromFileUrl(new URL(`${path}.js`, toFileUrl(importer))) };
        }
        return isSuiteFile || importer.startsWith(fromFileUrl(suite.folder))
          ? { path: "subject", namespace: "host" }
          : undefined;
      });
      build.onLoad({ filter: /.*/, namespace: "host" }, ({ path }) => ({
        contents: `module.exports = globalThis[${JSON.stringify(HOST_KEY)}].${path};`,
        loader: "js",
      }));
      build.onLoad({ filter: /\.js$/, namespace: "file" }, ({ path }) => {
        const file = sources.get(path);
        if (file?.source == null) return undefined;
        const enter = `globalThis[${JSON.stringify(HOST_KEY)}].enterFile(${
          JSON.stringify(file.name)
        });`;
        return { contents: `${enter}\n${file.source}`, loader: "js" };
      });
    },
  };
}

/** Writes the bundle of all files that can run into `folder`. */
export async function bundleSuite(
  suite: Suite,
  files: readonly BundledFile[],
  folder: string,
): Promise<Bundle> {
  const runnable = files.filter(({ source }) => source !== null);
  const entry = runnable
    .map(({ name }) => `import ${JSON.stringify(fromFileUrl(new URL(name, suite.folder)))};`)
    .join("\n");
  const manifest = new URL("package.json", await npmFolder("@tensorflow/tfjs-core"));
  const path = `${folder}/suite.js`;
  await esbuild.build({
    stdin: { contents: entry, resolveDir: folder, sourcefile: "entry.js" },
    bundle: true,
    format: "esm",
    // The package says that its files have no side effects, which would drop every test.
    ignoreAnnotations: true,
    logLevel: "error",
    outfile: path,
    platform: "node",
    plugins: [suitePlugin(suite, files, createRequire(manifest).resolve("seedrandom"))],
    target: "esnext",
  });
  await esbuild.stop();
  return { path, files };
}
