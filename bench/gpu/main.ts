// Measures a GPU in one run: what it is, whether every kernel is right on it, how fast rows, tiles and variants are.
//
//   deno task gpu [--profile] [--minutes N] [--parts A,B] [--out FILE] [--small]
//   deno task gpu bundle FILE.js      (the same program in one file, for a machine without a network)
//   deno task gpu write FILE.jsonl…   (its results as a table of bench/RESULTS.md and the ranking of tiles)
//
// The first writes a line of JSON to FILE (gpu.jsonl) for each thing that it measured; begun again with the same file it goes on
// where it ended. Parts are adapter, limits, check, rows, sweep and ops; with --profile adapter, limits, dispatch, readback, steps
// and memory. They share the minutes (8). --alone leaves the peers out. --small tries all of it on small shapes, which also software
// adapters do in a minute.
// On another machine: `deno run -A FILE.js` with the same flags.

import { runTask } from "../../tools/dev/help.ts";
import { bundle } from "./bundle.ts";
import { writeTables } from "./write.ts";

async function main([command, ...args]: readonly string[]): Promise<number> {
  if (command === "bundle" || command === "write") {
    const [path] = args;
    if (path === undefined) {
      console.error(`Cannot ${command}: name the file`);
      return 2;
    }
    return command === "bundle" ? await bundle(path) : await writeTables(args);
  }
  // What it starts for each part is its own file, without what is above.
  const measure = new URL("./measure.ts", import.meta.url).pathname;
  const child = new Deno.Command(Deno.execPath(), { args: ["run", "-A", measure, ...Deno.args] });
  return (await child.spawn().status).code;
}

if (import.meta.main) await runTask(import.meta.url, main);
