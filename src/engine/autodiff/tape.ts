/** GradientTape: records eager (or traced) applications and differentiates them. */
import { counted, showAs } from "../core/arrays/shown.ts";
import { currentRecorders, withRecorders } from "../core/apply.ts";
import { flatten, type Nest, packAs } from "../core/nest.ts";
import { handleOf, type Resource } from "../core/graph_node.ts";
import { compatible, shapeText } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { optionCheck, wantFunction, wrongArgument } from "../core/arguments.ts";
import { RuntimeError, ValueError } from "../core/errors.ts";
import { TypeError } from "../core/throwing/builtin_errors.ts";
import { backprop, type Seed } from "./backprop.ts";
import { type Differentiable, floatParts, packGradients } from "./composites.ts";
import { CompositeTensor } from "../core/composite.ts";
import { jacobians, rowJacobian } from "./jacobians.ts";
import { ownGradients } from "./own_gradients.ts";
import { tapeMemory } from "./step_recorder.ts";
import { TapeRecording } from "./tape_recording.ts";
import { inBackwardPass, namedStep } from "./tape_scopes.ts";
import { dense } from "../ops/array/indexed_slices.ts";
import { onesOfTensor, zerosOfTensor } from "../ops/array/fill_ops.ts";

/** Options of {@linkcode GradientTape}. */
export interface GradientTapeOptions {
  /** True: `gradient()` may be called more than once. */
  readonly persistent?: boolean;
  /** False: trainable variables are watched only on request. */
  readonly watchAccessedVariables?: boolean;
}

/** The gradients of unconnected inputs. */
export type UnconnectedGradients = "none" | "zero";

/** Options of {@linkcode GradientTape.gradient}. */
export interface TapeGradientOptions {
  /** Gradient that flows into each target; ones where absent. */
  readonly outputGradients?: Nest<Differentiable | null>;
  /** `"none"` gives null, `"zero"` zeros. */
  readonly unconnectedGradients?: UnconnectedGradients;
}

/** Gradients in the nest of their sources, null where there is none. */
export type GradientsOf<S> = Nest<Tensor> extends S ? Nest<Tensor | null>
  : S extends Tensor ? Tensor | null
  : { -readonly [K in keyof S]: GradientsOf<S[K]> };

const checkOptions = optionCheck<GradientTapeOptions>("GradientTape", {
  persistent: true,
  watchAccessedVariables: true,
});
const checkGradientOptions = optionCheck<TapeGradientOptions>("GradientTape.gradient", {
  outputGradients: true,
  unconnectedGradients: true,
});

/**
 * Records ops for differentiation. Recording starts at once and ends at the first `gradient()`, and with the `tidy`,
 * scope, function call, script body or dataset map in which the tape was made, by an error too. Make it with `using`,
 * so that it ends with its block.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.scalar(3);
 * using tape = new tf.GradientTape();
 * tape.watch(x);
 * const y = tf.square(x);
 * console.log((tape.gradient(y, x) as tf.Tensor).item()); // 6
 * ```
 */
export class GradientTape implements Disposable {
  readonly #recording: TapeRecording;
  readonly #persistent: boolean;
  #used = false;

  /** Starts recording. */
  constructor(options: GradientTapeOptions = {}) {
    checkOptions(options);
    const { persistent = false, watchAccessedVariables = true } = options;
    this.#persistent = persistent;
    const follow = watchAccessedVariables ? "trainable" : "none";
    this.#recording = new TapeRecording(this, follow);
  }

  #checkAlive(action: string): void {
    if (!this.#recording.isDisposed) return;
    throw new RuntimeError(
      `Cannot ${action}: the GradientTape has ended, by dispose() or with the scope, function call or body in which it was made`,
    );
  }

  /** Watches tensors and composite values, in any nest; variables are watched by themselves. */
  watch(tensors: Nest<Differentiable>): void {
    for (const t of floatParts(tensorsOf(tensors, "tensors", "watch"))) {
      this.#recording.recorder.watch(t!.id);
    }
  }

  /** Returns the variables that were read and are followed, in the order of their first reads. */
  watchedVariables(): Resource[] {
    return [...this.#recording.recorder.variables.values()];
  }

  /** Clears the recording. Follows TensorFlow `tf.GradientTape.reset`. Throws `RuntimeError` where it has ended. */
  reset(): void {
    this.#checkAlive("reset");
    this.#recording.reset();
  }

  /** Runs `fn` without recording. */
  stopRecording<R>(fn: () => R): R {
    wantFunction(fn, "fn", "stopRecording");
    const was = this.#recording.isRunning;
    this.#recording.stop();
    try {
      return fn();
    } finally {
      if (was) this.#recording.start();
    }
  }

  /**
   * Gradient of the target (or the sum of targets) with respect to each source, in the sources' nest; null where not
   * connected. Where rows of a source were gathered it is `IndexedSlices`, which other ops take as a dense tensor. The
   * gradient of a ragged or sparse source has the same rows or indices. Throws `RuntimeError` on a second call of a
   * tape that is not persistent.
   */
  gradient(
    target: Nest<Differentiable>,
    sources: Tensor,
    options?: TapeGradientOptions,
  ): Tensor | null;
  /** Gradient of a ragged or sparse source. */
  gradient<S extends CompositeTensor>(
    target: Nest<Differentiable>,
    sources: S,
    options?: TapeGradientOptions,
  ): S | null;
  /** Gradients of a nest of sources, in its form. */
  gradient<const S extends Nest<Tensor>>(
    target: Nest<Differentiable>,
    sources: S,
    options?: TapeGradientOptions,
  ): GradientsOf<S>;
  /** Gradients of a nest of sources, some of them ragged or sparse. */
  gradient(
    target: Nest<Differentiable>,
    sources: Nest<Differentiable>,
    options?: TapeGradientOptions,
  ): Nest<Differentiable | null>;
  gradient(
    target: Nest<Differentiable>,
    sources: Nest<Differentiable>,
    options: TapeGradientOptions = {},
  ): Nest<Differentiable | null> {
    checkGradientOptions(options);
    // Conversions to dense tensors are recorded, as they are differentiated too.
    const targets = floatParts(tensorsOf(target, "target", "gradient")).map((t) => dense(t!));
    const wanted = tensorsOf(sources, "sources", "gradient"),
      leaves = floatParts(wanted) as Tensor[];
    const given = options.outputGradients === undefined
      ? []
      : floatParts(flatten(options.outputGradients));
    if (given.length > 0 && given.length !== targets.length) {
      throw new ValueError(
        `Length mismatch: received ${given.length} outputGradients for ${targets.length} targets`,
      );
    }
    const { flow } = this.#recording.recorder;
    const grads = this.#use((differentiate) => {
      const seeds: Seed[] = targets.flatMap((t, i) => {
        const dtype = flow.gradientOf(t.dtype);
        return dtype === null ? [] : [{ id: t.id, grad: given[i] ?? onesOfTensor(t, dtype) }];
      });
      return differentiate(seeds, leaves, true).map((g, i) =>
        g ?? (options.unconnectedGradients === "zero" ? zerosOfTensor(leaves[i]) : null)
      );
    });
    return packAs(sources, packGradients(wanted, grads));
  }

  /**
   * Derivative of each element of `target` with respect to each source, in the sources' nest: shape
   * `[...target, ...source]`; null where not connected. Throws `RuntimeError` on a second call of a tape that is not
   * persistent, `TypeError` for composite values.
   */
  jacobian(target: Tensor, sources: Tensor, options?: TapeGradientOptions): Tensor | null;
  /** Derivatives with respect to a nest of sources, in its form. */
  jacobian<const S extends Nest<Tensor>>(
    target: Tensor,
    sources: S,
    options?: TapeGradientOptions,
  ): GradientsOf<S>;
  jacobian(
    target: Tensor,
    sources: Nest<Tensor>,
    options: TapeGradientOptions = {},
  ): Nest<Tensor | null> {
    checkGradientOptions(options);
    const leaves = tensorsOf(sources, "sources", "jacobian") as readonly Tensor[];
    wantTensors([...tensorsOf(target, "target", "jacobian"), ...leaves], "jacobian");
    const zero = options.unconnectedGradients === "zero";
    const found = this.#use((differentiate) =>
      jacobians(target, leaves, (grad) => differentiate([{ id: target.id, grad }], leaves), zero)
    );
    return packAs(sources, found);
  }

  /**
   * Is {@linkcode GradientTape.jacobian} row by row of a batch, where no row of `target` depends on another row of
   * `source`: shape `[batch, ...target row, ...source row]`. Throws `ValueError` where the first dimensions differ.
   */
  batchJacobian(target: Tensor, source: Tensor, options: TapeGradientOptions = {}): Tensor | null {
    checkGradientOptions(options);
    const [of, by] = [target, source].map((t, i) =>
      tensorsOf(t, i === 0 ? "target" : "source", "batchJacobian")
    );
    wantTensors([...of, ...by], "batchJacobian");
    const shapes = [target, source].map((t) => t.isSymbolic ? t.staticShape : t.shape);
    const [batch, other] = shapes.map((s) => s && s.slice(0, 1));
    if (batch?.length === 0 || !compatible(batch, other)) {
      throw new ValueError(
        `Need first dimension of target shape ${shapeText(shapes[0])} and source shape ${
          shapeText(shapes[1])
        } to match.`,
      );
    }
    const zero = options.unconnectedGradients === "zero";
    const [found] = this.#use((differentiate) => {
      const derive = (grad: Tensor) => differentiate([{ id: target.id, grad }], [source]);
      return [rowJacobian(target, source, derive, zero)];
    });
    return found;
  }

  /** Runs a backward pass with a function that differentiates the recording so far. */
  #use(pass: (differentiate: Differentiate) => (Tensor | null)[]): (Tensor | null)[] {
    if (this.#used && !this.#persistent) {
      throw new RuntimeError(
        "A non-persistent GradientTape can only be used to compute one set of gradients: pass { persistent: true }",
      );
    }
    this.#checkAlive("differentiate");
    this.#used = true;
    const recording = this.#recording, { recorder } = recording;
    recording.asked();
    if (!this.#persistent) recording.stop();
    const steps = [...recorder.steps];
    const differentiate: Differentiate = (seeds, sources, slices = false) => {
      // Backprop would compute derivatives by unwatched sources too.
      const followed = sources.filter((x) =>
        recorder.follows(x) || seeds.some((s) => s.id === x.id)
      );
      const found = backprop(steps, seeds, {
        sources: followed.map((x) => x.id),
        variables: followed.flatMap((x) => handleOf(x) ?? []),
        around: namedStep,
        slices,
        flow: recorder.flow,
      });
      if (followed.length === sources.length) return found;
      const byId = new Map(followed.map((x, i) => [x.id, found[i]]));
      return sources.map((x) => byId.get(x.id) ?? null);
    };
    // A persistent tape that is recording records its own backward pass too; outer tapes always do.
    const others = currentRecorders().filter((r) => r !== recorder);
    const grads = withRecorders(
      this.#persistent && recording.isRunning ? currentRecorders() : others,
      () => inBackwardPass(() => tapeMemory().tidy(() => ownGradients(() => pass(differentiate)))),
    );
    if (!this.#persistent) this.dispose();
    return grads;
  }

  /** Stops recording and frees the kept values. */
  dispose(): void {
    this.#recording.dispose();
  }
  /** Frees the kept values at the end of a `using` block. */
  [Symbol.dispose](): void {
    this.dispose();
  }

  /** Formats it for `console.log`. */
  toString(): string {
    const { isRunning, isDisposed, recorder } = this.#recording;
    const state = isDisposed ? "ended" : isRunning ? "recording" : "stopped";
    const kind = this.#persistent ? "persistent, " : "";
    return `<tf.GradientTape: ${kind}${state}, ${
      counted(recorder.variables.size, "variable")
    } read>`;
  }
}
showAs(GradientTape);

/** Computes gradients of seeds with respect to sources; with `slices` they may be `IndexedSlices`. */
type Differentiate = (
  seeds: readonly Seed[],
  sources: readonly Tensor[],
  slices?: boolean,
) => (Tensor | null)[];

/** Throws `TypeError` for composite values: a Jacobian has the axes of both. */
/** Returns the tensors of a nest. Throws `TypeError`, which names the argument, for another value. */
function tensorsOf(
  nest: Nest<Differentiable>,
  arg: string,
  fn: string,
): readonly Differentiable[] {
  const values = flatten(nest);
  for (const v of values as readonly unknown[]) {
    // Tapes tell variables by what holds their values, which has an id too.
    if (v instanceof CompositeTensor || typeof (v as Tensor | null)?.id === "number") continue;
    throw wrongArgument(v, arg, fn, "tensors");
  }
  return values;
}

function wantTensors(values: readonly unknown[], fn: string): void {
  const composite = values.find((v) => v instanceof CompositeTensor);
  if (composite === undefined) return;
  throw new TypeError(
    `Cannot compute ${fn}() of ${composite}: wanted dense tensors, such as its values`,
  );
}
