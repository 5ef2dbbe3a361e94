// Cold start: what a user waits for before the first result, in a process of its own.

import { fileURLToPath } from "node:url";
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

/** Weft in one file, as in an application that was bundled; its peers are published so. */
async function bundleCase(device: Device): Promise<Case> {
  const folder = await Deno.makeTempDir({ prefix: "weft_bench_" });
  const outfile = `${folder}/weft.js`;
  const { build, stop } = await import("esbuild");
  const entry = fileURLToPath(new URL("../../mod.ts", import.meta.url));
  await build({ entryPoints: [entry], bundle: true, format: "esm", target: "esnext", outfile });
  await stop();
  return {
    ...processCase("weft", device, `file://${outfile}`),
    dispose: () => Deno.removeSync(folder, { recursive: true }),
  };
}

const what = "new process: import, matmul 64, relu, softmax, read";
const peers: Pick<Row, "readsBack" | "tfjs" | "jax" | "onnx" | "check"> = {
  readsBack: true,
  tfjs: ({ device }) => processCase("tfjs", device),
  jax: ({ device }) => processCase("jax", device),
  onnx: ({ device }) => processCase("onnx", device),
  check: { expected: () => [{ index: 0, value: EXPECTED }] },
};

/** Rows of this file. */
export const COLD_ROWS: readonly Row[] = [
  { id: "cold_start", what, weft: ({ device }) => processCase("weft", device), ...peers },
  {
    id: "cold_start_bundle",
    what: `${what}; Weft as one file`,
    weft: ({ device }) => bundleCase(device),
    ...peers,
  },
];
