/**
 * Unintended cuts of gradients, by scripts without a vjp: errors name them, and where there is no error there is a
 * warning.
 */
import { isTrainable } from "../core/dtype.ts";
import { InvalidArgumentError } from "../core/errors.ts";
import type { GradRule } from "../core/op.ts";
import { isDifferentiable, type Step } from "./steps.ts";

type GradientCut = NonNullable<ReturnType<NonNullable<GradRule["cut"]>>>;

/** Returns the cut of a step; null where it has a gradient, or is meant to have none. */
export function cutOf({ def, attrs }: Pick<Step, "def" | "attrs">): GradientCut | null {
  return def.grad?.cut?.(attrs) ?? null;
}

/** Cuts that the current pass has met, also in functions that it differentiates. */
let met: GradientCut[] = [];
let depth = 0;
let named = false;
const warned = new WeakSet<object>();

/** Runs a backward pass, and warns at its end of the cuts that it met. */
export function noticingCuts<T>(pass: () => readonly (T | null)[]): (T | null)[] {
  if (depth++ === 0) met = [];
  try {
    const found = [...pass()];
    if (depth === 1) {
      const hasGradient = found.some((g) => g !== null);
      if (hasGradient || !named) met.forEach((cut) => warn(cut, hasGradient));
    }
    return found;
  } finally {
    depth--;
  }
}

/** Runs passes for a caller that fails without a gradient: its error names the cuts, so no warning is given. */
export function namingCuts<T>(passes: () => T): T {
  const before = named;
  named = true;
  try {
    return passes();
  } finally {
    named = before;
  }
}

function warn({ key, text }: GradientCut, hasGradient: boolean): void {
  if (warned.has(key)) return;
  warned.add(key);
  const how = hasGradient ? "is cut where other paths carry one" : "comes through nowhere";
  console.warn(`A gradient ${how}: ${text}`);
}

/** Forgets the cuts of earlier passes, for errors before the first pass. */
export function forgetCuts(): void {
  met = [];
}

/** Returns the addition to an error about a missing gradient: the cuts of the last pass. */
export function cutNote(): string {
  const texts = new Set(met.map((c) => c.text));
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
      met.push(cut);
    }
  }
}
