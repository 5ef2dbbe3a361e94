/**
 * Options of importing.
 */
import type { Tensor } from "../../engine/core/tensor.ts";
import type { ScriptFunctions, ScriptSources } from "./scripts.ts";
import type { GraphResources } from "./resources.ts";

/** Options of {@linkcode importGraphDef}. */
export interface ImportOptions {
  /** Name scope of what is imported. Default `"import"`; empty for none. */
  readonly prefix?: string;
  /** Tensors to use in place of those of the GraphDef, by name (`"x"` or `"x:0"`). */
  readonly inputMap?: Readonly<Record<string, Tensor>>;
  /** Names of operations (`"y"`) and tensors (`"y:0"`) to return. */
  readonly returnElements?: readonly string[];
  /** Functions for scripts by their tokens: those of other processes, or in place of what is registered here. */
  readonly scripts?: ScriptFunctions;
}

/** Options for readers of files, who want a graph without calls. */
export interface InlineOptions extends ImportOptions, Pick<ScriptSources, "isForeign"> {
  /** True: the bodies of called functions stand in the graph itself, under a name scope named after the call. */
  readonly inlineCalls?: boolean;
  /** True: 64-bit integers that ops give become int32, and are made wide again where an op takes nothing else. */
  readonly narrowIntegers?: boolean;
  /** Variables and tables that are shared by all graphs which are given them. Default: each node has its own. */
  readonly resources?: GraphResources;
}
