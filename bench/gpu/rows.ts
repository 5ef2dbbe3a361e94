// The rows of the tables on a GPU, beside the peers in one process, and larger ones that the limits are held against.

import * as tf from "@weft/weft";
import { OP_ROWS } from "../op_rows/mod.ts";
import { createJaxPeer } from "../peers/jax.ts";
import { createTfjsPeer } from "../peers/tfjs.ts";
import { createWeftPeer, type Weft } from "../peers/weft.ts";
import type { Row, System } from "../row.ts";
import { PROCESS_ROWS } from "../rows/one_process.ts";
import { type Effort, type Measurement, type Peers, runRow } from "../runner.ts";
import { largeRows } from "./large_rows.ts";
import type { Setting } from "./measure.ts";
import type { Recorder } from "./record.ts";

/** The written result of a row. */
export interface RowEntry {
  readonly id: string;
  readonly what: string;
  readonly flop?: number;
  readonly bytes?: number;
  readonly cells: Partial<Record<System, Measurement>>;
}

/** Steps of models, attention, and chains of small ops. */
const TELLING = /_step|mlp_|mobilenet|attention|chain/;

/** Several hundred rows in minutes: shorter than where a machine is one's own. */
const ROW_EFFORT: Effort = { minRounds: 3, maxRounds: 7, sampleMs: 20, rowMs: 800, slowMs: 2000 };
const OP_EFFORT: Effort = { minRounds: 3, maxRounds: 3, sampleMs: 6, rowMs: 200, slowMs: 1000 };

/** Sets up the systems that can be; notes their versions, or why not. */
async function peersOf(
  record: Recorder,
  { tfjs, alone }: Setting,
  withJax: boolean,
): Promise<Peers> {
  const peers: Record<string, unknown> = {};
  const add = async (name: string, create: () => Promise<{ version: string }>): Promise<void> => {
    // Written again where the part begins again: each process needs them.
    await record.attempt(`${name} as a peer, process ${Deno.pid}`, async () => {
      const peer = await create();
      peers[name] = peer;
      return peer.version;
    });
  };
  await add("weft", () => createWeftPeer("webgpu", tf as unknown as Weft));
  if (!alone) await add("tfjs", () => createTfjsPeer("webgpu", tfjs));
  if (withJax && !alone) await add("jax", () => createJaxPeer("webgpu"));
  return { ...peers, ...(withJax && { weftFunction: peers.weft }) } as Peers;
}

async function runRows(
  record: Recorder,
  rows: readonly Row[],
  { peers, effort }: { readonly peers: Peers; readonly effort: Effort },
): Promise<void> {
  for (const row of rows) {
    if (!(row.devices?.includes("webgpu") ?? true)) continue;
    await record.attempt(row.id, async (): Promise<RowEntry> => {
      const { cells } = await runRow(row, peers, effort);
      const { id, what, flop, bytes } = row;
      return { id, what, cells, ...(flop && { flop }), ...(bytes && { bytes }) };
    });
  }
}

/** The table of rows that aims are set for, and the larger ones. */
export async function rowsPart(record: Recorder, setting: Setting): Promise<void> {
  const peers = await peersOf(record, setting, true);
  const { small } = setting, few = ["mm256", "add_1m", "mlp_adam"];
  const own = PROCESS_ROWS.filter(({ id }) => !small || few.includes(id));
  // What a run that is cut short must not miss comes first.
  const [first, rest] = [true, false].map((is) => own.filter(({ id }) => TELLING.test(id) === is));
  const rows = [...first!, ...largeRows(small), ...rest!];
  await runRows(record, rows, { peers, effort: ROW_EFFORT });
}

/** The table of many ops. */
export async function opsPart(record: Recorder, setting: Setting): Promise<void> {
  const peers = await peersOf(record, setting, false);
  // The ops in turns over their kinds: where time ends, each kind has had some.
  const step = 7, all = setting.small ? OP_ROWS.slice(0, 3) : OP_ROWS;
  const order = Array.from({ length: step }, (_, i) => all.filter((_, j) => j % step === i));
  await runRows(record, order.flat(), { peers, effort: OP_EFFORT });
}
