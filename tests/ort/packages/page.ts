/** Pages that run the programs of this folder: bundled with what is installed, and served with its files. */
import { build, stop } from "esbuild";
import type { Installed } from "./installed.ts";

const HEADERS = {
  "cache-control": "no-store",
  "cross-origin-embedder-policy": "require-corp",
  "cross-origin-opener-policy": "same-origin",
};
const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript",
  json: "application/json",
  mjs: "text/javascript",
  wasm: "application/wasm",
};

/** Files that are made for a page, by their paths. */
export type MadeFiles = Readonly<Record<string, Uint8Array<ArrayBuffer> | string>>;

/** Bundles a module for browsers. Packages are those of an installation, also for modules of this repository. */
export async function bundlePage({ home }: Installed, contents: string): Promise<string> {
  try {
    const { outputFiles } = await build({
      stdin: { contents, resolveDir: home, loader: "js" },
      absWorkingDir: home,
      nodePaths: [`${home}/node_modules`],
      bundle: true,
      format: "esm",
      platform: "browser",
      external: ["crypto", "fs", "path"],
      logLevel: "silent",
      write: false,
    });
    return outputFiles[0].text;
  } finally {
    await stop();
  }
}

/** Serves files that are made, and those of an installation; "/" is a page without anything. */
export function servePage(
  { home }: Installed,
  made: MadeFiles,
): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const path = decodeURIComponent(new URL(request.url).pathname);
    const type = TYPES[path === "/" ? "html" : path.slice(path.lastIndexOf(".") + 1)];
    const headers = { ...HEADERS, ...type !== undefined && { "content-type": type } };
    if (path === "/") {
      return new Response('<!doctype html><link rel="icon" href="data:,">', { headers });
    }
    try {
      return new Response(made[path] ?? await Deno.readFile(home + path), { headers });
    } catch {
      return new Response(null, { status: 404 });
    }
  });
}
