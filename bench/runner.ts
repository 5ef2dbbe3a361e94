// Runs a row: sets every system up, checks what it computes, then times all of them in interleaved rounds.
//
// A sample is the time of several calls and one wait for the device, divided by the number of calls, so that the wait
// (10 ms in some runtimes) does not drown a call. Rounds go through the systems in turn, so that a machine that slows
// down slows all of them. Threads that still spin are let come to rest before the next system has its turn. The median of
// the rounds is what the table shows. A system that takes seconds for a call is timed by one call after the checked one,
// before the rounds of the others.

import process from "node:process";
import type { Peer } from "./peers/peer.ts";
import type { Case, Check, Output, Row, Sample, System } from "./row.ts";
import { SYSTEMS } from "./row.ts";

/** The systems of a table that could be set up. */
export type Peers = Partial<Record<System, Peer>>;

/** Effort of a measurement. */
export interface Effort {
  readonly minRounds: number;
  readonly maxRounds: number;
  /** Calls are repeated until a sample takes this long. */
  readonly sampleMs: number;
  /** After the minimum of rounds, stop when a row has taken this long. */
  readonly rowMs: number;
  /** A system whose call takes longer is called no more. */
  readonly slowMs: number;
  /**
   * The measured time: wall time, or the processor time of all threads, which other work on the machine does not add
   * to. Default "wall".
   */
  readonly clock?: "wall" | "processor";
}

const CLOCKS: Readonly<Record<"wall" | "processor", () => number>> = {
  wall: () => performance.now(),
  processor(): number {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  },
};

/** Effort of an ordinary run, of a quick look, and of two states in short turns on a machine that need not be quiet. */
export const EFFORT: Readonly<Record<"normal" | "quick" | "turns", Effort>> = {
  normal: { minRounds: 3, maxRounds: 9, sampleMs: 40, rowMs: 4000, slowMs: 8000 },
  quick: { minRounds: 2, maxRounds: 3, sampleMs: 10, rowMs: 1000, slowMs: 3000 },
  turns: {
    minRounds: 5,
    maxRounds: 60,
    sampleMs: 20,
    rowMs: 6000,
    slowMs: 8000,
    clock: "processor",
  },
};

/** Calls in a sample, at most: what is queued on a device fills its memory, what is read back does not. */
const MOST_CALLS = { queued: 2000, read: 50_000 };

const DEFAULT_TOLERANCE = 1e-4;

/** The result of one system on a row. */
export type Measurement =
  | { readonly kind: "time"; readonly medianMs: number; readonly bestMs: number }
  | { readonly kind: "wrong"; readonly error: number }
  | { readonly kind: "failed"; readonly reason: string };

/** A row with its measurements. */
export interface RowResult {
  readonly row: Row;
  readonly cells: Partial<Record<System, Measurement>>;
}

interface Runner {
  readonly system: System;
  readonly peer: Peer;
  readonly case: Case;
  readonly result: ArrayLike<number>;
  calls: number;
  readonly samples: number[];
}

/** The error of a result relative to the largest magnitude expected; Infinity where a value is missing or not finite, but should be. */
function errorOf(result: ArrayLike<number>, expected: readonly Sample[]): number {
  let scale = Number.MIN_VALUE, worst = 0;
  for (const { value } of expected) {
    if (Number.isFinite(value)) scale = Math.max(scale, Math.abs(value));
  }
  for (const { index, value } of expected) {
    const got = result[index];
    if (got === undefined) return Infinity;
    if (Object.is(got, value) || got === value) continue;
    const error = Math.abs(Number(got) - value);
    if (!Number.isFinite(error)) return Infinity;
    worst = Math.max(worst, error);
  }
  return worst / scale;
}

/** The middle result of all systems, value by value: what each is compared with where no reference reaches. */
function consensus(results: readonly ArrayLike<number>[]): Sample[] {
  return Array.from(results[0]!, (_, index) => ({
    index,
    value: median(results.map((result) => result[index] ?? NaN)),
  }));
}

/** Takes the runners out whose results are wrong, leaving a cell that says so. */
function checkResults(
  runners: readonly Runner[],
  { expected, tolerance = DEFAULT_TOLERANCE, agrees }: Check,
  cells: Partial<Record<System, Measurement>>,
): Runner[] {
  if (runners.length === 0) return [];
  const reference = [expected()];
  if (agrees) reference.push(consensus(runners.map(({ result }) => result)));
  return runners.filter(({ system, result, case: case_ }) => {
    const error = Math.max(...reference.map((samples) => errorOf(result, samples)));
    if (error <= tolerance) return true;
    cells[system] = { kind: "wrong", error };
    case_.dispose?.();
    return false;
  });
}

async function call(case_: Case): Promise<Output> {
  const output = case_.call();
  return output instanceof Promise ? await output : output;
}

async function sample(
  runner: Runner,
  row: Row,
  { clock = "wall" }: Effort,
): Promise<number> {
  const now = CLOCKS[clock], started = now();
  let last: Output | null = null;
  for (let i = 0; i < runner.calls; i++) {
    const output = runner.case.call();
    const next: Output = output instanceof Promise ? await output : output;
    last?.dispose();
    last = next;
  }
  if (!row.readsBack) await runner.peer.finish(last!);
  const elapsed = now() - started;
  last!.dispose();
  await runner.peer.settle?.();
  return elapsed / runner.calls;
}

async function resultOf(case_: Case): Promise<ArrayLike<number>> {
  if (case_.result) return await case_.result();
  const output = await call(case_);
  const data = await output.data();
  output.dispose();
  return data;
}

/** A system made ready for a row; with a sample already where its call takes longer than `slowMs`. */
async function setUp(
  row: Row,
  [system, peer]: readonly [System, Peer],
  effort: Effort,
): Promise<Runner | Measurement | null> {
  // The type of each builder's peer is the one the table stores under the same name.
  const build = row[system] as ((peer: Peer) => Case | Promise<Case>) | undefined;
  if (build === undefined) return null;
  try {
    const case_ = await build.call(row, peer);
    const result = await resultOf(case_);
    const runner: Runner = { system, peer, case: case_, result, calls: 1, samples: [] };
    const first = await sample(runner, row, effort);
    if (first > effort.slowMs) runner.samples.push(first);
    return runner;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { kind: "failed", reason: reason.split("\n")[0]! };
  }
}

/** Finds how many calls a sample takes: first calls compile what they run, so each estimate is made again with more. */
async function calibrate(runner: Runner, row: Row, effort: Effort): Promise<void> {
  const most = row.readsBack ? MOST_CALLS.read : MOST_CALLS.queued;
  for (let estimate = 0; estimate < MOST_ESTIMATES; estimate++) {
    const perCall = await sample(runner, row, effort), before = runner.calls;
    runner.calls = Math.max(1, Math.min(most, Math.round(effort.sampleMs / perCall)));
    if (runner.calls <= 2 * before && estimate > 0) return;
  }
}
const MOST_ESTIMATES = 8;

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Measures one row on all systems of a table. */
export async function runRow(row: Row, peers: Peers, effort: Effort): Promise<RowResult> {
  const cells: Partial<Record<System, Measurement>> = {};
  const candidates: Runner[] = [];
  for (const system of SYSTEMS) {
    const peer = peers[system];
    const outcome = peer && await setUp(row, [system, peer], effort);
    if (!outcome) continue;
    if ("kind" in outcome) cells[system] = outcome;
    else candidates.push(outcome);
  }
  const runners = row.check ? checkResults(candidates, row.check, cells) : candidates;
  const timed = runners.filter(({ samples }) => samples.length === 0);
  for (const runner of timed) await calibrate(runner, row, effort);
  const started = performance.now();
  for (let round = 0; round < effort.maxRounds; round++) {
    if (round >= effort.minRounds && performance.now() - started > effort.rowMs) break;
    // Each round starts with another system, so that none always follows the same one.
    for (const i of timed.keys()) {
      const runner = timed[(i + round) % timed.length]!;
      runner.samples.push(await sample(runner, row, effort));
    }
  }
  for (const { system, samples, case: case_ } of runners) {
    cells[system] = { kind: "time", medianMs: median(samples), bestMs: Math.min(...samples) };
    case_.dispose?.();
  }
  return { row, cells };
}
