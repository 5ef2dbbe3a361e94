/**
 * Composite values among sources and targets of gradients: their float components are differentiated, and a gradient is
 * a value of the same kind with the gradients in their places.
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

function isComposite(v: unknown): boolean {
  return v instanceof CompositeTensor;
}

/** Returns the tensors to differentiate: of composite values the float components. */
export function floatParts(
  values: readonly (Differentiable | null)[],
): readonly (Tensor | null)[] {
  if (!values.some(isComposite)) return values as readonly (Tensor | null)[];
  return values.flatMap((v) =>
    v instanceof CompositeTensor ? (v.components as readonly Tensor[]).filter(isFloat) : [v]
  );
}

/** Packs the gradients of {@linkcode floatParts} for each source; null for a composite one without a connected part. */
export function packGradients<S extends Differentiable>(
  sources: readonly S[],
  grads: readonly (Tensor | null)[],
): (S | Tensor | null)[] {
  if (!sources.some(isComposite)) return [...grads];
  let next = 0;
  return sources.map((source) => {
    if (!(source instanceof CompositeTensor)) return grads[next++];
    const components = source.components as readonly Tensor[];
    const found = components.map((part) => isFloat(part) ? grads[next++] : undefined);
    if (found.every((g) => g == null)) return null;
    // Other components get handles of their own, so that a gradient may be disposed by itself.
    const parts = components.map((part, i) =>
      found[i] === null
        ? zerosOfTensor(part)
        : found[i] ?? (part.isSymbolic ? part : identity(part))
    );
    return source.spec.pack(parts) as S;
  });
}
