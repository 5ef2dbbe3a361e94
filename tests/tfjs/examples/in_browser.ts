/** Runs bundled examples in Chromium, each in a page of its own HTML, on the GPU that the browser has. */
import { npmFolder } from "../../../tools/npm.ts";
import { type PageFile, runPage } from "../../../tools/browser.ts";
import { putPackage } from "../../built.ts";
import type { Told } from "./stage.ts";

/** Packages of TensorFlow.js as flat modules. */
const FLAT = {
  "@tensorflow/tfjs-converter": "tf-converter.fesm.js",
  "@tensorflow/tfjs-data": "tf-data.fesm.js",
  "@tensorflow/tfjs-layers": "tf-layers.fesm.js",
} as const;

/** The one line, and where the packages are. */
const IMPORTS: Record<string, string> = { "@tensorflow/tfjs-core": "/weft/tfjs-core.js" };
for (const name of Object.keys(FLAT)) IMPORTS[name] = `/${name}.js`;

/** `@tensorflow/tfjs` without its own backends. */
const UNION = `
export * from "@tensorflow/tfjs-core";
export * from "@tensorflow/tfjs-layers";
export * from "@tensorflow/tfjs-converter";
export * as data from "@tensorflow/tfjs-data";
`;

const MAIN = `
import * as tf from "/union.js";
import { run } from "/example.js";
const send = (message) => fetch("/message", { method: "POST", body: JSON.stringify(message) });
const fetch = globalThis.fetch.bind(globalThis);
try {
  if (!await tf.setBackend("webgpu")) throw new Error("There is no WebGPU adapter");
  await send(await run(tf));
} catch (error) {
  await send({ error: String(error.stack) });
}
await send(null);
`;

const script = (body: string): PageFile => ({ type: "text/javascript", body });

/** Returns the files that all pages load: Weft as it is published, and the packages from npm. */
export async function libraryFiles(): Promise<Map<string, PageFile>> {
  const files = new Map<string, PageFile>();
  const folder = await Deno.makeTempDir({ prefix: "weft-page-" });
  try {
    await putPackage(folder, { types: false });
    for await (const { name } of Deno.readDir(folder)) {
      if (!name.endsWith(".js")) continue;
      files.set(`/weft/${name}`, script(await Deno.readTextFile(`${folder}/${name}`)));
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  for (const [name, file] of Object.entries(FLAT)) {
    const url = new URL(`dist/${file}`, await npmFolder(name));
    files.set(`/${name}.js`, script(await Deno.readTextFile(url)));
  }
  files.set("/union.js", script(UNION));
  files.set("/main.js", script(MAIN));
  return files;
}

/** The page of an example: its HTML without what that loads. */
function pageOf(html: string): string {
  const bare = html.replaceAll(/<script[\s\S]*?<\/script>|<link[^>]*>|<(img|video)[^>]*>/g, "");
  const map = JSON.stringify({ imports: IMPORTS });
  return `<!doctype html><script type="importmap">${map}</script>${bare}<script type="module" src="/main.js"></script>`;
}

/** Runs one example. Throws what it threw. */
export async function runInBrowser(
  chromium: string,
  libraries: ReadonlyMap<string, PageFile>,
  { bundle, html }: { bundle: string; html: string },
): Promise<Told> {
  const files = new Map(libraries);
  files.set("/example.js", script(await Deno.readTextFile(bundle)));
  files.set("/", { type: "text/html", body: pageOf(html) });
  let told: (Told & { error?: string }) | undefined;
  await runPage(chromium, { files, isolated: false }, (message) => told = message as Told);
  if (told?.error !== undefined) throw new Error(told.error);
  return told!;
}
