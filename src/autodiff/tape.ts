/**
 * GradientTape: records eager (or traced) applications and differentiates them.
 */
import {
  type Application,
  currentRecorders,
  type Recorder,
  setRecorders,
  withRecorders,
} from "../core/apply.ts";
import { isTrainable } from "../core/dtype.ts";
import { NdArray, setElement } from "../core/nd_array.ts";
import { flatten, type Nest, packAs } from "../core/nest.ts";
import { handleOf, type Resource, resourceOf } from "../core/graph_node.ts";
import { compatible, isConcrete, shapeText, sizeOf } from "../core/shape.ts";
import { Tensor } from "../core/tensor.ts";
import { optionCheck } from "../core/options.ts";
import { RuntimeError, ValueError } from "../core/errors.ts";
import { backprop, isDifferentiable, type Seed } from "./backprop.ts";
import { cutOf } from "./cuts.ts";
import { holdStep, makeStep, mayCapture, type Step, stepValue } from "./steps.ts";
import { stack as stackOf } from "../ops/array/join.ts";
import { dense } from "../ops/array/indexed_slices.ts";
import { reshape } from "../ops/array/view.ts";
import { onesOfTensor, zeros as zerosOfShape, zerosOfTensor } from "../ops/array/creation.ts";
import { asTensor } from "../ops/input.ts";
import { mul } from "../ops/pointwise/arithmetic.ts";

/** How a tape keeps values alive; set by the runtime, since a handle that outlives `dispose()` is its business. */
export interface TapeMemory {
  /** A handle of the same id that stays valid. */
  hold(t: Tensor): Tensor;
  /** Runs and disposes what was made, but for what is returned. */
  tidy<T>(fn: () => T): T;
  /** The variables read by the call whose tape this value is. */
  variablesRead(tape: Tensor): Iterable<Resource>;
  /** The variables that are trainable now and have gradients. */
  trainable(): Iterable<Resource>;
}
let memory: TapeMemory = {
  hold: (t) => t,
  tidy: (fn) => fn(),
  variablesRead: () => [],
  trainable: () => [],
};
/** Live tapes, for `memory().liveTapes`. */
export const tapeCount = { live: 0 };

/** Says how tapes keep values alive. */
export function setTapeMemory(m: TapeMemory): void {
  memory = m;
}
/** How tapes keep values alive. */
export function tapeMemory(): TapeMemory {
  return memory;
}

/** Options of {@linkcode GradientTape}. */
export interface GradientTapeOptions {
  /** True: `gradient()` may be called more than once. */
  readonly persistent?: boolean;
  /** False: trainable variables are not watched by themselves. */
  readonly watchAccessedVariables?: boolean;
}

/** What gradients of unconnected inputs are. */
export type UnconnectedGradients = "none" | "zero";

/** Options of {@linkcode GradientTape.gradient}. */
export interface TapeGradientOptions {
  /** Gradient that flows into each target; ones where absent. */
  readonly outputGradients?: Nest<Tensor | null>;
  /** `"none"` gives null, `"zero"` zeros. */
  readonly unconnectedGradients?: UnconnectedGradients;
}

/** Which variables a recorder follows by itself. */
export type FollowedVariables = "none" | "trainable" | "all";

const checkOptions = optionCheck<GradientTapeOptions>("GradientTape", {
  persistent: true,
  watchAccessedVariables: true,
});
const checkGradientOptions = optionCheck<TapeGradientOptions>("GradientTape.gradient", {
  outputGradients: true,
  unconnectedGradients: true,
});

/** A recorder that keeps steps which depend on watched tensors. */
export class StepRecorder implements Recorder {
  /** Steps so far. */
  readonly steps: Step[] = [];
  /** Variables that were read and are trainable or watched, by id. */
  readonly variables: Map<number, Resource> = new Map();
  readonly #watched = new Set<number>();
  /** What was computed from the results of steps that cut the gradient, and from nothing else that is followed. */
  readonly #cut = new Set<number>();
  readonly #follow: FollowedVariables;

  /** `follow`: what depends on these variables is recorded although nobody watches them. */
  constructor(follow: FollowedVariables = "trainable") {
    this.#follow = follow;
  }

  /** Follows what is computed from this tensor. */
  watch(id: number): void {
    this.#watched.add(id);
  }

  record(a: Application): void {
    let follows = false;
    for (const x of a.inputs) {
      if (!(x instanceof Tensor)) continue;
      if (this.#watched.has(x.id) && isTrainable(x.dtype)) follows = true;
      else if (x.dtype === "resource" && this.read(resourceOf(x))) follows = true;
    }
    if (this.#follow !== "none" && mayCapture(a)) {
      follows = true;
      for (const o of a.outputs) {
        if (o.dtype !== "variant") continue;
        for (const r of memory.variablesRead(o)) this.read(r);
      }
    }
    if (!isDifferentiable(a)) {
      // Who differentiates learns what is in the way.
      if (follows && cutOf(a) !== null) this.#noteCut(a);
      return;
    }
    if (!follows) {
      if (this.#cut.size > 0 && a.inputs.some((x) => this.#cut.has(stepValue(x).id))) {
        this.#noteCut(a);
      }
      return;
    }
    for (const o of a.outputs) if (isTrainable(o.dtype)) this.#watched.add(o.id);
    this.steps.push(makeStep(a, (t) => memory.hold(t)));
  }

  /** Takes steps that another recorder keeps, as far as they depend on what is followed here. */
  adopt(steps: readonly Step[]): void {
    for (const step of steps) {
      if (!step.inputs.some(({ id }) => this.#watched.has(id) || this.variables.has(id))) continue;
      for (const o of step.outputs) if (isTrainable(o.dtype)) this.#watched.add(o.id);
      this.steps.push(holdStep(step, (t) => memory.hold(t)));
    }
  }

  /** Keeps a step that has no gradient, or comes after one, for its name alone. */
  #noteCut({ def, attrs, inputs, outputs }: Application): void {
    for (const o of outputs) this.#cut.add(o.id);
    const kept = new Map<string, never>();
    const values = { inputs: inputs.map(stepValue), outputs: outputs.map(stepValue) };
    this.steps.push({ def, attrs, ...values, kept });
  }

  /** Notes that a variable was read. True where what depends on it is followed. */
  read(resource: Resource | undefined): boolean {
    if (!resource || !isTrainable(resource.dtype)) return false;
    const wanted = this.#wants(resource);
    if (wanted) this.variables.set(resource.id, resource);
    return wanted || this.#follow === "all";
  }

  /** True for what is watched or computed from it, and for variables that are watched by themselves. */
  follows(t: Tensor): boolean {
    if (this.#watched.has(t.id) || this.variables.has(t.id)) return true;
    const handle = handleOf(t), resource = handle && resourceOf(handle);
    return resource !== undefined && this.#wants(resource);
  }

  #wants(resource: Resource): boolean {
    return this.#watched.has(resource.id) || (this.#follow !== "none" && resource.trainable);
  }

  /** Lets go of what the steps keep. */
  release(): void {
    for (const step of this.steps) {
      for (const t of step.kept.values()) if (t instanceof Tensor) t.dispose();
    }
    this.steps.length = 0;
  }
}

/**
 * Records ops for differentiation. Recording starts at once and ends at the first `gradient()` or at `stop()`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const x = tf.scalar(3);
 * using tape = new tf.GradientTape();
 * tape.watch(x);
 * const y = tf.square(x);
 * assertEquals((tape.gradient(y, x) as tf.Tensor).item(), 6);
 * ```
 */
export class GradientTape implements Disposable {
  #recorder: StepRecorder;
  readonly #follow: FollowedVariables;
  readonly #persistent: boolean;
  #recording = false;
  #used = false;
  #disposed = false;

  /** Starts recording. */
  constructor(options: GradientTapeOptions = {}) {
    checkOptions(options);
    const { persistent = false, watchAccessedVariables = true } = options;
    this.#persistent = persistent;
    this.#follow = watchAccessedVariables ? "trainable" : "none";
    this.#recorder = new StepRecorder(this.#follow);
    tapeCount.live++;
    this.#start();
  }

  #start(): void {
    if (this.#recording) return;
    this.#recording = true;
    setRecorders([...currentRecorders(), this.#recorder]);
  }

  #stop(): void {
    if (!this.#recording) return;
    this.#recording = false;
    setRecorders(currentRecorders().filter((r) => r !== this.#recorder));
  }

  /** Follows tensors, in any nest; variables follow by themselves. */
  watch(tensors: Nest<Tensor>): void {
    for (const t of flatten(tensors)) this.#recorder.watch(t.id);
  }

  /** The variables that were read and are followed, in the order they were first read. */
  watchedVariables(): Resource[] {
    return [...this.#recorder.variables.values()];
  }

  /** Forgets what was recorded and watched. Follows TensorFlow `tf.GradientTape.reset`. Throws `RuntimeError` where it has ended. */
  reset(): void {
    if (this.#disposed) throw new RuntimeError("Cannot reset a GradientTape that has ended");
    const was = this.#recording;
    this.#stop();
    this.#recorder.release();
    this.#recorder = new StepRecorder(this.#follow);
    if (was) this.#start();
  }

  /** Runs `fn` without recording. */
  stopRecording<R>(fn: () => R): R {
    const was = this.#recording;
    this.#stop();
    try {
      return fn();
    } finally {
      if (was) this.#start();
    }
  }

  /**
   * Gradient of the target (or the sum of targets) with respect to each source, in the sources' nest; null where not connected.
   * Where rows of a source were gathered it is `IndexedSlices`, which are a dense tensor to all that wants one.
   * Throws `RuntimeError` on a second call of a tape that is not persistent.
   */
  gradient(target: Nest<Tensor>, sources: Tensor, options?: TapeGradientOptions): Tensor | null;
  /** Gradients of a nest of sources. */
  gradient(
    target: Nest<Tensor>,
    sources: Nest<Tensor>,
    options?: TapeGradientOptions,
  ): Nest<Tensor | null>;
  gradient(
    target: Nest<Tensor>,
    sources: Nest<Tensor>,
    options: TapeGradientOptions = {},
  ): Nest<Tensor | null> {
    checkGradientOptions(options);
    // What is made dense here is recorded, as it is to be differentiated.
    const targets = flatten(target).map((t) => dense(t)), leaves = flatten(sources);
    const given = options.outputGradients === undefined ? [] : flatten(options.outputGradients);
    if (given.length > 0 && given.length !== targets.length) {
      throw new ValueError(
        `Length mismatch: received ${given.length} outputGradients for ${targets.length} targets`,
      );
    }
    const grads = this.#use((differentiate) => {
      const seeds: Seed[] = targets.flatMap((t, i) =>
        isTrainable(t.dtype) ? [{ id: t.id, grad: given[i] ?? onesOfTensor(t) }] : []
      );
      return differentiate(seeds, leaves, true).map((g, i) =>
        g ?? (options.unconnectedGradients === "zero" ? zerosOfTensor(leaves[i]) : null)
      );
    });
    return packAs(sources, grads);
  }

  /**
   * Derivative of each element of `target` with respect to each source, in the sources' nest: shape `[...target, ...source]`; null
   * where not connected. Throws `RuntimeError` on a second call of a tape that is not persistent.
   */
  jacobian(target: Tensor, sources: Tensor, options?: TapeGradientOptions): Tensor | null;
  /** Derivatives with respect to a nest of sources. */
  jacobian(
    target: Tensor,
    sources: Nest<Tensor>,
    options?: TapeGradientOptions,
  ): Nest<Tensor | null>;
  jacobian(
    target: Tensor,
    sources: Nest<Tensor>,
    options: TapeGradientOptions = {},
  ): Nest<Tensor | null> {
    checkGradientOptions(options);
    const leaves = flatten(sources);
    const found = this.#use((differentiate) => {
      const rows = Array.from({ length: target.size }, (_, i) => {
        const seed = NdArray.zeros(target.dtype, target.shape);
        setElement(seed, i, 1);
        return differentiate([{ id: target.id, grad: asTensor(seed) }], leaves);
      });
      return leaves.map((leaf, k) => {
        const column = rows.map((row) => row[k]);
        const isConnected = column.some((g) => g !== null);
        return isConnected || options.unconnectedGradients === "zero"
          ? stackRows(column, target, leaf)
          : null;
      });
    });
    return packAs(sources, found);
  }

  /**
   * {@linkcode GradientTape.jacobian} row by row of a batch, where no row of `target` depends on another row of `source`: shape
   * `[batch, ...target row, ...source row]`. Throws `ValueError` where the first dimensions differ, or others are
   * not known.
   */
  batchJacobian(target: Tensor, source: Tensor, options: TapeGradientOptions = {}): Tensor | null {
    checkGradientOptions(options);
    const shapes = [target, source].map((t) => t.staticShape ?? t.shape);
    const [[batch, ...own], [other, ...of]] = shapes;
    if (batch === undefined || !compatible([batch], [other])) {
      throw new ValueError(
        `Need first dimension of target shape ${shapeText(shapes[0])} and source shape ${
          shapeText(shapes[1])
        } to match.`,
      );
    }
    if (!isConcrete(own) || !isConcrete(of)) {
      throw new ValueError(
        `Cannot take batchJacobian() of ${target} and ${source}: only their first dimension may be unknown`,
      );
    }
    const width = sizeOf(own);
    const [found] = this.#use((differentiate) => {
      const ones = onesOfTensor(target);
      const rows = Array.from({ length: width }, (_, k) => {
        const hot = NdArray.zeros(target.dtype, own);
        setElement(hot, k, 1);
        return differentiate([{ id: target.id, grad: mul(ones, asTensor(hot)) }], [source])[0];
      });
      if (rows.every((g) => g === null) && options.unconnectedGradients !== "zero") return [null];
      const filled = rows.map((g) => g ?? zerosOfTensor(source));
      return [
        width === 0
          ? zerosOfShape([batch ?? 0, ...own, ...of], source.dtype)
          : reshape(stackOf(filled, 1), [batch ?? -1, ...own, ...of]),
      ];
    });
    return found;
  }

  /** Runs a backward pass, which is given the means to differentiate what was recorded until now. */
  #use(pass: (differentiate: Differentiate) => (Tensor | null)[]): (Tensor | null)[] {
    if (this.#used && !this.#persistent) {
      throw new RuntimeError(
        "A non-persistent GradientTape can only be used to compute one set of gradients: pass { persistent: true }",
      );
    }
    this.#used = true;
    if (!this.#persistent) this.#stop();
    const steps = [...this.#recorder.steps];
    const differentiate: Differentiate = (seeds, sources, slices = false) => {
      // Backprop would give derivatives of whatever the steps depend on.
      const followed = sources.filter((x) =>
        this.#recorder.follows(x) || seeds.some((s) => s.id === x.id)
      );
      const found = backprop(steps, seeds, {
        sources: followed.map((x) => x.id),
        variables: followed.flatMap((x) => handleOf(x) ?? []),
        slices,
      });
      const byId = new Map(followed.map((x, i) => [x.id, found[i]]));
      return sources.map((x) => byId.get(x.id) ?? null);
    };
    // A persistent tape that is recording records its own backward pass too; outer tapes always do.
    const others = currentRecorders().filter((r) => r !== this.#recorder);
    const grads = withRecorders(
      this.#persistent && this.#recording ? currentRecorders() : others,
      () => memory.tidy(() => pass(differentiate)),
    );
    if (!this.#persistent) this.dispose();
    return grads;
  }

  /** Stops recording and frees what is kept. */
  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#stop();
    this.#recorder.release();
    tapeCount.live--;
  }
  /** Frees at the end of a `using` block. */
  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** Gradients of seeds with respect to sources; with `slices` they may be `IndexedSlices`. */
type Differentiate = (
  seeds: readonly Seed[],
  sources: readonly Tensor[],
  slices?: boolean,
) => (Tensor | null)[];

function stackRows(rows: readonly (Tensor | null)[], target: Tensor, source: Tensor): Tensor {
  const filled = rows.map((r) => r ?? zerosOfTensor(source));
  return reshape(stackOf(filled), [...target.shape, ...source.shape]);
}
