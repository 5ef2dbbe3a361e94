/**
 * Accumulators of gradients: replicas add theirs, somebody waits until there are enough and takes the mean.
 */
import type { OpInput } from "../../core/apply.ts";
import type { DType } from "../../core/dtype.ts";
import { CancelledError, InvalidArgumentError } from "../../core/errors.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { compatible, type PartialShape, shapeText } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { type Accumulator, AccumulatorHandle } from "../../ops/host/accumulators.ts";
import { shapeOfInput } from "../../ops/input.ts";
import { add, div } from "../../ops/pointwise/arithmetic.ts";
import { aside } from "../eager/aside.ts";
import { constantTensor } from "../eager/eager.ts";
import { defaultDevice } from "../devices/devices.ts";
import { EagerTensor, outsideScopes } from "../eager/tensor.ts";
import { asTensors } from "../run/run_value.ts";

/** What an accumulator is made for. */
export interface AccumulatorSpec {
  readonly dtype: DType;
  /** Shape of the gradients, as far as it is the same for all. */
  readonly shape: PartialShape;
  /** What is taken of them. */
  readonly reduction: "MEAN" | "SUM";
}

/** Somebody who waits. */
interface Taker {
  readonly required: number;
  readonly resolve: (average: EagerTensor) => void;
}

/** The state behind an accumulator. Follows TensorFlow `ConditionalAccumulatorBase`. */
export class GradientAccumulator implements Accumulator {
  readonly name: string;
  readonly spec: AccumulatorSpec;
  readonly ofGraph: boolean;
  /** The handle that ops take as input. */
  readonly handle: Tensor = new AccumulatorHandle(this);
  #sum: EagerTensor | null = null;
  #count = 0;
  #step = 0n;
  readonly #takers = new Set<Taker>();

  /** `ofGraph`: it belongs to a graph, and each session has its own. */
  constructor(name: string, spec: AccumulatorSpec, ofGraph = false) {
    this.name = name;
    this.spec = spec;
    this.ofGraph = ofGraph;
  }

  /** An empty one for a session. */
  fork(): this {
    return new GradientAccumulator(this.name, this.spec) as this;
  }

  get count(): number {
    return this.#count;
  }

  /** Says which step it is: gradients of earlier ones are dropped. What is there stays. */
  setStep(step: bigint): void {
    this.#step = step;
  }

  /** Adds a gradient that was computed at a step, unless that is over. Throws `InvalidArgumentError` for one of another shape. */
  apply(step: bigint, gradient: OpInput): void {
    if (step < this.#step) return;
    const shape = shapeOfInput(gradient);
    const wanted = this.#sum?.staticShape ?? this.spec.shape;
    if (!compatible(wanted, shape)) {
      throw new InvalidArgumentError(
        `Shape mismatch: expected ${shapeText(wanted)}, got ${
          shapeText(shape)
        } for accumulator "${this.name}"`,
      );
    }
    const before = this.#sum;
    if (before !== null) this.#sum = computed(() => add(before, gradient));
    else if (gradient instanceof EagerTensor) this.#sum = gradient.hold();
    else this.#sum = outsideScopes(() => constantTensor(gradient as NdArray, defaultDevice()));
    before?.dispose();
    this.#count++;
    this.#serve();
  }

  /**
   * The mean of what is there, once that is at least `required`; it is empty then, and its step the next. Throws
   * `InvalidArgumentError` where nothing is required.
   */
  take(required: number, signal?: AbortSignal): Promise<EagerTensor> {
    const taker = Promise.withResolvers<EagerTensor>();
    const waiting: Taker = { required: this.#checked(required), resolve: taker.resolve };
    this.#takers.add(waiting);
    const leave = (): void => {
      if (this.#takers.delete(waiting)) {
        taker.reject(new CancelledError("TakeGrad operation was cancelled"));
      }
    };
    signal?.addEventListener("abort", leave, { once: true });
    if (signal?.aborted) leave();
    this.#serve();
    return taker.promise.finally(() => signal?.removeEventListener("abort", leave));
  }

  /** {@linkcode GradientAccumulator.take} at once, owned by the scope in force; null where there are too few, or others wait. */
  takeNow(required: number): EagerTensor | null {
    const isEnough = this.#checked(required) <= this.#count && this.#takers.size === 0;
    return isEnough ? asTensors([this.#taken()])[0] : null;
  }

  /** Frees what is there; who waits goes on waiting. */
  dispose(): void {
    this.#sum?.dispose();
    this.#sum = null;
    this.#count = 0;
  }

  #checked(required: number): number {
    if (required > 0) return required;
    throw new InvalidArgumentError(`Argument num_required must be positive: ${required}`);
  }

  /** Those who wait come one after the other, also where a later one would be content with less. */
  #serve(): void {
    for (const taker of this.#takers) {
      if (this.#count < taker.required) return;
      this.#takers.delete(taker);
      taker.resolve(this.#taken());
    }
  }

  #taken(): EagerTensor {
    const sum = this.#sum!, count = this.#count;
    this.#sum = null;
    this.#count = 0;
    this.#step++;
    if (this.spec.reduction === "SUM") return sum;
    const mean = computed(() => div(sum, count));
    sum.dispose();
    return mean;
  }
}

/** Computes eagerly what nobody else owns. */
function computed(fn: () => Tensor): EagerTensor {
  return aside({}, fn) as EagerTensor;
}
