// Hostile clients of a server of models, a Server, a dispatcher and a worker: a process of its own, which attacks in every second phase.
// soak.ts starts it and says where the servers are.

import type { Attack, Targets } from "./attack.ts";
import { isHostile, leftOfPhase } from "./phases.ts";
import { attacksOn } from "./attacks.ts";

/** Milliseconds between two attacks of a kind, half of them at least: they do not come all at once. */
const PAUSE_MS = 5000;

const [targets, start, phaseMs, text] = JSON.parse(Deno.args[0]!) as [
  Targets,
  number,
  number,
  string,
];
const phases = { start, phaseMs };
const counts: Record<string, number> = {};

/** Attacks in one way while a phase is hostile, for ever. */
async function repeat(name: string, attack: Attack): Promise<never> {
  for (;;) {
    const ms = PAUSE_MS * (0.5 + Math.random() / 2);
    await new Promise((resolve) => setTimeout(resolve, ms));
    if (!isHostile(phases)) continue;
    // What is under way when the phase ends is given up.
    const signal = AbortSignal.timeout(leftOfPhase(phases));
    await attack(targets, signal).catch(() => {});
    counts[name] = (counts[name] ?? 0) + 1;
  }
}

setInterval(() => console.log(JSON.stringify(counts)), 5000);
console.log("{}");
await Promise.all(
  attacksOn(Object.keys(targets), text).map(([name, attack]) => repeat(name, attack)),
);
