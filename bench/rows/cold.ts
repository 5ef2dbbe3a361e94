// Cold start: what a user waits for before the first result, in a process of its own.

import { buildPackage } from "../../tools/build.ts";
import { EXPECTED } from "../cold.ts";
import type { Case, Device, Output, Row } from "../row.ts";

const SCRIPT = new URL("../cold.ts", import.meta.url);

/** A call starts a process and waits for its result. */
function processCase(system: string, device: Device, ...more: readonly string[]): Case {
  return {
    async call(): Promise<Output> {
      const args = ["run", "-A", "--no-check", SCRIPT.href, system, device, ...more];
      const command = new Deno.Command(Deno.execPath(), { args, stderr: "null" });
      const { stdout } = await command.output();
      const value = Number(new TextDecoder().decode(stdout).match(/^RESULT (.*)$/m)?.[1]);
      return { data: () => Promise.resolve([value]), dispose() {} };
    },
  };
}

/** Weft as it is published, like its peers. */
async function packageCase(device: Device): Promise<Case> {
  const folder = await Deno.makeTempDir({ prefix: "weft_bench_" });
  await buildPackage(folder, { types: false });
  return {
    ...processCase("weft", device, `file://${folder}/mod.js`),
    dispose: () => Deno.removeSync(folder, { recursive: true }),
  };
}

const what = "new process: import, matmul 64, relu, softmax, read";
const common: Pick<Row, "readsBack" | "check"> = {
  readsBack: true,
  check: { expected: () => [{ index: 0, value: EXPECTED }] },
};

/** Rows of this file. The runner's calls before the first it counts let Deno fill its caches, those of compiled code as well. */
export const COLD_ROWS: readonly Row[] = [
  {
    ...common,
    id: "cold_start",
    what,
    weft: ({ device }) => packageCase(device),
    tfjs: ({ device }) => processCase("tfjs", device),
    jax: ({ device }) => processCase("jax", device),
    onnx: ({ device }) => processCase("onnx", device),
  },
  {
    ...common,
    id: "cold_start_sources",
    what: `${what}; from sources, as no peer is used`,
    weft: ({ device }) => processCase("weft", device),
  },
];
