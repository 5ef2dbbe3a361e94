/** Checkpoints: variables and optimizers saved to and restored from safetensors or npz files. */
import { describe } from "../../engine/core/convert.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { InvalidArgumentError, NotFoundError, ValueError } from "../../engine/core/errors.ts";
import type { DType } from "../../engine/core/dtype.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { isPlainObject, type Nest, NestWalk } from "../../engine/core/nest.ts";
import { withRecorders } from "../../engine/core/apply.ts";
import { optionCheck } from "../../engine/core/arguments.ts";
import { sameShape, type Shape, shapeText } from "../../engine/core/shape.ts";
import {
  isTrackable,
  Tensor,
  type Trackable,
  type VariableLike,
} from "../../engine/core/tensor.ts";
import { outsideScopes } from "../../engine/runtime/eager/tensor.ts";
import { type Bytes, checkBytes } from "./bytes.ts";
import { fileOf } from "./files.ts";
import { fileWriter } from "./file_system.ts";
import { readNpz, writeNpz } from "./npz.ts";
import { fitted, isStateful, type SavedWeight, type Stateful } from "./checkpoint/stateful.ts";
import {
  arrayOf,
  headerEnd,
  type Layout,
  LENGTH_BYTES,
  readLayout,
  safetensorsChunks,
  writeSafetensors,
} from "./safetensors.ts";

/** A file format for variables. */
export type VariableFormat = "safetensors" | "npz";

/** Options of {@linkcode loadVariables}. */
export interface LoadOptions {
  /** False: variables that the file lacks stay unchanged, and its other values are ignored. Default true. */
  readonly strict?: boolean;
}

const checkLoadOptions = optionCheck<LoadOptions>("loadVariables", { strict: true });

/**
 * Variables and optimizers in an array or in nested objects. In arrays variables go by their own names, in objects by
 * the path of keys, in a `tf.Module` by that of its attributes. An optimizer's slots go by the optimizer's path and the variable's name
 * in the file.
 */
export type Variables = Nest<VariableLike | Stateful | Trackable>;
/** Variables and optimizers, and tensors under keys of objects, which are saved and not restored. */
export type SavedValues = Nest<Tensor | VariableLike | Stateful | Trackable>;

interface Contents {
  /** Variables by their names in the file. */
  readonly variables: Map<string, VariableLike>;
  /** Optimizers by the prefix of their names in the file. */
  readonly optimizers: Map<string, Stateful>;
}

/** True for a value that can be assigned to, and has a name of its own. */
function isVariable(value: Tensor): value is VariableLike {
  return "assign" in value;
}

/** Names the contents of a nest. Throws `ValueError` for a duplicate name, `TypeError` for what cannot be saved or restored. */
function contentsOf(nest: SavedValues, action: "save" | "restore"): Contents {
  const variables = new Map<string, VariableLike>(), optimizers = new Map<string, Stateful>();
  const add = <T>(to: Map<string, T>, name: string, value: T): void => {
    if (to.has(name)) {
      throw new ValueError(`Cannot ${action} variables: two of them are called "${name}"`);
    }
    to.set(name, value);
  };
  const refuse = (received: string): never => {
    throw new TypeError(
      `Cannot ${action} variables: wanted variables, optimizers and modules in arrays and objects, received ${received}`,
    );
  };
  const walk = new NestWalk();
  const visit = (value: unknown, path: readonly string[], depth = 0): void => {
    walk.enter(depth, variables.size);
    if (value instanceof Tensor) {
      if (!isVariable(value) && action === "restore") refuse("a tensor, which never changes");
      if (!isVariable(value) && path.length === 0) refuse("a tensor without a key to name it");
      add(variables, path.length > 0 ? path.join("/") : value.name, value as VariableLike);
    } else if (isStateful(value)) add(optimizers, path.map((key) => `${key}/`).join(""), value);
    else if (Array.isArray(value)) {
      value.forEach((v, i) => visit(v, path.length > 0 ? [...path, String(i)] : [], depth + 1));
    } else if (isPlainObject(value)) {
      for (const key of Object.keys(value)) visit(value[key], [...path, key], depth + 1);
    } else {
      const parts = isTrackable(value) ? value.trackedParts() : {};
      if (!parts.children || parts.values) refuse(describe(value));
      visit(parts.children, path, depth + 1);
    }
  };
  visit(nest, []);
  return { variables, optimizers };
}

/** The variable's part in a slot's name. */
const variableOf = (name: string): string => name.slice(0, Math.max(0, name.lastIndexOf("/")));

/** Replaces the variable's part in a slot's name. */
function renamed(name: string, names: ReadonlyMap<string, string>): string {
  const of = variableOf(name);
  return (names.get(of) ?? of) + name.slice(of.length);
}

/**
 * Encodes the values of variables (or tensors) and the state of optimizers as the bytes of a file, from which training
 * continues exactly. Rejects with `ValueError` for a duplicate name.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using w = tf.variable([1, 2]);
 * using optimizer = tf.train.momentum(0.25, 0.5);
 * const step = () => optimizer.minimize(() => tf.sum(tf.square(w)));
 * step();
 * const bytes = await tf.io.serializeVariables({ w, optimizer });
 * step();
 * console.log(w.arraySync()); // [0, 0]
 * await tf.io.restoreVariables({ w, optimizer }, bytes);
 * step();
 * console.log(w.arraySync()); // [0, 0]
 * ```
 */
export async function serializeVariables(
  variables: SavedValues,
  format: VariableFormat = "safetensors",
): Promise<Bytes> {
  return await withTensors(
    variables,
    (tensors) => format === "npz" ? writeNpz(tensors) : writeSafetensors(tensors),
  );
}

/** Returns a handle on a value: a step that runs while a file is written does not change it. Its owner disposes of it. */
export function heldValue(value: Tensor): Tensor {
  return withRecorders([], () => outsideScopes(() => value.clone()));
}

/** Calls `write` with the values that variables have now and the state of optimizers, by their names in the file. */
async function withTensors<T>(
  variables: SavedValues,
  write: (tensors: Readonly<Record<string, Tensor>>) => Promise<T>,
): Promise<T> {
  const { variables: found, optimizers } = contentsOf(variables, "save");
  const named = new Map<string, Tensor>(), own: Tensor[] = [];
  const add = (name: string, value: Tensor): void => {
    if (named.has(name)) {
      throw new ValueError(`Cannot save variables: two of them are called "${name}"`);
    }
    const handle = heldValue(value);
    own.push(handle);
    named.set(name, handle);
  };
  try {
    for (const [name, v] of found) add(name, v);
    const inFile = new Map(
      [...found].flatMap(([name, v]) => isVariable(v) ? [[v.name, name]] : []),
    );
    for (const [prefix, optimizer] of optimizers) {
      const weights = optimizer.weightsNow?.() ?? await optimizer.getWeights();
      // Slots are the optimizer's own, the count was made for this call.
      own.push(...weights.flatMap(({ name, tensor }) => name.includes("/") ? [] : [tensor]));
      for (const { name, tensor } of weights) add(prefix + renamed(name, inFile), tensor);
    }
    return await write(Object.fromEntries(named));
  } finally {
    for (const t of own) t.dispose();
  }
}

/**
 * Assigns the values of a safetensors or npz file to variables of the same names, and restores the state of optimizers.
 * Rejects with `NotFoundError` for names that only one side has (unless `strict` is false), `InvalidArgumentError` for
 * another shape or dtype, `DataLossError` for a damaged file. Nothing is assigned where anything does not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using w = tf.variable([1, 2]);
 * const bytes = await tf.io.serializeVariables({ w });
 * w.assign([0, 0]);
 * await tf.io.restoreVariables({ w }, bytes);
 * console.log(w.arraySync()); // [1, 2]
 * ```
 */
export async function restoreVariables(
  variables: Variables,
  bytes: Uint8Array,
  options: LoadOptions = {},
): Promise<void> {
  checkLoadOptions(options);
  checkBytes(bytes, "variables");
  await restore(variables, await storeOf(bytes), options);
}

/** The tensors of a file, each read when it is asked for. */
interface Store {
  /** Dtypes and shapes by name, in the order in which they are best read. */
  readonly specs: ReadonlyMap<string, { readonly dtype: DType; readonly shape: Shape }>;
  /** Reads a tensor; its memory may be used again by the next read. */
  read(name: string): NdArray | Promise<NdArray>;
}

async function storeOf(bytes: Uint8Array): Promise<Store> {
  if (isZip(bytes)) {
    const arrays = new Map(Object.entries(await readNpz(bytes)));
    return { specs: arrays, read: (name) => arrays.get(name)! };
  }
  return storeOfLayout(
    readLayout(bytes.subarray(0, headerEnd(bytes, bytes.length)), bytes.length),
    (from, to) => bytes.slice(from, to),
  );
}

/** Makes the store of a safetensors file; `read` gives bytes that are not used elsewhere before the next read. */
function storeOfLayout(
  { entries }: Layout,
  read: (from: number, to: number) => Bytes | Promise<Bytes>,
): Store {
  // One after the other in the file.
  const specs = new Map([...entries].sort((a, b) => a.from - b.from).map((e) => [e.name, e]));
  return {
    specs,
    async read(name) {
      const entry = specs.get(name)!;
      return arrayOf(entry, await read(entry.from, entry.to));
    },
  };
}

/** Opens the store of a file. */
async function openStore(path: string | URL): Promise<Store & { close(): Promise<void> }> {
  const { openParts, partsInTurn } = await import("./random_access.ts");
  const file = await openParts(fileOf(path));
  const close = (): Promise<void> => file.close();
  try {
    const { size } = file, read = partsInTurn(file);
    const start = (await read(0, Math.min(size, LENGTH_BYTES))).slice();
    if (isZip(start)) return { ...await storeOf(await read(0, size)), close };
    const layout = readLayout(await read(0, headerEnd(start, size)), size);
    return { ...storeOfLayout(layout, read), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** True for the first bytes of an archive, as npz files are. */
function isZip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x50 && bytes[1] === 0x4b;
}

/** Names in quotes, the first ten of them. */
function listed(names: Iterable<string>): string {
  const all = [...names], more = all.length - 10;
  const shown = all.slice(0, 10).map((name) => `"${name}"`).join(", ");
  return more > 0 ? `${shown} and ${more} more` : shown;
}

/** Assigns what a file has of variables and optimizers, once all of it fits. */
async function restore(
  variables: Variables,
  { specs, read }: Store,
  { strict = true }: LoadOptions,
): Promise<void> {
  const { variables: named, optimizers } = contentsOf(variables, "restore");
  const states = [...optimizers].map(([prefix, optimizer]) => ({
    prefix,
    optimizer,
    names: [...specs.keys()].filter((name) => name.startsWith(prefix) && !named.has(name)),
  }));
  const missing = new Set(
    [...named.keys(), ...states.map(({ prefix }) => `${prefix}iter`)]
      .filter((name) => !specs.has(name)),
  );
  const known = new Set([...named.keys(), ...states.flatMap((s) => s.names)]);
  const extra = [...specs.keys()].filter((name) => !known.has(name));
  if (strict && (missing.size > 0 || extra.length > 0)) {
    const parts = [
      missing.size > 0 && `lacks ${listed(missing)}`,
      extra.length > 0 && `has ${listed(extra)} besides`,
    ].filter((part) => part !== false);
    throw new NotFoundError(
      `Cannot restore variables: the file ${
        parts.join(" and ")
      }; strict: false restores what both have`,
    );
  }
  const pairs = [...specs].flatMap(([name, spec]) =>
    named.has(name) ? [{ name, v: named.get(name)!, spec }] : []
  );
  for (const { name, v, spec: a } of pairs) {
    if (a.dtype !== v.dtype || !sameShape(a.shape, v.staticShape)) {
      throw new InvalidArgumentError(
        `Cannot restore variable "${name}": the file has ${a.dtype}${
          shapeText(a.shape)
        }, the variable is ${v.dtype}${shapeText(v.staticShape)}`,
      );
    }
  }
  const here = new Map([...named].map(([name, v]) => [name, v.name]));
  const setters: (() => void | Promise<void>)[] = [];
  for (const { prefix, optimizer, names } of states) {
    if (missing.has(`${prefix}iter`)) continue;
    const slots = names.filter((name) => name !== `${prefix}iter`);
    const saved: SavedWeight[] = [];
    for (const name of [`${prefix}iter`, ...slots]) {
      const value = (await read(name)).copy(), inFile = name.slice(prefix.length);
      saved.push({ name: renamed(inFile, here), value, isNamed: here.has(variableOf(inFile)) });
    }
    setters.push(fitted(optimizer, saved, !strict));
  }
  for (const set of setters) await set();
  for (const { name, v } of pairs) v.assign(await read(name));
}

/**
 * Writes variables to a file: npz where its name ends so, else safetensors. An earlier file is replaced in one
 * step: a crash or a full disk leaves the old or the new one. It has the values of the call, whatever steps run while it is written.
 * Tensors are written one after the other, so that one at a time lies in memory besides. Needs permission to read and write in the
 * file's folder. Rejects with `NotFoundError` where there is no such folder, `PermissionDeniedError`, and `FailedPreconditionError`
 * for a full disk.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const path = await Deno.makeTempFile({ suffix: ".safetensors" });
 * using w = tf.variable([1, 2]);
 * await tf.io.saveVariables(path, { w });
 * w.assign([0, 0]);
 * await tf.io.loadVariables(path, { w });
 * console.log(w.arraySync()); // [1, 2]
 * ```
 */
export async function saveVariables(path: string | URL, variables: SavedValues): Promise<void> {
  const isZip = /\.npz$/i.test(String(path));
  await withTensors(variables, async (tensors) => {
    const { writeBytes, writeChunks } = await fileWriter();
    if (isZip) await writeBytes(path, await writeNpz(tensors));
    else await writeChunks(path, safetensorsChunks(tensors));
  });
}

/**
 * Reads variables from a file that {@linkcode saveVariables} or another program wrote, a path or the URL of a server, by
 * {@linkcode restoreVariables}. Tensors of a safetensors file are read one after the other, so that one at a time lies in memory
 * besides; of a server that gives ranges, only they are downloaded. Rejects with `NotFoundError` where there is no such file; a
 * disk or server that fails amid the tensors leaves those assigned that were read.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const path = await Deno.makeTempFile({ suffix: ".npz" });
 * using w = tf.variable([1, 2]), other = tf.variable([0, 0]);
 * await tf.io.saveVariables(path, { w });
 * await tf.io.loadVariables(path, { w: other });
 * console.log(other.arraySync()); // [1, 2]
 * await Deno.remove(path);
 * ```
 */
export async function loadVariables(
  path: string | URL,
  variables: Variables,
  options: LoadOptions = {},
): Promise<void> {
  checkLoadOptions(options);
  const file = await openStore(path);
  try {
    await restore(variables, file, options);
  } finally {
    await file.close();
  }
}
