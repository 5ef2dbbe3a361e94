/** Elements of a dataset: their types, and the host arrays they are made of while they move through a pipeline. */
import { putAt } from "../../engine/core/arrays/rows.ts";
import { describe, toNdArray } from "../../engine/core/convert.ts";
import { type DType, makeData, type TypedArray } from "../../engine/core/dtype.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { InvalidArgumentError } from "../../engine/core/errors.ts";
import { NdArray, type Nested } from "../../engine/core/nd_array.ts";
import {
  CompositeSpec,
  CompositeTensor,
  kindText,
  leafSpecs,
  packComponents,
} from "../../engine/core/composite.ts";
import {
  flatten,
  isNested,
  isPlainObject,
  mapDense,
  mapNest,
  type Nest,
  NestWalk,
  packAs,
  setKey,
} from "../../engine/core/nest.ts";
import { compatible, relaxShapes, sameShape, shapeText, sizeOf } from "../../engine/core/shape.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { TensorSpec, TensorSpecClass } from "../../engine/core/tensor_spec.ts";
import { defaultDevice } from "../../engine/runtime/devices/devices.ts";
import { constantTensor } from "../../engine/runtime/eager/eager.ts";
import { isStructure } from "../../engine/script/call.ts";
import { parseTout, type Tout } from "../../engine/script/tout.ts";

/** An element as it moves through a pipeline: one host array per component, never written to. */
export type Element = readonly NdArray[];

/** A tensor, or a list or object of such. */
export type TensorNest = Tensor | readonly TensorNest[] | { readonly [key: string]: TensorNest };

/** A value that is one tensor by itself, not a structure of several. */
export type OneTensor =
  | Tensor
  | NdArray
  | TypedArray
  | number
  | bigint
  | boolean
  | string
  | PlainValues;
/** Numbers, booleans or strings in nested lists. */
export type PlainValues = readonly (number | bigint | boolean | string | PlainValues)[];

/** The nest of tensors that a nest of values becomes. */
export type TensorsOf<T> = [Nested] extends [T] ? Tensor
  : T extends OneTensor ? Tensor
  : T extends CompositeTensor ? T
  : T extends object ? { readonly [K in keyof T]: TensorsOf<T[K]> }
  : Tensor;

/** The nest of tensors that a nest of dtypes or specs declares. */
export type TensorsOfSpec<T> = [Tout] extends [T] ? TensorNest
  : T extends string | TensorSpec ? Tensor
  : T extends CompositeSpec ? Extract<ReturnType<T["pack"]>, CompositeTensor>
  : { readonly [K in keyof T]: TensorsOfSpec<T[K]> };

/** The nest of specs of a nest of tensors. */
export type SpecsOf<E> = E extends Tensor ? TensorSpec
  : E extends CompositeTensor ? E["spec"]
  : { readonly [K in keyof E]: SpecsOf<E[K]> };

/** A nest of tensors with host arrays in place of tensors. */
export type HostOf<E> = E extends Tensor ? NdArray
  : E extends CompositeTensor ? Exclude<ReturnType<E["spec"]["pack"]>, CompositeTensor>
  : { readonly [K in keyof E]: HostOf<E[K]> };

/** The type of a dataset's elements. */
export interface ElementType {
  /** Spec of each component. */
  readonly specs: readonly TensorSpec[];
  /** The nest, whose leaf values are ignored. */
  readonly structure: unknown;
}

/** Returns the element type that a nest of dtypes and specs declares. */
export function declaredType(tout: Tout, takes?: "composites"): ElementType {
  const { specs, structure } = parseTout(tout, takes);
  return { specs: specs.map(({ shape, dtype }) => TensorSpec(shape, dtype)), structure };
}

/** True where elements are single integers, scalars as far as is known. */
export function isInteger({ specs: [spec, ...others] }: Pick<ElementType, "specs">): boolean {
  return others.length === 0 && /^u?int/.test(spec.dtype) && (spec.shape?.length ?? 0) === 0;
}

/** Splits a nest of values into leaves and structure: a value that is no structure is one tensor. */
export function takeApart(nest: unknown): { leaves: unknown[]; structure: unknown } {
  const leaves: unknown[] = [], walk = new NestWalk(), known = new Map<unknown, boolean>();
  const visit = (value: unknown, depth: number): unknown => {
    if (Array.isArray(value) && isStructure(value, depth, known)) {
      walk.enter(depth, leaves.length);
      return mapDense(value, (e) => visit(e, depth + 1));
    }
    if (isPlainObject(value) && !("shape" in value && "data" in value)) {
      walk.enter(depth, leaves.length);
      const keys = Object.keys(value);
      const out: Record<string, unknown> = Object.fromEntries(keys.map((key) => [key, 0]));
      for (const key of keys.sort()) setKey(out, key, visit(value[key], depth + 1));
      return out;
    }
    if (value instanceof CompositeTensor) {
      leaves.push(...value.components);
      return value.spec;
    }
    leaves.push(value);
    return 0;
  };
  return { structure: visit(nest, 0), leaves };
}

/** Packs the specs into the element's nest, which prints as `{x: float32[2]}`. */
export function specsNest({ structure, specs }: ElementType): Nest<LeafSpec> {
  const nest = packAs<LeafSpec>(structure, leafSpecs(structure, specs));
  const visit = (n: Nest<LeafSpec>): void => {
    if (isLeafSpec(n) || Object.hasOwn(n, "toString")) return;
    Object.defineProperty(n, "toString", { value: () => nestText(n) });
    Object.values(n).forEach(visit);
  };
  visit(nest);
  return nest;
}

type LeafSpec = TensorSpec | CompositeSpec;

function isLeafSpec(n: unknown): n is LeafSpec {
  return n instanceof TensorSpecClass || n instanceof CompositeSpec;
}

function nestText(n: Nest<LeafSpec>): string {
  if (isLeafSpec(n)) return n.toString();
  return Array.isArray(n)
    ? `[${n.map(nestText).join(", ")}]`
    : `{${Object.entries(n).map(([key, v]) => `${key}: ${nestText(v)}`).join(", ")}}`;
}

/** Collects the values of `value` at the leaves of `structure`; null where the structures differ. */
export function leavesIn(structure: unknown, value: unknown): unknown[] | null {
  const leaves: unknown[] = [];
  const visit = (s: unknown, v: unknown): boolean => {
    if (Array.isArray(s)) {
      return Array.isArray(v) && v.length === s.length && s.every((e, i) => visit(e, v[i]));
    }
    if (isPlainObject(s)) {
      const keys = Object.keys(s).sort();
      return isPlainObject(v) && Object.keys(v).length === keys.length &&
        keys.every((key) => key in v && visit(s[key], v[key]));
    }
    if (s instanceof CompositeSpec) {
      const parts = s.componentsOf(v);
      leaves.push(...parts ?? []);
      return parts !== null && (!(v instanceof CompositeTensor) || s.isCompatibleWith(v.spec));
    }
    leaves.push(v);
    return true;
  };
  return visit(structure, value) ? leaves : null;
}

/** Merges the types of several stages. Throws `TypeError` where their structures or dtypes differ. */
export function commonType(types: readonly ElementType[], method: string): ElementType {
  const [first, ...others] = types;
  const wanted = kindText(first.structure);
  const specs = [...first.specs];
  let structure = first.structure;
  for (const other of others) {
    const fits = kindText(other.structure) === wanted &&
      other.specs.length === specs.length &&
      other.specs.every(({ dtype }, i) => dtype === specs[i].dtype);
    if (!fits) {
      throw new TypeError(
        `Cannot ${method} datasets whose elements differ: ${specsNest(first)} and ${
          specsNest(other)
        } have no common element type`,
      );
    }
    other.specs.forEach(({ shape, dtype }, i) => {
      specs[i] = TensorSpec(relaxShapes(specs[i].shape, shape), dtype);
    });
    const composites = flatten<unknown>(other.structure as Nest<unknown>);
    let at = 0;
    structure = mapNest((leaf) => {
      const also = composites[at++];
      return leaf instanceof CompositeSpec ? leaf.relaxed(also as CompositeSpec) : leaf;
    }, structure as Nest<unknown>);
  }
  return { specs, structure };
}

/** Converts a value to a host array without other owners. Throws `TypeError` for a value that is no tensor. */
export function hostArray(value: unknown, dtype?: DType): NdArray {
  const array = toNdArray(value, { dtype, numbers: "exact" });
  const isShared = value instanceof NdArray || ArrayBuffer.isView(value) ||
    (isPlainObject(value) && ArrayBuffer.isView(value.data));
  return isShared ? array.copy() : array;
}

/** Stacks equal-shaped arrays along a new leading axis. Throws `InvalidArgumentError` where their shapes differ. */
export function stackRows(rows: readonly NdArray[], component: number): NdArray {
  const { dtype, shape } = rows[0];
  const step = rows[0].data.length;
  const data = makeData(dtype, rows.length * sizeOf(shape));
  rows.forEach((row, i) => {
    if (!sameShape(row.shape, shape)) throw batchMismatch(rows, i, component);
    putAt(data, row.data, i * step);
  });
  return new NdArray(dtype, [rows.length, ...shape], data);
}

function batchMismatch(rows: readonly NdArray[], i: number, component: number): Error {
  const [first, other] = [rows[0], rows[i]].map((row) => shapeText(row.shape));
  return new InvalidArgumentError(
    `Cannot batch tensors with different shapes in component ${component}. First element had shape ${first} and element ${i} had shape ${other}. ` +
      `Cannot add tensor to the batch: number of elements does not match. Shapes are: [tensor]: ${other}, [batch]: ${first}; ` +
      "paddedBatch() fills rows up, raggedBatch() keeps their lengths",
    { op: "BatchDataset" },
  );
}

/** Throws `InvalidArgumentError` with TensorFlow's phrase where a component does not fit its spec. */
export function checkElement(element: Element, specs: readonly TensorSpec[]): void {
  element.forEach((array, i) => {
    if (compatible(specs[i].shape, array.shape)) return;
    throw new InvalidArgumentError(
      `Incompatible shapes at component ${i}: expected ${shapeText(specs[i].shape)} but got ${
        shapeText(array.shape)
      }.`,
    );
  });
}

/** Makes tensors of an element on the default device, owned by the caller or the current scope, for `using` too. */
export function handOut(element: Element, structure: unknown): TensorNest {
  const nest = asTensors(element, structure);
  if (!isNested(nest)) return nest;
  return Object.defineProperty(nest, Symbol.dispose, {
    value: () => disposeAll(nest),
    enumerable: false,
  });
}

/** Packs an element into its nest, as tensors on the default device. */
export function asTensors(element: Element, structure: unknown): TensorNest {
  const device = defaultDevice();
  const components = element.map((a) => (a.dtype === "variant" ? a : constantTensor(a, device)));
  return packComponents<unknown>(structure, components) as TensorNest;
}

/** Packs an element into its nest, as host arrays without other owners: copies, unless `isFresh`. */
export function handOutHost(
  element: Element,
  structure: unknown,
  isFresh = false,
): Nest<NdArray> {
  const own = isFresh ? element : element.map((a) => (a.dtype === "variant" ? a : a.copy()));
  return packComponents(structure, own);
}

function disposeAll(nest: unknown): void {
  if (isNested(nest)) Object.values(nest).forEach(disposeAll);
  else (nest as Partial<Disposable>)[Symbol.dispose]?.();
}

/** Most values of a list, and most nested lists, that a message shows. */
const MOST_SHOWN = 6;

/** Formats a yielded value for messages, lists in Python's manner. */
export function valueText(value: unknown, depth = 0): string {
  if (typeof value === "string" || typeof value === "number") return String(value);
  if (!Array.isArray(value)) return describe(value);
  if (depth === MOST_SHOWN) return "[…]";
  const parts = value.slice(0, MOST_SHOWN).map((v) => valueText(v, depth + 1));
  const text = `[${parts.join(", ")}${value.length > MOST_SHOWN ? ", …" : ""}]`;
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
