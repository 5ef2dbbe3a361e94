/**
 * A pipeline out of a GraphDef: TensorFlow's dataset ops as stages of `tf.data`, their functions imported as any graph's are.
 */
import { constant } from "../../engine/ops/array/creation.ts";
import {
  InvalidArgumentError,
  NotFoundError,
  UnimplementedError,
  ValueError,
} from "../../engine/core/errors.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { asDType } from "../../engine/core/dtype.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { TensorSpec } from "../../engine/core/tensor_spec.ts";
import { withScope } from "../../engine/core/scope_context.ts";
import type { Dataset } from "../../library/data/mod.ts";
import { Budget } from "../../tensorflow/graph_def/check.ts";
import type {
  FunctionDefJson,
  GraphDefJson,
  NodeDefJson,
} from "../../engine/graph/graph_def_json.ts";
import { attrFromJson, shapeFromJson } from "../../tensorflow/graph_def/values.ts";
import { StatefulPartitionedCall } from "../../engine/runtime/functions/concrete_function.ts";
import { tfFunction } from "../../engine/runtime/functions/function.ts";
import { canImport, importNodes } from "../../tensorflow/graph/import_graph_def.ts";
import { checkMissing } from "../../tensorflow/graph/missing.ts";
import type { ScriptFunctions } from "../../tensorflow/graph/scripts.ts";
import { uncompressed } from "./compressed_functions.ts";
import { isOutside } from "../outside_ops.ts";
import { STAGES } from "./stage_rules.ts";

/** Elements of a dataset, a nest of lists: its tensors in order. */
// deno-lint-ignore no-explicit-any
export type AnyDataset = Dataset<any>;

/** Source of the splits, the part of the elements that a worker gets. */
export interface Splits {
  /** The next index of a source in one pass over it, null at the end. */
  next(provider: number, repetition: number): Promise<NdArray | null>;
}

/** Options of building a pipeline. */
export interface DatasetGraphOptions {
  /** Source of the splits. Default: sources give all their elements. */
  readonly splits?: Splits;
  /** The shard that `ShardDataset` with TensorFlow's hint stands for, and that a worker's files are cut by. */
  readonly shard?: { readonly count: number; readonly index: number };
  /** Cuts sources that are lists of files. */
  readonly shardFiles?: boolean;
  /** Functions for scripts by their tokens, beside what is registered. */
  readonly scripts?: ScriptFunctions | undefined;
  /** Ops that touch files and are allowed all the same; a graph from elsewhere may use no others. */
  readonly allowOps?: readonly string[] | undefined;
}

export interface BuiltDataset {
  readonly dataset: AnyDataset;
  /** True where the graph asks for compressed elements, as TensorFlow's `distribute()` does by default. */
  readonly compressed: boolean;
  /** True where `shardFiles` cut a source. */
  readonly cutFiles: boolean;
}

/** A function of an element's tensors. */
export type TensorsFunction = (xs: readonly Tensor[]) => readonly Tensor[];

/** A dataset op that is to become a stage. */
export interface StageNode {
  readonly def: NodeDefJson;
  /** The specs that the op declares for its elements. */
  readonly specs: readonly TensorSpec[];
  readonly options: DatasetGraphOptions;
  /** Number of inputs that are captured by its functions, which come after the first. */
  readonly captured: number;
  /** The dataset that is input `i`. */
  input(i?: number): Promise<AnyDataset>;
  /** The value of input `i`, counted from behind where negative. */
  value(i: number): Promise<NdArray>;
  /** The number in input `i`. */
  number(i: number): Promise<number>;
  /** The function in attribute `name`, with its captured values. */
  fn(name: string): Promise<TensorsFunction>;
  /** Datasets that the function in attribute `name` makes, one for each element. */
  datasets(name: string): Promise<(element: readonly NdArray[]) => Promise<AnyDataset>>;
  /** The next source number, as dispatchers count sources; null inside of functions, whose sources are never split. */
  provider(): number | null;
  /** Reports that a source was cut. */
  cut(): void;
}

/**
 * Builds the pipeline of a GraphDef whose last node is `_Retval`. Rejects with `NotFoundError` that names all unknown
 * ops and scripts.
 */
export async function buildDataset(
  given: GraphDefJson,
  options: DatasetGraphOptions = {},
): Promise<BuiltDataset> {
  const { def, compressed } = uncompressed(given);
  checkMissing(def, {
    isKnown: (op) =>
      STAGES.has(op) || PLAIN.test(op) ||
      canImport(op) && (!isOutside(op) || options.allowOps?.includes(op) === true),
    scripts: options.scripts,
    isForeign: true,
  });
  const builder = new Builder(def, options);
  const dataset = await builder.build();
  return { dataset, compressed, cutFiles: builder.cutFiles };
}

const PLAIN =
  /^(_Retval|_Arg|NoOp|Identity|(Stateful)?PartitionedCall|DummyMemoryCache|AnonymousMemoryCache)$/;

/** Returns the name of the node whose elements a dataset's graph gives. Throws `ValueError` where there is none. */
export function sinkOf({ node }: GraphDefJson): string {
  const sink = node.find((n) => n.op === "_Retval")?.input?.[0];
  if (sink !== undefined) return sink;
  throw new ValueError("Cannot run a dataset: its graph has no _Retval");
}

/** A list of nodes with its arguments: the graph itself, or the body of a function for one element. */
interface Scope {
  readonly nodes: ReadonlyMap<string, NodeDefJson>;
  readonly args: ReadonlyMap<string, NdArray>;
  readonly isOuter: boolean;
  /** Number of datasets that were made in it. */
  made: number;
}

/** Most datasets of a graph, counted by the paths to them: cycles and doubled chains have more. */
const MOST_DATASETS = 10_000;

class Builder {
  readonly #def: GraphDefJson;
  readonly #options: DatasetGraphOptions;
  readonly #functions: ReadonlyMap<string, FunctionDefJson>;
  #providers = 0;
  cutFiles = false;

  constructor(def: GraphDefJson, options: DatasetGraphOptions) {
    this.#def = def;
    this.#options = options;
    this.#functions = new Map((def.library?.function ?? []).map((f) => [f.signature.name, f]));
  }

  build(): Promise<AnyDataset> {
    const scope = { nodes: byName(this.#def.node), args: new Map(), isOuter: true, made: 0 };
    return this.#dataset(scope, sinkOf(this.#def));
  }

  /** The dataset that a name in a scope means. */
  async #dataset(scope: Scope, name: string): Promise<AnyDataset> {
    if (++scope.made > MOST_DATASETS) {
      throw new InvalidArgumentError(
        `Cannot run a dataset: its graph has a cycle, or more than ${MOST_DATASETS} datasets`,
      );
    }
    const def = scope.nodes.get(name.split(":")[0]);
    if (def === undefined) {
      throw new UnimplementedError(`Cannot run a dataset that is given to a function: "${name}"`);
    }
    if (def.op === "Identity") return await this.#dataset(scope, dataInputs(def)[0]);
    const stage = STAGES.get(def.op);
    if (stage === undefined) {
      throw new UnimplementedError(`Cannot run "${def.name}" (${def.op}): it is no dataset op`, {
        op: def.op,
        node: def.name,
      });
    }
    return await stage(this.#stageNode(scope, def));
  }

  #stageNode(scope: Scope, def: NodeDefJson): StageNode {
    const inputs = dataInputs(def), { attr = {} } = def;
    const captured = attr.Targuments?.list?.type?.length ?? 0;
    const value = (i: number): Promise<NdArray> => this.#value(scope, inputs.at(i) ?? "");
    const captures = (): Promise<NdArray[]> =>
      Promise.all(inputs.slice(1, 1 + captured).map((name) => this.#value(scope, name)));
    const nameOf = (name: string): string => attr[name]?.func?.name ?? "";
    return {
      def,
      specs: specsOf(def),
      options: this.#options,
      captured,
      input: (i = 0) => this.#dataset(scope, inputs[i]),
      value,
      number: async (i) => Number((await value(i)).at(0)),
      fn: async (name) => this.#function(nameOf(name), await captures()),
      datasets: async (name) => {
        const more = await captures(), f = this.#functionDef(nameOf(name));
        return (element) => this.#inner(f, [...element, ...more]);
      },
      provider: () => scope.isOuter ? this.#providers++ : null,
      cut: () => {
        this.cutFiles = true;
      },
    };
  }

  #functionDef(name: string): FunctionDefJson {
    const f = this.#functions.get(name);
    if (f !== undefined) return f;
    throw new NotFoundError(`Function ${name} is not in the dataset's graph`);
  }

  /** The dataset that a function's body makes of values. */
  #inner(f: FunctionDefJson, values: readonly NdArray[]): Promise<AnyDataset> {
    const args = new Map((f.signature.inputArg ?? []).map(({ name }, i) => [name, values[i]]));
    const [result] = f.signature.outputArg ?? [];
    const scope = { nodes: byName(f.nodeDef), args, isOuter: false, made: 0 };
    return this.#dataset(scope, f.ret[result.name]);
  }

  #function(name: string, captured: readonly NdArray[]): TensorsFunction {
    const f = this.#functionDef(name);
    const count = f.signature.outputArg?.length ?? 0;
    const args = (f.signature.inputArg ?? []).map((_, i) => `arg${i}`);
    const call = {
      name: "call",
      op: StatefulPartitionedCall.name,
      input: args,
      attr: { f: { func: { name } } },
    };
    return (xs) => {
      const all = [...xs, ...captured.map((x) => constant(x))];
      return importNodes({ ...this.#def, node: [call] }, {
        prefix: "",
        inlineCalls: true,
        inputMap: Object.fromEntries(args.map((arg, i) => [arg, all[i]])),
        returnElements: Array.from({ length: count }, (_, i) => `call:${i}`),
        isForeign: true,
        ...(this.#options.scripts && { scripts: this.#options.scripts }),
      }) as Tensor[];
    };
  }

  /** The value of a tensor that is no dataset: an argument, a constant, or what ordinary ops compute. */
  async #value(scope: Scope, name: string): Promise<NdArray> {
    const [node] = name.split(":");
    const arg = scope.args.get(node), def = scope.nodes.get(node);
    if (arg !== undefined) return arg;
    if (def === undefined) {
      throw new ValueError(`Cannot run a dataset: "${name}" is not in its graph`);
    }
    if (def.op === "Const") {
      return attrFromJson(TENSOR, def.attr?.value ?? {}, new Budget(0)) as NdArray;
    }
    const needed = ancestors(scope, def), given = [...scope.args];
    // Within the graph itself names are `node:1`, within functions `node:output:0`: readers know both.
    const f = tfFunction((...xs: Tensor[]) =>
      importNodes({ ...this.#def, node: needed }, {
        prefix: "",
        inlineCalls: true,
        inputMap: Object.fromEntries(given.map(([key], i) => [key, xs[i]])),
        returnElements: [name.includes(":") ? name : `${name}:0`],
        isForeign: true,
      })[0] as Tensor, {
      inputSignature: given.map(([, { dtype, shape }]) => TensorSpec(shape, dtype)),
    });
    const tensors = given.map(([, x]) => constant(x));
    const y = await withScope({ device: "/device:CPU:0" }, () => f.async(...tensors)) as Tensor;
    const value = await y.ndarray();
    for (const t of [...tensors, y]) t.dispose();
    return value;
  }
}

const TENSOR = { name: "value", type: "tensor" };

function byName(nodes: readonly NodeDefJson[]): Map<string, NodeDefJson> {
  return new Map(nodes.map((n) => [n.name, n]));
}

function dataInputs({ input = [] }: NodeDefJson): readonly string[] {
  return input.filter((i) => !i.startsWith("^"));
}

/** Collects a node and all that it depends on. */
function ancestors({ nodes, args }: Scope, root: NodeDefJson): NodeDefJson[] {
  const seen = new Set<NodeDefJson>(), open = [root];
  while (open.length > 0) {
    const def = open.pop()!;
    if (seen.has(def)) continue;
    seen.add(def);
    for (const input of def.input ?? []) {
      const name = input.replace(/^\^/, "").split(":")[0], next = nodes.get(name);
      if (next !== undefined && !args.has(name)) open.push(next);
    }
  }
  return [...seen];
}

function specsOf({ attr = {} }: NodeDefJson): TensorSpec[] {
  const types = (attr.output_types ?? attr.Toutput_types)?.list?.type ?? [];
  const shapes = attr.output_shapes?.list?.shape ?? [];
  return types.map((type, i) =>
    TensorSpec(shapes[i] === undefined ? null : shapeFromJson(shapes[i]), asDType(type))
  );
}
