/** A task of a worker: one pass over a dataset, which sends one element for each request. */
import {
  FailedPreconditionError,
  NotFoundError,
  UnimplementedError,
} from "../../engine/core/errors.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import type { GraphDefJson } from "../../engine/graph/graph_def_json.ts";
import type { ScriptFunctions } from "../../tensorflow/graph/scripts.ts";
import { wholePass } from "../../library/data/iterator.ts";
import { type Elements, Failure } from "../../library/data/source.ts";
import { graphDefOf } from "../../tensorflow/files/from_message.ts";
import {
  type DatasetDef,
  type GetElementRequest,
  ProcessingModeDef_ShardingPolicy as Policy,
  type TaskDef,
} from "../../tensorflow/proto/data_service_pb.ts";
import { type AnyDataset, buildDataset, type BuiltDataset, type Splits } from "./dataset_graph.ts";
import { elementParts } from "../wire/element_wire.ts";
import { Rounds } from "./rounds.ts";
import type { Parts } from "../wire/transport.ts";

/** Number of elements computed ahead: the next is computed while one is sent. */
const AHEAD = 2;

/** Services of the worker that a task uses. */
export interface TaskHost {
  /** The next split of a source. */
  split(task: TaskDef, provider: number, repetition: number): Promise<NdArray | null>;
  /** The dataset of a task whose definition lacks it. */
  datasetDef(datasetId: string): Promise<DatasetDef | undefined>;
  /** Reports that a task is done. */
  completed(taskId: bigint): void;
  readonly scripts: ScriptFunctions | undefined;
  readonly allowOps: readonly string[] | undefined;
}

/** Answer to a request: an element, or why there is none now or ever. */
export type Answer = Parts | { readonly endOfSequence: true } | { readonly skipTask: true };

export class Task {
  readonly id: bigint;
  readonly def: TaskDef;
  readonly #host: TaskHost;
  readonly #built: Promise<BuiltDataset>;
  readonly #stop = new AbortController();
  /** The rounds of coordinated reads, or null. */
  readonly #rounds: Rounds<Parts> | null;
  #elements: Elements | null = null;
  /** Ends when the request before is answered: requests are answered in order. */
  #turn: Promise<unknown> = Promise.resolve();
  #served = 0;
  #done = false;

  /** Begins to build its pipeline at once. */
  constructor(def: TaskDef, host: TaskHost) {
    this.id = def.taskId;
    this.def = def;
    this.#host = host;
    this.#built = this.#build();
    const consumers = Number(def.numConsumers);
    this.#rounds = consumers === 0 ? null : new Rounds(consumers, () => this.#next());
    // The first request for an element gets the error.
    this.#built.catch(() => {});
  }

  /** True when all elements were sent, or the task failed. */
  get done(): boolean {
    return this.#done;
  }

  /**
   * Resolves with the next element. Rejects once with the error of an element that could not be computed, which ends
   * the task; in coordinated reads always.
   */
  async next(request: GetElementRequest): Promise<Answer> {
    if (this.#rounds !== null) {
      return await this.#rounds.next({
        consumer: Number(request.consumerIndex),
        round: Number(request.roundIndex),
        skippedPreviousRound: request.skippedPreviousRound,
        allowSkip: request.allowSkip,
      }) ?? { skipTask: true };
    }
    const answer = this.#turn.then(() => this.#next());
    this.#turn = answer.catch(() => {});
    return await answer ?? { endOfSequence: true };
  }

  async stop(): Promise<void> {
    const why = new FailedPreconditionError(`Task ${this.id} was deleted`);
    this.#stop.abort(why);
    this.#rounds?.end(why);
    this.#done = true;
    await this.#elements?.close();
  }

  async #next(): Promise<Parts | null> {
    if (this.#done) return null;
    try {
      const { dataset, compressed } = await this.#built;
      const { signal } = this.#stop;
      // Elements are sent as they are: they are never written to.
      const ahead = Math.max(AHEAD, Number(this.def.numConsumers));
      this.#elements ??= dataset.prefetch(ahead).source.open(wholePass(signal, { isServed: true }));
      const item = await this.#elements.next();
      signal.throwIfAborted();
      if (item instanceof Failure) throw item.error;
      if (item !== null) return elementParts(item, { index: this.#served++, compressed });
      this.#end();
      return null;
    } catch (error) {
      this.#end();
      throw error;
    }
  }

  #end(): void {
    if (this.#done) return;
    this.#done = true;
    this.#host.completed(this.id);
  }

  async #build(): Promise<BuiltDataset> {
    const { def } = this;
    refuse(def);
    const policy = def.processingModeDef?.shardingPolicy ?? Policy.OFF;
    const shard = { count: Number(def.numWorkers), index: Number(def.workerIndex) };
    const isCut = policy !== Policy.OFF && policy !== Policy.DYNAMIC;
    const splits: Splits = {
      next: (provider, repetition) => this.#host.split(def, provider, repetition),
    };
    const built = await buildDataset(await this.#graph(), {
      ...(policy === Policy.DYNAMIC && { splits }),
      ...(isCut && { shard }),
      shardFiles: policy === Policy.FILE || policy === Policy.FILE_OR_DATA,
      scripts: this.#host.scripts,
      allowOps: this.#host.allowOps,
    });
    return { ...built, dataset: cut(built, policy, shard) };
  }

  async #graph(): Promise<GraphDefJson> {
    const { def } = this;
    // A dispatcher that keeps its state names a file and also sends its content, so that no path of another machine
    // is opened here.
    const dataset = def.datasetDef ?? await this.#host.datasetDef(def.datasetId);
    if (dataset?.graph === undefined) {
      throw new NotFoundError(`Task ${def.taskId} has no dataset "${def.datasetId}"`);
    }
    return graphDefOf(dataset.graph);
  }
}

function cut(
  { dataset, cutFiles }: BuiltDataset,
  policy: Policy,
  shard: { readonly count: number; readonly index: number },
): AnyDataset {
  if (policy === Policy.DATA || policy === Policy.FILE_OR_DATA && !cutFiles) {
    return dataset.shard(shard.count, shard.index);
  }
  if (policy === Policy.FILE && !cutFiles) {
    throw new NotFoundError(
      "Cannot shard by files: the dataset reads none (found an unshardable source dataset)",
    );
  }
  return dataset;
}

/** Throws for features of a task that this worker lacks, by their names. */
function refuse(def: TaskDef): void {
  if (def.useCrossTrainerCache) {
    throw new UnimplementedError("Cannot share elements between trainers (cross_trainer_cache)");
  }
}
