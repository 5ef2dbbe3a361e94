/**
 * Where sessions run that are given a target: other processes, reached by whoever registered the scheme of the target.
 */
import { NotFoundError } from "../../core/errors.ts";
import type { Graph } from "../../graph/graph.ts";
import type { IrGraph, IrRequest } from "../../graph/ir.ts";

/** A place where sessions run, for `new tf.Session({ graph, target })`. */
export interface SessionTarget {
  /** Text that says where, such as `"grpc://host:port"`. */
  readonly address: string;
}

/** A device that a session can use. */
export interface SessionDevice {
  /** Its name, with the job and the task. */
  readonly name: string;
  /** `"CPU"`, `"GPU"`, `"WEBGPU"`, … */
  readonly type: string;
}

/** What runs parts of one graph elsewhere. */
export interface RemoteRuns {
  /** Grows when what was cut before can no longer be run, as the graph has changed. */
  readonly generation: number;
  /** The plan's view of a run in which nodes that run elsewhere are calls. Throws for what can run in neither place. */
  cut(request: IrRequest): IrGraph;
  listDevices(): Promise<SessionDevice[]>;
  close(): Promise<void>;
}

/** How a session is opened; `allowSoftPlacement`: false where an op that cannot run on the device asked for is an error. */
interface OpenOptions {
  readonly allowSoftPlacement: boolean;
}

/** Begins to run parts of a graph elsewhere. */
type OpenTarget = (graph: Graph, options: OpenOptions) => RemoteRuns;

const opens = new WeakMap<SessionTarget, OpenTarget>();
const schemes = new Map<string, (address: string) => SessionTarget>();

/** A place, and how sessions are opened there. */
export function makeTarget(address: string, open: OpenTarget): SessionTarget {
  const target = { address };
  opens.set(target, open);
  return target;
}

/** Says who knows targets that begin with `scheme://`. */
export function registerTarget(scheme: string, known: (address: string) => SessionTarget): void {
  schemes.set(scheme, known);
}

/** Opens a session. Throws `NotFoundError` for a target that nobody knows. */
export function openTarget(
  target: string | SessionTarget,
  graph: Graph,
  options: OpenOptions,
): RemoteRuns {
  const place = typeof target === "string"
    ? schemes.get(/^(\w+):\/\//.exec(target)?.[1] ?? "")?.(target)
    : target;
  const open = place && opens.get(place);
  if (open !== undefined) return open(graph, options);
  throw new NotFoundError(
    `No session factory registered for the given session options: {target: ${
      JSON.stringify(target)
    }}: import "@weft/weft/distribute" for targets that begin with grpc:// or grpcs://, or leave target out to run in this process`,
  );
}
