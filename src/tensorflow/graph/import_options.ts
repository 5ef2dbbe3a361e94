/** Options of importing graphs. */
import type { Tensor } from "../../engine/core/tensor.ts";
import type { ScriptFunctions, ScriptSources } from "./scripts.ts";
import type { GraphResources } from "./resources.ts";

/** Options of {@linkcode importGraphDef}. */
export interface ImportOptions {
  /** Name scope of the imported nodes. Default `"import"`; empty for none. */
  readonly prefix?: string;
  /** Tensors that replace those of the GraphDef, by name (`"x"` or `"x:0"`). */
  readonly inputMap?: Readonly<Record<string, Tensor>>;
  /** Names of operations (`"y"`) and tensors (`"y:0"`) to return. */
  readonly returnElements?: readonly string[];
  /** Functions for scripts by token: of other processes, or instead of those registered here. */
  readonly scripts?: ScriptFunctions;
}

/** Options for readers of files that need a graph without calls. */
export interface InlineOptions extends ImportOptions, Pick<ScriptSources, "isForeign"> {
  /** Put the bodies of called functions into the graph itself, under name scopes named after the calls. */
  readonly inlineCalls?: boolean;
  /** Narrow 64-bit results of ops to int32, and widen them for ops that require 64 bits. */
  readonly narrowIntegers?: boolean;
  /** Variables and tables that several graphs share. Default: each node has its own. */
  readonly resources?: GraphResources;
}
