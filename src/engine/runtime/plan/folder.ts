/** Folder: computes the constant parts of a graph once for all its runs. */
import { DTYPES } from "../../core/dtype.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { whenReady } from "../../core/nest.ts";
import { isConcrete, sizeOf } from "../../core/shape.ts";
import type { IrGraph, IrNode } from "../../graph/ir.ts";
import type { Operation } from "../../graph/operation.ts";
import { runsScript } from "../../graph/passes/cse.ts";
import { fold } from "../../graph/passes/fold.ts";
import { keptHalves } from "../../graph/passes/halves.ts";
import { checked } from "../../graph/passes/pipeline.ts";
import { DrawCounts } from "../../ops/random/state.ts";
import { cpuDevice, defaultDevice } from "../devices/devices.ts";
import { isolated } from "../eager/isolated.ts";
import { outputWatch } from "../eager/eager.ts";
import { RunContext, runHostOp } from "../run/run_context.ts";
import { locatedAt } from "../run/run_errors.ts";
import { computeNow } from "./compute_now.ts";

/** Larger results of ordinary ops are computed at each run instead, unless they convert a file's weights. */
const LIMIT = 1 << 14;

/** Results of functions' operations that depend on constants alone, without scripts: shared by all plans. */
const computed = new WeakMap<Operation, Results>();

type Results = readonly NdArray[] | null;

/**
 * The folded values of a session or a function. Cancelling a run does not stop a body here, since the result serves
 * other runs.
 */
export class Folder {
  readonly #context = new RunContext();
  readonly #draws = new DrawCounts();
  readonly #known = new Map<Operation, Results | Promise<Results>>();

  /** Replaces the parts that depend on constants alone; body calls are counted in `context`. */
  fold(ir: IrGraph, context: RunContext): IrGraph | Promise<IrGraph> {
    // A watch has to see each op run.
    if (outputWatch() !== null) return ir;
    const kept = keptHalves(ir, defaultDevice().type);
    const folded = fold(
      ir,
      (node, inputs) => kept.has(node) ? null : this.#evaluate(node, inputs, context),
    );
    return whenReady(folded, (made) => checked(made, "fold", ir));
  }

  /** Cancels the work in flight and forgets everything. */
  close(reason: unknown): void {
    this.#context.abort(reason);
    this.#known.clear();
  }

  #evaluate(
    node: IrNode,
    inputs: readonly NdArray[],
    context: RunContext,
  ): Results | Promise<Results> {
    const known = this.#known.get(node.source);
    if (known !== undefined) return known;
    const results = runsScript(node.def)
      ? this.#callScript(node, inputs, context)
      : compute(node, inputs);
    this.#known.set(node.source, results);
    if (results instanceof Promise) {
      results.then((r) => this.#known.set(node.source, r), () => this.#known.delete(node.source));
    }
    return results;
  }

  #callScript(
    node: IrNode,
    inputs: readonly NdArray[],
    context: RunContext,
  ): Results | Promise<Results> {
    context.hostCalls++;
    const fail = (e: unknown): never => {
      throw locatedAt(e, node);
    };
    try {
      const out = isolated({}, () =>
        runHostOp({
          node: node.name,
          def: node.def,
          attrs: node.attrs,
          inputs,
          owners: inputs.map(() => "run"),
          device: cpuDevice(),
          wanted: node.outputs.map(() => true),
          sinks: node.outputs.map(() => null),
          source: node.source,
          context: this.#context,
          draws: this.#draws,
        }));
      return out instanceof Promise ? out.then((r) => r as Results, fail) : out as Results;
    } catch (e) {
      return fail(e);
    }
  }
}

/** Folds ordinary ops only: plans of functions are made synchronously. */
export function foldOrdinary(ir: IrGraph): IrGraph {
  if (outputWatch() !== null) return ir;
  const kept = keptHalves(ir, defaultDevice().type);
  const folded = fold(
    ir,
    (node, inputs) => {
      if (runsScript(node.def) || kept.has(node)) return null;
      let results = computed.get(node.source);
      if (results === undefined) computed.set(node.source, results = compute(node, inputs));
      return results;
    },
  ) as IrGraph;
  return checked(folded, "fold", ir);
}

/** Computes an ordinary op on the CPU; null if it is big or fails: the run then reports the error. */
function compute(node: IrNode, inputs: readonly NdArray[]): Results {
  let made = 0, read = 0;
  for (const { shape, dtype } of node.outputs) {
    if (!isConcrete(shape) || DTYPES[dtype].kind === "handle") return null;
    made += sizeOf(shape);
  }
  for (const x of inputs) read += x.size;
  if (made + read > LIMIT && !(made <= read && node.source.isFromFile)) return null;
  return computeNow(node, inputs);
}
