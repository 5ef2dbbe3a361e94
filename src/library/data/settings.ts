/** Settings of stages as data, from which a pipeline is written down for other programs. */
import type { NdArray } from "../../engine/core/nd_array.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { ConcreteFunction } from "../../engine/runtime/functions/concrete_function.ts";
import type { Element } from "./element.ts";
import type { Source } from "./source.ts";

/** Options of stages that compute several elements at once. */
export interface CallSettings {
  /** Number of elements computed at once. */
  readonly calls: number;
  /** False where elements may come as they are ready; absent where the whole pipeline decides. */
  readonly deterministic?: boolean | undefined;
}

/**
 * Traces a function that makes a dataset of an element. `needs` gets the dataset's last stage, and returns the tensors
 * that the trace returns.
 */
export type TraceInner = (needs: (made: Source) => readonly Tensor[]) => ConcreteFunction;

/** A stage's kind and its settings beside its inputs. */
export type Settings =
  | {
    readonly stage: "Range";
    readonly start: number;
    readonly stop: number;
    readonly step: number;
  }
  | {
    readonly stage: "Tensor" | "TensorSlice";
    /** The given values (symbolic tensors where a function is traced), and their arrays once read. */
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
    /** The padded shape and the padding value of each component. */
    readonly shapes: readonly (readonly (number | null)[])[];
    readonly values: readonly NdArray[];
  }
  | {
    readonly stage: "Shuffle";
    readonly bufferSize: number;
    /** Seeds in TensorFlow's form; null where each pass has another order. */
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
