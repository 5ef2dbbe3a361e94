/** Sources of elements: ranges, tensors, rows of tensors, several datasets side by side. */
import { type DType, type HostData, isBigInt } from "../../engine/core/dtype.ts";
import { rowOf, spanOf } from "../../engine/core/arrays/rows.ts";
import { CompositeSpec } from "../../engine/core/composite.ts";
import { InvalidArgumentError, ValueError } from "../../engine/core/errors.ts";
import { NdArray, setElement } from "../../engine/core/nd_array.ts";
import { flatten, mapNest, type Nest } from "../../engine/core/nest.ts";
import { Tensor } from "../../engine/core/tensor.ts";
import { TensorSpec } from "../../engine/core/tensor_spec.ts";
import { type Element, type ElementType, hostArray, takeApart } from "./element.ts";
import { leavesOf, rowsOfLeaves, unbatchedType } from "./parts/leaves.ts";
import {
  counted,
  Failure,
  ignoreRejection,
  makeSource,
  Parts,
  type Source,
  Stacked,
  type State,
} from "./source.ts";

/** Yields the numbers from `start` to before `stop`. */
export function rangeSource(start: number, stop: number, step: number, dtype: DType): Source {
  if (![start, stop, step].every(Number.isFinite) || step === 0) {
    throw new ValueError(
      `Cannot make a range from ${start} to ${stop} by ${step}: wanted finite numbers and a step`,
    );
  }
  const size = Math.max(0, Math.ceil((stop - start) / step));
  return makeSource({
    kind: "Range",
    specs: [TensorSpec([], dtype)],
    structure: 0,
    size,
    settings: { stage: "Range", start, stop, step },
    open(_, from?: number) {
      const at = (i: number): number => start + i * step;
      return counted(size, from, (i) => [numbersOf(dtype, [], () => at(i))], (first, count) => {
        return new Stacked([numbersOf(dtype, [count], (k) => at(first + k))], count);
      });
    },
  });
}

function numbersOf(dtype: DType, shape: number[], at: (i: number) => number): NdArray {
  const array = NdArray.zeros(dtype, shape), isBig = isBigInt(dtype);
  for (let i = 0; i < array.size; i++) setElement(array, i, isBig ? BigInt(at(i)) : at(i));
  return array;
}

/** A nest of values, copied at the time of the call. */
interface Values extends ElementType {
  readonly leaves: readonly (Tensor | NdArray)[];
  /** Host arrays of the values; tensors on devices that are read asynchronously arrive later. */
  readonly arrays: Promise<Element>;
}

export function keepValues(nest: unknown): Values {
  const { leaves, structure } = takeApart(nest);
  const kept = leaves.map((leaf) => (leaf instanceof Tensor ? leaf : hostArray(leaf)));
  const specs = kept.map((x) => TensorSpec(x instanceof Tensor ? x.staticShape : x.shape, x.dtype));
  const arrays = Promise.all(kept.map((x) => (x instanceof Tensor ? x.ndarray() : x)));
  return { specs, structure, leaves: kept, arrays: ignoreRejection(arrays) };
}

/** Yields one element per row of the tensors. */
export function slicesSource(nest: unknown): Source {
  const { leaves, arrays, ...whole } = keepValues(nest);
  const { specs, structure } = whole, parts = leavesOf(whole);
  if (specs.length === 0) {
    throw new ValueError("Cannot slice an empty structure: wanted at least one tensor");
  }
  if (parts.some(({ spec }) => (spec as TensorSpec).shape?.length === 0)) {
    throw new ValueError(
      "Cannot slice a scalar: Unbatching a tensor is only supported for rank >= 1",
    );
  }
  const { lengths, ...type } = unbatchedType(whole);
  // Symbolic tensors may have unknown lengths, and so may sparse ones.
  const size = lengths.find((n) => n !== null) ?? null;
  const other = lengths.find((n) => n !== null && n !== size);
  if (other !== undefined) {
    throw new ValueError(
      `Cannot slice tensors of different lengths: Dimensions ${size} and ${other} are not compatible`,
    );
  }
  const isPlain = parts.every(({ spec }) => !(spec instanceof CompositeSpec));
  const rowsOf = rowsOfLeaves({ specs, structure });
  let rows: Promise<readonly (readonly Element[])[]> | undefined;
  const readRows = async (): Promise<readonly (readonly Element[])[]> => {
    const all = rowsOf(await arrays) as readonly (readonly Element[])[];
    const differs = all.find((r) => r.length !== all[0].length);
    if (differs === undefined) return all;
    throw new InvalidArgumentError(
      `Cannot slice tensors of different lengths: Dimensions ${
        all[0].length
      } and ${differs.length} are not compatible`,
      { op: "TensorSliceDataset" },
    );
  };
  return makeSource({
    kind: "TensorSlice",
    ...type,
    size,
    ...(isPlain && { settings: { stage: "TensorSlice", leaves, arrays } }),
    open: (_, from?: number) =>
      isPlain
        ? counted(
          size ?? 0,
          from,
          async (i) => (await arrays).map((array) => rowOf(array, i)),
          async (first, count) =>
            new Stacked((await arrays).map((a) => ownRows(a, first, count)), count),
        )
        : counted(size ?? Infinity, from, async (i) => {
          const all = await (rows ??= ignoreRejection(readRows()));
          return i < all[0].length ? all.flatMap((r) => r[i]) : null;
        }),
  });
}

/** Copies rows. */
function ownRows(array: NdArray, first: number, count: number): NdArray {
  const { dtype, shape, data } = spanOf(array, first, first + count);
  return new NdArray(dtype, shape, data.slice() as HostData);
}

/** Yields one element: the tensors themselves. */
export function tensorsSource(nest: unknown): Source {
  const { specs, structure, leaves, arrays } = keepValues(nest);
  return makeSource({
    kind: "Tensor",
    specs,
    structure,
    size: 1,
    settings: { stage: "Tensor", leaves, arrays },
    open: (_, from?: number) => counted(1, from, () => arrays),
  });
}

/** Yields elements of several stages side by side, as long as all have one. `nest` has numbers for the inputs. */
export function zipSource(inputs: readonly Source[], nest: unknown): Source {
  if (inputs.length === 0) {
    throw new ValueError("Cannot zip an empty structure: wanted at least one dataset");
  }
  const sizes = inputs.map((input) => input.size);
  const order = flatten(nest as Nest<number>);
  return makeSource({
    kind: "Zip",
    specs: order.flatMap((i) => inputs[i].specs),
    structure: mapNest((i) => inputs[i].structure, nest as Nest<number>),
    size: sizes.includes(null) ? null : Math.min(...sizes as number[]),
    inputs,
    settings: { stage: "Zip", order },
    open(place, states?: readonly State[]) {
      const parts = new Parts(inputs, place, states);
      return {
        async next() {
          const element: Element[] = [];
          let failure: Failure | null = null;
          for (const part of parts.all) {
            const item = await part.next();
            if (item === null) return null;
            // The other inputs advance too, to stay side by side.
            if (item instanceof Failure) failure ??= item;
            else element.push(item);
          }
          return failure ?? order.flatMap((i) => element[i]);
        },
        save: () => parts.save(),
        close: () => parts.close(),
      };
    },
  });
}
