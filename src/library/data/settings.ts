/**
 * What stages were told, as data: for whoever writes a pipeline down, so that another program runs it.
 */
import type { NdArray } from "../../engine/core/nd_array.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { ConcreteFunction } from "../../engine/runtime/functions/concrete_function.ts";
import type { Element } from "./element.ts";
import type { Source } from "./source.ts";

/** Options of stages that compute several elements at once. */
export interface CallSettings {
  /** How many; 1 for one after the other. */
  readonly calls: number;
  /** False where elements may come as they are ready; absent where the whole pipeline says it. */
  readonly deterministic?: boolean | undefined;
}

/** Traces a function that makes a dataset of an element. `needs` is told of the dataset's last stage, and says which tensors are to be returned. */
export type TraceInner = (needs: (made: Source) => readonly Tensor[]) => ConcreteFunction;

/** A stage by its kind, with what it was told beside its inputs. */
export type Settings =
  | {
    readonly stage: "Range";
    readonly start: number;
    readonly stop: number;
    readonly step: number;
  }
  | {
    readonly stage: "Tensor" | "TensorSlice";
    /** What was given, symbolic tensors where a function is traced, and what it is when it is read. */
    readonly leaves: readonly (Tensor | NdArray)[];
    readonly arrays: Promise<Element>;
  }
  | { readonly stage: "Zip"; readonly order: readonly number[] }
  | { readonly stage: "Concatenate" | "Unbatch" | "Cache" }
  | { readonly stage: "Take" | "Skip" | "Repeat" | "Prefetch"; readonly count: number }
  | { readonly stage: "Shard"; readonly numShards: number; readonly index: number }
  | { readonly stage: "IgnoreErrors"; readonly logWarning: boolean }
  | { readonly stage: "Options"; readonly deterministic: boolean | undefined }
  | { readonly stage: "Filter" | "TakeWhile"; readonly f: ConcreteFunction }
  | { readonly stage: "Map"; readonly f: ConcreteFunction; readonly calls: CallSettings }
  | { readonly stage: "Batch"; readonly batchSize: number; readonly dropRemainder: boolean }
  | {
    readonly stage: "PaddedBatch";
    readonly batchSize: number;
    readonly dropRemainder: boolean;
    /** The padded shape of each component, and what it is padded with. */
    readonly shapes: readonly (readonly (number | null)[])[];
    readonly values: readonly NdArray[];
  }
  | {
    readonly stage: "Shuffle";
    readonly bufferSize: number;
    /** As TensorFlow has them; null where the order is to be another each time. */
    readonly seeds: readonly (number | null)[];
    readonly reshuffleEachIteration: boolean;
  }
  | {
    readonly stage: "FlatMap" | "Interleave";
    readonly trace: TraceInner;
    readonly cycleLength: number;
    readonly blockLength: number;
    readonly calls: CallSettings;
  };
