/**
 * The tests, run in Node on the CPU: an engine without Float16Array, relaxed SIMD and `using`, which is told to compile no text.
 *
 * `WEFT_NODE_TESTS=conv,matmul` runs the files with these words in their paths, `WEFT_NODE_LOG=1`
 * tells of every test, and `WEFT_NODE=none` skips it all.
 */

import { assert, assertEquals } from "@std/assert";
import { findNode, inNode } from "../../tools/node.ts";
import { NOT_IN_NODE, TESTS_NOT_IN_NODE } from "../browser/excluded.ts";
import { bundleTests, lonelyTests, portableTests } from "../browser/bundle.ts";
import type { TestReport } from "../browser/host.ts";
import { sampleWork, type WorkResults } from "../browser/sample_work.ts";

const node = await findNode();
const only = Deno.env.get("WEFT_NODE_TESTS")?.split(",");
const files = [
  ...portableTests(only).filter((file) =>
    !Object.keys(NOT_IN_NODE).some((start) => file.startsWith(start))
  ),
  "tests/browser/page_cases.ts",
];

/** True to write a line for each test. */
const LOG = Deno.env.get("WEFT_NODE_LOG") === "1";

interface Facts {
  readonly work: WorkResults;
  readonly cpu: string;
  readonly compiles: boolean;
}
interface Outcome extends Facts {
  readonly reports: readonly TestReport[];
}

let outcome: Promise<Outcome> | undefined;

async function run(): Promise<Outcome> {
  const bundle = await bundleTests(files, { target: "node20" });
  const script = `
    import { writeSync } from "node:fs";
    const send = (message) => writeSync(1, "@weft " + JSON.stringify(message) + "\\n");
    const { TestHost } = await import("./host.mjs");
    const host = globalThis.weftTestHost = new TestHost({
      env: { WEFT_TEST_EFFORT: "${Deno.env.get("WEFT_TEST_EFFORT") ?? ""}", WEFT_TEST_WEBGPU: "0" },
      only: "^(?!.*\\\\[webgpu\\\\]$)",
      alone: ${JSON.stringify(lonelyTests(files))},
      impossible: "no Float16Array|no array for float16|constant of float16 cannot be read here",
    });
    const { sampleWork, describeCpu } = await import("./work.mjs");
    const mayCompile = () => {
      try {
        return new Function("return true")();
      } catch {
        return false;
      }
    };
    if (process.argv[2] === undefined) {
      send({ work: await sampleWork("cpu"), cpu: describeCpu(), compiles: mayCompile() });
    }
    // The tests use what Node 20 lacks; the library must not, and has done its work above without.
    Promise.withResolvers ??= function () {
      let resolve, reject;
      const promise = new Promise((a, b) => (resolve = a, reject = b));
      return { promise, resolve, reject };
    };
    Promise.try ??= (fn, ...args) => new Promise((resolve) => resolve(fn(...args)));
    Map.groupBy ??= (items, keyOf) => {
      const groups = new Map();
      for (const item of items) {
        const key = keyOf(item);
        groups.has(key) ? groups.get(key).push(item) : groups.set(key, [item]);
      }
      return groups;
    };
    Array.fromAsync ??= async (items, map = (x) => x) => {
      const all = [];
      for await (const item of items) all.push(await map(item));
      return all;
    };
    await import("./tests.mjs");
    const files = process.argv.slice(2);
    if (files.length === 0) send({ groups: host.groups() });
    else await host.run(files, (report) => send({ report }));
    process.exit(0);`;
  const program = new Map([
    ["main.mjs", script],
    ["host.mjs", bundle.host],
    ["work.mjs", bundle.work],
    ["tests.mjs", bundle.tests],
  ]);
  return await inNode(node!, program, "@weft ", async (start) => {
    const [facts, { groups }] = await start([]) as [Facts, { groups: string[][] }];
    const reports: TestReport[] = [];
    for (const group of groups) {
      for (const { report } of await start(group) as { report: TestReport }[]) {
        reports.push(report);
        if (LOG) console.log(report.status, report.milliseconds | 0, "ms", report.name);
      }
    }
    return { ...facts, reports };
  });
}

Deno.test({
  name: "Node computes on the CPU what Deno computes [node]",
  ignore: node === null,
  async fn() {
    const { work, cpu, compiles, reports } = await (outcome ??= run());
    assertEquals(compiles, false, "Node may compile text: what works without is not seen");
    const missing = reports.filter((r) => r.status === "impossible").length;
    console.log(`Node: ${reports.length} tests, ${missing} need Float16Array; ${cpu}`);
    assert(reports.length > 0, "Node ran no tests");
    for (const [name, values] of Object.entries(await sampleWork("cpu"))) {
      assertEquals(work[name].length, values.length, name);
      values.forEach((value, i) => {
        const off = Math.abs(work[name][i] - value);
        assert(off <= 1e-6, `${name}[${i}] is ${work[name][i]}, in Deno ${value}`);
      });
    }
  },
});

for (const file of files) {
  Deno.test({
    name: `${file} passes [node]`,
    ignore: node === null,
    async fn() {
      const { reports } = await (outcome ??= run());
      const own = reports.filter((r) => r.file === file);
      const failed = own.filter((r) => r.status === "failed" && !(r.name in TESTS_NOT_IN_NODE));
      const texts = failed.map((r) => `${r.name}\n    ${r.error.replaceAll("\n", "\n    ")}`);
      assert(texts.length === 0, `${texts.length} of ${own.length} failed:\n${texts.join("\n")}`);
    },
  });
}
