// Times how long people wait for the first result: of a page that is opened, and of a process that is started. Every start is cold: a fresh
// browser context without a cache, a process of its own. The systems take turns.
//
//   deno task bench starts [--write] [--rounds=11]

import { parseArgs } from "node:util";
import { buildPackage } from "../../tools/build.ts";
import { writeSection } from "../results.ts";
import { makePages, timePages } from "./pages.ts";
import { makeProcesses, timeProcesses } from "./processes.ts";
import { median, type Starts } from "./start.ts";

const RESULTS = new URL("../RESULTS.md", import.meta.url);

/** The rows of a table: medians, and their ratios to the first. */
function tableOf(starts: readonly Starts[]): string {
  const [{ times: base }] = starts as [Starts];
  const rows = starts.map(({ what, times, kib }) => {
    const size = kib === undefined ? "" : `${Math.round(kib)}`;
    const ms = median(times);
    return `| ${what} | ${size} | ${Math.round(ms)} | ${Math.round(Math.min(...times))} | ${
      (ms / median(base)).toFixed(2)
    } |`;
  });
  const head = "| | KiB | median | least | of the first |\n| --- | ---: | ---: | ---: | ---: |";
  return [head, ...rows].join("\n");
}

/** Times the starts. Returns an exit code: 1 where there is no Chromium. */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      write: { type: "boolean", default: false },
      rounds: { type: "string", default: "11" },
    },
  });
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) {
    throw new RangeError(`Cannot start ${values.rounds} times: the number of rounds is 1 or more`);
  }
  const home = await Deno.makeTempDir({ prefix: "weft-starts-" });
  try {
    const dist = `${home}/node_modules/@weft/weft`;
    await Deno.mkdir(dist, { recursive: true });
    await buildPackage(dist, { types: false });
    const pages = await timePages(await makePages(home), rounds);
    const processes = await timeProcesses(await makeProcesses(home), rounds);
    const tables = [...(pages ? [tableOf(pages)] : []), tableOf(processes)];
    console.log(tables.join("\n\n"));
    if (values.write && pages) {
      const date = new Date().toISOString().slice(0, 10);
      const text = `${date}, load ${
        Deno.loadavg()[0]!.toFixed(0)
      }. Milliseconds to the first result (two matrices of 64 × 64 multiplied, relu, softmax, read), medians of ${rounds} cold starts that take turns: pages from the address, bundled by esbuild and minified, KiB compressed by brotli that are loaded before the result; processes from their command.\n\n${
        tables.join("\n\n")
      }`;
      await writeSection(RESULTS, { title: "First results of pages and processes", text });
    }
    return pages ? 0 : 1;
  } finally {
    await Deno.remove(home, { recursive: true });
  }
}
