/**
 * `deno task site`: writes dist-site/, the pages of examples/site/ that run Weft in a browser. They are files and nothing else: any
 * server of files may serve them.
 *
 * `deno task site --serve` then serves them; `--port 8000` says where.
 *
 * @module
 */

import { build, type Plugin, stop } from "esbuild";
import { dirname, extname, join } from "node:path";
import { parseArgs } from "node:util";
import { minify } from "oxc-minify";
import { answerHelp } from "./dev/help.ts";
import { enterRoot, list, readConfig, ROOT } from "./files.ts";
import { packedDigits } from "./site/digits.ts";
import { writeDocuments } from "./site/documents.ts";
import { homeParts } from "./site/home.ts";
import { LIBRARY_FILES, libraryParts } from "./site/library_parts.ts";
import { named } from "./site/named.ts";
import { copyFaceModel, copyWasm, PACKAGES } from "./site/packages.ts";
import { pages, SOURCE } from "./site/pages.ts";

/** Where `deno task site` puts the pages. */
const FOLDER = "dist-site";

/** Modules that pages and workers begin with, which may use all of the library. */
const ENTRIES = [
  ...["playground", "inside", "speed", "speed_worker", "tfjs", "jax"],
  ...["editing/code_view", "editing/types_off"],
  ...["reading/reference", "reading/ops", "models/models", "models/models_worker", "home/index"],
];

/** Modules in which ops of texts, systems, sparse tensors, files, special functions and debugging are found, and by which graphs write themselves. */
const UNUSED = RegExp(
  "/graph_def/graph_def\\.ts$|/engine/ops/(decode|nn|sets|signal|text)/|/library/(io|debugging)/" +
    "|/engine/ops/(array/(histogram|partition|sequences)|conv/(fractional_pool|patch_ops))\\.ts$" +
    "|/engine/ops/linalg/(banded|decompositions|eigh_tridiagonal|matrix_functions|powers|roots|solve|tridiagonal)\\.ts$" +
    "|/engine/ops/image/(distorted_box|glimpse|proposals)\\.ts$" +
    "|/engine/ops/pointwise/(bessel|incomplete|integrals|next_after)\\.ts$" +
    "|/engine/ops/(ragged/(ragged_segments|sparse_(count|cross|folds|makers|moves|rows|rows_of))|host/(cross_columns|decode_raw|sequence_examples|serialize_sparse|sparse_segments)|random/(candidate_ops|candidates|distributions|parameterized|sobol|stateless))\\.ts$",
);

/** Modules in which the steps of optimizers, recurrent networks and quantised products are found. */
const TRAINING =
  "/engine/ops/(state/(optimizer_updates|transform_parts)|rows/(ctc|losses|rnn_cell)|linalg/(diagonals|factored)|random/multinomial|quantised/\\w+)\\.ts$";

/**
 * Pages that load what they name: each is built by itself, for of what several name all would load everything. `never` are modules that it
 * never loads later, whose parts the bundler would put into the page.
 */
const SMALL = {
  train: { never: /\/(graph_model|file_writer)\.ts$/, without: UNUSED },
  camera: {
    never: /\/file_writer\.ts$/,
    without: RegExp(`${UNUSED.source}|${TRAINING}|/tensorflow/ops/mfcc\\.ts$`),
    ownFiles: true,
  },
};

/** The worker of programs, the library as it loads it, and ops of one's own. */
const PROGRAMS = ["program_worker", ...LIBRARY_FILES, "weft_ops"];

/** Browsers that have WebGPU or `light-dark()`. */
const TARGET = "es2022";

/** Pages await a device before anything else, so they load the kernels of the CPU where they take it. The library's list of modules would have all. */
const LAZY: Plugin = {
  name: "lazy",
  setup({ onLoad, onResolve }) {
    onResolve(
      { filter: /\/modules_generated\.ts$/ },
      ({ importer }) => importer.endsWith("/mod.ts") ? { path: "none", namespace: "none" } : null,
    );
    onLoad({ filter: /.*/, namespace: "none" }, () => ({ contents: "" }));
    onResolve(
      { filter: /\/devices\/cpu\/all_kernels\.ts$/ },
      ({ path, importer }) => ({
        path: join(dirname(importer), path.replace("all_kernels", "lazy_kernels")),
      }),
    );
  },
};

/** Extensions of files that are copied as they are. */
const COPIED = [".css", ".svg", ".js"];

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".md": "text/markdown; charset=utf-8",
  ".bin": "application/octet-stream",
  ".json": "application/json",
  ".wasm": "application/wasm",
};

/**
 * Headers of the pages: they load only their own files, modules made of programs (`blob:`), and no evaluated text.
 * Isolation lets the CPU device share memory between threads.
 */
export const HEADERS: Readonly<Record<string, string>> = {
  "cache-control": "no-cache",
  "content-security-policy":
    "default-src 'self'; script-src 'self' blob: 'wasm-unsafe-eval'; worker-src 'self' blob:",
  "cross-origin-embedder-policy": "require-corp",
  "cross-origin-opener-policy": "same-origin",
};

/** Writes the site into a folder that is there. */
export async function buildSite(folder: string): Promise<void> {
  const root = decodeURIComponent(ROOT.pathname);
  const { imports } = readConfig();
  try {
    const files = { root, folder, imports };
    await bundle(ENTRIES, LAZY, files);
    await bundle(PROGRAMS, libraryParts(), files);
    for (const [page, left] of Object.entries(SMALL)) {
      await bundle([page, `${page}_worker`], named(left), files);
    }
    await shortenNames(folder);
  } finally {
    await stop();
  }
  for (const ending of COPIED) {
    for (const file of list(SOURCE, ending)) {
      const target = `${folder}${file.slice(SOURCE.length)}`;
      await Deno.mkdir(dirname(target), { recursive: true });
      await Deno.copyFile(new URL(file, ROOT), target);
    }
  }
  await Deno.copyFile(new URL("docs/plan.svg", ROOT), `${folder}/plan.svg`);
  const parts = await writeDocuments(folder);
  for (const [file, text] of pages({ ...parts, ...await homeParts() })) {
    await Deno.writeTextFile(`${folder}/${file}`, text);
  }
  await Deno.writeFile(`${folder}/digits.bin`, await packedDigits());
  await copyFaceModel(folder);
  await copyWasm(folder);
}

/** Writes the files of some entries and those that they share. */
async function bundle(
  entries: readonly string[],
  left: Plugin,
  { root, folder, imports }: {
    readonly root: string;
    readonly folder: string;
    readonly imports: Readonly<Record<string, string>>;
  },
): Promise<void> {
  await build({
    absWorkingDir: root,
    entryPoints: Object.fromEntries(
      entries.map((name) => [name.split("/").at(-1)!, `${SOURCE}/${name}.ts`]),
    ),
    outdir: folder,
    bundle: true,
    splitting: true,
    format: "esm",
    target: TARGET,
    minify: true,
    legalComments: "none",
    plugins: [PACKAGES, left],
    alias: entryAliases(root, imports),
    logLevel: "warning",
  });
}

/** Gives the local names of esbuild's files anew, by how often they are used where they are: esbuild gives one set to a file, which brotli packs 4 % worse. Only those: names that are exported in a pattern would be lost. */
async function shortenNames(folder: string): Promise<void> {
  for (const { name } of Deno.readDirSync(folder)) {
    if (!name.endsWith(".js")) continue;
    const path = `${folder}/${name}`;
    const { code, errors } = await minify(name, await Deno.readTextFile(path), {
      module: true,
      compress: false,
      mangle: { toplevel: true },
    });
    if (errors.length > 0) throw new Error(`Cannot minify ${name}: ${errors[0]!.message}`);
    await Deno.writeTextFile(path, code);
  }
}

/** Where the entries of the library lie, by their names. */
function entryAliases(root: string, imports: Readonly<Record<string, string>>) {
  const entries = Object.entries(imports).filter(([name]) => name.startsWith("@weft/"));
  return Object.fromEntries(entries.map(([name, path]) => [name, root + path]));
}

/** Options of {@linkcode serveSite}. */
export interface SiteOptions {
  /** Where to listen. Default: where there is room. */
  readonly port?: number;
  /** Headers of each file beside its type. Default: {@linkcode HEADERS}. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Serves a folder of pages on this machine alone. */
export function serveSite(
  folder: string,
  { port = 0, headers = HEADERS }: SiteOptions = {},
): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve({ hostname: "127.0.0.1", port, onListen: () => {} }, async (request) => {
    const { pathname } = new URL(request.url);
    const path = pathname.endsWith("/") ? `${pathname}index.html` : pathname;
    // A URL has no ".." left, but an escaped one would be decoded here.
    if (!/^[\w./-]+$/.test(path)) return new Response("Not found", { status: 404 });
    try {
      const body = await Deno.readFile(folder + path);
      return new Response(body, {
        headers: { ...headers, "content-type": TYPES[extname(path)] ?? "text/plain" },
      });
    } catch {
      return new Response("Not found", { status: 404 });
    }
  });
}

if (import.meta.main) {
  answerHelp(import.meta.url);
  const { values } = parseArgs({
    args: Deno.args,
    options: { serve: { type: "boolean" }, port: { type: "string", default: "8000" } },
  });
  enterRoot();
  await Deno.remove(FOLDER, { recursive: true }).catch(() => {});
  await Deno.mkdir(FOLDER);
  await buildSite(`${Deno.cwd()}/${FOLDER}`);
  console.log(`${FOLDER}: written`);
  if (values.serve) {
    const { addr } = serveSite(FOLDER, { port: Number(values.port) });
    console.log(`http://localhost:${addr.port}/`);
  }
}
