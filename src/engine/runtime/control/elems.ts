/**
 * The elements that mapFn, scan and folds visit, and the results of their functions: tensors and composite values, by
 * rows.
 */
import { compatible, shapeText } from "../../core/shape.ts";
import { ValueError } from "../../core/errors.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import {
  CompositeSpec,
  CompositeTensor,
  type RowPart,
  takeComponents,
} from "../../core/composite.ts";
import type { DType } from "../../core/dtype.ts";
import { flatten, isNested, type Nest, packAs, structureText } from "../../core/nest.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { type TensorSpec, TensorSpecClass } from "../../core/tensor_spec.ts";
import { asTensor, toInput } from "../../ops/input.ts";
import { flowOf, resultTensor } from "./branch.ts";

/** Specs of the results of a function of rows, in its nest. */
export type RowSignature = Nest<DType | TensorSpec | CompositeSpec>;

/**
 * Returns the tensors whose rows a loop visits; `pack` rebuilds an element from its rows. Composite values are visited
 * by row number.
 */
export function elemsOf(
  value: unknown,
  fn: string,
): { readonly tensors: Tensor[]; readonly pack: (rows: readonly Tensor[]) => unknown } {
  const leaves = isNested(value) ? flatten<unknown>(value as Nest<unknown>) : [value];
  const pack = (like: unknown, rows: readonly Tensor[]): unknown =>
    packAs<unknown>(
      like,
      rows.map((r, i) => {
        const leaf = leaves[i];
        return leaf instanceof CompositeTensor ? leaf.row(r) : r;
      }),
    );
  if (!leaves.some((v) => v instanceof CompositeTensor)) {
    const { like, tensors } = nestOf(value, "elems", fn);
    return { tensors, pack: (rows) => packAs(like, rows) };
  }
  const tensors = leaves.map((v) =>
    v instanceof CompositeTensor
      ? v.rowNumbers() as Tensor
      : asTensor(toInput(v as TensorLike, "elems", fn))
  );
  return { tensors, pack: (rows) => pack(value, rows) };
}

/** Returns the tensors of a nest and the nest; a literal array is one tensor. */
export function nestOf(
  value: unknown,
  arg: string,
  fn: string,
): { readonly like: unknown; readonly tensors: Tensor[] } {
  const nested = isNested(value) &&
    flatten(value as Nest<unknown>).some((v) => typeof v === "object");
  const leaves = nested ? flatten(value as Nest<unknown>) : [value];
  const composite = leaves.find((v) => v instanceof CompositeTensor);
  if (composite !== undefined) {
    throw new TypeError(`Cannot use ${composite} as ${arg} of ${fn}: wanted tensors`);
  }
  const tensors = leaves.map((v) => asTensor(toInput(flowOf(v) as TensorLike, arg, fn)));
  return { like: nested ? value : null, tensors };
}

/** The parts of one call's results that are joined with those of other calls. */
export interface RowResults {
  readonly parts: readonly RowPart[];
  /** The nest of results, with specs in the places of composite values. */
  readonly structure: unknown;
}

/** Splits the results of a call into parts. Throws `TypeError` where they differ from the declared ones. */
export function rowResults(
  results: unknown,
  { fn, signature }: { readonly fn: string; readonly signature?: RowSignature | undefined },
): RowResults {
  const leaves = isNested(results) ? flatten<unknown>(results as Nest<unknown>) : [results];
  const wanted = signature === undefined
    ? []
    : isNested(signature)
    ? flatten<unknown>(signature as Nest<unknown>)
    : [signature];
  if (signature !== undefined && structureText(signature) !== structureText(results)) {
    throw new TypeError(
      `Cannot use what the function of ${fn} returned: fnOutputSignature is ${
        structureText(signature)
      }, received ${structureText(results)}`,
    );
  }
  const specs = leaves.map((v, i) => {
    const spec = wanted[i], isOne = v instanceof CompositeTensor;
    const fits = spec instanceof CompositeSpec
      ? spec.componentsOf(v) !== null && (!isOne || spec.isCompatibleWith(v.spec))
      : spec === undefined || !isOne;
    if (fits) return isOne ? v.spec : spec instanceof CompositeSpec ? spec : null;
    throw new TypeError(
      `Cannot use what the function of ${fn} returned: wanted ${spec}, received ${v}`,
    );
  });
  const parts = leaves.flatMap((v, i): readonly RowPart[] => {
    const spec = specs[i];
    if (spec !== null) return spec.partsOfRow(v);
    const w = wanted[i], dtype = w instanceof TensorSpecClass ? w.dtype : w as DType | undefined;
    return [{ tensor: resultTensor(v, "result", fn, dtype), by: "stack" }];
  });
  return { parts, structure: packAs<unknown>(results, specs.map((s) => s ?? 0)) };
}

/** Packs the joined results of all calls in their nest. */
export function unrowed(structure: unknown, joined: readonly Tensor[]): unknown {
  let at = 0;
  const leaves = isNested(structure) ? flatten<unknown>(structure as Nest<unknown>) : [structure];
  return packAs<unknown>(
    structure,
    leaves.map((leaf) => {
      if (!(leaf instanceof CompositeSpec)) return joined[at++];
      const from = at;
      return leaf.ofRows(joined.slice(from, at += leaf.rowParts));
    }),
  );
}

/** Returns the tensors of a fold's first state, and its nest. A scan stacks its states, so that none is composite. */
export function statesOf(
  value: unknown,
  fn: string,
): { readonly like: unknown; readonly tensors: Tensor[] } {
  const { leaves, structure } = takeComponents(fn === "scan" ? null : value);
  if (fn === "scan" || structure === value) return nestOf(value, "initializer", fn);
  const tensors = leaves.map((v) => asTensor(toInput(flowOf(v) as TensorLike, "initializer", fn)));
  return { like: structure, tensors };
}

/** Returns the next states of a fold. Throws `TypeError` and `ValueError` if a dtype or a shape changes. */
export function nextStates(
  leaves: readonly unknown[],
  states: readonly Tensor[],
  name: string,
): Tensor[] {
  return leaves.map((v, i) => {
    const t = resultTensor(v, "state", name, states[i].dtype);
    if (t.dtype !== states[i].dtype) {
      throw new TypeError(
        `Loop var ${i} of ${name} enters the loop with type ${
          states[i].dtype
        } but has type ${t.dtype} after 1 iteration`,
      );
    }
    if (!compatible(t.staticShape, states[i].staticShape)) {
      throw new ValueError(
        `Incompatible shape for value (${shapeText(t.staticShape)}), expected (${
          shapeText(states[i].staticShape)
        }): the state of ${name} must keep its shape`,
      );
    }
    return t;
  });
}
