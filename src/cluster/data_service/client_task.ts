/** A task of a tf.data service as its clients see it. */
import type { Element } from "../../library/data/element.ts";
import type { Failure } from "../../library/data/source.ts";
import type { GetElementRequest, TaskInfo } from "../../tensorflow/proto/data_service_pb.ts";
import type { Channel } from "../wire/transport.ts";

/** Pauses before a worker is asked again. */
const FIRST_PAUSE_MS = 20, LAST_PAUSE_MS = 300;
export interface ClientTask {
  readonly id: bigint;
  /** The first round in which it is asked, where consumers read together. */
  readonly startingRound: number;
  readonly channel: Channel;
  /** Time at which the pending request began, or null where there is none. */
  asked: number | null;
  /** Aborts the pending request: the task is given up, or the pass is over. */
  readonly stop: AbortController;
  ended: boolean;
  /** True while the worker cannot be reached. */
  failing: boolean;
  /** True where the task gave no element in the round before. */
  skipped: boolean;
  pause: number;
  notBefore: number;
  timer?: ReturnType<typeof setTimeout>;
}

/** The part of a request that names its consumer and round. */
export type Turn = Pick<
  GetElementRequest,
  "consumerIndex" | "roundIndex" | "skippedPreviousRound" | "allowSkip"
>;

/** A place in the order of elements: `item` is undefined while it is requested, null where there is none. */
export interface Place {
  item?: Element | Failure | null;
}

/** Creates the client's state of a task that was not asked yet. */
export function clientTask({ taskId, startingRound }: TaskInfo, channel: Channel): ClientTask {
  return {
    id: taskId,
    startingRound: Number(startingRound),
    channel,
    asked: null,
    stop: new AbortController(),
    ended: false,
    failing: false,
    skipped: false,
    pause: FIRST_PAUSE_MS,
    notBefore: 0,
  };
}

/** Resets the pause of a task that could be reached. */
export function reached(task: ClientTask): void {
  task.failing = false;
  task.pause = FIRST_PAUSE_MS;
}

/** Finds a task that has no pending request and whose pause is over. */
export function free(tasks: readonly ClientTask[]): ClientTask | null {
  return tasks.find((t) => t.asked === null && Date.now() >= t.notBefore) ?? null;
}

/** The pause before a task is asked again; the one after it is longer. */
export function longer(task: ClientTask): number {
  const ms = task.pause;
  task.pause = Math.min(2 * ms, LAST_PAUSE_MS);
  return ms;
}
