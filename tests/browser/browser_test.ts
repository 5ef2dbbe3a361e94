/**
 * The tests, run in Chromium: all that touches a GPU in a page that is cross-origin isolated, so every kernel is
 * compiled by Tint as well; what runs on the CPU in a page that is not, where the WebAssembly memory cannot be shared;
 * and a little of both in a page whose content security policy lets no text be compiled and no worker be made of it.
 *
 * `WEFT_BROWSER_TESTS=conv,matmul` runs the files with these words in their paths, `WEFT_BROWSER_LOG=1` tells of every
 * test, and `WEFT_CHROMIUM=none` skips it all.
 */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { findChromium, type Page, runPage } from "../../tools/browser.ts";
import { THOROUGH } from "../effort.ts";
import { NOT_IN_PAGES } from "./excluded.ts";
import {
  bundleReadme,
  bundleTests,
  lonelyTests,
  portableTests,
  type TestBundle,
} from "./bundle.ts";
import type { HostOptions, TestReport } from "./host.ts";
import { sampleWork, type WorkResults } from "./sample_work.ts";
import { MANY_WORDS, type SyncReads, WORDS } from "./sync_reads.ts";

/** A page's report of itself. */
interface Facts {
  readonly isolated: boolean;
  readonly compiles: boolean;
  readonly adapter: string | null;
  readonly cpu: string;
  readonly work: Readonly<Record<string, WorkResults>>;
  readonly readme: Readonly<Record<string, unknown>>;
  /** Only where canvases can be drawn on. */
  readonly reads?: Readonly<Record<"page" | "worker", SyncReads | string>>;
}
/** The result of a page. */
interface Outcome {
  readonly facts: Facts;
  readonly reports: readonly TestReport[];
}

const chromium = await findChromium();
const ignore = chromium === null && Deno.env.get("WEFT_REQUIRE_WEBGPU") !== "1";
const only = Deno.env.get("WEFT_BROWSER_TESTS")?.split(",");
const files = [
  ...portableTests(only),
  "tests/browser/page_cases.ts",
  "tests/browser/page_ops.ts",
];

/** True to write a line for each test in a page. */
const LOG = Deno.env.get("WEFT_BROWSER_LOG") === "1";

/** Errors of tests that read a GPU tensor at once, which browsers cannot. */
const NEEDS_SYNC_READ = "Cannot (read|run|call) .* synchronously";

/** Files that pass there, but SwiftShader compiles each of their programs for a second, and page_ops.ts has the same kernels. */
const SLOW_TO_COMPILE = `
graph/model_equality graph/random_graphs graph/reductions
ops/arg_reduce ops/attention ops/candidates ops/conv_kernels ops/fused ops/half ops/matmul_kernels ops/normalize
ops/pool_kernels ops/random_shapes ops/reduce ops/scan ops/softmax ops/special_kernels ops/topk
`.trim().split(/\s+/);

/** Tests that the GPU page leaves out, each with the reason. */
const NOT_ON_GPU = {
  "tests/op_check_test.ts": "tests/browser/page_ops.ts does what browsers can",
  ...Object.fromEntries(
    SLOW_TO_COMPILE.map((name) => [`tests/${name}_test.ts`, "slow to compile"]),
  ),
  "tests/script/concurrency_test.ts": "thousands of runs, which the other page does",
};

/** Numbers of words that a page reads at once. */
const READ_WORDS = THOROUGH ? [...WORDS, MANY_WORDS] : WORDS;

const EFFORT = { WEFT_TEST_EFFORT: Deno.env.get("WEFT_TEST_EFFORT") ?? "" };

/** Files that the page with a strict policy runs. Node runs everything without compiling text. */
const STRICT = ["tests/browser/page_cases.ts", "tests/ops/reduce_derived_test.ts"];

type PageName = "gpu" | "cpu" | "strict";
interface PageOptions {
  readonly isolated: boolean;
  readonly hasCanvas?: boolean | undefined;
  readonly policy?: string;
  readonly host: HostOptions;
}

const PAGES: Readonly<Record<PageName, PageOptions>> = {
  gpu: {
    isolated: true,
    hasCanvas: true,
    host: {
      env: { ...EFFORT, WEFT_TEST_WEBGPU: "1" },
      // Only here is there memory for threads to share.
      only: "\\[webgpu\\]$|^In a browser|^threads compute",
      impossible: NEEDS_SYNC_READ,
      skipFiles: Object.keys(NOT_ON_GPU),
    },
  },
  cpu: {
    isolated: false,
    host: { env: { ...EFFORT, WEFT_TEST_WEBGPU: "0" }, only: "^(?!.*\\[webgpu\\]$)" },
  },
  strict: {
    isolated: true,
    policy: "script-src 'self' 'wasm-unsafe-eval'",
    host: {
      env: { ...EFFORT, WEFT_TEST_WEBGPU: "1" },
      impossible: NEEDS_SYNC_READ,
      skipFiles: files.filter((file) => !STRICT.includes(file)),
    },
  },
};
const PAGE_NAMES = Object.keys(PAGES) as PageName[];

let outcomes: Readonly<Record<PageName, Promise<Outcome>>> | undefined;

/**
 * Returns the result of a page. All pages run once, side by side, on the first request; a failure rejects only its
 * page's requests.
 */
function outcomeOf(name: PageName): Promise<Outcome> {
  if (outcomes === undefined) {
    const bundle = bundleTests(files), readme = bundleReadme();
    outcomes = {
      gpu: run("gpu", bundle, readme),
      cpu: run("cpu", bundle, readme),
      strict: run("strict", bundle, readme),
    };
    for (const outcome of Object.values(outcomes)) outcome.catch(() => {});
  }
  return outcomes[name];
}

async function run(
  name: PageName,
  bundle: Promise<TestBundle>,
  readme: Promise<string>,
): Promise<Outcome> {
  if (chromium === null) throw new Error("Cannot find Chromium: WEFT_REQUIRE_WEBGPU wants it");
  const { isolated, hasCanvas, policy, host } = PAGES[name];
  const reports: TestReport[] = [];
  let facts: Facts | undefined;
  const page = {
    isolated,
    hasCanvas,
    policy,
    files: pageFiles(await bundle, await readme, {
      host: { ...host, alone: lonelyTests(files) },
      hasCanvas,
    }),
  };
  await runPage(chromium, page, (message) => {
    const { kind, ...rest } = message as { kind: "facts" | "test" | "error"; error: string };
    if (kind === "error") throw new Error(`The page failed: ${rest.error}`);
    if (kind === "facts") facts = rest as unknown as Facts;
    else {
      const report = rest as unknown as TestReport;
      reports.push(report);
      if (LOG) {
        const { status, milliseconds, file } = report;
        console.log(`${name} ${status} ${milliseconds | 0} ms ${file} ${report.name}`);
      }
    }
  });
  if (facts === undefined) throw new Error("The page said nothing of itself");
  return { facts, reports };
}

function pageFiles(
  bundle: TestBundle,
  readme: string,
  { host, hasCanvas = false }: Pick<PageOptions, "host" | "hasCanvas">,
): Page["files"] {
  const script = `
    const send = (message) => fetch("/message", { method: "POST", body: JSON.stringify(message) });
    addEventListener("error", (e) => send({ kind: "error", error: e.message }));
    function mayCompile() {
      try {
        return new Function("return true")();
      } catch {
        return false;
      }
    }
    async function syncReadsHere() {
      const { syncReads } = await import("/work.js");
      return await syncReads(${JSON.stringify(READ_WORDS)}).catch((e) => String(e?.stack ?? e));
    }
    function syncReadsInWorker() {
      return new Promise((resolve) => {
        const worker = new Worker("/sync_worker.js", { type: "module" });
        worker.onerror = (e) => resolve("The worker failed: " + e.message);
        worker.onmessage = ({ data }) => {
          worker.terminate();
          resolve(data);
        };
      });
    }
    async function facts() {
      const { sampleWork, describeCpu } = await import("/work.js");
      const work = { cpu: await sampleWork("cpu") };
      const adapter = await navigator.gpu?.requestAdapter();
      const usesGpu = adapter && ${hasCanvas};
      if (usesGpu) work.webgpu = await sampleWork("webgpu");
      const readme = {};
      for (const backend of usesGpu ? ["cpu", "webgpu"] : ["cpu"]) {
        await (await import("/readme.js")).run(backend, { log: (v) => readme[backend] = v });
      }
      const { vendor, architecture, description } = adapter?.info ?? {};
      return {
        isolated: crossOriginIsolated,
        compiles: mayCompile(),
        adapter: adapter ? [vendor, architecture, description].join(" ") : null,
        cpu: describeCpu(),
        work,
        readme,
        ...(usesGpu && {
          reads: { page: await syncReadsHere(), worker: await syncReadsInWorker() },
        }),
      };
    }
    async function main() {
      const { TestHost } = await import("/host.js");
      globalThis.weftTestHost = new TestHost(${JSON.stringify(host)});
      const step = Number(new URLSearchParams(location.search).get("step"));
      if (step === 0) await send({ kind: "facts", ...await facts() });
      await import("/tests.js");
      const host = globalThis.weftTestHost;
      const groups = host.groups();
      if (step < groups.length) {
        await host.run(groups[step], (report) => send({ kind: "test", ...report }));
        if (step + 1 < groups.length) return void (location.search = "?step=" + (step + 1));
      }
      await send(null);
    }
    main().catch(async (e) => {
      await send({ kind: "error", error: String(e?.stack ?? e) });
      await send(null);
    });`;
  const worker = `import { syncReads } from "/work.js";
    postMessage(await syncReads(${
    JSON.stringify(READ_WORDS)
  }).catch((e) => String(e?.stack ?? e)));`;
  const js = (body: string) => ({ type: "text/javascript; charset=utf-8", body });
  const html = `<!doctype html><meta charset="utf-8"><title>Weft</title>
    <link rel="icon" href="data:,"><script type="module" src="/main.js"></script>`;
  return new Map([
    ["/", { type: "text/html; charset=utf-8", body: html }],
    ["/main.js", js(script)],
    ["/host.js", js(bundle.host)],
    ["/work.js", js(bundle.work)],
    ["/sync_worker.js", js(worker)],
    ["/readme.js", js(readme)],
    ["/tests.js", js(bundle.tests)],
    ["/worker_main.ts", js(bundle.worker)],
  ]);
}

function near(actual: WorkResults, wanted: WorkResults, tolerance: number): void {
  assertEquals(Object.keys(actual), Object.keys(wanted));
  for (const [name, values] of Object.entries(wanted)) {
    assertEquals(actual[name].length, values.length, name);
    values.forEach((value, i) => {
      const off = Math.abs(actual[name][i] - value);
      assert(off <= tolerance, `${name}[${i}] is ${actual[name][i]}, in Deno ${value}`);
    });
  }
}

Deno.test({
  name: "Chromium computes on the CPU what Deno computes [chromium]",
  ignore,
  async fn() {
    near((await outcomeOf("cpu")).facts.work.cpu, await sampleWork("cpu"), 1e-6);
    near((await outcomeOf("gpu")).facts.work.cpu, await sampleWork("cpu"), 1e-6);
    near((await outcomeOf("strict")).facts.work.cpu, await sampleWork("cpu"), 1e-6);
  },
});

Deno.test({
  name: "Chromium computes on the GPU what Deno computes on the CPU [chromium]",
  ignore,
  async fn() {
    const { facts } = await outcomeOf("gpu");
    assert(facts.adapter !== null, "Chromium has no adapter");
    near(facts.work.webgpu, await sampleWork("cpu"), 1e-5);
  },
});

Deno.test({
  name: "Chromium reads GPU memory at once, every bit, in pages and in workers [chromium]",
  ignore,
  async fn() {
    const { reads } = (await outcomeOf("gpu")).facts;
    const wanted = {
      helper: [4, 0, 1, 4, 4, 2, 1],
      ...Object.fromEntries(READ_WORDS.map((n) => [`${n} words`, "equal"])),
      floats: "equal",
      view: "equal",
      float32: [-1, -0.5, 0, 0.5, 1],
      int32: [2, 1, 0, -1, -2],
      bool: [false, false, false, true, true],
      bools: true,
      float16: [-0.5, -0.25, 0, 0.25, 0.5],
      complex64: [-2, 2, -1, 1, 0, 0, 1, -1, 2, -2],
      string: ["a", "bc"],
      empty: [],
      item: 10,
      known: 0,
      awaited: 1,
      numpy: [4, 2, 0, 2, 4],
      function: [128, 64, 0, 64, 128],
      body: [1, 0, 1, 4, 9],
      calls: 1,
      readbacks: 1,
      callsAgain: 2,
      lost: "UnavailableError",
    };
    for (const where of ["page", "worker"] as const) {
      const read = reads?.[where];
      if (typeof read !== "object") throw new Error(`Nothing was read in the ${where}: ${read}`);
      assertEquals(read.values, wanted, where);
      assertEquals(read.hints.length, 1, where);
      assertMatch(read.hints[0], /await data\(\)/);
    }
  },
});

Deno.test({
  name: "Memory is shared in pages that are isolated, and not in others [chromium]",
  ignore,
  async fn() {
    for (const name of PAGE_NAMES) {
      const { facts } = await outcomeOf(name);
      assertEquals(facts.isolated, PAGES[name].isolated);
      assertEquals(/shared/.test(facts.cpu), PAGES[name].isolated, facts.cpu);
    }
  },
});

Deno.test({
  name: "The README's program with a script runs as it stands, on the CPU and on WebGPU [chromium]",
  ignore,
  async fn() {
    const shown = [0.375, 0.125];
    assertEquals((await outcomeOf("gpu")).facts.readme, { cpu: shown, webgpu: shown });
  },
});

Deno.test({
  name: "Text may be compiled in all pages but the strict one [chromium]",
  ignore,
  async fn() {
    for (const name of PAGE_NAMES) {
      assertEquals((await outcomeOf(name)).facts.compiles, PAGES[name].policy === undefined, name);
    }
    const { reports } = await outcomeOf("strict");
    assert(reports.some((r) => r.status === "passed"), "the strict page ran no tests");
  },
});

for (const file of files) {
  Deno.test({
    name: `${file} passes [chromium]`,
    ignore,
    async fn() {
      const texts: string[] = [];
      for (const name of PAGE_NAMES) {
        for (const report of (await outcomeOf(name)).reports) {
          if (report.file !== file || report.status !== "failed" || report.name in NOT_IN_PAGES) {
            continue;
          }
          texts.push(
            `${report.name}, ${name} page\n    ${report.error.replaceAll("\n", "\n    ")}`,
          );
        }
      }
      assert(texts.length === 0, `${texts.length} failed:\n${texts.join("\n")}`);
    },
  });
}

Deno.test({
  name: "every file of tests has run in some page [chromium]",
  ignore,
  async fn() {
    const reports = [...(await outcomeOf("gpu")).reports, ...(await outcomeOf("cpu")).reports];
    const run = new Set(reports.filter((r) => r.status !== "ignored").map((r) => r.file));
    assertEquals(files.filter((file) => !run.has(file) && !(file in NOT_ON_GPU)), []);
    const impossible = reports.filter((r) => r.status === "impossible").length;
    console.log(`Chromium: ${reports.length} tests, ${impossible} need to read a GPU at once`);
  },
});
