// Hostile clients of a server of models, a Server, a dispatcher and a worker: a process of its own, which attacks in every second phase.
// soak.ts and each.ts start it and say where the servers are. Where phases are "loaded" it takes as much of the processor in them as its
// attacks did before, and attacks none: what it costs the cores is no cost of the servers.

import type { Attack, Targets } from "./attack.ts";
import { isHostile, kindOf, leftOfPhase, phaseOf, type Phases } from "./phases.ts";
import { attacksOn } from "./attacks.ts";
import { processorOf } from "./memory.ts";

/** Milliseconds between two attacks of a kind, half of them at least: they do not come all at once. */
const PAUSE_MS = 5000;
/** The same where each attack has a phase of its own. */
const ALONE_MS = 1300;

/** Milliseconds before the first phase, unless its time is told: engines compile functions that they run often. */
const WARM_MS = 10_000;

const [targets, start, phaseMs, text, isEach] = JSON.parse(Deno.args[0]!) as [
  targets: Targets,
  start: number | null,
  phaseMs: number,
  text: string,
  isEach?: boolean,
];
/** Milliseconds between two looks at the own time of the processor. */
const LOOK_MS = 100;

const phases: Phases = { start: start ?? Date.now() + WARM_MS, phaseMs, hasLoaded: !isEach };
/** Milliseconds of the processor, and of the clock, in phases of each kind. */
const spent = { calm: [0, 0], hostile: [0, 0], loaded: [0, 0] };
const counts: Record<string, number> = {};

/** True while it is the turn of an attack: phases of single ones come before that of all. */
function isOn(index: number): boolean {
  if (!isHostile(phases)) return false;
  const alone = (phaseOf(phases) - 1) / 2;
  return !isEach || alone === index || alone >= attacks.length;
}

/** Attacks in one way while a phase is hostile, for ever. */
async function repeat(name: string, attack: Attack, index: number): Promise<never> {
  for (;;) {
    const isMixed = !isEach || (phaseOf(phases) - 1) / 2 >= attacks.length;
    const ms = (isMixed ? PAUSE_MS : ALONE_MS) * (0.5 + Math.random() / 2);
    await new Promise((resolve) => setTimeout(resolve, ms));
    if (!isOn(index)) continue;
    // What is under way when the phase ends is given up.
    const signal = AbortSignal.timeout(leftOfPhase(phases));
    await attack(targets, signal).catch(() => {});
    counts[name] = (counts[name] ?? 0) + 1;
  }
}

/** Sees what each kind of phase takes, and takes as much in loaded ones as in hostile ones. */
async function even(): Promise<never> {
  for (;;) {
    const kind = kindOf(phases), [at, processor] = [Date.now(), processorOf(Deno.pid)];
    if (kind === "loaded") {
      const { hostile: [ms, of], loaded: [taken, whole] } = spent;
      // Linux counts hundredths of a second: what is too little or too much now is less or more at the next look.
      const wanted = ms! / Math.max(1, of!) * (whole! + LOOK_MS) - taken!;
      const end = performance.now() + Math.min(wanted, 0.95 * LOOK_MS);
      while (performance.now() < end);
    }
    await new Promise((resolve) => setTimeout(resolve, Math.max(1, at + LOOK_MS - Date.now())));
    if (kindOf(phases) !== kind || phaseOf(phases) < 0) continue;
    spent[kind][0]! += processorOf(Deno.pid) - processor;
    spent[kind][1]! += Date.now() - at;
  }
}

const attacks = attacksOn(Object.keys(targets), text);
const shares = (): Record<string, number> =>
  Object.fromEntries(
    Object.entries(spent).map(([kind, [ms, of]]) => [kind, Math.round(100 * ms! / of!)]),
  );
setInterval(() => {
  if (!isEach) console.log(`processor ${JSON.stringify(shares())}`);
  console.log(JSON.stringify(counts));
}, 5000);
console.log(JSON.stringify(phases));
if (!isEach) void even();
await Promise.all(attacks.map(([name, attack], i) => repeat(name, attack, i)));
