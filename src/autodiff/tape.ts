/**
 * GradientTape: records eager (or traced) applications and differentiates them.
 * May import core and ops.
 */
import {
  type Application,
  currentRecorders,
  type Recorder,
  setRecorders,
  withRecorders,
} from "../core/apply.ts";
import { isTrainable } from "../core/dtype.ts";
import { flatten, mapNest, type Nest, packAs } from "../core/nest.ts";
import { handleOf, type Resource, resourceOf } from "../core/graph_node.ts";
import { Tensor } from "../core/tensor.ts";
import { optionCheck } from "../core/options.ts";
import { RuntimeError, ValueError } from "../core/errors.ts";
import { backprop, isDifferentiable, type Seed } from "./backprop.ts";
import { makeStep, mayCapture, type Step } from "./steps.ts";
import { onesOfTensor, zerosOfTensor } from "../ops/creation.ts";
import { reshape } from "../ops/array_view.ts";

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
    if (!follows || !isDifferentiable(a)) return;
    for (const o of a.outputs) if (isTrainable(o.dtype)) this.#watched.add(o.id);
    this.steps.push(makeStep(a, (t) => memory.hold(t)));
  }

  /** Notes that a variable was read. True where what depends on it is followed. */
  read(resource: Resource | undefined): boolean {
    if (!resource || !isTrainable(resource.dtype)) return false;
    const wanted = this.#watched.has(resource.id) ||
      (this.#follow !== "none" && resource.trainable);
    if (wanted) this.variables.set(resource.id, resource);
    return wanted || this.#follow === "all";
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
  readonly #recorder: StepRecorder;
  readonly #persistent: boolean;
  #recording = false;
  #used = false;
  #disposed = false;

  /** Starts recording. */
  constructor(options: GradientTapeOptions = {}) {
    checkOptions(options);
    const { persistent = false, watchAccessedVariables = true } = options;
    this.#persistent = persistent;
    this.#recorder = new StepRecorder(watchAccessedVariables ? "trainable" : "none");
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
    if (this.#used && !this.#persistent) {
      throw new RuntimeError(
        "A non-persistent GradientTape can only be used to compute one set of gradients: pass { persistent: true }",
      );
    }
    this.#used = true;
    if (!this.#persistent) this.#stop();
    const targets = flatten(target), leaves = flatten(sources);
    const given = options.outputGradients === undefined ? [] : flatten(options.outputGradients);
    if (given.length > 0 && given.length !== targets.length) {
      throw new ValueError(
        `Length mismatch: received ${given.length} outputGradients for ${targets.length} targets`,
      );
    }
    const run = (): (Tensor | null)[] =>
      memory.tidy(() => {
        const seeds: Seed[] = targets.flatMap((t, i) =>
          isTrainable(t.dtype) ? [{ id: t.id, grad: given[i] ?? onesOfTensor(t) }] : []
        );
        const found = backprop(this.#recorder.steps, seeds, {
          sources: leaves.map((l) => l.id),
          variables: leaves.flatMap((l) => handleOf(l) ?? []),
        });
        return found.map((g, i) =>
          g ?? (options.unconnectedGradients === "zero" ? zerosOfTensor(leaves[i]) : null)
        );
      });
    // A persistent tape does not record its own backward pass unless asked again; outer tapes always do.
    const others = currentRecorders().filter((r) => r !== this.#recorder);
    const grads = withRecorders(
      this.#persistent && this.#recording ? currentRecorders() : others,
      run,
    );
    if (!this.#persistent) this.dispose();
    return packAs(sources, grads);
  }

  /** Derivative of each element of `target` with respect to `source`: shape `[...target, ...source]`. */
  jacobian(target: Tensor, source: Tensor, options: TapeGradientOptions = {}): Tensor | null {
    checkGradientOptions(options);
    if (this.#used && !this.#persistent) {
      throw new RuntimeError(
        "A non-persistent GradientTape can only be used to compute one set of gradients",
      );
    }
    this.#used = true;
    this.#stop();
    const rows = memory.tidy(() => {
      const size = target.size;
      const out: (Tensor | null)[] = [];
      for (let i = 0; i < size; i++) {
        const seed = new Float32Array(size);
        seed[i] = 1;
        const grad = reshape(seed, target.shape);
        out.push(
          backprop(this.#recorder.steps, [{ id: target.id, grad }], { sources: [source.id] })[0],
        );
      }
      if (out.every((r) => r === null)) {
        return options.unconnectedGradients === "zero" ? stackRows(out, target, source) : null;
      }
      return stackRows(out, target, source);
    });
    if (!this.#persistent) this.dispose();
    return rows;
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

function stackRows(rows: readonly (Tensor | null)[], target: Tensor, source: Tensor): Tensor {
  const filled = rows.map((r) => r ?? zerosOfTensor(source));
  return reshape(stackOf(filled), [...target.shape, ...source.shape]);
}

import { stack as stackOf } from "../ops/array_join.ts";
export { mapNest };
