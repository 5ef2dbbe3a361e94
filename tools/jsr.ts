/**
 * Chooses where the tests' assertions come from: the real `@std/assert` where JSR answers, else our
 * own small stand-in, so that a machine which only reaches npm can run every test.
 *
 * @module
 */

import { capture } from "./command.ts";
import { readConfig } from "./files.ts";
import { frozenArgs } from "./lock.ts";

/** Where bare names like `@std/assert` lead. */
export interface ImportSource {
  /** One line for people. */
  readonly description: string;
  /** Arguments for `deno test`, `deno check`, `deno doc` and the like. */
  readonly args: readonly string[];
}

/** The import map that leads every `@std` name to a file in this repository. */
export const NPM_ONLY_IMPORT_MAP = "tests/npm_only/import_map.json";

const PROBE_TIMEOUT_MS = 10_000;

/**
 * Decides which imports to use. `WEFT_JSR=0` or `1` decides without asking the network.
 *
 * The probe is an import in a child process and not a request of ours: it then says yes for a
 * package that is in the cache, and minds the same proxies and mirrors as the run that follows.
 */
export async function chooseImports(): Promise<ImportSource> {
  const forced = Deno.env.get("WEFT_JSR");
  if (forced === "1" || (forced !== "0" && await jsrAnswers())) {
    return { description: "@std from JSR", args: [] };
  }
  const reason = forced === "0" ? "WEFT_JSR=0" : "JSR does not answer";
  return {
    description: `@std replaced by tests/npm_only (${reason})`,
    args: ["--import-map", NPM_ONLY_IMPORT_MAP, ...frozenArgs()],
  };
}

async function jsrAnswers(): Promise<boolean> {
  const { imports } = readConfig();
  const source = `import "${imports["@std/assert"]}"; import "${imports["@std/testing"]}/types";`;
  const { code } = await capture(Deno.execPath(), ["eval", "--no-config", source], {
    timeoutMs: PROBE_TIMEOUT_MS,
  });
  return code === 0;
}
