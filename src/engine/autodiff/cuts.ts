/**
 * Unintended cuts of gradients, by scripts without a vjp: errors name them, and where there is no error there is a
 * warning.
 */
import { Dynamic } from "../core/scope_context.ts";
import { isTrainable } from "../core/dtype.ts";
import { InvalidArgumentError } from "../core/errors.ts";
import type { GradRule } from "../core/op.ts";
import { isDifferentiable, type Step } from "./steps.ts";

type GradientCut = NonNullable<ReturnType<NonNullable<GradRule["cut"]>>>;

/** Returns the cut of a step; null where it has a gradient, or is meant to have none. */
export function cutOf({ def, attrs }: Pick<Step, "def" | "attrs">): GradientCut | null {
  return def.grad?.cut?.(attrs) ?? null;
}

/** The current pass: its cuts, also in functions that it differentiates, and how deep it is nested. */
const pass = { met: [] as GradientCut[], depth: 0 };
/** True while the caller names the cuts itself. */
const named = new Dynamic(false);
const warned = new WeakSet<object>();

/** Runs a backward pass, and warns at its end of the cuts that it met. */
export function noticingCuts<T>(run: () => readonly (T | null)[]): (T | null)[] {
  if (pass.depth++ === 0) pass.met = [];
  try {
    const found = [...run()];
    if (pass.depth === 1) {
      const hasGradient = found.some((g) => g !== null);
      if (hasGradient || !named.current) pass.met.forEach((cut) => warn(cut, hasGradient));
    }
    return found;
  } finally {
    pass.depth--;
  }
}

/** Runs passes for a caller that fails without a gradient: its error names the cuts, so no warning is given. */
export function namingCuts<T>(passes: () => T): T {
  return named.within(true, passes);
}

function warn({ key, text }: GradientCut, hasGradient: boolean): void {
  if (warned.has(key)) return;
  warned.add(key);
  const how = hasGradient ? "is cut where other paths carry one" : "comes through nowhere";
  console.warn(`A gradient ${how}: ${text}`);
}

/** Forgets the cuts of earlier passes, for errors before the first pass. */
export function forgetCuts(): void {
  pass.met = [];
}

/** Returns the addition to an error about a missing gradient: the cuts of the last pass. */
export function cutNote(): string {
  const texts = new Set(pass.met.map((c) => c.text));
  return texts.size === 0 ? "" : `: ${[...texts].join("; ")}`;
}

/**
 * Records those of the steps that cut a path to the seeds. `steps` are all steps, in order. Throws
 * `InvalidArgumentError` for a strict one.
 */
export function noteCuts(
  cuts: readonly Step[],
  steps: readonly Step[],
  seeds: Iterable<number>,
): void {
  const needed = new Set(seeds);
  for (let k = steps.length - 1; k >= 0; k--) {
    const step = steps[k];
    if (!step.outputs.some((o) => needed.has(o.id) && isTrainable(o.dtype))) continue;
    if (isDifferentiable(step)) { for (const i of step.inputs) needed.add(i.id); }
    else if (cuts.includes(step)) {
      const cut = cutOf(step)!;
      if (cut.strict) {
        throw new InvalidArgumentError(`${cut.text} (strictGradients)`, { op: step.def.name });
      }
      pass.met.push(cut);
    }
  }
}
