/**
 * The variables of a loop: tensors, TensorArrays and nests of them, as its functions see them and as its op carries
 * them.
 */
import { currentInterpreter } from "../../core/apply.ts";
import {
  CompositeSpec,
  CompositeTensor,
  packComponents,
  takeComponents,
} from "../../core/composite.ts";
import { flatten, isNested, isPlainObject, type Nest } from "../../core/nest.ts";
import type { PartialShape } from "../../core/shape.ts";
import { type TensorSpec, TensorSpecClass } from "../../core/tensor_spec.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { ValueError } from "../../core/errors.ts";
import { asTensor, toInput } from "../../ops/input.ts";
import { flowOf, resultTensor, unflow } from "./branch.ts";
import type { LiteralElems } from "./functional_ops.ts";
import { TensorArray } from "./tensor_array.ts";

/** A variable of a loop: a tensor, a TensorArray, or a nest of them. An array of literals is one tensor. */
export type LoopVariable = TensorLike | TensorArray | CompositeTensor | readonly LoopVariable[] | {
  readonly [key: string]: LoopVariable;
};
/** The type that a loop's functions take and return for a variable. */
export type LoopVariableOf<V> = V extends TensorArray ? TensorArray
  : V extends CompositeTensor ? V
  : V extends LiteralElems | ArrayBufferView | { readonly shape: unknown; readonly dtype: unknown }
    ? Tensor
  : V extends readonly unknown[] | { readonly [key: string]: unknown }
    ? { -readonly [K in keyof V]: LoopVariableOf<V[K]> }
  : Tensor;
/** The types that a loop's functions take and return for its variables. */
export type LoopVariables<V extends readonly unknown[]> = {
  -readonly [K in keyof V]: LoopVariableOf<V[K]>;
};
/**
 * The shape of a variable in every iteration: undefined for its initial shape, a spec for a composite value, a nest for
 * a nest.
 */
export type ShapeInvariant =
  | PartialShape
  | TensorSpec
  | CompositeSpec
  | undefined
  | readonly ShapeInvariant[]
  | {
    readonly [key: string]: ShapeInvariant;
  };

/** A variable without a nest: a tensor (in a graph also a TensorArray's), or a TensorArray. */
export type LoopLeaf = Tensor | TensorArray;

/** The nest of a loop's variables. */
export class LoopNest<V extends readonly unknown[]> {
  /** Initial values. */
  readonly start: readonly LoopLeaf[];
  readonly #leaves: readonly unknown[];
  /** The nest of each variable; null for a leaf, which may be an array of literals. */
  readonly #nests: readonly unknown[];
  /** Fixed shapes of the components of composite values. */
  readonly #own: readonly (PartialShape | undefined)[];

  constructor(vars: V) {
    this.#nests = vars.map((v) => {
      const isNest = v instanceof CompositeTensor ||
        isNested(v) && flatten(v as Nest<unknown>).some((x) => typeof x === "object");
      return isNest ? takeComponents(v).structure : null;
    });
    this.#own = this.#nests.flatMap((nest) =>
      flatten(nest as Nest<unknown>).flatMap((leaf): readonly (PartialShape | undefined)[] =>
        leaf instanceof CompositeSpec ? leaf.components.map(({ shape }) => shape) : [undefined]
      )
    );
    const leaves = this.#leaves = this.#split(vars, "loop_vars");
    this.start = leaves.map((v, i) =>
      isOpen(v)
        ? v
        : asTensor(toInput(flowOf(v as TensorLike | TensorArray), `vars[${i}]`, "whileLoop"))
    );
  }

  pack(leaves: readonly LoopLeaf[]): LoopVariables<V> {
    const values = leaves.map((t, i) => t instanceof TensorArray ? t : unflow(this.#leaves[i], t));
    return packComponents<unknown>(this.#nests, values) as LoopVariables<V>;
  }

  /** Returns the leaves of a body's result. Throws `ValueError` for another nest. */
  leavesOf(result: readonly LoopVariable[] | LoopVariable): LoopLeaf[] {
    const list = Array.isArray(result) ? result as readonly unknown[] : [result];
    const { length } = this.#nests;
    if (list.length !== length) {
      throw new ValueError(
        `The number of inputs and outputs of the loop body differ: received ${list.length} from body for ${length} loop variables`,
      );
    }
    return this.#split(list, "body").map((r, i) =>
      isOpen(r) ? r : resultTensor(r, `body[${i}]`, "whileLoop")
    );
  }

  /** Returns the shape invariant of each leaf, if given. Throws `ValueError` for another nest. */
  invariants(given: readonly ShapeInvariant[] | undefined): (PartialShape | undefined)[] {
    if (given && given.length !== this.#nests.length) {
      throw new ValueError(
        `The two structures don't have the same nested structure: received ${given.length} shape invariants for ${this.#nests.length} loop variables`,
      );
    }
    return given
      ? this.#split(given, "shapeInvariants").map(shapeOfInvariant)
      : this.#leaves.map(() => undefined);
  }

  /** Returns the shape of a leaf without an invariant. A growing TensorArray has no known length. */
  shapeOf(i: number, first: PartialShape): PartialShape {
    const v = this.#leaves[i], grows = v instanceof TensorArray && v.dynamicSize;
    return grows && first ? [null, ...first.slice(1)] : this.#own[i] ?? first;
  }

  /** Returns the values at the places of the leaves, in order. */
  #split(values: readonly unknown[], what: string): unknown[] {
    return this.#nests.flatMap((nest, i) => partsAt(nest, values[i], what));
  }
}

/** True for a TensorArray that is carried as a list: in a graph one of unknown element shape, in eager code any. */
function isOpen(v: unknown): v is TensorArray {
  return v instanceof TensorArray && !(v.hasFlow && currentInterpreter().symbolic);
}

/** Returns the shape of an invariant, which may be a spec. */
function shapeOfInvariant(given: unknown): PartialShape | undefined {
  return given instanceof TensorSpecClass ? given.shape : given as PartialShape | undefined;
}

/** Returns the parts of `value` at the leaves of `nest`. Throws `ValueError` for other lists or keys. */
function partsAt(nest: unknown, value: unknown, what: string): readonly unknown[] {
  if (nest instanceof CompositeSpec) {
    if (value === undefined) return nest.components.map(() => undefined);
    if (value instanceof CompositeSpec && value.kind === nest.kind) {
      return value.components.map(({ shape }) => shape);
    }
    const parts = value instanceof CompositeTensor ? nest.componentsOf(value) : null;
    if (parts !== null) return parts;
  }
  if (!isNested(nest) && !(nest instanceof CompositeSpec)) return [value];
  if (Array.isArray(nest)) {
    if (Array.isArray(value) && value.length === nest.length) {
      return nest.flatMap((n, i) => partsAt(n, value[i], what));
    }
  } else if (isPlainObject(nest) && isPlainObject(value)) {
    const keys = Object.keys(nest).sort();
    if (keys.join() === Object.keys(value).sort().join()) {
      return keys.flatMap((k) => partsAt((nest as Record<string, unknown>)[k], value[k], what));
    }
  }
  const text = (v: unknown): string =>
    Array.isArray(v)
      ? `a list of ${v.length}`
      : isPlainObject(v)
      ? `an object of keys [${Object.keys(v).sort()}]`
      : v instanceof CompositeSpec
      ? String(v)
      : v instanceof CompositeTensor
      ? String(v.spec)
      : "one value";
  throw new ValueError(
    `The two structures don't have the same nested structure: a loop variable is ${
      text(nest)
    }, ${what} has ${text(value)} there`,
  );
}
