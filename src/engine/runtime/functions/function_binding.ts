/** Binds the arguments of a traced function's call to inputs, and finds the key of the trace that they need. */
import { counter } from "../../core/collections/counter.ts";
import type { OpInput } from "../../core/apply.ts";
import {
  componentSpecs,
  CompositeSpec,
  CompositeTensor,
  packComponents,
} from "../../core/composite.ts";
import { wantList, wrongArgument } from "../../core/arguments.ts";
import { describe } from "../../core/convert.ts";
import { dtypeOfArray } from "../../core/dtype.ts";
import { flatten, isNested, type Nest, packAs, structureText } from "../../core/nest.ts";
import { NdArray } from "../../core/nd_array.ts";
import { compatible } from "../../core/shape.ts";
import { Tensor, type TensorLike } from "../../core/tensor.ts";
import { type Spec, specText, type TensorSpec, TensorSpecClass } from "../../core/tensor_spec.ts";
import { toDenseInput, toInput } from "../../ops/input.ts";
import { isEager } from "../eager/tensor.ts";
import { Variable } from "../variables/variable.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";

/** The spec of an argument in a signature. */
export type SignatureSpec = TensorSpec | CompositeSpec;

/** Arguments, taken apart. */
export interface Binding {
  /** Key of the trace: equal for arguments that one trace serves. */
  readonly key: string;
  /** The part of the key apart from shapes. */
  readonly structure: string;
  /** Values of tensor arguments. */
  readonly inputs: OpInput[];
  /** Spec of each tensor argument. */
  readonly specs: Spec[];
  /** Puts placeholders in the places of tensors. */
  readonly rebuild: (placeholders: readonly Tensor[]) => unknown[];
}

const objectIds = new WeakMap<object, number>();
const symbolIds = new Map<symbol, number>();
const nextId = counter(1);

/** Makes a text that is equal for equal values only: 1, true, "1" and 1n differ. Objects compare by identity. */
function valueKey(v: unknown): string {
  if (typeof v === "object" && v !== null || typeof v === "function" || typeof v === "symbol") {
    const ids = (typeof v === "symbol" ? symbolIds : objectIds) as Map<unknown, number>;
    let n = ids.get(v);
    if (n === undefined) ids.set(v, n = nextId());
    return `#${n}`;
  }
  if (typeof v === "string") return JSON.stringify(v);
  return `${typeof v}:${Object.is(v, -0) ? "-0" : String(v)}`;
}

function isTensorLike(v: unknown): boolean {
  return (v instanceof Tensor && !(v instanceof Variable)) || v instanceof NdArray ||
    dtypeOfArray(v) !== undefined;
}

/** Splits arguments: tensors and arrays are inputs, everything else belongs to the trace. */
export function bindArguments(args: readonly unknown[]): Binding {
  const inputs: OpInput[] = [], specs: Spec[] = [], keys: string[] = [];
  const leaves = flatten<unknown>(args as Nest<unknown>);
  const slots = leaves.map((v) => {
    if (v instanceof TensorSpecClass) {
      keys.push("T");
      specs.push({ dtype: v.dtype, shape: v.shape });
      return specs.length - 1;
    }
    const composite = v instanceof CompositeTensor ? v.spec : v instanceof CompositeSpec ? v : null;
    if (composite !== null) {
      const first = specs.length;
      keys.push(composite.kind + composite.beyond);
      if (v instanceof CompositeTensor) inputs.push(...v.components as readonly Tensor[]);
      specs.push(...composite.components);
      return { first, spec: composite };
    }
    if (!isTensorLike(v)) {
      keys.push(valueKey(v));
      return -1;
    }
    const input = toInput(v as Tensor, "args", "function");
    keys.push("T");
    inputs.push(input);
    specs.push(specOf(input));
    return specs.length - 1;
  });
  const structure = `${structureText(args)}(${keys.join()})`;
  return {
    key: keyOf(structure, specs),
    structure,
    inputs,
    specs,
    rebuild: (placeholders) =>
      packAs<unknown>(
        args,
        slots.map((s, i) => {
          if (typeof s === "number") return s < 0 ? leaves[i] : placeholders[s];
          const { first, spec } = s;
          return spec.pack(placeholders.slice(first, first + spec.components.length));
        }),
      ) as unknown[],
  };
}

/** Returns the key of a structure with inputs of these specs. */
export function keyOf(structure: string, specs: readonly Spec[]): string {
  return structure + specs.map(specText).join();
}

/** Binds arguments to a signature. Throws `TypeError` where they do not fit. */
export function bindToSignature(
  args: readonly unknown[],
  signature: readonly Nest<SignatureSpec>[],
): Binding {
  const fail = bindingError(args);
  checkCount(args, signature.length, fail);
  const wanted = componentSpecs(signature as Nest<SignatureSpec>);
  const inputs = fitInputs(leavesLike(args, signature, fail), wanted, fail);
  return { ...signatureBinding(signature), inputs };
}

/** Throws `TypeError` for a signature that is no list of specs, or nests of them. */
export function checkSignature(signature: unknown): void {
  wantList(signature, "inputSignature", "function", "specs, one for each argument");
  for (const leaf of flatten<unknown>(signature as Nest<unknown>)) {
    if (leaf instanceof TensorSpecClass || leaf instanceof CompositeSpec) continue;
    throw wrongArgument(
      leaf,
      "inputSignature",
      "function",
      "a list of specs as tf.TensorSpec makes them",
    );
  }
}

/** Returns the binding of a signature, for tracing without arguments. */
export function signatureBinding(signature: readonly Nest<SignatureSpec>[]): Binding {
  const wanted = componentSpecs(signature as Nest<SignatureSpec>);
  return {
    key: "signature",
    structure: "signature",
    inputs: [],
    specs: wanted.map(({ dtype, shape }): Spec => ({ dtype, shape })),
    rebuild: (placeholders) => packComponents<unknown>(signature, placeholders) as unknown[],
  };
}

/** Returns the specs of arguments, or specs in their place. Under a signature primitives are inputs too. */
export function specsGiven(
  args: readonly unknown[],
  signature: readonly Nest<SignatureSpec>[] | undefined,
): readonly Spec[] {
  const isSpec = (v: unknown) => v instanceof TensorSpecClass || v instanceof CompositeSpec;
  if (!signature || args.length === 0 || flatten<unknown>(args as Nest<unknown>).some(isSpec)) {
    return bindArguments(args).specs;
  }
  return bindToSignature(args, signature).inputs.map(specOf);
}

/** Throws the error of a failed binding. */
export type Fail = (why: string) => never;

/** Throws `TypeError` with the arguments named. */
export function bindingError(args: readonly unknown[]): Fail {
  return (why) => {
    throw new TypeError(
      `Binding inputs to tf.function failed due to \`${why}\`. Received args: ${
        args.map(describe).join(", ")
      }`,
    );
  };
}

function checkCount(args: readonly unknown[], wanted: number, fail: Fail): void {
  if (args.length < wanted) fail(`missing a required argument: number ${args.length}`);
  if (args.length > wanted) {
    fail(`too many positional arguments: received ${args.length}, wanted ${wanted}`);
  }
}

/** Converts values to inputs of these specs: literals are converted, tensors must fit. */
export function fitInputs(
  values: readonly unknown[],
  wanted: readonly Spec[],
  fail: Fail,
): OpInput[] {
  checkCount(values, wanted.length, fail);
  return values.map((v, i) => {
    const spec = wanted[i];
    let input: OpInput;
    try {
      const options = v instanceof Tensor ? {} : { dtype: spec.dtype };
      input = toDenseInput(v as TensorLike, `args[${i}]`, "function", options);
    } catch (e) {
      return fail((e as Error).message);
    }
    const actual = specOf(input);
    if (actual.dtype !== spec.dtype || !compatible(actual.shape, spec.shape)) {
      fail(`Can not cast TensorSpec ${specText(actual)} to TensorSpec ${specText(spec)}`);
    }
    return input;
  });
}

function specOf(x: OpInput): Spec {
  return { dtype: x.dtype, shape: x instanceof Tensor ? x.staticShape : x.shape };
}

/** Returns the leaves of `value` in the nest of `like`: a nested array of numbers is one tensor for a spec. */
function leavesLike(value: unknown, like: unknown, fail: Fail): unknown[] {
  if (like instanceof TensorSpecClass) return [value];
  if (like instanceof CompositeSpec) {
    const parts = like.componentsOf(value);
    if (
      parts !== null && (!(value instanceof CompositeTensor) || like.isCompatibleWith(value.spec))
    ) {
      return [...parts];
    }
    const given = value instanceof CompositeTensor ? String(value.spec) : describe(value);
    return fail(`Can not cast ${given} to ${like}`);
  }
  if (Array.isArray(like)) {
    if (!Array.isArray(value) || value.length !== like.length) {
      fail(`the nest differs: wanted a list of ${like.length}`);
    }
    return like.flatMap((l, i) => leavesLike((value as unknown[])[i], l, fail));
  }
  const record = like as Record<string, unknown>;
  if (!isNested(value) || Array.isArray(value)) fail("the nest differs: wanted an object");
  return Object.keys(record).sort().flatMap((k) =>
    leavesLike((value as Record<string, unknown>)[k], record[k], fail)
  );
}

/** Arguments that are eager tensors and primitives: the ids of the tensors' specs, and the primitives. */
export type Pattern = readonly (number | { readonly value: unknown })[];

/** Returns the pattern of arguments; null if they hold anything else, or primitives that are not `constant`. */
export function patternOf(args: readonly unknown[], constant: boolean): Pattern | null {
  const pattern: (number | { value: unknown })[] = [];
  for (const value of args) {
    if (isEager(value)) pattern.push(value.specId);
    else if (value !== null && (typeof value === "object" || typeof value === "function")) {
      return null;
    } else if (!constant) return null;
    else pattern.push({ value });
  }
  return pattern;
}

/** Returns the inputs among arguments of this pattern; null if they do not match. */
export function matchPattern(pattern: Pattern, args: readonly unknown[]): OpInput[] | null {
  if (args.length !== pattern.length) return null;
  const inputs: OpInput[] = [];
  for (let i = 0; i < args.length; i++) {
    const wanted = pattern[i], arg = args[i];
    if (typeof wanted === "number") {
      if (!isEager(arg) || arg.specId !== wanted) return null;
      inputs.push(arg);
    } else if (!Object.is(arg, wanted.value)) return null;
  }
  return inputs;
}
