/**
 * A part of a graph that arrived, ready to run again and again: imported, planned when it first runs, fed and fetched by name.
 */
import { asDType, type DType } from "../../engine/core/dtype.ts";
import { InvalidArgumentError } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { compatible, type PartialShape, shapeText } from "../../engine/core/shape.ts";
import type { GraphDefJson } from "../../engine/graph/graph_def_json.ts";
import { Graph } from "../../engine/graph/graph.ts";
import { buildIr, type IrGraph } from "../../engine/graph/ir.ts";
import { Operation, type SymbolicTensor } from "../../engine/graph/operation.ts";
import { mergeEqual, runPasses } from "../../engine/graph/passes/pipeline.ts";
import { placeholder } from "../../engine/ops/graph_ops.ts";
import { DrawCounts } from "../../engine/ops/random/state.ts";
import { defaultDevice, deviceGeneration } from "../../engine/runtime/devices/devices.ts";
import { importNodes } from "../../tensorflow/graph/import_graph_def.ts";
import type { ScriptFunctions } from "../../tensorflow/graph/scripts.ts";
import { execute, executeAlone } from "../../engine/runtime/plan/execute.ts";
import { Folder } from "../../engine/runtime/plan/folder.ts";
import { checkPlacement, makePlan, type Plan } from "../../engine/runtime/plan/make_plan.ts";
import { releasePlan } from "../../engine/runtime/plan/slots.ts";
import type { RunContext } from "../../engine/runtime/run/run_context.ts";
import type { RunValue } from "../../engine/runtime/run/run_value.ts";
import type { GraphResources } from "../../tensorflow/graph/resources.ts";

export interface ProgramInput {
  /** Name of the tensor it stands for, as `node:0`. */
  readonly name: string;
  /** Its dtype, as files spell it. */
  readonly dtype: string;
  /** The known part of its shape. Default unknown. */
  readonly shape?: PartialShape;
}

export interface ProgramParts {
  /** Its nodes, with the functions they call. */
  readonly def: GraphDefJson;
  readonly inputs: readonly ProgramInput[];
  /** Names of the tensors it returns. */
  readonly fetches: readonly string[];
  /** Names of nodes that run for their effect. */
  readonly targets: readonly string[];
  /** Variables and other state behind the nodes, by their names. */
  readonly resources: GraphResources;
  /** Functions for scripts by their tokens, beside what is registered. */
  readonly scripts?: ScriptFunctions | undefined;
  /** Throws for an op that cannot run on the device it asks for. */
  readonly strict?: boolean;
}

/** Counts draws of random ops by name: they continue where the same node is part of several programs. */
export class DrawsByName extends DrawCounts {
  /** Returns the number of earlier draws of the op of this name. */
  override next(op: object | string): number {
    return super.next(op instanceof Operation ? op.name : op);
  }
}

export class Program {
  /** True where the program can no longer be run. */
  readonly isLost: boolean = false;
  readonly #feeds: readonly SymbolicTensor[];
  readonly #fetches: readonly SymbolicTensor[];
  readonly #targets: readonly Operation[];
  readonly #folder = new Folder();
  readonly #strict: boolean;
  #plan: Plan | Promise<Plan> | null = null;
  #device = "";
  #generation = 0;

  /** Imports the nodes. Throws `NotFoundError` that names unknown ops and scripts, `ValueError` for a broken graph. */
  constructor({ def, inputs, fetches, targets, resources, scripts, strict = false }: ProgramParts) {
    const graph = new Graph();
    this.#strict = strict;
    this.#feeds = graph.asDefault(() =>
      inputs.map(({ name, dtype, shape = null }) =>
        placeholder(asDType(dtype), shape, `fed/${name.replace(":", "_")}`) as SymbolicTensor
      )
    );
    const elements = graph.asDefault(() =>
      importNodes(def, {
        prefix: "",
        inputMap: Object.fromEntries(inputs.map(({ name }, i) => [name, this.#feeds[i]])),
        returnElements: [...fetches, ...targets],
        resources,
        isForeign: true,
        ...(scripts && { scripts }),
      })
    );
    this.#fetches = elements.slice(0, fetches.length) as SymbolicTensor[];
    this.#targets = elements.slice(fetches.length) as Operation[];
  }

  get dtypes(): DType[] {
    return this.#fetches.map((t) => t.dtype);
  }

  /** Runs the program. The caller owns the given values and the results. */
  run(
    values: readonly RunValue[],
    context: RunContext,
    draws: DrawCounts,
  ): RunValue[] | Promise<RunValue[]> {
    for (let i = 0; i < values.length; i++) checkFed(this.#feeds[i], values[i]);
    const go = (plan: Plan): RunValue[] | Promise<RunValue[]> => {
      const alone = context.counter === null ? executeAlone(plan, values) : null;
      return alone !== null
        ? alone.arrays()
        : execute(plan, values, context, { toHost: true, draws });
    };
    const plan = this.#planned(context);
    return plan instanceof Promise ? plan.then(go) : go(plan);
  }

  /** Frees the memory that is kept between runs. */
  release(): void {
    if (this.#plan !== null && !(this.#plan instanceof Promise)) releasePlan(this.#plan);
    this.#plan = null;
  }

  #planned(context: RunContext): Plan | Promise<Plan> {
    const device = defaultDevice();
    if (this.#generation !== deviceGeneration() || this.#device !== device.name) this.release();
    if (this.#plan !== null) return this.#plan;
    this.#generation = deviceGeneration();
    this.#device = device.name;
    const built = mergeEqual(
      buildIr({ fetches: this.#fetches, targets: this.#targets, feeds: this.#feeds }),
    );
    checkPlacement(built, !this.#strict);
    const make = (ir: IrGraph): Plan => this.#plan = makePlan(runPasses(ir, device.type));
    const ir = this.#folder.fold(built, context);
    if (!(ir instanceof Promise)) return make(ir);
    const plan = ir.then(make);
    this.#plan = plan;
    plan.catch(() => this.#plan = null);
    return plan;
  }
}

/** Throws `InvalidArgumentError` for a value of another dtype or shape than declared. */
function checkFed({ name, dtype, staticShape }: SymbolicTensor, value: RunValue): void {
  const shape = value instanceof NdArray ? value.shape : value.staticShape;
  if (value.dtype === dtype && compatible(staticShape, shape)) return;
  throw new InvalidArgumentError(
    `Cannot feed "${name}": wanted ${dtype}${shapeText(staticShape)}, received ${value.dtype}${
      shapeText(shape)
    }`,
  );
}
