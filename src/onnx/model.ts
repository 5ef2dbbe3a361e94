/** A loaded model: named inputs and outputs, variables, and functions that run it. */
import { showAs, specsText } from "../engine/core/arrays/shown.ts";
import { optionCheck, wantFunction } from "../engine/core/arguments.ts";
import { describe } from "../engine/core/convert.ts";
import type { DType } from "../engine/core/dtype.ts";
import { ValueError } from "../engine/core/errors.ts";
import { isPlainObject } from "../engine/core/nest.ts";
import { compatible, type PartialShape, shapeText } from "../engine/core/shape.ts";
import { Tensor, type TensorLike } from "../engine/core/tensor.ts";
import { TensorSpec } from "../engine/core/tensor_spec.ts";
import type { FuncGraph } from "../engine/graph/func_graph.ts";
import { asTensor, toInput } from "../engine/ops/input.ts";
import { getBackend } from "../engine/runtime/devices/devices.ts";
import type { Variable } from "../engine/runtime/variables/variable.ts";
import { writeBytes } from "../library/io/file_writer.ts";
import type { WalkOptions } from "./build/walk.ts";
import { encodeModel } from "./edit/encode_model.ts";
import { Edits, type VariableMaker } from "./edit/edits.ts";
import { type NamePattern, nameTest } from "./edit/patterns.ts";
import type { GraphValue, OnnxGraph } from "./file/graph.ts";
import { shapeOfExtents } from "./file/types.ts";
import type { Model } from "./proto/onnx_pb.ts";
import { ABSENT, type Feeds, type OnnxOutput, Variant } from "./variant.ts";

/** An input or output of a model. */
export interface OnnxValue {
  /** Its name. */
  readonly name: string;
  /** Its element type; for a sequence its tensors', `float32` if the file does not tell it. */
  readonly dtype: DType;
  /** Its shape, with null for an unknown extent; null for an unknown rank. */
  readonly shape: PartialShape;
  /** Its shape with the file's names for unknown extents, null for those without; null for an unknown rank. */
  readonly extents: readonly (number | string | null)[] | null;
  /** Kind: a tensor, a list of tensors, or an optional value. */
  readonly kind: "tensor" | "sequence" | "optional";
}

/**
 * An input value: a tensor or a value convertible to one, a list of them for a sequence, null for an absent optional.
 */
export type OnnxInput = TensorLike | readonly TensorLike[] | null;

export interface ModelInit {
  /** Its name in errors. */
  readonly name: string;
  readonly graph: OnnxGraph;
  readonly variables: Readonly<Record<string, Variable>>;
  /** Extents by their names in the file. */
  readonly dimensions: Readonly<Record<string, number>>;
  /** The table of ops, and the caller's replacements. */
  readonly walk: WalkOptions;
  /** Reads the model's messages again. */
  readonly reread: () => Promise<Model>;
}

/** Options of a call. */
export interface OnnxCallOptions {
  /**
   * Names of the results: outputs, or any tensor of the graph, or a node for its first output. What none of them needs
   * is not computed, and inputs for it need not be given. Default: the model's outputs.
   */
  readonly outputs?: readonly string[];
  /**
   * True: dropout drops elements, batch normalization takes the statistics of the batch and updates the running ones.
   * False: neither does. Default: as the file says.
   */
  readonly training?: boolean;
}

const checkReplace = optionCheck<{ readonly from?: string | readonly string[] }>("replace", {
  from: true,
});
const checkCall = optionCheck<OnnxCallOptions>("run", { outputs: true, training: true });

/** Inputs of a model, by name. */
export type OnnxInputs = Readonly<Record<string, OnnxInput>>;

/** Returns the edits of a model, for those that add some. */
export let editsOf: (model: OnnxModel) => Edits;

/** A model of an ONNX file. Made by {@linkcode loadOnnx}. */
export class OnnxModel {
  /** Its inputs, in the file's order. */
  readonly inputs: readonly OnnxValue[];
  /** Its outputs, in the file's order. */
  readonly outputs: readonly OnnxValue[];
  readonly #init: ModelInit;
  readonly #edits: Edits;
  /** Its graph by outputs and mode. */
  readonly #variants = new Map<string, Variant>();
  /** Names of variables that may be trained. */
  readonly #trainable: ReadonlySet<string>;
  #graph: FuncGraph | null = null;

  static {
    editsOf = (model) => model.#edits;
  }

  /** Made by {@linkcode loadOnnx}. */
  constructor(init: ModelInit) {
    this.#init = init;
    const { graph, dimensions, variables, name } = init;
    this.inputs = graph.inputs.map((v) => describeValue(v, dimensions));
    this.outputs = graph.outputs.map((v) => describeValue(v, dimensions));
    this.#trainable = new Set(Object.keys(variables).filter((n) => variables[n].trainable));
    this.#edits = new Edits(name, graph, variables, () => {
      this.#variants.clear();
      this.#graph = null;
    });
  }

  /**
   * Its floating-point initialisers by name, to train, assign or save, and the variables of what replaces tensors, as
   * `output/name` from the first call on.
   */
  get variables(): Readonly<Record<string, Variable>> {
    return this.#edits.variables;
  }

  /**
   * Runs the model: named inputs in, named outputs out. Rejects with `ValueError` for inputs that are missing, unknown
   * or do not fit, and for unknown outputs. Outputs have the type of tensors: for a model that gives lists say
   * `run<OnnxOutput>(…)`.
   */
  async run<Output extends OnnxOutput = Tensor>(
    inputs: OnnxInputs = {},
    options: OnnxCallOptions = {},
  ): Promise<Record<string, Output>> {
    const variant = this.#variant(options);
    return await variant.run(this.#feeds(inputs, variant)) as Record<string, Output>;
  }

  /**
   * Runs as {@linkcode run} does, synchronously or in the function being traced: as a part of its graph, and
   * differentiable. Throws as `run` does, and `FailedPreconditionError` if it must wait.
   */
  call<Output extends OnnxOutput = Tensor>(
    inputs: OnnxInputs = {},
    options: OnnxCallOptions = {},
  ): Record<string, Output> {
    const variant = this.#variant(options);
    return variant.call(this.#feeds(inputs, variant)) as Record<string, Output>;
  }

  /** Runs the model op by op. Throws as {@linkcode run} does. */
  runEagerly<Output extends OnnxOutput = Tensor>(
    inputs: OnnxInputs = {},
    options: OnnxCallOptions = {},
  ): Record<string, Output> {
    const variant = this.#variant(options);
    return variant.runEagerly(this.#feeds(inputs, variant)) as Record<string, Output>;
  }

  /** Returns the model's graph, for inputs of the file's shapes. Throws `NeedsValueError` if these are not enough. */
  get graph(): FuncGraph {
    const specs = Object.fromEntries(
      this.inputs.map(({ name, dtype, shape }) => [name, TensorSpec(shape, dtype, name)]),
    );
    return this.#graph ??= this.#variant({}).graphOf(specs);
  }

  /**
   * Freezes the variables of a pattern, by default all: losses have no gradients with respect to them, and optimizers
   * leave them alone, from the next step on. Returns their names. Throws `ValueError` if no variable fits.
   *
   * @example
   * ```ts
   * import { loadOnnx } from "@weft/weft/onnx";
   * // y = MatMul(x, w)
   * const file = "CAoSADpXChEKAXgKAXcSAXkiBk1hdE11bBIBZyoTCAIIARABQgF3SggAAABAAABAQFoUCgF4Eg8KDQgBEgkKAxIBbgoCCAJiFAoBeRIPCg0IARIJCgMSAW4KAggBQgQKABAV";
   * const model = await loadOnnx(Uint8Array.from(atob(file), (c) => c.charCodeAt(0)));
   * console.log(model.freeze("w*")); // ["w"]
   * console.log(model.variables.w.trainable); // false
   * model.unfreeze();
   * ```
   */
  freeze(pattern: NamePattern = "*"): string[] {
    return this.#setTrainable(pattern, false);
  }

  /**
   * Makes frozen variables trainable again, except those that training must leave alone, such as running averages.
   * Returns their names. Throws `ValueError` if no variable fits.
   */
  unfreeze(pattern: NamePattern = "*"): string[] {
    return this.#setTrainable(pattern, true);
  }

  /**
   * Puts a function in the place of a tensor, such as a new head in the place of an output. It gets the tensor itself,
   * or those that `from` names, and makes variables by its second argument. Throws `ValueError` for unknown names, and
   * for a function of what is made of its own result.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * import { loadOnnx } from "@weft/weft/onnx";
   * // y = MatMul(x, w)
   * const file = "CAoSADpXChEKAXgKAXcSAXkiBk1hdE11bBIBZyoTCAIIARABQgF3SggAAABAAABAQFoUCgF4Eg8KDQgBEgkKAxIBbgoCCAJiFAoBeRIPCg0IARIJCgMSAW4KAggBQgQKABAV";
   * const model = await loadOnnx(Uint8Array.from(atob(file), (c) => c.charCodeAt(0)));
   * model.replace("y", (x, variable) => tf.matMul(x, variable("head", () => tf.ones([2, 3]))), { from: "x" });
   * console.log(await ((await model.run({ x: [[1, 2]] })).y as tf.Tensor).array()); // [[3, 3, 3]]
   * console.log(Object.keys(model.variables)); // ["w", "y/head"]
   * ```
   */
  replace(
    output: string,
    fn: (input: Tensor, variable: VariableMaker) => TensorLike,
    options?: { readonly from?: string },
  ): void;
  /** Puts a function of several tensors in the place of one. */
  replace(
    output: string,
    fn: (inputs: readonly Tensor[], variable: VariableMaker) => TensorLike,
    options: { readonly from: readonly string[] },
  ): void;
  replace(
    output: string,
    fn: (input: never, variable: VariableMaker) => TensorLike,
    options: { readonly from?: string | readonly string[] } = {},
  ): void {
    wantFunction(fn, "fn", "replace");
    checkReplace(options);
    const { from } = options;
    const of = (inputs: readonly Tensor[], make: VariableMaker): TensorLike =>
      fn((typeof from === "object" ? inputs : inputs[0]) as never, make);
    this.#edits.replace(output, typeof from === "string" ? [from] : from, of);
  }

  /**
   * Returns the model as a file of ONNX: the nodes that it had, with the values that its variables have now, and adapters
   * of `lora` as nodes. Its file is read again. Rejects with `UnimplementedError` where `replace` put a function, and
   * with `InvalidArgumentError` if it was loaded from a stream.
   *
   * @example
   * ```ts
   * import { loadOnnx } from "@weft/weft/onnx";
   * // y = MatMul(x, w)
   * const file = "CAoSADpXChEKAXgKAXcSAXkiBk1hdE11bBIBZyoTCAIIARABQgF3SggAAABAAABAQFoUCgF4Eg8KDQgBEgkKAxIBbgoCCAJiFAoBeRIPCg0IARIJCgMSAW4KAggBQgQKABAV";
   * const model = await loadOnnx(Uint8Array.from(atob(file), (c) => c.charCodeAt(0)));
   * model.variables.w.assign([[5], [6]]);
   * const again = await loadOnnx(await model.encode());
   * console.log(await again.variables.w.array()); // [[5], [6]]
   * ```
   */
  async encode(): Promise<Uint8Array<ArrayBuffer>> {
    this.#edits.checkLive("save");
    return await encodeModel(await this.#init.reread(), this.#edits);
  }

  /** Writes the file of {@linkcode encode} to a path. Rejects as it does, and with `NotFoundError` for no such folder. */
  async save(path: string | URL): Promise<void> {
    await writeBytes(path, await this.encode());
  }

  /** Frees its variables. It cannot run any more. */
  dispose(): void {
    this.#edits.dispose();
  }

  #setTrainable(pattern: NamePattern, to: boolean): string[] {
    const what = `${to ? "unfreeze" : "freeze"} variables of ${this.#init.name}`;
    const fits = nameTest(pattern, what), { variables } = this;
    const names = Object.keys(variables).filter(fits);
    if (names.length === 0) {
      const some = Object.keys(variables).slice(0, 5).map((n) => `"${n}"`).join(", ");
      throw new ValueError(`Cannot ${what}: none is called ${pattern}, there is ${some || "none"}`);
    }
    const own = this.#init.variables;
    return names.filter((name) => {
      if (to && Object.hasOwn(own, name) && !this.#trainable.has(name)) return false;
      variables[name].trainable = to;
      return true;
    });
  }

  /** Returns the graph for some outputs and a mode. Throws `ValueError` for unknown outputs. */
  #variant(options: OnnxCallOptions): Variant {
    checkCall(options);
    const { name, walk } = this.#init, { training } = options;
    const keys = options.outputs ?? this.outputs.map((v) => v.name);
    // Kernels compute float16 in float32: what lies between nodes need not round.
    const inFloat32 = /CPU/i.test(walk.device ?? getBackend()) ? "mostly" : "always";
    const key = JSON.stringify([keys, training, inFloat32]);
    let variant = this.#variants.get(key);
    if (variant === undefined) {
      const scripts = new Map([...walk.scripts, ...this.#edits.rules]);
      variant = new Variant({
        name,
        keys,
        graph: this.#edits.edited(keys),
        walk: { ...walk, scripts, inFloat32, ...training !== undefined && { training } },
        constants: this.#edits.constants(),
      });
      this.#variants.set(key, variant);
    }
    return variant;
  }

  #feeds(inputs: OnnxInputs, { graph }: Variant): Feeds {
    const { name } = this.#init;
    this.#edits.checkLive("run");
    const wanted = this.inputs.map((i) => i.name);
    const list = (names: readonly string[]): string => names.map((n) => `"${n}"`).join(", ");
    if (!isPlainObject(inputs)) {
      throw new ValueError(
        `Cannot run ${name}: wanted an object with ${list(wanted)}, received ${describe(inputs)}`,
      );
    }
    const needed = this.inputs.filter((i) => graph.inputs.some((v) => v.name === i.name));
    const missing = needed.filter((i) => i.kind !== "optional" && inputs[i.name] == null);
    const unknown = Object.keys(inputs).filter((key) => !wanted.includes(key));
    if (missing.length > 0 || unknown.length > 0) {
      throw new ValueError(
        `Cannot run ${name}: it takes ${list(wanted) || "nothing"}${
          missing.length > 0 ? `, ${list(missing.map((i) => i.name))} is missing` : ""
        }${unknown.length > 0 ? `, ${list(unknown)} is unknown` : ""}`,
      );
    }
    return Object.fromEntries(
      needed.map((i) => [i.name, this.#feed(i, inputs[i.name] ?? null)]),
    );
  }

  #feed(input: OnnxValue, given: OnnxInput): Tensor | readonly Tensor[] {
    if (given === null) return ABSENT;
    const isList = input.kind === "sequence" ||
      input.kind === "optional" && Array.isArray(given) && given.every((v) => v instanceof Tensor);
    if (!isList) return this.#tensor(input, given as TensorLike);
    if (Array.isArray(given)) return given.map((v) => this.#tensor(input, v));
    throw new ValueError(
      `Cannot run ${this.#init.name}: input "${input.name}" is a sequence, wanted a list of tensors, received ${
        describe(given)
      }`,
    );
  }

  #tensor({ name, dtype, shape, kind }: OnnxValue, given: TensorLike): Tensor {
    const x = asTensor(toInput(given, name, "run", given instanceof Tensor ? {} : { dtype }));
    if (x.dtype !== dtype) {
      throw new ValueError(
        `Cannot run ${this.#init.name}: input "${name}" is ${x.dtype}, wanted ${dtype}`,
      );
    }
    if (kind === "tensor" && !compatible(x.staticShape, shape)) {
      throw new ValueError(
        `Cannot run ${this.#init.name}: input "${name}" has the shape ${
          shapeText(x.staticShape)
        }, wanted ${shapeText(shape)}`,
      );
    }
    return x;
  }

  /** Formats it for `console.log`. */
  toString(): string {
    return `<OnnxModel ${specsText(this.inputs)} -> ${specsText(this.outputs)}>`;
  }
}
showAs(OnnxModel);

function describeValue(
  { name, type }: GraphValue,
  dimensions: Readonly<Record<string, number>>,
): OnnxValue {
  let of = type, kind: OnnxValue["kind"] = "tensor";
  while (of !== null && of.kind !== "tensor" && of.kind !== "map") {
    if (kind !== "sequence") kind = of.kind;
    of = of.of;
  }
  if (of === null || of.kind !== "tensor") {
    return { name, dtype: "float32", shape: null, extents: null, kind };
  }
  const shape = shapeOfExtents(of.shape, dimensions);
  const extents = of.shape?.map((extent, i) => shape![i] ?? extent) ?? null;
  return { name, dtype: of.dtype, shape, extents, kind };
}
