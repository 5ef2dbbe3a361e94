// Cold start: what a user waits for before the first result, in a process of its own.

import { EXPECTED } from "../cold.ts";
import type { Case, Device, Output, Row } from "../row.ts";

const SCRIPT = new URL("../cold.ts", import.meta.url);

/** A call starts a process and waits for its result. */
function processCase(system: string, device: Device): Case {
  return {
    async call(): Promise<Output> {
      const args = ["run", "-A", "--no-check", SCRIPT.href, system, device];
      const command = new Deno.Command(Deno.execPath(), { args, stderr: "null" });
      const { stdout } = await command.output();
      const value = Number(new TextDecoder().decode(stdout).match(/^RESULT (.*)$/m)?.[1]);
      return { data: () => Promise.resolve([value]), dispose() {} };
    },
  };
}

/** Rows of this file. */
export const COLD_ROWS: readonly Row[] = [{
  id: "cold_start",
  what: "new process: import, matmul 64, relu, softmax, read",
  readsBack: true,
  weft: ({ device }) => processCase("weft", device),
  tfjs: ({ device }) => processCase("tfjs", device),
  jax: ({ device }) => processCase("jax", device),
  check: { expected: () => [{ index: 0, value: EXPECTED }] },
}];
