/**
 * Composite values among sources and targets of gradients: what is differentiated are their float components, and a gradient is a
 * value of the same kind with the gradients in those places.
 */
import { CompositeTensor } from "../core/composite.ts";
import { isTrainable } from "../core/dtype.ts";
import type { Tensor } from "../core/tensor.ts";
import { identity } from "../ops/array/view.ts";
import { zerosOfTensor } from "../ops/array/fill_ops.ts";

/** A source or target: a tensor, or a composite value. */
export type Differentiable = Tensor | CompositeTensor;

function isFloat(part: unknown): part is Tensor {
  return isTrainable((part as Tensor).dtype);
}

/** The tensors that are differentiated: of composite values those with float elements. */
export function floatParts(values: readonly (Differentiable | null)[]): (Tensor | null)[] {
  return values.flatMap((v) =>
    v instanceof CompositeTensor ? (v.components as readonly Tensor[]).filter(isFloat) : [v]
  );
}

/** The gradients of {@linkcode floatParts} for each source; null for a composite one of which no part is connected. */
export function packGradients<S extends Differentiable>(
  sources: readonly S[],
  grads: readonly (Tensor | null)[],
): (S | Tensor | null)[] {
  let next = 0;
  return sources.map((source) => {
    if (!(source instanceof CompositeTensor)) return grads[next++];
    const components = source.components as readonly Tensor[];
    const found = components.map((part) => isFloat(part) ? grads[next++] : undefined);
    if (found.every((g) => g == null)) return null;
    // Other components are handles of its own: a gradient may be disposed by itself.
    const parts = components.map((part, i) =>
      found[i] === null
        ? zerosOfTensor(part)
        : found[i] ?? (part.isSymbolic ? part : identity(part))
    );
    return source.spec.pack(parts) as S;
  });
}
