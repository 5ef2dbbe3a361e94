/**
 * Targets of sessions: the processes that run the graphs of sessions with a target.
 */
import { type Seam, seam } from "../../core/contract/seam.ts";
import { NotFoundError } from "../../core/errors.ts";
import type { Graph } from "../../graph/graph.ts";
import type { IrGraph, IrRequest } from "../../graph/ir.ts";

/** A process that runs sessions, for `new tf.Session({ graph, target })`. */
export interface SessionTarget {
  /** Its address, such as `"grpc://host:port"`. */
  readonly address: string;
}

/** A device of a session's target. */
export interface SessionDevice {
  /** Its name, with job and task. */
  readonly name: string;
  /** `"CPU"`, `"GPU"`, `"WEBGPU"`, … */
  readonly type: string;
}

/** Runs parts of one graph in other processes. */
export interface RemoteRuns {
  /** Increases when the graph has changed so that earlier partitions cannot run. */
  readonly generation: number;
  /** Replaces the nodes that run elsewhere by calls. Throws for nodes that can run in neither place. */
  cut(request: IrRequest): IrGraph;
  listDevices(): Promise<SessionDevice[]>;
  close(): Promise<void>;
}

/**
 * Options of opening a session; with `allowSoftPlacement` false an op that cannot run on the device it names is an
 * error.
 */
interface OpenOptions {
  readonly allowSoftPlacement: boolean;
}

/** Begins to run parts of a graph elsewhere. */
type OpenTarget = (graph: Graph, options: OpenOptions) => RemoteRuns;

const opens = new WeakMap<SessionTarget, OpenTarget>();

/** A target that can open sessions. */
export function makeTarget(address: string, open: OpenTarget): SessionTarget {
  const target = { address };
  opens.set(target, open);
  return target;
}

/** Finds the place that a text names; null for a text of another kind. */
export const sessionTargets: Seam<(target: string) => SessionTarget | null> = seam(
  "targets of sessions",
);

/** Opens a session. Throws `NotFoundError` for a target with an unknown scheme. */
export function openTarget(
  target: string | SessionTarget,
  graph: Graph,
  options: OpenOptions,
): RemoteRuns {
  const place = typeof target === "string" ? sessionTargets.provided?.(target) : target;
  const open = place && opens.get(place);
  if (open) return open(graph, options);
  throw new NotFoundError(
    `No session factory registered for the given session options: {target: ${
      JSON.stringify(target)
    }}: import "@weft/weft/distribute" for targets that begin with grpc:// or grpcs://, or leave target out to run in this process`,
  );
}
