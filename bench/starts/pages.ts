// Pages that compute once, of Weft and of TensorFlow.js, each bundled by esbuild and served by one server.

import { build, stop } from "esbuild";
import { brotliCompressSync } from "node:zlib";
import { type Browser, chromium } from "playwright-core";
import { findChromium, pathOf } from "../../tools/browser.ts";
import { packageFolder } from "../../tools/npm.ts";
import type { Starts } from "./start.ts";

/** A page: its files by path. */
export interface StartPage {
  readonly what: string;
  readonly files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

const WIDTH = 64;
const COMPUTE = `
  const x = tensor2d(new Float32Array(${WIDTH} * ${WIDTH}).fill(1 / ${WIDTH}), [${WIDTH}, ${WIDTH}]);
  const [first] = await softmax(relu(matMul(x, x))).data();
  document.title = String(Math.round(first * ${WIDTH}));`;
const NAMES = "{ matMul, relu, softmax, tensor2d }";

/** Programs of pages. TensorFlow.js's is the first: others are measured by it. */
const PROGRAMS: readonly (readonly [string, string])[] = [
  [
    "TensorFlow.js, core with the CPU",
    `import ${NAMES} from "@tensorflow/tfjs-core"; import "@tensorflow/tfjs-backend-cpu";${COMPUTE}`,
  ],
  ["`@weft/weft/eager`", `import ${NAMES} from "@weft/weft/eager";${COMPUTE}`],
  ["`@weft/weft`", `import ${NAMES} from "@weft/weft";${COMPUTE}`],
];

/** Packages of TensorFlow.js's page. */
const PEERS = [
  "@tensorflow/tfjs-core",
  "@tensorflow/tfjs-backend-cpu",
  ...["npm:long@4.0.0", "npm:seedrandom@3.0.5"],
];

/** Bundles the pages. `home` has the package of Weft in its node_modules, and gets those of its peers. */
export async function makePages(home: string): Promise<StartPage[]> {
  await Deno.mkdir(`${home}/node_modules/@tensorflow`, { recursive: true });
  for (const name of PEERS) {
    const short = name.replace(/^npm:/, "").replace(/(.)@.*$/, "$1");
    await Deno.symlink(await packageFolder(name), `${home}/node_modules/${short}`, { type: "dir" });
  }
  const pages: StartPage[] = [];
  try {
    for (const [what, contents] of PROGRAMS) {
      const { outputFiles } = await build({
        stdin: { contents, resolveDir: home, sourcefile: "page.js" },
        absWorkingDir: home,
        bundle: true,
        splitting: true,
        format: "esm",
        target: "es2022",
        minify: true,
        legalComments: "none",
        outdir: "out",
        entryNames: "page",
        preserveSymlinks: true,
        write: false,
      });
      const files = outputFiles.map(({ path, contents }) =>
        [path.slice(path.lastIndexOf("/")), contents as Uint8Array<ArrayBuffer>] as const
      );
      pages.push({ what, files: new Map(files) });
    }
  } finally {
    await stop();
  }
  return pages;
}

const HTML = `<!doctype html><title></title><script type="module" src="page.js"></script>`;

/** Opens the pages by turns. Null where there is no Chromium. */
export async function timePages(
  pages: readonly StartPage[],
  rounds: number,
): Promise<Starts[] | null> {
  const found = await findChromium();
  if (found === null) {
    console.error("Cannot find Chromium");
    return null;
  }
  /** Files that the first start of each page has asked for before its result. */
  const asked = pages.map(() => new Set<string>());
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    const [, number = "", name = ""] = new URL(request.url).pathname.split("/");
    const body = pages[Number(number)]?.files.get(`/${name}`);
    if (name === "") return new Response(HTML, { headers: { "content-type": "text/html" } });
    if (body === undefined) return new Response("Not found", { status: 404 });
    asked[Number(number)]!.add(`/${name}`);
    const headers = { "content-type": "text/javascript", "cache-control": "no-store" };
    return new Response(body, { headers });
  });
  const browser = await chromium.launch({
    executablePath: pathOf(found),
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
  const starts = pages.map(({ what }): Starts => ({ what, times: [] }));
  const before: number[] = [];
  try {
    for (let round = 0; round < rounds; round++) {
      for (const [i, { files }] of pages.entries()) {
        const address = `http://127.0.0.1:${server.addr.port}/${i}/`;
        starts[i]!.times.push(await open(browser, address));
        before[i] ??= [...asked[i]!].reduce(
          (n, f) => n + brotliCompressSync(files.get(f)!).length,
          0,
        );
      }
    }
  } finally {
    await browser.close();
    await server.shutdown();
  }
  return starts.map((start, i) => ({ ...start, kib: before[i]! / 1024 }));
}

/** Milliseconds from an address to the title that a page gives itself with its result. */
async function open(browser: Browser, address: string): Promise<number> {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    await page.goto("about:blank");
    const started = performance.now();
    await page.goto(address, { waitUntil: "commit" });
    await page.waitForFunction("document.title === '1'", null, { polling: "raf" });
    return performance.now() - started;
  } finally {
    await context.close();
  }
}
