/** Requests to sessions: fetches and their values, feeds, options. */
import type { CompositeTensor } from "../../core/composite.ts";
import type { Nest } from "../../core/nest.ts";
import type { ElementValue, NdArray } from "../../core/nd_array.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import type { RaggedArray } from "../../ops/ragged/ragged_array.ts";
import type { GraphLike } from "../../core/graph_node.ts";
import type { Graph } from "../../graph/graph.ts";
import type { Operation } from "../../graph/operation.ts";
import type { SessionTarget } from "./targets.ts";
import type { RunMetadata } from "./metadata.ts";

/**
 * A value to fetch: a tensor or a variable (its value), an operation (null), a name of either, or a ragged or sparse
 * tensor (its host form).
 */
export type Fetch = Tensor | Operation | string | CompositeTensor;
/** The value of a tensor: an array, or a scalar for rank 0. */
export type FetchedValue = NdArray | ElementValue;
/** A fetched value: that of a tensor, null for an operation. */
export type Fetched = FetchedValue | null;
/** The name of a tensor: its operation, and the number of the output. */
export type TensorName = `${string}:${number}`;
/** The values of a nest of fetches. */
export type FetchedOf<F> = [Nest<Fetch>] extends [F] ? Nest<Fetched>
  : F extends CompositeTensor ? Exclude<ReturnType<F["spec"]["pack"]>, CompositeTensor>
  : F extends Operation ? null
  : F extends Tensor | TensorName ? FetchedValue
  : F extends string ? Fetched
  : { -readonly [K in keyof F]: FetchedOf<F[K]> };
/** A value to feed; for a ragged or sparse tensor one of the same kind, or its host form. */
export type FeedValue =
  | TensorLike
  | CompositeTensor
  | RaggedArray
  | { readonly [K in "indices" | "values" | "denseShape"]: TensorLike };
/** Values to feed, by tensor, by variable (for all its reads) or by name. */
export type Feeds =
  | ReadonlyMap<Tensor | CompositeTensor | string, FeedValue>
  | Readonly<Record<string, TensorLike>>;

/** Options of {@linkcode Session.run}. */
export interface RunOptions {
  /** Values for placeholders, or for any other tensor. */
  readonly feeds?: Feeds | undefined;
  /** Milliseconds after which the run rejects with `DeadlineExceededError`. */
  readonly timeoutMs?: number | undefined;
  /** Cancels the run. */
  readonly signal?: AbortSignal | undefined;
  /** Filled with the counts of the run. */
  readonly metadata?: Partial<RunMetadata> | undefined;
}

/** Options of {@linkcode Session}. */
export interface SessionOptions {
  /** The graph; default the one being built. */
  readonly graph?: Graph | GraphLike | undefined;
  /** Run ops elsewhere if the device they name cannot run them; else that is an error. Default true. */
  readonly allowSoftPlacement?: boolean;
  /**
   * The process that runs the graph, as `"grpc://host:port"`, or `"grpcs://host:port"` with TLS; empty, the default,
   * for this one.
   */
  readonly target?: string | SessionTarget;
}
