// Attacks `serve` in one way after the other, each alone, and in all at the same time.
//
//   deno task bench soak each [--phase-seconds 20] [--attack TEXT]
//
// Calm phases and hostile ones take turns, each hostile one has one attack, about every second. A table tells the milliseconds of the
// processor on the way of honest requests at the 99th percentile, in the calm phases beside and in the hostile one, see probe.ts.

import * as tf from "@weft/weft";
import { freePort, Killable } from "../killable.ts";
import { attacksOn } from "./attacks.ts";
import { phaseOf, type Phases, SETTLE_MS } from "./phases.ts";
import type { Sample } from "./probe.ts";
import { makeModels, MOST_TIMES, percentile } from "./soak.ts";

const KINDS = ["predictions", "health"] as const;

/** Samples by phases. */
function sampled(said: string, phases: Phases): ReadonlyMap<number, Sample[]> {
  const all = new Map<number, Sample[]>();
  for (const [, text] of said.matchAll(/^probe (.*)$/gm)) {
    const sample = JSON.parse(text!) as Sample, phase = phaseOf(phases, sample.at);
    // The wake of a hostile phase is no calm yet.
    if (phase % 2 === 0 && phaseOf(phases, sample.at - SETTLE_MS) !== phase) continue;
    all.set(phase, [...all.get(phase) ?? [], sample]);
  }
  return all;
}

/** Options of {@linkcode each}. */
export interface EachOptions {
  readonly phaseMs: number;
  /** A part of the names of the attacks. */
  readonly attack: string;
}

/** Tells of each attack. Returns 1 where honest requests take more than three times as long. */
export async function each({ phaseMs, attack }: EachOptions): Promise<number> {
  const found = attacksOn(["serve"], attack).map(([name]) => name);
  const names = found.length > 1 ? [...found, "all of them"] : found;
  await tf.setBackend("cpu");
  const folder = await Deno.makeTempDir({ prefix: "weft_soak_" }), port = freePort();
  await makeModels(folder);
  const file = (name: string): string => new URL(name, import.meta.url).pathname;
  const models = ["mlp", "loop"].map((name) => `${folder}/${name}`);
  const flags = [`--port=${port}`, "--device=cpu", "--timeout=2000"];
  Deno.env.set("WEFT_PROBE", "1");
  const serve = Killable.program(file("served.ts"), ...models, ...flags);
  let attackers: Killable | null = null;
  let bad = 0;
  try {
    await serve.ready();
    const told = JSON.stringify([{ serve: Number(port) }, null, phaseMs, attack, true]);
    attackers = Killable.politeProgram(file("clients.ts"), told);
    await attackers.ready();
    const phases = JSON.parse(attackers.said.split("\n")[0]!) as Phases;
    const end = phases.start + phaseMs * (2 * names.length + 1);
    await new Promise((resolve) => setTimeout(resolve, end - Date.now()));
    const samples = sampled(serve.said, phases);
    // Counts come every 5 s.
    const counts = JSON.parse(attackers.said.trim().split("\n").at(-1)!) as Record<string, number>;
    console.log(
      "| attack | times | predictions | | health | |\n| --- | --- | --- | --- | --- | --- |",
    );
    for (const [i, name] of names.entries()) {
      const cells = KINDS.flatMap((kind) => {
        const [calm, hostile] = [[2 * i, 2 * i + 2], [2 * i + 1]].map((numbers) =>
          percentile(
            numbers.flatMap((phase) => samples.get(phase) ?? [])
              .filter((sample) => sample.kind === kind).map(({ ms }) => ms),
            0.99,
          )
        ) as [number, number];
        const ratio = hostile / calm;
        if (!(ratio <= MOST_TIMES)) bad++;
        return [`${calm.toFixed(1)} → ${hostile.toFixed(1)}`, ratio.toFixed(1)];
      });
      console.log(`| ${[name, counts[name] ?? 0, ...cells].join(" | ")} |`);
    }
  } finally {
    await Promise.all([serve, ...attackers ? [attackers] : []].map((p) => p.kill()));
    await Deno.remove(folder, { recursive: true });
  }
  return bad === 0 ? 0 : 1;
}
