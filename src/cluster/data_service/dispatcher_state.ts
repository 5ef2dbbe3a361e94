/** State of a dispatcher, changed by entries only: the same entries in the same order give the same state. */
import { fromBinary } from "@bufbuild/protobuf";
import { NotFoundError } from "../../engine/core/errors.ts";
import { graphDefOf } from "../../tensorflow/files/from_message.ts";
import {
  DatasetDefSchema,
  ProcessingModeDef_ShardingPolicy as Policy,
} from "../../tensorflow/proto/data_service_pb.ts";
import { type SplitSource, splitSources } from "./split_sources.ts";

/** One of several parts that a dataset is cut into beforehand. */
export interface Shard {
  readonly index: number;
  readonly count: number;
}

/** A dataset as a client registered it: its graph, and what it says of the elements. */
export interface StoredDataset {
  readonly def: Uint8Array;
  readonly metadata: Uint8Array;
}

/** An event that changes the state. */
export type Entry =
  | ({ readonly is: "dataset"; readonly id: string } & StoredDataset)
  | {
    readonly is: "job";
    readonly id: number;
    readonly name: string;
    readonly datasetId: string;
    readonly policy: Policy;
    readonly consumers: number;
  }
  | {
    readonly is: "iteration";
    readonly id: number;
    readonly job: number;
    readonly repetition: number;
  }
  | {
    readonly is: "task";
    readonly id: number;
    readonly iteration: number;
    readonly worker: string;
    readonly shard: Shard;
    readonly round: number;
    /** True where all consumers must agree before the task is read. */
    readonly isPending: boolean;
  }
  /** A consumer agrees to begin with a task in its round. */
  | { readonly is: "agreed"; readonly task: number; readonly client: number }
  /** A consumer is past the round of a task: all begin with it later. */
  | { readonly is: "deferred"; readonly task: number; readonly round: number }
  /** A task gave all its elements, or its worker is gone. */
  | { readonly is: "ended"; readonly task: number; readonly how: "done" | "lost" }
  | {
    readonly is: "splits";
    readonly iteration: number;
    readonly source: number;
    readonly repetition: number;
    readonly given: number;
  }
  | { readonly is: "client"; readonly id: number; readonly iteration: number }
  | { readonly is: "left"; readonly client: number }
  /** The last client of an iteration has left. */
  | { readonly is: "forgotten"; readonly iteration: number }
  /** A job got no iteration in time. */
  | { readonly is: "dropped"; readonly job: number };

/** A dataset that clients read, each on its own or together with others that name the same job. */
export interface Job {
  readonly id: number;
  /** Empty for a job that no other client can join. */
  readonly name: string;
  readonly datasetId: string;
  readonly policy: Policy;
  /** Number of consumers that read together, round by round; 0 where each element goes to the first that asks. */
  readonly consumers: number;
}

/** A worker's part of an iteration. */
export interface TaskState {
  readonly id: number;
  readonly worker: string;
  readonly shard: Shard;
  /** The first round of coordinated reads in which it is read. */
  round: number;
  /** Consumers that begin with it in that round; null when all do. */
  ready: Set<number> | null;
  /** Number of times that round was deferred. */
  failures: number;
  ended: "done" | "lost" | null;
}

/** Position of a source: the splits given out in this repetition. */
interface Source {
  readonly split: SplitSource;
  repetition: number;
  given: number;
}

/** One pass of a job over its dataset. */
export interface Iteration {
  readonly id: number;
  readonly job: Job;
  readonly repetition: number;
  readonly tasks: TaskState[];
  readonly sources: readonly Source[];
}

/** The state of a dispatcher. It is read-only for its readers; `take` alone changes it. */
export class DispatcherState {
  readonly datasets: Map<string, StoredDataset> = new Map();
  readonly jobs: Map<number, Job> = new Map();
  readonly iterations: Map<number, Iteration> = new Map();
  readonly clients: Map<number, Iteration> = new Map();
  #last = 0;

  /** An unused number. */
  get newId(): number {
    return this.#last + 1;
  }

  /** Changes the state by an entry. Throws, and changes nothing, where that cannot be. */
  take(entry: Entry): void {
    this.prepare(entry)();
  }

  /** Checks an entry. Returns the change that it makes, which cannot fail. */
  prepare(entry: Entry): () => void {
    const change = this.#change(entry);
    return () => {
      if ("id" in entry && typeof entry.id === "number") {
        this.#last = Math.max(this.#last, entry.id);
      }
      change();
    };
  }

  #change(entry: Entry): () => void {
    switch (entry.is) {
      case "dataset":
        return () => void this.datasets.set(entry.id, entry);
      case "job":
        return () => void this.jobs.set(entry.id, entry);
      case "iteration":
        return this.#iteration(entry);
      case "task": {
        const { id, worker, shard, round } = entry;
        const ready = entry.isPending ? new Set<number>() : null;
        const { tasks } = this.iteration(entry.iteration);
        const task: TaskState = { id, worker, shard, round, ready, failures: 0, ended: null };
        return () => void tasks.push(task);
      }
      case "agreed": {
        const { job } = this.read(entry.client), task = this.#task(entry.task);
        return () => {
          task?.ready?.add(entry.client);
          if (task?.ready?.size === job.consumers) task.ready = null;
        };
      }
      case "deferred": {
        const task = this.#task(entry.task);
        return () => {
          task?.ready?.clear();
          if (task !== undefined) {
            Object.assign(task, { round: entry.round, failures: task.failures + 1 });
          }
        };
      }
      case "ended": {
        const task = this.#task(entry.task);
        return () => {
          if (task !== undefined) task.ended = entry.how;
        };
      }
      case "splits": {
        const { repetition, given } = entry;
        const source = this.iteration(entry.iteration).sources[entry.source];
        if (source === undefined) throw new NotFoundError(`There is no source ${entry.source}`);
        return () => void Object.assign(source, { repetition, given });
      }
      case "client": {
        const iteration = this.iteration(entry.iteration);
        return () => void this.clients.set(entry.id, iteration);
      }
      case "left":
        return () => void this.clients.delete(entry.client);
      case "forgotten": {
        const { job } = this.iteration(entry.iteration);
        return () => {
          this.iterations.delete(entry.iteration);
          // A job without a name can never be joined again.
          if (job.name === "") this.jobs.delete(job.id);
        };
      }
      case "dropped":
        return () => void this.jobs.delete(entry.job);
      default:
        throw new NotFoundError(`No entry is called "${(entry as { is: unknown }).is}"`);
    }
  }

  /** Entries that build this state. */
  *entries(): Generator<Entry> {
    for (const [id, dataset] of this.datasets) yield { ...dataset, is: "dataset", id };
    for (const job of this.jobs.values()) yield { ...job, is: "job" };
    for (const { id, job, repetition, tasks, sources } of this.iterations.values()) {
      yield { is: "iteration", id, job: job.id, repetition };
      for (const { id: task, worker, shard, round, ready, ended } of tasks) {
        const isPending = ready !== null;
        yield { is: "task", id: task, iteration: id, worker, shard, round, isPending };
        if (ended !== null) yield { is: "ended", task, how: ended };
      }
      for (const [source, { repetition, given }] of sources.entries()) {
        yield { is: "splits", iteration: id, source, repetition, given };
      }
    }
    for (const [id, iteration] of this.clients) {
      yield { is: "client", id, iteration: iteration.id };
    }
  }

  /** Finds a dataset. Throws `NotFoundError` for an unknown one. */
  dataset(id: string): StoredDataset {
    return this.#found(this.datasets.get(id), `Dataset id ${id}`);
  }
  /** Finds a job. Throws `NotFoundError` for an unknown one. */
  job(id: number): Job {
    return this.#found(this.jobs.get(id), `Job ${id}`);
  }
  /** Finds an iteration. Throws `NotFoundError` for an unknown one. */
  iteration(id: number): Iteration {
    return this.#found(this.iterations.get(id), `Iteration ${id}`);
  }
  /** Finds the iteration that a client reads. Throws `NotFoundError` for an unknown client. */
  read(client: number): Iteration {
    return this.#found(this.clients.get(client), `Client ${client}`);
  }

  /** Returns the number of consumers that read a task together; 0 where it has ended. */
  consumers(task: number): number {
    const open = (t: TaskState): boolean => t.id === task && t.ended === null;
    return [...this.iterations.values()].find((i) => i.tasks.some(open))?.job.consumers ?? 0;
  }

  /** All tasks of all iterations. */
  tasks(): TaskState[] {
    return [...this.iterations.values()].flatMap(({ tasks }) => tasks);
  }

  #task(id: number): TaskState | undefined {
    return this.tasks().find((t) => t.id === id);
  }

  #found<T>(value: T | undefined, what: string): T {
    if (value !== undefined) return value;
    throw new NotFoundError(`${what} not found. It may not have been registered, or was not read`);
  }

  #iteration({ id, job: jobId, repetition }: Entry & { is: "iteration" }): () => void {
    const job = this.job(jobId);
    const { graph } = fromBinary(DatasetDefSchema, this.dataset(job.datasetId).def);
    const isDynamic = job.policy === Policy.DYNAMIC && graph !== undefined;
    const sources = isDynamic ? splitSources(graphDefOf(graph)) : [];
    const iteration: Iteration = {
      id,
      job,
      repetition,
      tasks: [],
      sources: sources.map((split) => ({ split, repetition: 0, given: 0 })),
    };
    return () => void this.iterations.set(id, iteration);
  }
}

/** True where every task of the iteration has given all its elements. */
export function isFinished({ tasks }: Iteration): boolean {
  return tasks.some((t) => t.ended === "done") && tasks.every((t) => t.ended !== null);
}

/** True where a dataset is cut into as many shards as there are workers. */
export function isCut(policy: Policy): boolean {
  return policy !== Policy.OFF && policy !== Policy.DYNAMIC;
}

/** Finds the shard for a worker that joins later, or undefined where none is free. */
export function freeShard({ job, tasks }: Iteration): Shard | undefined {
  if (!isCut(job.policy)) return { index: 0, count: 1 };
  // Shards are fixed: only the shard of a lost worker is free.
  const held = new Set(tasks.filter((t) => t.ended !== "lost").map((t) => t.shard.index));
  return tasks.find((t) => !held.has(t.shard.index))?.shard;
}

/** Makes the entry of a worker's part of an iteration. */
export function taskEntry(
  id: number,
  iteration: number,
  worker: string,
  how: Pick<TaskState, "shard"> & { readonly round?: number; readonly isPending?: boolean },
): Entry {
  return { is: "task", id, iteration, worker, round: 0, isPending: false, ...how };
}
