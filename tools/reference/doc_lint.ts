/**
 * `deno task ok doc-lint`: `deno doc --lint` of every entry by itself: a type that only another entry exports is none of its own.
 *
 * Arguments go to `deno doc`.
 *
 * @module
 */

import { run } from "../command.ts";
import { runTask } from "../dev/help.ts";
import { enterRoot, entryPoints } from "../files.ts";

async function main(args: string[]): Promise<number> {
  enterRoot();
  const bad: string[] = [];
  for (const entry of entryPoints()) {
    const { code } = await run(Deno.execPath(), ["doc", "--lint", "--quiet", ...args, entry]);
    if (code !== 0) bad.push(entry);
  }
  if (bad.length > 0) console.error(`These entries are not documented whole: ${bad.join(", ")}`);
  return bad.length === 0 ? 0 : 1;
}

if (import.meta.main) await runTask(import.meta.url, main);
