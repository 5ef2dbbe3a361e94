/**
 * The contract between the executor and the ops that the host thread runs itself: scripts, control flow, state, files. Definitions of
 * ops are written with these types, and need not import the runtime.
 */
import type { OpInput } from "../apply.ts";
import type { Device } from "../device.ts";
import type { Attrs, OpDef } from "../op.ts";
import type { Tensor } from "../tensor.ts";

/** The owner of an input: the call itself, as nothing else reads it any more, the run, or a constant, which never changes. */
export type Owner = "callee" | "run" | "constant";

/** A run, as far as a host op may ask of it. */
export interface RunScope {
  /** True once the run failed, was cancelled or timed out. */
  readonly aborted: boolean;
  /** The error that aborted it. */
  readonly reason: unknown;
  /** Aborts when the run fails, is cancelled or times out. */
  readonly signal: AbortSignal;
  /** False for a synchronous call, which gives the event loop no turn. */
  readonly canWait: boolean;
  /** Throws where the run is to end: for work that may go on for long. */
  tick(): void;
  /** Like `tick`, for work that can wait: a promise where the event loop is due a turn. */
  turn(): Promise<void> | null;
  /** Calls `tell` when the run is aborted. Returns a function that takes that back. */
  onAbort(tell: (reason: unknown) => void): () => void;
}

/** One call of a host op by the executor. */
export interface HostCall {
  /** Name of the node. */
  readonly node: string;
  /** The op. */
  readonly def: OpDef;
  /** Attributes of the node. */
  readonly attrs: Attrs;
  /** Inputs; host arrays where the op asked for them. */
  readonly inputs: readonly OpInput[];
  /** The owner of each input. */
  readonly owners: readonly Owner[];
  /** The device that the node was placed on. */
  readonly device: Device;
  /** True for each output that something reads. */
  readonly wanted: readonly boolean[];
  /** The device whose kernels alone read each output: what goes there at once need not be copied before. Null where others read it. */
  readonly sinks: readonly (Device | null)[];
  /** The operation that the node was made of, which has its caller's stack. */
  readonly source: { readonly definitionSite: string };
  /** The run that the call is part of. */
  readonly context: RunScope;
}

/** Results of a host op: tensors it owns no longer, or host arrays. */
export type HostResults = readonly (OpInput | null)[];

/** State that nodes name: a variable, a lookup table, an accumulator. */
export interface NodeState {
  /** True where it belongs to a graph: then it only describes the state, of which each session makes its own. */
  readonly ofGraph: boolean;
  /** The handle by which ops take it as input. */
  readonly handle: Tensor;
  /** The state of one session, as it is before the session's first run. */
  fork(): this;
  /** Frees its memory. */
  dispose(): void;
}

/** The call of an op whose tape alone is read. */
export interface TapeOnlyCall {
  /** Attributes with which the op does no more than its tape needs. */
  readonly attrs: Attrs;
  /** True for inputs that it reads, by number. Of the others it needs only the shape. */
  readonly reads: (input: number) => boolean;
}

/** The facts by which the executor runs an op of the host. */
export interface HostOp {
  /** Runs a node of a plan. Absent for ops that plans only look at, such as constants. */
  run?(call: HostCall): HostResults | Promise<HostResults>;
  /** Runs an eager call. Absent for ops that have meaning only in a graph. */
  eager?(inputs: readonly OpInput[], attrs: Attrs): Tensor[];
  /** The state that an op without inputs names: plans have its handle from the start, and run nothing for it unless it must wait. */
  state?(attrs: Attrs): NodeState;
  /** True: its tensors must be on the device it was placed on; what is elsewhere is brought there with the others of its boundary. */
  readonly local?: boolean;
  /** True: an eager call may be repeated although the op keeps its place among effects. */
  readonly repeatable?: boolean;
  /** True for a node that reads its tensors synchronously, and so must be placed where that is possible. */
  readsAtOnce?(attrs: Attrs): boolean;
  /**
   * True for a node that may be called for many rows at once: with `_batched` among its attributes, and inputs and results that have a
   * leading axis for them.
   */
  isBatchable?(attrs: Attrs): boolean;
  /** Numbers of inputs that a node reads on the host, beside the host inputs of its op. */
  hostInputs?(attrs: Attrs): ReadonlySet<number>;
  /** The call of a node of which only the last output, the tape of what it did, is read, for a first gradient; null for as ever. */
  tapeOnly?(attrs: Attrs): TapeOnlyCall | null;
  /** The number of sources of the tape that it differentiates, its first input: they are the inputs after that. */
  tapeSources?(attrs: Attrs): number;
}

/** True for an op that takes its tensors on its own device, as kernels do. */
export function isLocal({ host }: OpDef): boolean {
  return host === undefined || host.local === true;
}

/** An op that has an effect and no results: it does the same eagerly and inside a plan. */
export function hostEffect(run: (inputs: readonly OpInput[], attrs: Attrs) => void): HostOp {
  const eager = (inputs: readonly OpInput[], attrs: Attrs): [] => {
    run(inputs, attrs);
    return [];
  };
  return { eager, run: ({ inputs, attrs }) => eager(inputs, attrs) };
}
