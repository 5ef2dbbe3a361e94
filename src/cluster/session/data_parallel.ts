/**
 * Training by several processes: each computes gradients of its part of a batch on its own device, a task keeps the
 * parameters.
 */
import { counted, showAs } from "../../engine/core/arrays/shown.ts";
import {
  AbortedError,
  CancelledError,
  DeadlineExceededError,
  FailedPreconditionError,
  UnavailableError,
  ValueError,
} from "../../engine/core/errors.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { argumentsCheck, wantList, wantNumber, wantObject } from "../../engine/core/arguments.ts";
import { sizeOf } from "../../engine/core/shape.ts";
import type { Tensor, TensorLike } from "../../engine/core/tensor.ts";
import type { Fetch, Fetched } from "../../engine/runtime/run/requests.ts";
import { Session } from "../../engine/runtime/session/session.ts";
import type { SessionTarget } from "../../engine/runtime/run/targets.ts";
import type { Variable } from "../../engine/runtime/variables/variable.ts";
import { pause } from "../wire/pause.ts";
import { flatten, gradientOf, spread } from "./flat.ts";
import {
  type OptimizerOfStep,
  type ParameterGraph,
  parameterGraph,
  type ParameterOptimizer,
} from "./parameter_graph.ts";
import { readState, writeState } from "./training_checkpoint.ts";

/** Options of {@linkcode DataParallel}. */
export interface DataParallelOptions {
  /** The task that keeps the parameters: TensorFlow's server or ours. */
  readonly target: string | SessionTarget;
  /** This process's variables, float32, in the same order in each process. They get the parameters before each step. */
  readonly variables: readonly Variable[];
  /** The optimizer that changes the parameters; a function gets the step, for rates that depend on it. */
  readonly optimizer: ParameterOptimizer | OptimizerOfStep;
  /** Number of this replica, from 0. */
  readonly replica: number;
  /** Number of replicas. */
  readonly replicas: number;
  /** True: this replica begins the training, runs the updates and writes checkpoints. Default: replica 0. */
  readonly chief?: boolean;
  /**
   * `"sync"`, the default: the mean of the replicas' gradients makes a step, as one process with the whole batch would make it.
   * `"async"`: each gradient is a step by itself, for parameters that may have changed meanwhile.
   */
  readonly mode?: "sync" | "async";
  /** Number of gradients that make a step; later ones are dropped. Default all. */
  readonly replicasToAggregate?: number;
  /** Prefix of a checkpoint's files, from which the chief continues where the task has lost its state. */
  readonly checkpoint?: string;
  /** Steps between two checkpoints. Default 100. */
  readonly checkpointEvery?: number;
  /** Tells this training from others at the task. Default `"training"`. */
  readonly name?: string;
  /** The device there, as `"/job:ps/task:0"`. Default the target's own. */
  readonly device?: string;
  /** Milliseconds without a step, or without the task, after which the training fails. Default 60000. */
  readonly patienceMs?: number;
}

const checkOptions = argumentsCheck<DataParallelOptions>("DataParallel", {
  target: true,
  variables: true,
  optimizer: true,
  replica: true,
  replicas: true,
  chief: true,
  mode: true,
  replicasToAggregate: true,
  checkpoint: true,
  checkpointEvery: true,
  name: true,
  device: true,
  patienceMs: true,
});

/** Options of {@linkcode DataParallel.train}. */
export interface TrainOptions<B> {
  /** Gives the data of a step to the loss, where it must be awaited. */
  readonly batch?: (step: number) => B | Promise<B>;
  /** Called after each step that this replica gave a gradient for, with its loss. */
  readonly onStep?: (step: number, loss: number) => void;
  /** Aborts the training. */
  readonly signal?: AbortSignal;
}

/** Milliseconds between two reads of the step: at first, and at most. */
const LOOK_MS = [0.5, 20] as const;
/** Milliseconds without a step after which accepted gradients count as lost: the replica that took them is gone. */
const LOST_MS = 2000;

/**
 * One replica of a model that several processes train. Follows TensorFlow's parameter servers and `SyncReplicasOptimizer`. A process
 * that was killed is started again and goes on where the others are. Throws `TypeError` for arguments of another kind, `ValueError` for
 * variables that are not float32 and numbers of replicas that cannot be.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { DataParallel } from "@weft/weft/distribute";
 * const w = tf.variable(tf.zeros([2, 1]));
 * const training = new DataParallel({
 *   target: "grpc://127.0.0.1:2222",
 *   variables: [w],
 *   optimizer: new tf.compat.v1.train.GradientDescentOptimizer(0.1),
 *   replica: 0,
 *   replicas: 4,
 * });
 * // Each replica has its own part of the batch of a step:
 * // await training.train(1000, (step) => loss(batchOf(step, replica)));
 * console.log(w.shape); // [2, 1]
 * await training.close();
 * ```
 */
export class DataParallel {
  readonly #options: DataParallelOptions;
  readonly #there: ParameterGraph;
  readonly #session: Session;
  readonly #isChief: boolean;
  readonly #isSync: boolean;
  readonly #patienceMs: number;
  #beginning: Promise<void> | null = null;
  /** The step up to which checkpoints are written where they became due. */
  #saved = 0;

  /** Creates the replica; `train` calls the task. */
  constructor(options: DataParallelOptions) {
    checkOptions(options);
    const { variables, replicas, replica, optimizer, target } = options;
    const { mode = "sync", name = "training", device = "", patienceMs = 60_000 } = options;
    const fn = "DataParallel";
    if (typeof target !== "string") wantObject(target, "target", fn, "an address or a target");
    wantList(variables, "variables", fn, "variables");
    if (typeof optimizer !== "function") wantObject(optimizer, "optimizer", fn, "an optimizer");
    wantNumber(replica, "replica", fn);
    wantNumber(replicas, "replicas", fn);
    const required = options.replicasToAggregate ?? replicas;
    for (const [i, v] of variables.entries()) {
      wantObject(v, `variables[${i}]`, fn, "a variable");
      if (v.dtype !== "float32") {
        throw new ValueError(
          `Cannot train '${v.name}' in parallel: it is ${v.dtype}, wanted float32`,
        );
      }
    }
    const isNumber = (n: number, most: number): boolean =>
      Number.isInteger(n) && n >= 0 && n < most;
    if (
      variables.length === 0 || !isNumber(replica, replicas) || !isNumber(required - 1, replicas) ||
      !["sync", "async"].includes(mode)
    ) {
      throw new ValueError(
        `Cannot train ${variables.length} variables as replica ${replica} of ${replicas} with ${required} gradients to a step, ${mode}: wanted some variables, a replica below the number of them, 1 to ${replicas} gradients, "sync" or "async"`,
      );
    }
    this.#options = options;
    this.#isChief = options.chief ?? replica === 0;
    this.#isSync = mode === "sync";
    this.#patienceMs = patienceMs;
    this.#there = parameterGraph({
      name,
      device,
      optimizer,
      size: variables.reduce((n, v) => n + sizeOf(v.shape), 0),
      required: this.#isSync ? required : null,
    });
    this.#session = new Session({ graph: this.#there.graph, target });
  }

  /**
   * Takes part until the training has made `steps` steps; the variables then hold its parameters. `loss` computes
   * this replica's loss of a step from the variables. Resolves with the number of gradients that this replica gave.
   * Rejects with what `loss` throws, `CancelledError` for the signal, `UnavailableError` where the task does not come
   * back, `DeadlineExceededError` where no step is made for too long.
   */
  async train<B = undefined>(
    steps: number,
    loss: (step: number, batch: B) => Tensor,
    { batch, onStep, signal }: TrainOptions<B> = {},
  ): Promise<number> {
    const ended = new AbortController(), over = new AbortController();
    const limit = signal === undefined ? ended.signal : AbortSignal.any([ended.signal, signal]);
    let given = 0, updates: Promise<void> | null = null;
    try {
      await this.#join(limit);
      if (this.#isChief) this.#saved = Number(await this.#run(this.#there.look[0], {}, limit));
      if (this.#isChief && this.#isSync) updates = this.#makeUpdates(steps, limit, over.signal);
      updates?.catch((e) => ended.abort(e));
      for (;;) {
        const { step, epoch } = await this.#pull(limit);
        if (step >= steps) {
          // The reply to the last update may come later, or not at all where another replica ran it.
          over.abort(new AbortedError("The training is over"));
          await updates;
          if (this.#isChief) await this.#saveIfDue(step, limit);
          break;
        }
        const part = await batch?.(step) as B;
        const made = await gradientOf(() => loss(step, part), this.#options.variables);
        limit.throwIfAborted();
        const isTaken = await this.#push(made.gradient, step, limit);
        given++;
        onStep?.(step, made.loss);
        if (this.#isSync) await this.#nextStep({ step, epoch, isTaken }, limit);
        else if (this.#isChief) await this.#saveIfDue(step + 1, limit);
      }
    } catch (e) {
      if (signal?.aborted) {
        throw new CancelledError("The training was cancelled", { cause: signal.reason });
      }
      // The error that ended the updates ended this loop too.
      throw ended.signal.aborted ? ended.signal.reason : e;
    } finally {
      ended.abort(new AbortedError("The training is over"));
      await updates?.catch(() => {});
    }
    return given;
  }

  /** Closes the session; the task keeps its state. */
  close(): Promise<void> {
    return this.#session.close();
  }

  /** Closes at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Waits until there are parameters; the chief begins, or goes on with the checkpoint, where there are none. */
  async #join(signal: AbortSignal): Promise<void> {
    const { ready } = this.#there;
    await this.#waitUntil(signal, async () => {
      if (await this.#run(ready, {}, signal)) return true;
      if (this.#isChief) await this.#begin(signal);
      return this.#isChief;
    });
  }

  /** Gives the task its parameters; concurrent callers share one attempt. */
  #begin(signal: AbortSignal): Promise<void> {
    return this.#beginning ??= this.#giveState(signal).finally(() => this.#beginning = null);
  }

  async #giveState(signal: AbortSignal): Promise<void> {
    const { begin, restore, state } = this.#there, { checkpoint, variables } = this.#options;
    if (!await this.#isFirst(signal)) return;
    // A new number tells this life of the task from earlier ones, whose steps begin anew.
    const epoch = crypto.getRandomValues(new BigInt64Array(1))[0] >> 1n;
    const found = checkpoint === undefined ? null : await readState(checkpoint, state);
    const given = found ?? { initial: await flatten(variables), first_step: 0n };
    const feeds = this.#fed({ ...given, epoch });
    await this.#session.run(found === null ? begin : restore, { feeds, signal });
  }

  /**
   * Waits until this chief may give the state, or another has given it: gradients that come between two beginnings would count
   * twice. False where there are parameters. A chief that got the right and died is replaced after a while, one by one.
   */
  async #isFirst(signal: AbortSignal): Promise<boolean> {
    const { claim, ready } = this.#there, asked = new AbortController();
    const limit = AbortSignal.any([signal, asked.signal]);
    const since = performance.now(), most = LOST_MS * (1 + this.#options.replica);
    const isThere = (): Promise<boolean> =>
      this.#session.run(ready, { signal }) as unknown as Promise<boolean>;
    try {
      await Promise.race([
        this.#session.run(claim, { signal: limit }),
        this.#waitUntil(limit, async () => await isThere() || performance.now() - since > most),
      ]);
    } finally {
      asked.abort(new AbortedError("Another chief has begun"));
    }
    return !await isThere();
  }

  /** Reads the parameters into the variables; returns their step. */
  async #pull(signal: AbortSignal): Promise<{ step: number; epoch: bigint }> {
    const { pull: [step, parameters], look: [, lost] } = this.#there;
    const [now, values, epoch] = await this.#run([step, parameters, lost], {}, signal) as Fetched[];
    spread(values as NdArray, this.#options.variables);
    return { step: Number(now), epoch: epoch as bigint };
  }

  /** Adds a gradient of a step. False where it was dropped. */
  async #push(gradient: NdArray, step: number, signal: AbortSignal): Promise<boolean> {
    const feeds = this.#isSync ? { gradient, local_step: BigInt(step) } : { gradient };
    const [before, now] = await this.#run(this.#there.push, feeds, signal) as Fetched[];
    return before === null || Number(now) > Number(before);
  }

  /** Waits until the step is over, or its gradients are lost. */
  async #nextStep(
    { step, epoch, isTaken }: { step: number; epoch: bigint; isTaken: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    let since = 0;
    await this.#waitUntil(signal, async () => {
      const [now, lost, waiting] = await this.#run(this.#there.look, {}, signal) as Fetched[];
      if (Number(now) !== step || lost !== epoch) return true;
      // An accepted gradient should wait in the accumulator, unless the step is just being made.
      if (isTaken && waiting !== 0) since = 0;
      else if (since === 0) since = performance.now();
      else if (performance.now() - since > LOST_MS) {
        await this.#run(this.#there.repair, {}, signal);
        return true;
      }
      return false;
    });
  }

  /** Runs updates as gradients come, up to `steps` or until the training is over. */
  async #makeUpdates(steps: number, signal: AbortSignal, over: AbortSignal): Promise<void> {
    const { update } = this.#there, limit = AbortSignal.any([signal, over]);
    for (let now = this.#saved; now < steps;) {
      try {
        // Other replicas may run updates too: that this one waits does not mean that no step is made.
        now = Number(await this.#run(update, {}, limit));
      } catch (e) {
        if (over.aborted) return;
        throw e;
      }
      await this.#saveIfDue(now, signal);
    }
  }

  /** Writes a checkpoint where one became due since the last, up to the step `now`. */
  async #saveIfDue(now: number, signal: AbortSignal): Promise<void> {
    const { checkpoint, checkpointEvery = 100 } = this.#options,
      { state, look: [step] } = this.#there;
    const isDue = Math.floor(now / checkpointEvery) > Math.floor(this.#saved / checkpointEvery);
    if (checkpoint !== undefined && isDue) {
      const [at, ...values] = await this.#run([step, ...state], {}, signal) as Fetched[];
      await writeState(checkpoint, state, values as NdArray[], at as bigint);
    }
    this.#saved = now;
  }

  /** Runs fetches at the task, and retries while it is away; the chief restores its state where it has lost it. */
  async #run(
    fetches: Fetch | readonly Fetch[],
    values: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<unknown> {
    const feeds = this.#fed(values);
    let result: unknown;
    await this.#waitUntil(signal, async () => {
      try {
        // Only an update waits for other replicas.
        const timeoutMs = fetches === this.#there.update ? undefined : this.#patienceMs;
        result = await this.#session.run(fetches as Fetch, { feeds, signal, timeoutMs });
        return true;
      } catch (e) {
        if (!(e instanceof FailedPreconditionError)) throw e;
        if (this.#isChief && !await this.#session.run(this.#there.ready, { signal })) {
          await this.#begin(signal);
        }
        return false;
      }
    });
    return result;
  }

  /** Polls with growing pauses until `ask` resolves with true. An unreachable task counts as false. */
  async #waitUntil(signal: AbortSignal, ask: () => Promise<boolean>): Promise<void> {
    const begin = performance.now();
    let ms: number = LOOK_MS[0];
    for (;;) {
      let away: unknown = null;
      try {
        if (await ask()) return;
      } catch (e) {
        if (!(e instanceof UnavailableError || e instanceof AbortedError) || signal.aborted) {
          throw e;
        }
        away = e;
      }
      signal.throwIfAborted();
      if (performance.now() - begin > this.#patienceMs) {
        throw away ?? new DeadlineExceededError(
          `Cannot go on: no step was made for ${this.#patienceMs} ms, some of the ${this.#options.replicas} replicas or the chief are not there`,
        );
      }
      await pause(ms, signal);
      ms = Math.min(ms * 1.5, LOOK_MS[1]);
    }
  }

  #fed(values: Readonly<Record<string, unknown>>): Record<string, TensorLike> {
    const { name = "training" } = this.#options;
    return Object.fromEntries(
      Object.entries(values).map(([key, v]) => [`${name}/${key}:0`, v as TensorLike]),
    );
  }

  /** Formats it for `console.log`. */
  toString(): string {
    const { replica, replicas, variables } = this.#options;
    return `<DataParallel replica ${replica} of ${replicas}: ${
      counted(variables.length, "variable")
    }>`;
  }
}
showAs(DataParallel);
