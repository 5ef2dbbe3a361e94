// Hostile clients of a server of models, a Server, a dispatcher and a worker: a process of its own, which attacks in every second phase.
// soak.ts and each.ts start it and say where the servers are.

import type { Attack, Targets } from "./attack.ts";
import { isHostile, leftOfPhase, phaseOf } from "./phases.ts";
import { attacksOn } from "./attacks.ts";

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
const phases = { start: start ?? Date.now() + WARM_MS, phaseMs };
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

const attacks = attacksOn(Object.keys(targets), text);
setInterval(() => console.log(JSON.stringify(counts)), 5000);
console.log(JSON.stringify(phases));
await Promise.all(attacks.map(([name, attack], i) => repeat(name, attack, i)));
