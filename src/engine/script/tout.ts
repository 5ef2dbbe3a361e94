/** Tout: the outputs of a script. A dtype, a TensorSpec, or lists and objects of them. */
import { asDType, type DType } from "../core/dtype.ts";
import { CompositeSpec, packComponents } from "../core/composite.ts";
import { isNested, isPlainObject, mapDense, NestWalk, setKey } from "../core/nest.ts";
import type { PartialShape } from "../core/shape.ts";
import { type Spec, type TensorSpec, TensorSpecClass } from "../core/tensor_spec.ts";
import { TypeError } from "../core/throwing/builtin_errors.ts";

/** The outputs of a script: a dtype or spec for one, a list or object for several, `[]` for none. */
export type Tout =
  | DType
  | TensorSpec
  | CompositeSpec
  | readonly Tout[]
  | { readonly [key: string]: Tout };

/** A parsed `Tout`. */
export interface Outputs {
  /** Flat outputs; object keys sorted. */
  readonly specs: readonly Spec[];
  readonly shapes: readonly PartialShape[];
  /** The nest, with any leaf values. */
  readonly structure: unknown;
  /** True for one dtype or spec, not a list or object. */
  readonly single: boolean;
}

const ofDType = new Map<DType, Outputs>();

/**
 * Parses a `Tout`. Throws `TypeError` with TensorFlow's phrase for values that are no dtype, and for composite specs
 * where they are not accepted.
 */
export function parseTout(tout: unknown, takes?: "composites"): Outputs {
  if (typeof tout !== "string") return parse(tout, takes);
  let outputs = ofDType.get(tout as DType);
  if (outputs === undefined) ofDType.set(tout as DType, outputs = parse(tout, takes));
  return outputs;
}

function parse(tout: unknown, takes: "composites" | undefined): Outputs {
  const specs: Spec[] = [], walk = new NestWalk();
  const visit = (t: unknown, depth: number): unknown => {
    walk.enter(depth, specs.length);
    if (t instanceof TensorSpecClass) {
      specs.push({ dtype: t.dtype, shape: t.shape });
      return 0;
    }
    if (t instanceof CompositeSpec && takes === "composites") {
      for (const { dtype, shape } of t.components) specs.push({ dtype, shape });
      return t;
    }
    if (Array.isArray(t)) return mapDense(t, (e) => visit(e, depth + 1));
    if (isPlainObject(t) && Object.keys(t).length > 0) {
      const out: Record<string, unknown> = {};
      for (const k of Object.keys(t).sort()) setKey(out, k, visit(t[k], depth + 1));
      return out;
    }
    specs.push({ dtype: asDType(t), shape: null });
    return 0;
  };
  const structure = visit(tout, 0);
  return outputsOf(specs, structure);
}

/** Makes the error of a script without declared outputs. */
export function missingTout(op: string): TypeError {
  return new TypeError(
    `Missing required argument: 'Tout' of ${op}, the dtypes of its outputs, as in "float32" or ["int32", "string"]`,
  );
}

export function outputsOf(specs: readonly Spec[], structure: unknown): Outputs {
  return { specs, shapes: specs.map((s) => s.shape), structure, single: !isNested(structure) };
}

/** Packs outputs into the nest of `Tout`. */
export function packOutputs<T>(outputs: Outputs, values: readonly T[]): unknown {
  return outputs.structure === 0 ? values[0] : packComponents(outputs.structure, values);
}
