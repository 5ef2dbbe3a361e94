/**
 * Checkpoints: variables saved to and restored from safetensors or npz files.
 * May import core, runtime and its own folder.
 */
import { InvalidArgumentError, NotFoundError, ValueError } from "../core/errors.ts";
import type { NdArray } from "../core/nd_array.ts";
import { isPlainObject, type Nest } from "../core/nest.ts";
import { sameShape, shapeText } from "../core/shape.ts";
import { Tensor, type VariableLike } from "../core/tensor.ts";
import type { Bytes } from "./bytes.ts";
import { readBytes, writeBytes } from "./files.ts";
import { readNpz, writeNpz } from "./npz.ts";
import { readSafetensors, writeSafetensors } from "./safetensors.ts";

/** A file format for variables. */
export type VariableFormat = "safetensors" | "npz";

/** Options of {@linkcode loadVariables}. */
export interface LoadOptions {
  /** False: variables that the file lacks stay as they are, and what it has besides is ignored. Default true. */
  readonly strict?: boolean;
}

/** Variables in an array or in nested objects. In arrays they go by their own names, in objects by the path of keys. */
export type Variables = Nest<VariableLike>;

/** Names and variables. Throws `ValueError` where a name comes twice. */
function namedVariables(variables: Variables): Map<string, VariableLike> {
  const out = new Map<string, VariableLike>();
  const visit = (value: unknown, path: readonly string[]): void => {
    if (value instanceof Tensor) {
      const name = path.length > 0 ? path.join("/") : value.name;
      if (out.has(name)) {
        throw new ValueError(`Cannot save variables: two of them are called "${name}"`);
      }
      out.set(name, value as VariableLike);
    } else if (Array.isArray(value)) {
      value.forEach((v, i) => visit(v, path.length > 0 ? [...path, String(i)] : []));
    } else if (isPlainObject(value)) {
      for (const key of Object.keys(value)) visit(value[key], [...path, key]);
    } else {throw new TypeError(
        `Cannot save variables: wanted variables in arrays and objects, received ${typeof value}`,
      );}
  };
  visit(variables, []);
  return out;
}

/**
 * The values of variables (or tensors) as the bytes of a file. Rejects with `ValueError` where a name comes twice.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * using w = tf.variable([1, 2], true, "w");
 * const bytes = await tf.io.serializeVariables([w]);
 * w.assign([0, 0]);
 * await tf.io.restoreVariables([w], bytes);
 * assertEquals(w.arraySync(), [1, 2]);
 * ```
 */
export async function serializeVariables(
  variables: Variables,
  format: VariableFormat = "safetensors",
): Promise<Bytes> {
  const named = Object.fromEntries(namedVariables(variables));
  return format === "npz" ? await writeNpz(named) : await writeSafetensors(named);
}

/**
 * Assigns the values in the bytes of a safetensors or npz file to variables of the same names.
 * Rejects with `NotFoundError` for names that only one side has (unless `strict` is false), `InvalidArgumentError` for
 * another shape or dtype, `DataLossError` for a damaged file. Nothing is assigned where anything does not fit.
 */
export async function restoreVariables(
  variables: Variables,
  bytes: Uint8Array,
  { strict = true }: LoadOptions = {},
): Promise<void> {
  const isZip = bytes[0] === 0x50 && bytes[1] === 0x4b;
  const arrays: Record<string, NdArray> = isZip
    ? await readNpz(bytes)
    : readSafetensors(bytes).tensors;
  const named = namedVariables(variables);
  const missing = [...named.keys()].filter((name) => !Object.hasOwn(arrays, name));
  const extra = Object.keys(arrays).filter((name) => !named.has(name));
  if (strict && (missing.length > 0 || extra.length > 0)) {
    throw new NotFoundError(
      `Cannot restore variables: the file lacks [${missing.join(", ")}] and has [${
        extra.join(", ")
      }] besides`,
    );
  }
  const pairs = [...named].filter(([name]) => !missing.includes(name));
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
  for (const [name, v] of pairs) v.assign(arrays[name]);
}

/**
 * Writes variables to a file: npz where its name ends so, else safetensors. Needs the right to write it.
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
  await writeBytes(path, await serializeVariables(variables, format));
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
  await restoreVariables(variables, await readBytes(path), options);
}
