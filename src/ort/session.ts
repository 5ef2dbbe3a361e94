/** InferenceSession: a loaded model. */
import { showAs } from "../engine/core/arrays/shown.ts";
import { Error, RangeError, TypeError } from "../engine/core/throwing/builtin_errors.ts";
import { chooseBackend } from "./backends.ts";
import type * as types from "./session_types.ts";
import { Tensor as TensorClass } from "./tensor_class.ts";
import type { Tensor } from "./tensor.ts";

type Fetches = Record<string, Tensor | null>;

/**
 * A loaded model. Runs of one session follow one another. Packages add properties of their own.
 *
 * @example
 * ```ts
 * import { InferenceSession, Tensor } from "@weft/weft/ort";
 * // y = MatMul(x, w), as a file of ONNX has it
 * const file = "CAoSADpXChEKAXgKAXcSAXkiBk1hdE11bBIBZyoTCAIIARABQgF3SggAAABAAABAQFoUCgF4Eg8KDQgBEgkKAxIBbgoCCAJiFAoBeRIPCg0IARIJCgMSAW4KAggBQgQKABAV";
 * const session = await InferenceSession.create(Uint8Array.from(atob(file), (c) => c.charCodeAt(0)), {
 *   executionProviders: ["wasm"],
 * });
 * const { y } = await session.run({ x: new Tensor("float32", [1, 1, 1, 2], [2, 2]) });
 * console.log([y.dims, y.data]); // [[2, 1], Float32Array(2) [5, 8]]
 * ```
 */
export class InferenceSession {
  readonly #handler: types.InferenceSessionHandler;

  private constructor(handler: types.InferenceSessionHandler) {
    if (typeof handler !== "object" || handler === null || !("inputNames" in handler)) {
      throw new TypeError(
        "Cannot construct an InferenceSession: InferenceSession.create() makes one",
      );
    }
    this.#handler = handler;
  }

  /**
   * Loads a model from bytes, a URL, or a path where the runtime has files. Rejects with `TypeError` and `RangeError` for
   * other arguments, with `Error` if no execution provider is available, and as `loadOnnx` of `@weft/weft/onnx` does.
   */
  static async create(
    source: string | Uint8Array | ArrayBufferLike,
    options?: types.SessionOptions,
  ): Promise<InferenceSession>;
  /** Loads a model from a part of a buffer. */
  static async create(
    source: ArrayBufferLike,
    byteOffset: number,
    byteLength?: number,
    options?: types.SessionOptions,
  ): Promise<InferenceSession>;
  static async create(source: unknown, ...rest: readonly unknown[]): Promise<InferenceSession> {
    const { model, options: given } = sourceOf(source, rest);
    const { backend, options } = await chooseBackend(given);
    return new InferenceSession(await backend.createInferenceSessionHandler(model, options));
  }

  /**
   * Runs the model: named tensors in, named tensors out. `fetches` names the wanted outputs, and may give tensors that
   * take them. Rejects with `TypeError` for other arguments, with `RangeError` for an unknown output, with `Error` for
   * feeds that do not fit.
   */
  async run(feeds: types.FeedsType, options?: types.RunOptions): Promise<types.ReturnType>;
  /** Runs the model for some outputs. */
  async run(
    feeds: types.FeedsType,
    fetches: types.FetchesType,
    options?: types.RunOptions,
  ): Promise<types.ReturnType>;
  async run(feeds: types.FeedsType, ...rest: readonly unknown[]): Promise<types.ReturnType> {
    if (!isObject(feeds) || isTensor(feeds) || Array.isArray(feeds)) {
      throw new TypeError(
        "'feeds' must be an object that use input names as keys and OnnxValue as corresponding values.",
      );
    }
    const { fetches, options } = this.#fetches(rest);
    for (const name of this.inputNames) {
      if (feeds[name] === undefined) throw new Error(`input '${name}' is missing in 'feeds'.`);
    }
    const all = Object.fromEntries(this.outputNames.map((name) => [name, null]));
    return await this.#handler.run(feeds, fetches ?? all, options);
  }

  /** Sorts the arguments after the feeds: an object without an output among its keys holds options. */
  #fetches(
    [first, second]: readonly unknown[],
  ): { readonly fetches: Fetches | null; readonly options: types.RunOptions } {
    if (first === undefined) return { fetches: null, options: {} };
    if (first === null) throw new TypeError("Unexpected argument[1]: cannot be null.");
    if (!isObject(first)) {
      throw new TypeError("Unexpected argument[1]: must be 'fetches' or 'options'.");
    }
    if (isTensor(first)) throw new TypeError("'fetches' cannot be a Tensor");
    const fetches = Array.isArray(first) ? this.#fetchesOfNames(first) : this.#fetchesOf(first);
    if (fetches === null) return { fetches, options: first as types.RunOptions };
    if (second !== undefined && !isObject(second)) {
      throw new TypeError("'options' must be an object.");
    }
    return { fetches, options: (second ?? {}) as types.RunOptions };
  }

  #fetchesOfNames(names: readonly unknown[]): Fetches {
    if (names.length === 0) throw new TypeError("'fetches' cannot be an empty array.");
    return Object.fromEntries(names.map((name) => {
      if (typeof name !== "string") {
        throw new TypeError("'fetches' must be a string array or an object.");
      }
      if (this.outputNames.includes(name)) return [name, null];
      throw new RangeError(`'fetches' contains invalid output name: ${name}.`);
    }));
  }

  #fetchesOf(given: Readonly<Record<string, unknown>>): Fetches | null {
    const entries = this.outputNames.filter((name) =>
      Object.hasOwn(given, name) && (given[name] === null || isTensor(given[name]))
    ).map((name) => [name, given[name] as Tensor | null] as const);
    return entries.length === 0 ? null : Object.fromEntries(entries);
  }

  /** Frees the model. */
  async release(): Promise<void> {
    await this.#handler.dispose();
  }
  /** Begins to profile. */
  startProfiling(): void {
    this.#handler.startProfiling();
  }
  /** Ends to profile. */
  endProfiling(): void {
    this.#handler.endProfiling();
  }
  /** Names of inputs, in the file's order. */
  get inputNames(): readonly string[] {
    return this.#handler.inputNames;
  }
  /** Names of outputs, in the file's order. */
  get outputNames(): readonly string[] {
    return this.#handler.outputNames;
  }
  /** Inputs, in the file's order. */
  get inputMetadata(): readonly types.ValueMetadata[] {
    return this.#handler.inputMetadata;
  }
  /** Outputs, in the file's order. */
  get outputMetadata(): readonly types.ValueMetadata[] {
    return this.#handler.outputMetadata;
  }

  /** Formats it for `console.log`. */
  toString(): string {
    return `<InferenceSession ${this.inputNames.join(", ")} -> ${this.outputNames.join(", ")}>`;
  }
}
showAs(InferenceSession);

/** Types of sessions. */
export declare namespace InferenceSession {
  /** Tensors by the names of inputs. */
  type FeedsType = types.FeedsType;
  /** Outputs to compute. */
  type FetchesType = types.FetchesType;
  /** Tensors by the names of outputs. */
  type ReturnType = types.ReturnType;
  /** Tensors by the names of inputs or outputs. */
  type OnnxValueMapType = types.ReturnType;
  /** Options of `create`. */
  type SessionOptions = types.SessionOptions;
  /** Options of `run`. */
  type RunOptions = types.RunOptions;
  /** An execution provider. */
  type ExecutionProviderConfig = string | types.ProviderOptions;
  /** An input or output. */
  type ValueMetadata = types.ValueMetadata;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function isTensor(value: unknown): boolean {
  return value instanceof TensorClass;
}

interface Source {
  readonly model: string | Uint8Array;
  readonly options: types.SessionOptions;
}

function sourceOf(source: unknown, [first, second, third]: readonly unknown[]): Source {
  if (typeof source === "string" || source instanceof Uint8Array) {
    return { model: source, options: optionsOf(first) };
  }
  const isShared = typeof SharedArrayBuffer !== "undefined" && source instanceof SharedArrayBuffer;
  if (!(source instanceof ArrayBuffer) && !isShared) {
    throw new TypeError("Unexpected argument[0]: must be 'path' or 'buffer'.");
  }
  if (typeof first !== "number") {
    return { model: new Uint8Array(source), options: optionsOf(first) };
  }
  const { byteLength: total } = source;
  if (!Number.isSafeInteger(first)) throw new RangeError("'byteOffset' must be an integer.");
  if (first < 0 || first >= total) {
    throw new RangeError(`'byteOffset' is out of range [0, ${total}).`);
  }
  if (second === undefined) {
    return { model: new Uint8Array(source, first), options: {} };
  }
  if (typeof second !== "number") throw new TypeError("'byteLength' must be a number.");
  if (!Number.isSafeInteger(second)) throw new RangeError("'byteLength' must be an integer.");
  if (second <= 0 || first + second > total) {
    throw new RangeError(`'byteLength' is out of range (0, ${total - first}].`);
  }
  return { model: new Uint8Array(source, first, second), options: optionsOf(third) };
}

function optionsOf(given: unknown): types.SessionOptions {
  if (given === undefined) return {};
  if (isObject(given)) return given;
  throw new TypeError("'options' must be an object.");
}
