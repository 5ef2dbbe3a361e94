// Calm and hostile phases by turns: what the machine does meanwhile is alike for both.

/** When the first phase begins, by `Date.now()`, and how long each is. Every second one is hostile. */
export interface Phases {
  readonly start: number;
  readonly phaseMs: number;
}

/** The wake of a hostile phase is no calm yet. */
const SETTLE_MS = 2000;

export function isHostile({ start, phaseMs }: Phases, at: number = Date.now()): boolean {
  return at >= start && Math.floor((at - start) / phaseMs) % 2 === 1;
}

export function leftOfPhase({ start, phaseMs }: Phases): number {
  return phaseMs - (Date.now() - start) % phaseMs;
}

/** True for a time in which no hostile client did anything. */
export function isCalm(phases: Phases, from: number, to: number): boolean {
  return !isHostile(phases, from) && !isHostile(phases, from - SETTLE_MS) && !isHostile(phases, to);
}
