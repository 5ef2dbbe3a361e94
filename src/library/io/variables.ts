/** Checkpoints: variables and optimizers saved to and restored from safetensors or npz files. */
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { InvalidArgumentError, NotFoundError, ValueError } from "../../engine/core/errors.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { isPlainObject, type Nest, NestWalk } from "../../engine/core/nest.ts";
import { optionCheck } from "../../engine/core/arguments.ts";
import { sameShape, shapeText } from "../../engine/core/shape.ts";
import { Tensor, type VariableLike } from "../../engine/core/tensor.ts";
import { tensor } from "../../engine/ops/array/creation.ts";
import { type Bytes, checkBytes } from "./bytes.ts";
import { readBytes } from "./files.ts";
import { fileWriter } from "./file_system.ts";
import { readNpz, writeNpz } from "./npz.ts";
import { readSafetensors, writeSafetensors } from "./safetensors.ts";

/** A file format for variables. */
export type VariableFormat = "safetensors" | "npz";

/** Options of {@linkcode loadVariables}. */
export interface LoadOptions {
  /** False: variables that the file lacks stay unchanged, and its other values are ignored. Default true. */
  readonly strict?: boolean;
}

const checkLoadOptions = optionCheck<LoadOptions>("loadVariables", { strict: true });

/** An object with a state of named tensors besides variables: an optimizer, with its step count and its slots. */
export interface Stateful {
  /** Returns the step count, named `iter`, and one tensor for each slot of a variable, named `variable/slot`. */
  getWeights(): Promise<{ name: string; tensor: Tensor }[]>;
  /** Restores such tensors. */
  setWeights(weights: readonly { readonly name: string; readonly tensor: Tensor }[]): Promise<void>;
}

/**
 * Variables and optimizers in an array or in nested objects. In arrays variables go by their own names, in objects by
 * the path of keys. An optimizer's slots go by the optimizer's path and the variable's name in the file.
 */
export type Variables = Nest<VariableLike | Stateful>;

interface Contents {
  /** Variables by their names in the file. */
  readonly variables: Map<string, VariableLike>;
  /** Optimizers by the prefix of their names in the file. */
  readonly optimizers: Map<string, Stateful>;
}

export function isStateful(value: unknown): value is Stateful {
  return typeof value === "object" && value !== null &&
    typeof (value as Partial<Stateful>).getWeights === "function";
}

export async function giveWeights(
  optimizer: Stateful,
  weights: Iterable<readonly [string, NdArray]>,
): Promise<void> {
  const tensors = [...weights].map(([name, value]) => ({ name, tensor: tensor(value) }));
  try {
    await optimizer.setWeights(tensors);
  } finally {
    for (const t of tensors) t.tensor.dispose();
  }
}

/** Names the contents of a nest. Throws `ValueError` for a duplicate name. */
function contentsOf(nest: Variables): Contents {
  const variables = new Map<string, VariableLike>(), optimizers = new Map<string, Stateful>();
  const add = <T>(to: Map<string, T>, name: string, value: T): void => {
    if (to.has(name)) {
      throw new ValueError(`Cannot save variables: two of them are called "${name}"`);
    }
    to.set(name, value);
  };
  const walk = new NestWalk();
  const visit = (value: unknown, path: readonly string[], depth = 0): void => {
    walk.enter(depth, variables.size);
    if (value instanceof Tensor) {
      add(variables, path.length > 0 ? path.join("/") : value.name, value as VariableLike);
    } else if (isStateful(value)) add(optimizers, path.map((key) => `${key}/`).join(""), value);
    else if (Array.isArray(value)) {
      value.forEach((v, i) => visit(v, path.length > 0 ? [...path, String(i)] : [], depth + 1));
    } else if (isPlainObject(value)) {
      for (const key of Object.keys(value)) visit(value[key], [...path, key], depth + 1);
    } else {throw new TypeError(
        `Cannot save variables: wanted variables and optimizers in arrays and objects, received ${typeof value}`,
      );}
  };
  visit(nest, []);
  return { variables, optimizers };
}

/** Replaces the variable's part in a slot's name. */
function renamed(name: string, names: ReadonlyMap<string, string>): string {
  const end = name.lastIndexOf("/");
  return end < 0 ? name : (names.get(name.slice(0, end)) ?? name.slice(0, end)) + name.slice(end);
}

/**
 * Encodes the values of variables (or tensors) and the state of optimizers as the bytes of a file, from which training
 * continues exactly. Rejects with `ValueError` for a duplicate name.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * using w = tf.variable([1, 2]);
 * using optimizer = tf.train.momentum(0.25, 0.5);
 * const step = () => optimizer.minimize(() => tf.sum(tf.square(w)));
 * step();
 * const bytes = await tf.io.serializeVariables({ w, optimizer });
 * step();
 * const second = w.arraySync();
 * await tf.io.restoreVariables({ w, optimizer }, bytes);
 * step();
 * assertEquals(w.arraySync(), second);
 * ```
 */
export async function serializeVariables(
  variables: Variables,
  format: VariableFormat = "safetensors",
): Promise<Bytes> {
  const { variables: found, optimizers } = contentsOf(variables);
  const named = new Map<string, Tensor>(found), counts: Tensor[] = [];
  const inFile = new Map([...found].map(([name, v]) => [v.name, name]));
  for (const [prefix, optimizer] of optimizers) {
    for (const { name, tensor } of await optimizer.getWeights()) {
      const full = prefix + renamed(name, inFile);
      if (named.has(full)) {
        throw new ValueError(`Cannot save variables: two of them are called "${full}"`);
      }
      named.set(full, tensor);
      // Slots are the optimizer's own, the count was made for this call.
      if (!name.includes("/")) counts.push(tensor);
    }
  }
  const tensors = Object.fromEntries(named);
  try {
    return format === "npz" ? await writeNpz(tensors) : await writeSafetensors(tensors);
  } finally {
    for (const t of counts) t.dispose();
  }
}

/**
 * Assigns the values of a safetensors or npz file to variables of the same names, and restores the state of optimizers.
 * Rejects with `NotFoundError` for names that only one side has (unless `strict` is false), `InvalidArgumentError` for
 * another shape or dtype, `DataLossError` for a damaged file. Nothing is assigned where anything does not fit.
 */
export async function restoreVariables(
  variables: Variables,
  bytes: Uint8Array,
  options: LoadOptions = {},
): Promise<void> {
  checkLoadOptions(options);
  checkBytes(bytes, "variables");
  const { strict = true } = options;
  const isZip = bytes[0] === 0x50 && bytes[1] === 0x4b;
  const arrays: Record<string, NdArray> = isZip
    ? await readNpz(bytes)
    : readSafetensors(bytes).tensors;
  const { variables: named, optimizers } = contentsOf(variables);
  const states = [...optimizers].map(([prefix, optimizer]) => ({
    prefix,
    optimizer,
    names: Object.keys(arrays).filter((name) => name.startsWith(prefix) && !named.has(name)),
  }));
  const missing = new Set(
    [...named.keys(), ...states.map(({ prefix }) => `${prefix}iter`)]
      .filter((name) => !Object.hasOwn(arrays, name)),
  );
  const known = new Set([...named.keys(), ...states.flatMap((s) => s.names)]);
  const extra = Object.keys(arrays).filter((name) => !known.has(name));
  if (strict && (missing.size > 0 || extra.length > 0)) {
    throw new NotFoundError(
      `Cannot restore variables: the file lacks [${[...missing].join(", ")}] and has [${
        extra.join(", ")
      }] besides`,
    );
  }
  const pairs = [...named].filter(([name]) => !missing.has(name));
  for (const [name, v] of pairs) {
    const a = arrays[name];
    if (a.dtype !== v.dtype || !sameShape(a.shape, v.staticShape)) {
      throw new InvalidArgumentError(
        `Cannot restore variable "${name}": the file has ${a.dtype}${
          shapeText(a.shape)
        }, the variable is ${v.dtype}${shapeText(v.staticShape)}`,
      );
    }
  }
  const here = new Map([...named].map(([name, v]) => [name, v.name]));
  for (const { prefix, optimizer, names } of states) {
    if (missing.has(`${prefix}iter`)) continue;
    const slots = names.filter((name) => name !== `${prefix}iter`);
    await giveWeights(
      optimizer,
      [`${prefix}iter`, ...slots].map((name) =>
        [renamed(name.slice(prefix.length), here), arrays[name]] as const
      ),
    );
  }
  for (const [name, v] of pairs) v.assign(arrays[name]);
}

/**
 * Writes variables to a file: npz where its name ends so, else safetensors. An earlier file is replaced in one
 * step: a crash or a full disk leaves the old or the new one. Needs permission to read and write in the file's folder. Rejects with
 * `NotFoundError` where there is no such folder, `PermissionDeniedError`, and `FailedPreconditionError` for a full disk.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const path = await Deno.makeTempFile({ suffix: ".safetensors" });
 * using w = tf.variable([1, 2]);
 * await tf.io.saveVariables(path, { w });
 * w.assign([0, 0]);
 * await tf.io.loadVariables(path, { w });
 * assertEquals(w.arraySync(), [1, 2]);
 * ```
 */
export async function saveVariables(path: string | URL, variables: Variables): Promise<void> {
  const format = /\.npz$/i.test(String(path)) ? "npz" : "safetensors";
  const bytes = await serializeVariables(variables, format);
  await (await fileWriter()).writeBytes(path, bytes);
}

/**
 * Reads variables from a file that {@linkcode saveVariables} or another program wrote, by {@linkcode restoreVariables}.
 * Rejects with `NotFoundError` where there is no such file.
 */
export async function loadVariables(
  path: string | URL,
  variables: Variables,
  options: LoadOptions = {},
): Promise<void> {
  checkLoadOptions(options);
  await restoreVariables(variables, await readBytes(path), options);
}
