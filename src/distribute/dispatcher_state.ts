/**
 * What a dispatcher knows, and how each thing that happens changes it: the same entries in the same order give the same state.
 */
import { fromBinary } from "@bufbuild/protobuf";
import { NotFoundError } from "../core/errors.ts";
import { graphDefOf } from "../tf/from_message.ts";
import {
  DatasetDefSchema,
  ProcessingModeDef_ShardingPolicy as Policy,
} from "../tf/proto/data_service_pb.ts";
import { type SplitSource, splitSources } from "./split_sources.ts";

/** One of several parts that a dataset is cut into beforehand. */
export interface Shard {
  readonly index: number;
  readonly count: number;
}

/** Something that happened. */
export type Entry =
  | { readonly is: "dataset"; readonly id: string; readonly def: Uint8Array }
  | {
    readonly is: "job";
    readonly id: number;
    readonly name: string;
    readonly datasetId: string;
    readonly policy: Policy;
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
  }
  /** A task gave all it had, or its worker is gone. */
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
  /** Nobody wants an iteration any more. */
  | { readonly is: "forgotten"; readonly iteration: number };

/** A dataset that clients read, each on its own or together with others that name the same job. */
export interface Job {
  readonly id: number;
  /** Empty where nobody else can join it. */
  readonly name: string;
  readonly datasetId: string;
  readonly policy: Policy;
}

/** What a worker does of an iteration. */
export interface TaskState {
  readonly id: number;
  readonly worker: string;
  readonly shard: Shard;
  ended: "done" | "lost" | null;
}

/** How far a source was given out. */
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

/** The state. Those who read it change nothing in it. */
export class DispatcherState {
  readonly datasets: Map<string, Uint8Array> = new Map();
  readonly jobs: Map<number, Job> = new Map();
  readonly iterations: Map<number, Iteration> = new Map();
  readonly clients: Map<number, Iteration> = new Map();
  #last = 0;

  /** A number that nothing has yet. */
  get newId(): number {
    return this.#last + 1;
  }

  /** Takes note of something that happened. */
  take(entry: Entry): void {
    if ("id" in entry && typeof entry.id === "number") this.#last = Math.max(this.#last, entry.id);
    switch (entry.is) {
      case "dataset":
        return void this.datasets.set(entry.id, entry.def);
      case "job":
        return void this.jobs.set(entry.id, entry);
      case "iteration":
        return this.#iteration(entry);
      case "task": {
        const { id, worker, shard } = entry;
        this.iteration(entry.iteration).tasks.push({ id, worker, shard, ended: null });
        return;
      }
      case "ended": {
        const task = this.tasks().find((t) => t.id === entry.task);
        if (task !== undefined) task.ended = entry.how;
        return;
      }
      case "splits": {
        const { repetition, given } = entry;
        Object.assign(this.iteration(entry.iteration).sources[entry.source], { repetition, given });
        return;
      }
      case "client":
        return void this.clients.set(entry.id, this.iteration(entry.iteration));
      case "left":
        return void this.clients.delete(entry.client);
      case "forgotten": {
        const { job } = this.iteration(entry.iteration);
        this.iterations.delete(entry.iteration);
        // One without a name can never be asked for again.
        if (job.name === "") this.jobs.delete(job.id);
      }
    }
  }

  /** Entries that give this state. */
  *entries(): Generator<Entry> {
    for (const [id, def] of this.datasets) yield { is: "dataset", id, def };
    for (const job of this.jobs.values()) yield { ...job, is: "job" };
    for (const { id, job, repetition, tasks, sources } of this.iterations.values()) {
      yield { is: "iteration", id, job: job.id, repetition };
      for (const { ended, ...task } of tasks) {
        yield { is: "task", ...task, iteration: id };
        if (ended !== null) yield { is: "ended", task: task.id, how: ended };
      }
      for (const [source, { repetition, given }] of sources.entries()) {
        yield { is: "splits", iteration: id, source, repetition, given };
      }
    }
    for (const [id, iteration] of this.clients) {
      yield { is: "client", id, iteration: iteration.id };
    }
  }

  /** Throws `NotFoundError` for one that is not known. */
  dataset(id: string): Uint8Array {
    return this.#found(this.datasets.get(id), `Dataset id ${id}`);
  }
  /** Throws `NotFoundError` for one that is not known. */
  job(id: number): Job {
    return this.#found(this.jobs.get(id), `Job ${id}`);
  }
  /** Throws `NotFoundError` for one that is not known. */
  iteration(id: number): Iteration {
    return this.#found(this.iterations.get(id), `Iteration ${id}`);
  }
  /** What a client reads. Throws `NotFoundError` for one that is not known. */
  read(client: number): Iteration {
    return this.#found(this.clients.get(client), `Client ${client}`);
  }

  /** All tasks of all iterations. */
  tasks(): TaskState[] {
    return [...this.iterations.values()].flatMap(({ tasks }) => tasks);
  }

  #found<T>(value: T | undefined, what: string): T {
    if (value !== undefined) return value;
    throw new NotFoundError(
      `${what} not found. It may not have been registered, or nobody read it`,
    );
  }

  #iteration({ id, job: jobId, repetition }: Entry & { is: "iteration" }): void {
    const job = this.job(jobId);
    const { graph } = fromBinary(DatasetDefSchema, this.dataset(job.datasetId));
    const isDynamic = job.policy === Policy.DYNAMIC && graph !== undefined;
    const sources = isDynamic ? splitSources(graphDefOf(graph)) : [];
    this.iterations.set(id, {
      ...{ id, job, repetition },
      tasks: [],
      sources: sources.map((split) => ({ split, repetition: 0, given: 0 })),
    });
  }
}

/** True where all was served that ever will be. */
export function isFinished({ tasks }: Iteration): boolean {
  return tasks.some((t) => t.ended === "done") && tasks.every((t) => t.ended !== null);
}
