/**
 * Steps of `model.fit`, `evaluate` and `predict` of `@tensorflow/tfjs-layers` through `tf.function`: the package's own
 * code is traced after a model has made some steps on tensors of the same shapes.
 * `tf.env().set("WEFT_COMPILE_LAYERS", false)` turns it off; `tf.trace` shows the steps that ran op by op, and why.
 */
import { currentInterpreter, currentRecorders } from "../../engine/core/apply.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { traced } from "../../engine/core/trace.ts";
import { concat } from "../../engine/ops/array/join.ts";
import { slice } from "../../engine/ops/array/slice.ts";
import { type TracedFunction, tracedFunction } from "../../engine/runtime/functions/function.ts";
import { env } from "../core/environment.ts";
import { tidy } from "../core/scopes.ts";
import { areSame, forgetMasks, type LayersModel, type Purity, purityOf } from "./purity.ts";

/** Tensors of a batch; null where an output has no weights. */
type Batch = readonly (Tensor | null)[];
type Step = (data: Batch) => Tensor | Tensor[];

/** The methods of `LayersModel` that make and run steps. */
interface Steps {
  makeTrainFunction(): Step;
  makeTestFunction(): void;
  testFunction?: Step;
  predictLoop(ins: Tensor | Tensor[], batchSize?: number, verbose?: boolean): Tensor | Tensor[];
}
type Model = LayersModel & Steps;

/**
 * Number of steps that run op by op first. Tracing and planning take as long as some forty steps, and MLPs, CNNs and
 * LSTMs have recovered that after fifty (`bench/layers.ts`): programs that take a few steps never pay.
 */
const STEPS_BEFORE = 16;
/** Most sets of shapes of a model. */
const MOST_SHAPES = 16;

/** The steps of one method on tensors of one set of shapes. */
interface Shaped {
  calls: number;
  compiled: TracedFunction<Tensor[], Tensor | Tensor[]> | null;
}

/** One step: its method, its data, and the function that runs it op by op. */
interface Call {
  readonly method: string;
  readonly data: Batch;
  readonly step: Step;
}

/** The compiled steps of a model. */
class Compiled {
  readonly #model: Model;
  readonly #shapes = new Map<string, Shaped>();
  #purity: Purity | null = null;
  /** Doubled whenever fields change after a step was compiled. */
  #stepsBefore = STEPS_BEFORE;
  /** The reason why a trace failed. */
  #refusal: string | null = null;

  constructor(model: Model) {
    this.#model = model;
  }

  /** Runs a step, compiled where possible. */
  run(call: Call): Tensor | Tensor[] {
    const compiled = this.#find(call), reason = this.#refusal ?? this.#purity?.reason;
    const details = { compiled: compiled !== null, ...(reason ? { reason } : {}) };
    return traced({ name: `${this.#model.name}.${call.method}`, category: "run", details }, () => {
      if (compiled === null) return call.step(call.data);
      return compiled(...call.data.filter((t) => t !== null));
    });
  }

  #find(call: Call): Shaped["compiled"] {
    if (this.#refusal !== null) return null;
    if (this.#purity === null || !areSame(this.#purity.fields)) this.#look();
    if (this.#purity!.reason !== null) return null;
    const key = call.method + call.data.map((t) => t && `${t.dtype}${t.shape}`).join(";");
    let shaped = this.#shapes.get(key);
    if (shaped === undefined) {
      if (this.#shapes.size >= MOST_SHAPES) return null;
      this.#shapes.set(key, shaped = { calls: 0, compiled: null });
    }
    if (shaped.calls++ === this.#stepsBefore) shaped.compiled = this.#compile(call);
    return shaped.compiled;
  }

  /** Examines the model again after its fields have changed. */
  #look(): void {
    if ([...this.#shapes.values()].some(({ compiled }) => compiled !== null)) {
      this.#stepsBefore *= 2;
    }
    this.#shapes.clear();
    this.#purity = purityOf(this.#model);
  }

  /** Traces a step. Returns null where it must run op by op. */
  #compile({ method, data, step }: Call): Shaped["compiled"] {
    const made = tracedFunction((...tensors: Tensor[]) => {
      let next = 0;
      return step(data.map((t) => t && tensors[next++]));
    }, { name: `${this.#model.name}.${method}` });
    try {
      made.getConcreteFunction(...data.filter((t) => t !== null));
    } catch (error) {
      this.#refusal = `it cannot be traced: ${(error as Error).message}`;
    }
    forgetMasks(this.#purity!);
    return this.#refusal === null ? made : null;
  }
}

const models = new WeakMap<Model, Compiled>();

function run(model: Model, call: Call): Tensor | Tensor[] {
  const mayCompile = env().getBool("WEFT_COMPILE_LAYERS") && !env().getBool("DEBUG") &&
    !currentInterpreter().symbolic && currentRecorders().length === 0;
  if (!mayCompile) return call.step(call.data);
  let compiled = models.get(model);
  if (compiled === undefined) models.set(model, compiled = new Compiled(model));
  return compiled.run(call);
}

/** Compiles the steps of the class `LayersModel`. Called for each registered class; does nothing to others. */
export function compileSteps(cls: { readonly prototype: object }): void {
  const methods = cls.prototype as Model, has = (name: string) => Object.hasOwn(methods, name);
  if (!["makeTrainFunction", "makeTestFunction", "predictLoop"].every(has)) return;
  const { makeTrainFunction, makeTestFunction, predictLoop } = methods;
  methods.makeTrainFunction = function (this: Model): Step {
    const step = makeTrainFunction.call(this);
    return (data) => run(this, { method: "fit", data, step });
  };
  methods.makeTestFunction = function (this: Model): void {
    makeTestFunction.call(this);
    const step = this.testFunction!;
    this.testFunction = (data) => run(this, { method: "evaluate", data, step });
  };
  methods.predictLoop = function (this: Model, ins, batchSize = 32, verbose = false) {
    const isList = Array.isArray(ins), list = isList ? ins : [ins];
    const rows = list[0]?.shape[0] ?? 0;
    if (verbose || rows <= batchSize) {
      const step: Step = (data) =>
        predictLoop.call(this, isList ? data as Tensor[] : data[0]!, batchSize, verbose);
      return run(this, { method: "predict", data: list, step });
    }
    return tidy(() => {
      const batches: Tensor[][] = [];
      for (let begin = 0; begin < rows; begin += batchSize) {
        batches.push(tidy(() => {
          const part = list.map((t) => slice(t, begin, Math.min(batchSize, rows - begin)));
          return [this.predictLoop(isList ? part : part[0], batchSize)].flat();
        }));
      }
      const outs = batches[0].map((_, i) => concat(batches.map((outputs) => outputs[i]), 0));
      return outs.length === 1 ? outs[0] : outs;
    });
  };
}
