// Calm and hostile phases by turns: what the machine does meanwhile is alike for both.

/** When the first phase begins, by `Date.now()`, and how long each is. Every second one is hostile. */
export interface Phases {
  readonly start: number;
  readonly phaseMs: number;
}

/** Milliseconds after a hostile phase: its wake is no calm yet. */
export const SETTLE_MS = 2000;

/** The number of a phase; below 0 before the first. */
export function phaseOf({ start, phaseMs }: Phases, at: number = Date.now()): number {
  return Math.floor((at - start) / phaseMs);
}

export function isHostile(phases: Phases, at: number = Date.now()): boolean {
  const phase = phaseOf(phases, at);
  return phase >= 0 && phase % 2 === 1;
}

export function leftOfPhase({ start, phaseMs }: Phases): number {
  return phaseMs - (Date.now() - start) % phaseMs;
}

/** True for a time in which no hostile client did anything. */
export function isCalm(phases: Phases, from: number, to: number): boolean {
  return !isHostile(phases, from) && !isHostile(phases, from - SETTLE_MS) && !isHostile(phases, to);
}
