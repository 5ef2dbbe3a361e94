// Prints the results of one device as a table, for the terminal and in Markdown.

import type { Peer } from "./peers/peer.ts";
import type { Device, System } from "./row.ts";
import { SYSTEMS } from "./row.ts";
import type { Measurement, Peers, RowResult } from "./runner.ts";

/** All that a table shows. */
export interface Table {
  readonly device: Device;
  /** True for the table of many ops. */
  readonly ops: boolean;
  readonly peers: Peers;
  readonly results: readonly RowResult[];
  /** The device's limits, in 1e9 operations and bytes a second; if measured, rows are compared with them. */
  readonly limits?: { readonly gflops?: number; readonly gbs?: number };
}

/** Whose better column counts on either side of the ratio. */
const OURS: readonly System[] = ["weft", "weftFunction"];
const THEIRS: readonly System[] = SYSTEMS.filter((system) => !OURS.includes(system));

const TITLES: Readonly<Record<System, string>> = {
  weft: "Weft",
  weftFunction: "Weft function",
  tfjs: "TensorFlow.js",
  jax: "jax-js",
  onnx: "onnxruntime-web",
};

function formatMs(ms: number): string {
  const digits = ms >= 100 ? 0 : ms >= 10 ? 1 : ms >= 1 ? 2 : 3;
  return ms.toFixed(ms < 0.01 ? 4 : digits);
}

function cellText(cell: Measurement | undefined): string {
  if (cell === undefined) return "–";
  if (cell.kind === "time") return formatMs(cell.medianMs);
  if (cell.kind === "wrong") return "wrong";
  // A function that a system lacks is no failure of the row.
  return /\bis not a function$/.test(cell.reason) ? "–" : "fails";
}

function bestMs(cells: RowResult["cells"], systems: readonly System[]): number | null {
  const times = systems.flatMap((system) => {
    const cell = cells[system];
    return cell?.kind === "time" ? [cell.medianMs] : [];
  });
  return times.length === 0 ? null : Math.min(...times);
}

/** Returns the factor by which Weft's better column is faster than the best peer. */
export function advantage({ cells }: RowResult): number | null {
  const [ours, theirs] = [bestMs(cells, OURS), bestMs(cells, THEIRS)];
  return ours === null || theirs === null ? null : theirs / ours;
}

/** 1e9 of something a second, in words. */
export function perSecond(giga: number, unit: string): string {
  return giga >= 1000
    ? `${(giga / 1000).toPrecision(3)} T${unit}`
    : `${giga.toPrecision(3)} G${unit}`;
}

/** The rate of the fastest column, in the unit that limits the row. */
function rateText({ row, cells }: RowResult): string {
  const best = bestMs(cells, SYSTEMS);
  if (best === null) return "";
  if (row.flop !== undefined) return perSecond(row.flop / best / 1e6, "FLOP/s");
  if (row.bytes !== undefined) return perSecond(row.bytes / best / 1e6, "B/s");
  return "";
}

/** Weft's better column as a share of what the device gives at most. */
function shareText(
  { row, cells }: RowResult,
  { gflops, gbs }: NonNullable<Table["limits"]>,
): string {
  const best = bestMs(cells, OURS);
  if (best === null) return "";
  const share = row.flop !== undefined && gflops !== undefined
    ? row.flop / best / 1e6 / gflops
    : row.bytes !== undefined && gbs !== undefined
    ? row.bytes / best / 1e6 / gbs
    : null;
  return share === null ? "" : `${(100 * share).toPrecision(2)} %`;
}

function shownSystems({ peers }: Table): System[] {
  return SYSTEMS.filter((system) => peers[system] !== undefined);
}

function cellsOf(table: Table): string[][] {
  const systems = shownSystems(table);
  const head = [
    "id",
    "what",
    ...systems.map((system) => TITLES[system]),
    "ours ×",
    "best rate",
    ...(table.limits ? ["of the limit"] : []),
  ];
  const body = table.results.map((result) => {
    const ratio = advantage(result);
    return [
      result.row.id,
      result.row.what,
      ...systems.map((system) => cellText(result.cells[system])),
      ratio === null ? "" : ratio.toPrecision(2),
      rateText(result),
      ...(table.limits ? [shareText(result, table.limits)] : []),
    ];
  });
  return [head, ...body];
}

/** Notes on the cells that hold no time: each reason once, with the rows it is about. */
function notesOf({ results }: Table): string[] {
  const notes = results.flatMap(({ row, cells }) =>
    SYSTEMS.flatMap((system) => {
      const cell = cells[system];
      if (cell === undefined || cell.kind === "time") return [];
      const reason = cell.kind === "failed"
        ? cell.reason
        : `wrong, relative error ${cell.error.toExponential(1)}`;
      return [{ text: `${TITLES[system]}: ${reason}`, id: row.id }];
    })
  );
  return [...Map.groupBy(notes, ({ text }) => text)]
    .map(([text, rows]) => `${text} (${rows.map(({ id }) => id).join(", ")})`);
}

function widthsOf(rows: readonly string[][]): number[] {
  return rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
}

/** One line of the text table: names to the left, numbers to the right. */
function alignRow(row: readonly string[], widths: readonly number[]): string {
  return row
    .map((text, i) => i < 2 ? text.padEnd(widths[i]!) : text.padStart(widths[i]!))
    .join("  ").trimEnd();
}

/** Lists the systems, one line each. */
export function participants({ peers }: Table): string[] {
  const seen = new Map<string, Peer>();
  for (const system of SYSTEMS) if (peers[system]) seen.set(peers[system].name, peers[system]);
  return [...seen.values()].map(({ name, version, engine }) => `${name} ${version} (${engine})`);
}

/** The table for a terminal. */
export function textTable(table: Table): string {
  const rows = cellsOf(table);
  const widths = widthsOf(rows);
  return [...rows.map((row) => alignRow(row, widths)), ...notesOf(table)].join("\n");
}

/** The table in Markdown. */
export function markdownTable(table: Table): string {
  const [head, ...body] = cellsOf(table);
  const line = (row: readonly string[]) => `| ${row.join(" | ")} |`;
  const rule = head!.map((_, i) => i < 2 ? "---" : "---:");
  const notes = notesOf(table).map((note) => `- ${note}`);
  const rows = [line(head!), line(rule), ...body.map(line)];
  return [...rows, ...(notes.length > 0 ? ["", ...notes] : [])].join("\n");
}
