/** A loaded model: named inputs and outputs, variables, and functions that run it. */
import { compose, currentInterpreter } from "../engine/core/apply.ts";
import { describe } from "../engine/core/convert.ts";
import type { DType } from "../engine/core/dtype.ts";
import { ValueError } from "../engine/core/errors.ts";
import { compatible, type PartialShape, shapeText } from "../engine/core/shape.ts";
import { Tensor, type TensorLike } from "../engine/core/tensor.ts";
import { TensorSpec } from "../engine/core/tensor_spec.ts";
import { currentGraph } from "../engine/graph/current_graph.ts";
import type { FuncGraph } from "../engine/graph/func_graph.ts";
import { asTensor, toInput } from "../engine/ops/input.ts";
import { type TracedFunction, tracedFunction } from "../engine/runtime/functions/function.ts";
import type { Variable } from "../engine/runtime/variables/variable.ts";
import { NeedsValueError, tensorOf } from "./build/node_call.ts";
import { Value } from "./build/value.ts";
import { Walk, type WalkOptions } from "./build/walk.ts";
import type { GraphValue, OnnxGraph } from "./file/graph.ts";
import { shapeOfExtents } from "./file/types.ts";

/** An input or output of a model. */
export interface OnnxValue {
  /** Its name. */
  readonly name: string;
  /** Its element type; for a sequence its tensors', `float32` if the file does not tell it. */
  readonly dtype: DType;
  /** Its shape, with null for an unknown extent; null for an unknown rank. */
  readonly shape: PartialShape;
  /** Kind: a tensor, a list of tensors, or an optional value. */
  readonly kind: "tensor" | "sequence" | "optional";
}

/**
 * An input value: a tensor or a value convertible to one, a list of them for a sequence, null for an absent optional.
 */
export type OnnxInput = TensorLike | readonly TensorLike[] | null;

/** An output value: a tensor, or a list of them for a sequence. */
export type OnnxOutput = Tensor | Tensor[];

export interface ModelInit {
  /** Its name in errors. */
  readonly name: string;
  readonly graph: OnnxGraph;
  readonly variables: Readonly<Record<string, Variable>>;
  /** Extents by their names in the file. */
  readonly dimensions: Readonly<Record<string, number>>;
  /** The table of ops, and the caller's replacements. */
  readonly walk: WalkOptions;
}

type Feeds = Readonly<Record<string, Tensor | readonly Tensor[]>>;
/** Outputs of a model, by name. */
export type OnnxOutputs = Record<string, OnnxOutput>;

/** Maximum number of input shapes with traces of their own. Then varying extents become unknown. */
const MOST_SHAPES = 4;

/** A model of an ONNX file. Made by {@linkcode loadOnnx}. */
export class OnnxModel {
  /** Its inputs, in the file's order. */
  readonly inputs: readonly OnnxValue[];
  /** Its outputs, in the file's order. */
  readonly outputs: readonly OnnxValue[];
  /** Its floating-point initialisers by name, to train, assign or save. */
  readonly variables: Readonly<Record<string, Variable>>;
  readonly #init: ModelInit;
  readonly #constants = new Map<OnnxGraph, Map<string, Value>>();
  readonly #function: TracedFunction<[Feeds], OnnxOutputs>;
  readonly #relaxed: TracedFunction<[Feeds], OnnxOutputs>;
  #graph: FuncGraph | null = null;
  /** True where a graph needs values known only at run time. */
  #isEager = false;
  #isDisposed = false;

  /** Made by {@linkcode loadOnnx}. */
  constructor(init: ModelInit) {
    this.#init = init;
    const { graph, dimensions, variables, name } = init;
    this.inputs = graph.inputs.map((v) => describeValue(v, dimensions));
    this.outputs = graph.outputs.map((v) => describeValue(v, dimensions));
    this.variables = variables;
    this.#fillConstants();
    const body = (feeds: Feeds): OnnxOutputs => this.#build(feeds);
    this.#function = tracedFunction(body, { name });
    this.#relaxed = tracedFunction(body, { name, reduceRetracing: true });
  }

  /** Fills in the graph's initialisers: variables, or known elements. */
  #fillConstants(): void {
    const { graph, variables } = this.#init;
    const constants = new Map<string, Value>();
    for (const [name, data] of graph.initialisers) {
      constants.set(
        name,
        Object.hasOwn(variables, name)
          ? Value.of(variables[name], { initial: data.array })
          : Value.known(data.array, data.packed === null ? null : data),
      );
    }
    this.#constants.set(graph, constants);
  }

  /**
   * Runs the model: named inputs in, named outputs out. Rejects with `ValueError` for inputs that are missing, unknown
   * or do not fit.
   */
  async run(inputs: Readonly<Record<string, OnnxInput>> = {}): Promise<OnnxOutputs> {
    const feeds = this.#feeds(inputs);
    if (this.#runsOneByOne(feeds)) return this.runEagerly(inputs);
    try {
      return await this.#traced().async(feeds);
    } catch (e) {
      this.#noteUnknown(e);
      return this.runEagerly(inputs);
    }
  }

  /**
   * Runs as {@linkcode run} does, synchronously or in the function being traced: as a part of its graph, and
   * differentiable. Throws as `run` does, and `FailedPreconditionError` if it must wait.
   */
  call(inputs: Readonly<Record<string, OnnxInput>> = {}): OnnxOutputs {
    const feeds = this.#feeds(inputs);
    if (currentInterpreter().symbolic) return this.#build(feeds);
    if (this.#runsOneByOne(feeds)) return this.runEagerly(inputs);
    try {
      return this.#traced()(feeds);
    } catch (e) {
      this.#noteUnknown(e);
      return this.runEagerly(inputs);
    }
  }

  /** Runs the model op by op. Throws as {@linkcode run} does. */
  runEagerly(inputs: Readonly<Record<string, OnnxInput>> = {}): OnnxOutputs {
    const feeds = this.#feeds(inputs);
    return compose(() => this.#build(feeds));
  }

  /** Returns the model's graph, for inputs of the file's shapes. Throws `NeedsValueError` if these are not enough. */
  get graph(): FuncGraph {
    const specs = Object.fromEntries(
      this.inputs.map(({ name, dtype, shape }) => [name, TensorSpec(shape, dtype, name)]),
    );
    return this.#graph ??= this.#function.getConcreteFunction(specs).graph;
  }

  /** Frees its variables. It cannot run any more. */
  dispose(): void {
    this.#isDisposed = true;
    for (const v of Object.values(this.variables)) v.dispose();
  }

  /** Traces by exact shapes while there are few of them. */
  #traced(): TracedFunction<[Feeds], OnnxOutputs> {
    return this.#function.traceCount < MOST_SHAPES ? this.#function : this.#relaxed;
  }

  /** True where the ops run one by one, since only then enough is known. */
  #runsOneByOne(feeds: Feeds): boolean {
    return this.#isEager || Object.values(feeds).some((v) => v === ABSENT);
  }

  /** Rethrows an error, except one that reports missing values. */
  #noteUnknown(e: unknown): void {
    if (!(e instanceof NeedsValueError)) throw e;
    this.#isEager = true;
  }

  /** Runs the ops of the model on these inputs, in the graph being built or eagerly. */
  #build(feeds: Feeds): OnnxOutputs {
    const { graph, walk } = this.#init;
    const inputs = graph.inputs.map(({ name }) => {
      const fed = feeds[name];
      if (fed === ABSENT) return Value.none;
      return fed instanceof Tensor ? Value.of(fed) : Value.sequence(fed.map((t) => Value.of(t)));
    });
    const built = currentGraph(), before = built?.operations.length ?? 0;
    const outputs = new Walk(walk, this.#constants).run(graph, inputs);
    // Plans may compute files otherwise than op by op, such as norms within filters.
    for (const made of built?.operations.slice(before) ?? []) made.isFromFile = true;
    const tensors = new Map<Value, Tensor>();
    const own = (value: Value): OnnxOutput => {
      if (value.kind === "sequence") return value.items.map((v) => own(v) as Tensor);
      return value.kind === "none" ? [] : asTensor(tensorOf(value, tensors).asOpInput());
    };
    return Object.fromEntries(outputs.map((v, i) => [graph.outputs[i].name, own(v)]));
  }

  #feeds(inputs: Readonly<Record<string, OnnxInput>>): Feeds {
    const { name } = this.#init;
    if (this.#isDisposed) throw new ValueError(`Cannot run ${name}: it is disposed`);
    if (typeof inputs !== "object" || inputs === null) {
      throw new ValueError(
        `Cannot run ${name}: wanted an object of named inputs, received ${describe(inputs)}`,
      );
    }
    const wanted = this.inputs.map((i) => i.name);
    const missing = this.inputs.filter((i) => i.kind !== "optional" && inputs[i.name] == null);
    const unknown = Object.keys(inputs).filter((key) => !wanted.includes(key));
    if (missing.length > 0 || unknown.length > 0) {
      const list = (names: readonly string[]): string => names.map((n) => `"${n}"`).join(", ");
      throw new ValueError(
        `Cannot run ${name}: it takes ${list(wanted) || "nothing"}${
          missing.length > 0 ? `, ${list(missing.map((i) => i.name))} is missing` : ""
        }${unknown.length > 0 ? `, ${list(unknown)} is unknown` : ""}`,
      );
    }
    return Object.fromEntries(
      this.inputs.map((i) => [i.name, this.#feed(i, inputs[i.name] ?? null)]),
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
}

/** Stands for an absent optional. */
const ABSENT: readonly Tensor[] = Object.freeze([]);

function describeValue(
  { name, type }: GraphValue,
  dimensions: Readonly<Record<string, number>>,
): OnnxValue {
  let of = type, kind: OnnxValue["kind"] = "tensor";
  while (of !== null && of.kind !== "tensor" && of.kind !== "map") {
    if (kind !== "sequence") kind = of.kind;
    of = of.of;
  }
  if (of === null || of.kind !== "tensor") return { name, dtype: "float32", shape: null, kind };
  return { name, dtype: of.dtype, shape: shapeOfExtents(of.shape, dimensions), kind };
}
