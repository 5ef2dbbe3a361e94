/**
 * What sessions are asked for: fetches and what they give, feeds, options.
 */
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

/** Something to fetch: a tensor or a variable gives its value, an operation null, a name either, a ragged or sparse tensor what it is on the host. */
export type Fetch = Tensor | Operation | string | CompositeTensor;
/** The value of a tensor: an array, a scalar for rank 0. */
export type FetchedValue = NdArray | ElementValue;
/** A fetched value: that of a tensor, null for an operation. */
export type Fetched = FetchedValue | null;
/** The name of a tensor: of an operation, and which of its outputs. */
export type TensorName = `${string}:${number}`;
/** What a nest of fetches gives. */
export type FetchedOf<F> = [Nest<Fetch>] extends [F] ? Nest<Fetched>
  : F extends CompositeTensor ? Exclude<ReturnType<F["spec"]["pack"]>, CompositeTensor>
  : F extends Operation ? null
  : F extends Tensor | TensorName ? FetchedValue
  : F extends string ? Fetched
  : { -readonly [K in keyof F]: FetchedOf<F[K]> };
/** A value to feed: for a ragged or sparse tensor such a one, or what it is on the host. */
export type FeedValue =
  | TensorLike
  | CompositeTensor
  | RaggedArray
  | { readonly [K in "indices" | "values" | "denseShape"]: TensorLike };
/** Values to feed, by tensor, by variable (for all of its reads) or by name. */
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
  /** Filled with what the run did. */
  readonly metadata?: Partial<RunMetadata> | undefined;
}

/** Options of {@linkcode Session}. */
export interface SessionOptions {
  /** The graph; default the one being built. */
  readonly graph?: Graph | GraphLike | undefined;
  /** False: an op that cannot run on the device asked for is an error. Default true. */
  readonly allowSoftPlacement?: boolean;
  /** Who runs the graph, as `"grpc://host:port"`, or `"grpcs://host:port"` with TLS; empty, the default, for this process. */
  readonly target?: string | SessionTarget;
}
