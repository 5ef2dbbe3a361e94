// Times the library beside another state of itself in turns, so that a slower row is seen on any machine.
//
//   deno task bench against ENTRY [cpu|webgpu] [--ops] [--scripts] [--only ID]... [--quick] [--other-first]
//
// ENTRY is the other state's mod.ts, in a checkout of its own. The ratio is the other's time by this one's: below 1 is slower
// than it was. Calls of functions, loops, sessions, tapes and scripts come first, on the CPU only, in processes of their own
// (calls.ts), by the clock. Then come the rows of the tables, op by op and as a function, in one process: the state that is
// loaded first is often the slower one, by some per cent. `--other-first` turns that round, so that a row is slower only where
// both orders say so. Times of rows are those of the processor, all threads together.
// `--scripts` compares the rows of bench/script/main.ts instead, see ../script/against.ts.

import { parseArgs } from "node:util";
import { pathToFileURL } from "node:url";
import { compareScripts } from "../script/against.ts";
import { CALL_NAMES, type CallTime, compareCall } from "./calls.ts";
import { OP_ROWS } from "../op_rows/mod.ts";
import { createWeftPeer, type WeftPeer } from "../peers/weft.ts";
import type { Device, Row } from "../row.ts";
import { ROWS } from "../rows/mod.ts";
import { EFFORT, runRow } from "../runner.ts";

/** A wait for a GPU is long beside short samples. */
const GPU_TURNS = { sampleMs: 30, maxRounds: 15 };
const QUICK_TURNS = { maxRounds: 5, rowMs: 1000 };

/** Milliseconds for idle threads to come to rest. */
const REST_MS = 5;

/** Times of a row in microseconds. */
function callTime(
  { medianMs, bestMs }: { readonly medianMs: number; readonly bestMs: number },
): CallTime {
  return { median: medianMs * 1e3, best: bestMs * 1e3 };
}

/** Times the rows and prints a line for each, the slowest against the other state last. */
export async function main(args: readonly string[]): Promise<number> {
  const { values, positionals: [entry, device = "cpu"] } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      only: { type: "string", multiple: true, default: [] },
      ops: { type: "boolean", default: false },
      scripts: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
      "other-first": { type: "boolean", default: false },
    },
  });
  if (entry === undefined) throw new RangeError("Cannot compare: give the other state's mod.ts");
  if (values.scripts) {
    const { only, "other-first": otherFirst } = values;
    return await compareScripts(entry, { device: device as Device, only, otherFirst });
  }
  const url = pathToFileURL(entry).href,
    entries = [new URL("../../mod.ts", import.meta.url).href, url] as const;
  const isWanted = (id: string): boolean =>
    values.only.length === 0 || values.only.some((part) => id.includes(part));
  const rows = (values.ops ? OP_ROWS : ROWS).filter((row) =>
    (row.devices?.includes(device as Device) ?? true) && row.weft && !row.heavy && isWanted(row.id)
  );
  const lines: Line[] = [];
  const tell = (id: string, mine: CallTime, its: CallTime): void => {
    const ratio = its.median / mine.median, best = its.best / mine.best;
    const line = `${id.padEnd(40)} ${ratio.toFixed(2)} (best ${best.toFixed(2)})  ${
      mine.median.toFixed(2)
    } µs, was ${its.median.toFixed(2)}`;
    console.log(line);
    lines.push({ ratio, line });
  };
  for (const name of values.ops || device !== "cpu" ? [] : CALL_NAMES) {
    if (!isWanted(`call_${name}`)) continue;
    tell(`call_${name}`, ...await compareCall(name, entries));
  }
  // The threads of one state go on looking for work for a moment, which the other's time must not pay for.
  const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, REST_MS));
  const load = async (from?: string): Promise<WeftPeer> => ({
    ...await createWeftPeer(device as Device, from),
    settle,
  });
  if (rows.length === 0) return report(lines);
  const first = values["other-first"] ? await load(url) : null;
  const now = await load(), other = first ?? await load(url);
  for (const row of rows) {
    for (const system of ["weft", "weftFunction"] as const) {
      const build = row[system] as Row["tfjs"];
      if (build === undefined) continue;
      const { check: _, ...rest } = row;
      // The other state takes the place of a peer.
      const pair: Row = { ...rest, weft: build as NonNullable<Row["weft"]>, tfjs: build };
      delete (pair as { weftFunction?: unknown }).weftFunction;
      const { cells } = await runRow(
        pair,
        { weft: now, tfjs: other as never },
        {
          ...EFFORT.turns,
          ...(device === "webgpu" && GPU_TURNS),
          ...(values.quick && QUICK_TURNS),
        },
      );
      const [mine, its] = [cells.weft, cells.tfjs];
      const name = `${row.id}${system === "weft" ? "" : " (function)"}`;
      if (mine?.kind !== "time" || its?.kind !== "time") {
        console.log(`${name} ${JSON.stringify(mine)} ${JSON.stringify(its)}`);
        continue;
      }
      tell(name, callTime(mine), callTime(its));
    }
  }
  return report(lines);
}

/** A row's ratio, and the line that tells it. */
interface Line {
  readonly ratio: number;
  readonly line: string;
}

/** Prints how many rows are slower, and their lines. */
function report(lines: readonly Line[]): number {
  const slower = lines.filter(({ ratio }) => ratio < 0.95).sort((a, b) => b.ratio - a.ratio);
  console.log(`\n${lines.length} rows, ${slower.length} below 0.95`);
  for (const { line } of slower) console.log(line);
  return 0;
}
