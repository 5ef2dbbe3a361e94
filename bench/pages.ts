// Times how soon the pages of the site can be used: from the address to what a page does by itself, in a fresh browser context.
//
//   deno task bench pages [--write]

import { parseArgs } from "node:util";
import { chromium, type Page } from "playwright-core";
import { PAGES } from "../examples/site/pages.ts";
import { findChromium, pathOf } from "../tools/browser.ts";
import { buildSite, serveSite } from "../tools/site.ts";
import { writeSection } from "./results.ts";

/** Signs that a page has begun: an element, and a pattern of its text. Pages that do nothing by themselves have that of the first. */
const BEGUN: Readonly<Record<string, readonly [string, RegExp]>> = {
  index: ["main", /\w/],
  playground: ["status", / ms on /],
  train: ["images", /\d/],
  camera: ["found", /sure/],
  inside: ["status", / ms on /],
  speed: ["machine", /threads$/],
};

const DEVICES = ["cpu", "webgpu"] as const;
const ROUNDS = 7;
const RESULTS = new URL("./RESULTS.md", import.meta.url);

async function begun(page: Page, name: string): Promise<void> {
  const [id, { source }] = BEGUN[name] ?? BEGUN.index!;
  await page.waitForFunction(
    ([id, source]) => {
      // Types here are Deno's; this function runs in the page.
      const { document } = globalThis as unknown as {
        readonly document: {
          querySelector(what: string): { readonly textContent: string | null } | null;
        };
      };
      const element = document.querySelector(`#${id}`) ?? document.querySelector(id!);
      return new RegExp(source!).test(element?.textContent ?? "");
    },
    [id, source],
  );
}

/** Times the pages. Returns an exit code: 1 where there is no Chromium. */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { write: { type: "boolean", default: false } },
  });
  const found = await findChromium();
  if (found === null) {
    console.error("Cannot find Chromium");
    return 1;
  }
  const folder = await Deno.makeTempDir({ prefix: "weft-pages-" });
  await buildSite(folder);
  const server = serveSite(folder);
  const browser = await chromium.launch({
    executablePath: pathOf(found),
    args: ["--no-sandbox", "--enable-unsafe-webgpu", "--disable-dev-shm-usage"],
  });
  const rows: string[] = [];
  try {
    for (const { name, title } of PAGES) {
      const cells = [title];
      for (const device of DEVICES) {
        const times: number[] = [];
        for (let round = 0; round < ROUNDS; round++) {
          const context = await browser.newContext();
          const page = await context.newPage();
          const started = performance.now();
          await page.goto(`http://127.0.0.1:${server.addr.port}/${name}.html?device=${device}`);
          await begun(page, name);
          times.push(performance.now() - started);
          await context.close();
        }
        times.sort((a, b) => a - b);
        cells.push(...[times[ROUNDS >> 1]!, times.at(-1)!].map((ms) => `${Math.round(ms)}`));
      }
      console.log(cells.join("  "));
      rows.push(`| ${cells.join(" | ")} |`);
    }
  } finally {
    await browser.close();
    await server.shutdown();
    await Deno.remove(folder, { recursive: true });
  }
  if (values.write) {
    const date = new Date().toISOString().slice(0, 10);
    const text = [
      `${date}. Milliseconds from the address to what a page does by itself (a lesson has run, the first images are trained, a face is found), each time in a fresh context: median and longest of ${ROUNDS}. WebGPU is emulated on the processor.`,
      "",
      "| page | CPU | longest | WebGPU | longest |",
      "| --- | ---: | ---: | ---: | ---: |",
      ...rows,
    ].join("\n");
    await writeSection(RESULTS, { title: "Pages of the site, in Chromium", text });
  }
  return 0;
}
