/** Gradients that their caller owns: rules may return a kept value, the gradient from above, or one tensor twice. */
import { newTensorId, type Tensor } from "../core/tensor.ts";
import { IndexedSlices } from "../ops/array/indexed_slices.ts";
import { identity } from "../ops/array/view.ts";

/**
 * Runs a backward pass, and returns its gradients as tensors that may be disposed without another: those that were there before
 * the pass, and those that are the gradient of several sources, get handles of their own.
 */
export function ownGradients(
  pass: () => readonly (Tensor | null)[],
): (Tensor | null)[] {
  const first = newTensorId(), given = new Set<Tensor>();
  const isOwn = (t: Tensor): boolean => t.id > first && !given.has(t) && !!given.add(t);
  return pass().map((g) => {
    if (g === null || g.isSymbolic) return g;
    if (!(g instanceof IndexedSlices)) return isOwn(g) ? g : identity(g);
    return isOwn(g.values) && isOwn(g.indices) ? g : g.withValues(identity(g.values));
  });
}
