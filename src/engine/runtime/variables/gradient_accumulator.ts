/** Accumulators of gradients: replicas add gradients, and a waiting taker gets the mean once there are enough. */
import { deferred } from "../run/timers.ts";
import type { OpInput } from "../../core/apply.ts";
import type { DType } from "../../core/dtype.ts";
import { CancelledError, InvalidArgumentError } from "../../core/errors.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { compatible, type PartialShape, shapeText } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { type Accumulator, AccumulatorHandle } from "../../ops/host/accumulators.ts";
import { shapeOfInput } from "../../ops/input.ts";
import { add, div } from "../../ops/pointwise/arithmetic.ts";
import { isolated } from "../eager/isolated.ts";
import { constantTensor } from "../eager/eager.ts";
import { defaultDevice } from "../devices/devices.ts";
import { EagerTensor, outsideScopes } from "../eager/tensor.ts";
import { asTensors } from "../run/run_value.ts";

/** The type of an accumulator. */
export interface AccumulatorSpec {
  readonly dtype: DType;
  /** Shape of the gradients, as far as it is common to all. */
  readonly shape: PartialShape;
  readonly reduction: "MEAN" | "SUM";
}

/** A waiting request for the mean. */
interface Taker {
  readonly required: number;
  readonly resolve: (average: EagerTensor) => void;
}

/** The state of an accumulator. Follows TensorFlow `ConditionalAccumulatorBase`. */
export class GradientAccumulator implements Accumulator {
  readonly name: string;
  readonly spec: AccumulatorSpec;
  readonly ofGraph: boolean;
  /** The handle that ops take. */
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

  /** Makes an empty one for a session. */
  fork(): this {
    return new GradientAccumulator(this.name, this.spec) as this;
  }

  get count(): number {
    return this.#count;
  }

  /** Sets the step: gradients of earlier steps are dropped from now on. Those already added stay. */
  setStep(step: bigint): void {
    this.#step = step;
  }

  /** Adds a gradient of a step, unless the step is over. Throws `InvalidArgumentError` for another shape. */
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
   * Returns the mean of at least `required` gradients; then it is empty, and its step advances. Throws
   * `InvalidArgumentError` for a `required` below one.
   */
  take(required: number, signal?: AbortSignal): Promise<EagerTensor> {
    const taker = deferred<EagerTensor>();
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

  /**
   * Calls {@linkcode GradientAccumulator.take} synchronously, owned by the scope in force; null if there are too few,
   * or others wait.
   */
  takeNow(required: number): EagerTensor | null {
    const isEnough = this.#checked(required) <= this.#count && this.#takers.size === 0;
    return isEnough ? asTensors([this.#taken()])[0] : null;
  }

  /** Frees the gradients; waiting takers go on waiting. */
  dispose(): void {
    this.#sum?.dispose();
    this.#sum = null;
    this.#count = 0;
  }

  #checked(required: number): number {
    if (required > 0) return required;
    throw new InvalidArgumentError(`Argument num_required must be positive: ${required}`);
  }

  /** Serves the waiting takers in order, even if a later one needs fewer. */
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

/** Computes eagerly; the accumulator owns the result. */
function computed(fn: () => Tensor): EagerTensor {
  return isolated({}, fn) as EagerTensor;
}
