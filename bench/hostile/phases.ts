// Phases by turns, calm and hostile ones: what the machine does meanwhile is alike for both.

/** When the first phase begins, by `Date.now()`, and how long each is. Every second one is hostile. */
export interface Phases {
  readonly start: number;
  readonly phaseMs: number;
  /** True where a third kind follows: the attackers take as much of the processor as among their attacks, and attack none. */
  readonly hasLoaded?: boolean;
}

export type PhaseKind = "calm" | "hostile" | "loaded";

/** Milliseconds after a hostile phase: its wake is no calm yet. */
export const SETTLE_MS = 2000;

/** The number of a phase; below 0 before the first. */
export function phaseOf({ start, phaseMs }: Phases, at: number = Date.now()): number {
  return Math.floor((at - start) / phaseMs);
}

/** Phases until the same kind comes again. */
export const roundOf = ({ hasLoaded = false }: Phases): number => hasLoaded ? 3 : 2;

export function kindOf(phases: Phases, at: number = Date.now()): PhaseKind {
  const phase = phaseOf(phases, at);
  return phase < 0 ? "calm" : (["calm", "hostile", "loaded"] as const)[phase % roundOf(phases)]!;
}

export function isHostile(phases: Phases, at: number = Date.now()): boolean {
  return kindOf(phases, at) === "hostile";
}

export function leftOfPhase({ start, phaseMs }: Phases): number {
  return phaseMs - (Date.now() - start) % phaseMs;
}

/** The kind of a time: hostile where a part of it is, null in the wake of a hostile phase and across other ones. */
export function kindOfTime(phases: Phases, from: number, to: number): PhaseKind | null {
  const [kind, last] = [from, to].map((at) => kindOf(phases, at));
  if (kind === "hostile" || last === "hostile") return "hostile";
  return kind === last && kind === kindOf(phases, from - SETTLE_MS) ? kind! : null;
}
