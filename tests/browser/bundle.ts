/** Bundles tests for platforms other than Deno. */

import { capture } from "../../tools/command.ts";
import { list, read, ROOT } from "../../tools/files.ts";
import { NPM_ONLY_IMPORT_MAP } from "../../tools/jsr.ts";
import { ofTheDay, THOROUGH } from "../effort.ts";
import { EXCLUDED, NUMBERS, PLATFORM } from "./excluded.ts";

/** Code for another platform, each an ECMAScript module. */
export interface TestBundle {
  /** Exports `TestHost`. */
  readonly host: string;
  /** Defines the tests; wants the `TestHost` in `globalThis.weftTestHost`. */
  readonly tests: string;
  /** Exports `sampleWork`. */
  readonly work: string;
  /** The workers' code; beside the other files, by this name. */
  readonly worker: string;
}

/** Uses of Deno that other platforms cannot stand in for. */
const DENO_ONLY = /\bDeno\.(?!test\b|env\.get\b|inspect\b|TestContext\b)\w+/;

/** `WEFT_ALL_PAGES=1` has other platforms run every file, not only what differs by platform: some ten minutes. */
const ALL_PAGES = Deno.env.get("WEFT_ALL_PAGES") === "1";

/**
 * The test files to run elsewhere: of those that can those with one of some words in their paths, else those that look at what
 * platforms do differently, a third of them on a day, and the numbers of kernels only where all is to be tried.
 */
export function portableTests(words?: readonly string[]): string[] {
  const isAll = ALL_PAGES || THOROUGH, starts = Object.keys(ALL_PAGES ? { "": "" } : PLATFORM);
  const files = list("tests", "_test.ts").filter((file) =>
    (words?.some((word) => file.includes(word)) ??
      (starts.some((start) => file.startsWith(start)) && (isAll || !NUMBERS.includes(file)))) &&
    !Object.keys(EXCLUDED).some((start) => file.startsWith(start)) &&
    !DENO_ONLY.test(read(file))
  );
  return words === undefined ? [...ofTheDay(files, 3)] : files;
}

/** Those of some test files that look at what is in memory and in caches, and so must run alone. */
export function lonelyTests(files: readonly string[]): string[] {
  return files.filter((file) =>
    /\bmemory\(|numTensors|\blookups\b|\/helpers\.ts"/.test(read(file))
  );
}

/** Options of {@linkcode bundleTests}. */
export interface BundleOptions {
  /** The platform whose syntax is to be used, as esbuild names it. Default: the latest. */
  readonly target?: string;
}

/** Bundles test files, given by their paths from the repository's root. */
export async function bundleTests(
  files: readonly string[],
  options: BundleOptions = {},
): Promise<TestBundle> {
  const folder = await Deno.makeTempDir({ prefix: "weft-bundle-" });
  try {
    const map = `${folder}/import_map.json`;
    await Deno.writeTextFile(map, JSON.stringify(browserImports()));
    const lines: string[] = [];
    for (const [i, file] of files.entries()) {
      // Imports run in order: each file of tests after a line that tells whose they are.
      const mark = `globalThis.weftTestHost.file = ${JSON.stringify(file)};\nexport {};\n`;
      await Deno.writeTextFile(`${folder}/mark_${i}.js`, mark);
      lines.push(`import "./mark_${i}.js";`, `import ${JSON.stringify(at(file))};`);
    }
    await Deno.writeTextFile(`${folder}/tests.ts`, lines.join("\n"));
    const one = (entry: string) => bundle(entry, map, `${folder}/out.js`, options.target);
    return {
      tests: `const Deno = globalThis.weftTestHost.deno;\n${await one(`${folder}/tests.ts`)}`,
      host: await one("tests/browser/host.ts"),
      work: await one("tests/browser/sample_work.ts"),
      worker: await one("src/engine/script/workers/worker_main.ts"),
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/**
 * The README's program with a script op as a module that exports `run`, which takes a backend's name and a console. Nothing of the program is
 * changed but for where it gets the two from.
 */
export async function bundleReadme(): Promise<string> {
  const programs = [...read("README.md").matchAll(/```ts\n([^]*?)\n```/g)].map(([, text]) => text!);
  const program = programs.find((text) => text.includes("pyFunction"))!;
  const [head, ...rest] = program.split("\n\n");
  const folder = await Deno.makeTempDir({ prefix: "weft-readme-" });
  try {
    const map = `${folder}/import_map.json`;
    await Deno.writeTextFile(map, JSON.stringify(browserImports()));
    const lines = [
      head,
      "export async function run(backend, console) {",
      'if (!await tf.setBackend(backend)) throw new Error("There is no such backend");',
      ...rest,
      "}",
    ];
    await Deno.writeTextFile(`${folder}/readme.ts`, lines.join("\n"));
    return await bundle(`${folder}/readme.ts`, map, `${folder}/out.js`, undefined);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function bundle(
  entry: string,
  map: string,
  out: string,
  target: string | undefined,
): Promise<string> {
  const flags = ["bundle", "--quiet", "--no-lock", "--platform", "browser"];
  const args = [...flags, "--import-map", map, "--output", out, entry];
  const { code, stderr } = await capture(Deno.execPath(), args);
  if (code !== 0) throw new Error(`Cannot bundle "${entry}": ${stderr}`);
  const text = await Deno.readTextFile(out);
  if (target === undefined) return text;
  const { transform, stop } = await import("esbuild");
  try {
    return (await transform(text, { target, format: "esm" })).code;
  } finally {
    await stop();
  }
}

/** The import map of tests/npm_only from anywhere, and without Node's modules. */
function browserImports(): { imports: Record<string, string> } {
  const { imports } = JSON.parse(read(NPM_ONLY_IMPORT_MAP)) as {
    imports: Record<string, string>;
  };
  const base = at(NPM_ONLY_IMPORT_MAP);
  const absolute = Object.entries(imports).map(([name, target]) => [
    name,
    target.startsWith(".") ? new URL(target, base).href : target,
  ]);
  absolute.push(["node:assert", at("tests/browser/node_assert.ts")]);
  return { imports: Object.fromEntries(absolute) };
}

function at(file: string): string {
  return new URL(file, ROOT).href;
}
