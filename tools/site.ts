/**
 * `deno task site`: writes dist-site/, the pages of examples/site/ that run Weft in a browser. They are files and nothing else: any
 * server of files may serve them.
 *
 * `deno task site --serve` then serves them; `--port 8000` says where.
 *
 * @module
 */

import { build, stop } from "esbuild";
import { extname } from "node:path";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { type Digits, loadMnist } from "../examples/mnist/files.ts";
import { enterRoot, list, readConfig, ROOT } from "./files.ts";

/** Where the pages are made of, and where `deno task site` puts them. */
const SOURCE = "examples/site", FOLDER = "dist-site";

/** Modules that pages and workers begin with. */
const ENTRIES = ["playground", "program_worker", "train", "train_worker", "inside", "weft"];

/** Browsers that have WebGPU or `light-dark()`. */
const TARGET = "es2022";

/** What is copied as it is. */
const COPIED = [".html", ".css", ".svg", ".js"];

/** How many images go into the file: some 900 kB. */
const TRAINED = 8000, TESTED = 1000;

const PIXELS = 28 * 28;

/** Grey values that are kept: a stroke's edge needs no more, and the file is smaller by a third. */
const GREYS = 0xf0;

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".bin": "application/octet-stream",
};

/**
 * What pages are served with: their own files alone, modules made of programs (`blob:`), and no evaluated text. Isolation lets the CPU
 * device share memory between threads.
 */
const HEADERS: Readonly<Record<string, string>> = {
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
    await build({
      absWorkingDir: root,
      entryPoints: ENTRIES.map((name) => `${SOURCE}/${name}.ts`),
      outdir: folder,
      bundle: true,
      splitting: true,
      format: "esm",
      target: TARGET,
      minify: true,
      legalComments: "none",
      alias: { "@weft/weft": root + imports["@weft/weft"] },
      logLevel: "warning",
    });
  } finally {
    await stop();
  }
  await Deno.mkdir(`${folder}/lessons`, { recursive: true });
  for (const ending of COPIED) {
    for (const file of list(SOURCE, ending)) {
      await Deno.copyFile(new URL(file, ROOT), `${folder}${file.slice(SOURCE.length)}`);
    }
  }
  await Deno.writeFile(`${folder}/digits.bin`, await packedDigits());
}

/** Some of MNIST, as examples/site/digits.ts reads it. */
async function packedDigits(): Promise<Uint8Array> {
  const { train, test } = await loadMnist();
  const counts = new Uint8Array(8), view = new DataView(counts.buffer);
  view.setUint32(0, TRAINED, true);
  view.setUint32(4, TESTED, true);
  const part = ({ images, labels }: Digits, count: number): Uint8Array[] => {
    // Evenly from the whole: writers differ from one half of the test set to the other.
    const chosen = Array.from({ length: count }, (_, i) => Math.floor(i * labels.size / count));
    const image = (i: number) => (images.data as Uint8Array).subarray(i * PIXELS, (i + 1) * PIXELS);
    return [
      ...chosen.map((i) => image(i).map((v) => v & GREYS)),
      Uint8Array.from(chosen, (i) => Number(labels.get(i))),
    ];
  };
  const bytes = new Blob([counts, ...part(train, TRAINED), ...part(test, TESTED)] as BlobPart[]);
  return gzipSync(await bytes.bytes(), { level: 9 });
}

/** Serves a folder of pages on this machine alone. */
export function serveSite(folder: string, port = 0): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve({ hostname: "127.0.0.1", port, onListen: () => {} }, async (request) => {
    const { pathname } = new URL(request.url);
    const path = pathname.endsWith("/") ? `${pathname}index.html` : pathname;
    // A URL has no ".." left, but an escaped one would be decoded here.
    if (!/^[\w./-]+$/.test(path)) return new Response("Not found", { status: 404 });
    try {
      const body = await Deno.readFile(folder + path);
      return new Response(body, {
        headers: { ...HEADERS, "content-type": TYPES[extname(path)] ?? "text/plain" },
      });
    } catch {
      return new Response("Not found", { status: 404 });
    }
  });
}

if (import.meta.main) {
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
    const { addr } = serveSite(FOLDER, Number(values.port));
    console.log(`http://localhost:${addr.port}/`);
  }
}
