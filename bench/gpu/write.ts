// From the lines of a run to a table of bench/RESULTS.md, with ratios to the peers and to the device's own limits, and to the
// ranking of tiles in src/engine/kernels/matmul/shared_ranking.ts.

import { SHARED_RANKING } from "../../src/engine/kernels/matmul/shared_ranking.ts";
import type { Peer } from "../peers/peer.ts";
import { writeSection } from "../results.ts";
import type { System } from "../row.ts";
import type { Peers, RowResult } from "../runner.ts";
import { markdownTable, participants, perSecond, type Table } from "../table.ts";
import { fitRanking, type Fitted, lossOf, type Swept } from "./fit.ts";
import { type Entry, readEntries } from "./record.ts";
import type { RowEntry } from "./rows.ts";
import type { SweepEntry } from "./sweep.ts";

const RESULTS = new URL("../RESULTS.md", import.meta.url);
const RANKING = new URL("../../src/engine/kernels/matmul/shared_ranking.ts", import.meta.url);
const PEERS: Readonly<Partial<Record<System, string>>> = {
  weft: "Weft",
  weftFunction: "Weft",
  tfjs: "TensorFlow.js",
  jax: "jax-js",
};

/** A run as its lines tell it. */
export interface Run {
  readonly adapter: string;
  readonly date: string;
  readonly entries: readonly Entry[];
}

function resultOf<T>({ entries }: Run, part: string, item: string): T | undefined {
  return entries.find((e) => e.part === part && e.item === item)?.result as T | undefined;
}

function partOf({ entries }: Run, part: string): Entry[] {
  return entries.filter((e) => e.part === part);
}

/** Reads a run and its profile. Throws where their files do not say which adapter they are about. */
export async function readRun(...paths: readonly string[]): Promise<Run> {
  const entries = (await Promise.all(paths.map(readEntries))).flat();
  const machine = entries.find((e) => e.part === "adapter" && e.item === "machine")?.result as
    | { adapter: string; date: string }
    | undefined;
  if (machine === undefined) throw new Error(`Cannot read ${paths}: no line names an adapter`);
  return { adapter: machine.adapter, date: machine.date, entries };
}

/** Returns the device's limits: 1e9 operations and 1e9 bytes a second. */
function limitsOf(run: Run): { gflops?: number; gbs?: number } {
  const gflops = resultOf<{ rate: number }>(run, "limits", "GFLOP/s of vec4<f32>")?.rate;
  const copies = partOf(run, "limits").flatMap(({ item, result }) =>
    /^GB\/s of (64|128|256|1024) /.test(item) ? [result as Record<string, number>] : []
  ).flatMap((rates) => Object.values(rates ?? {}));
  return {
    ...(gflops !== undefined && { gflops }),
    ...(copies.length > 0 && { gbs: Math.max(...copies) }),
  };
}

/** The table of a part's rows. */
function tableOf(run: Run, part: "rows" | "ops"): Table | null {
  const rows = partOf(run, part);
  const results = rows.flatMap(({ item, result, error }): RowResult[] => {
    if (item.includes(" as a peer,") || item === "left out") return [];
    if (error !== undefined) {
      return [{ row: { id: item, what: "" }, cells: { weft: { kind: "failed", reason: error } } }];
    }
    const { id, what, flop, bytes, cells } = result as RowEntry;
    return [{ row: { id, what, ...(flop && { flop }), ...(bytes && { bytes }) }, cells }];
  });
  if (results.length === 0) return null;
  const peers: Record<string, Peer> = {};
  for (const [system, name] of Object.entries(PEERS)) {
    const key = system === "weftFunction" ? "weft" : system;
    const version = rows.find(({ item }) => item.startsWith(`${key} as a peer,`))?.result;
    if (typeof version !== "string" || (part === "ops" && system === "weftFunction")) continue;
    const finish = (): Promise<void> => Promise.resolve();
    peers[system] = { name, version, device: "webgpu", engine: "webgpu", finish };
  }
  const limits = limitsOf(run);
  return { device: "webgpu", ops: part === "ops", peers: peers as Peers, results, limits };
}

function list(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ["", title, "", ...lines.map((line) => `- ${line}`)];
}

/** Returns lines on the kernels' errors against float64. */
function checkLines(run: Run): string[] {
  let plans = 0;
  const wrong: string[] = [];
  for (const { item, result, error } of partOf(run, "check")) {
    if (error !== undefined) wrong.push(`${item}: ${error.split("\n")[0]}`);
    const outcome = result as { plans?: number; wrong?: string[] };
    plans += outcome?.plans ?? 0;
    wrong.push(...(outcome?.wrong ?? []).map((text) => `${item}: ${text}`));
  }
  if (plans === 0) return [];
  return [
    "",
    `${plans} plans of kernels held against float64, ${wrong.length} wrong.`,
    ...list("Wrong:", wrong),
  ];
}

/** A line of the tiles' table for each work. */
function sweepLines(run: Run): string[] {
  const { gflops } = limitsOf(run);
  const rows = sweepsOf(run).flatMap((entry) => {
    const { op, dtype, shapes, flop, times, chosen, failed } = entry;
    const [best] = times;
    if (best === undefined) return [];
    const own = times.find(({ name }) => name === chosen);
    const rate = flop / best.best / 1e6;
    const cells = [
      `${op} ${dtype}`,
      shapes.map((s) => `[${s}]`).join(" "),
      best.name,
      best.best.toPrecision(3),
      flop > 0 ? perSecond(rate, "FLOP/s") : "",
      flop > 0 && gflops ? `${(100 * rate / gflops).toFixed(0)} %` : "",
      chosen,
      own ? (own.best / best.best).toFixed(2) : "–",
      Object.keys(failed).length || "",
    ];
    return [`| ${cells.join(" | ")} |`];
  });
  if (rows.length === 0) return [];
  const head = "| work | shapes | best | ms | rate | of the loop | chosen | by best | failed |";
  return [
    "",
    "Kernels for the same work, the best of all that were tried:",
    "",
    head,
    "| --- | --- | --- | ---: | ---: | ---: | --- | ---: | ---: |",
    ...rows,
  ];
}

function sweepsOf(run: Run): SweepEntry[] {
  return partOf(run, "sweep").flatMap(({ item, result }) =>
    item === "left out" || result === undefined ? [] : [result as SweepEntry]
  );
}

/** A line for each thing that a profile measured. */
function profileLines(run: Run): string[] {
  const text = ({ item, result }: Entry): string => {
    const { kernels: _, ...rest } = (result ?? {}) as Record<string, unknown>;
    return `${item}: ${JSON.stringify(rest).replaceAll('"', "").slice(1, -1)}`;
  };
  return ["dispatch", "readback", "steps", "memory"].flatMap((part) =>
    list(`${part[0]!.toUpperCase()}${part.slice(1)}:`, partOf(run, part).map(text))
  );
}

/** The device's section of the results. */
export function sectionOf(run: Run): string {
  const { gflops, gbs } = limitsOf(run);
  const tables = (["rows", "ops"] as const).flatMap((part) => tableOf(run, part) ?? []);
  const features = resultOf<Record<string, unknown>>(run, "adapter", "granted features") ?? {};
  const granted = Object.entries(features).flatMap(([name, got]) => (got === true ? [name] : []));
  return [
    `${run.date}. ${
      tables[0] ? participants(tables[0]).join(", ") : ""
    }. Made by \`deno task gpu\`.`,
    `Limits: ${gflops ?? "?"} GFLOP/s of multiply-adds in float32, ${
      gbs ?? "?"
    } GB/s of copies of 64 MiB and more.`,
    `Features that it grants: ${granted.join(", ")}.`,
    ...checkLines(run),
    ...tables.flatMap((table) => ["", markdownTable(table)]),
    ...sweepLines(run),
    ...profileLines(run),
  ].join("\n");
}

/** Times of tiles and of parts of their sums. */
export function sweptOf(run: Run): Swept[] {
  return sweepsOf(run).flatMap(({ extents, times, cut }) => {
    if (extents === undefined || cut) return [];
    const tiled = times.flatMap(({ tile, splits, best: ms }) =>
      tile !== undefined && splits !== undefined ? [{ tile, splits, ms }] : []
    );
    return tiled.length === 0 ? [] : [{ extents, times: tiled }];
  });
}

/** The text of the module with another ranking. */
export function rankingText(module: string, fitted: Fitted, source: string): string {
  const [before] = module.split(/^(?=export const SHARED_RANKING)/m);
  const { units, registers, loads, latency, split, sum, tiles } = fitted;
  const lines = tiles.map((t) =>
    `    { bm: ${t.bm}, bn: ${t.bn}, bk: ${t.bk}, tm: ${t.tm}, tn: ${t.tn} },\n`
  );
  return `${before}export const SHARED_RANKING: SharedRanking = {
  source: ${JSON.stringify(source)},
  units: ${units},
  registers: ${registers},
  loads: ${loads},
  latency: ${latency},
  split: ${split},
  sum: ${sum},
  tiles: [
${lines.join("")}  ],
};
`;
}

/** Writes the section of a run, and the ranking where its tiles were timed on a GPU. Resolves to 0. */
export async function writeTables(paths: readonly string[]): Promise<number> {
  const run = await readRun(...paths);
  await writeSection(RESULTS, { title: `GPU: ${run.adapter}`, text: sectionOf(run) });
  const work = sweptOf(run), profile = resultOf<{ barriers: boolean }>(run, "adapter", "profile");
  if (work.length === 0 || profile?.barriers !== true) {
    console.log("The ranking of tiles stays: no tile was timed on an adapter that it is for");
    return 0;
  }
  const fitted = fitRanking(work), loss = (n: number): string => `${(100 * (n - 1)).toFixed(1)} %`;
  const before = lossOf(work, SHARED_RANKING);
  const source = `${run.adapter}, ${run.date}: ${work.length} sweeps; the first tile takes ${
    loss(fitted.loss)
  } longer than the best of all, ${loss(before)} before`;
  await Deno.writeTextFile(
    RANKING,
    rankingText(await Deno.readTextFile(RANKING), fitted, source),
  );
  console.log(source);
  return 0;
}
