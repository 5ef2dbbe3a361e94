/**
 * Registers how script ops run, and lets `memory()` count registered scripts.
 * May import this folder and runtime's registries.
 */
import "./run_numpy_style.ts";
import "./run_eager_style.ts";
import { scriptCounter } from "../runtime/memory.ts";
import { scriptCheck } from "../runtime/import_graph_def.ts";
import { findScript, registeredScriptCount } from "./script.ts";

scriptCounter.count = registeredScriptCount;
scriptCheck.missing = (token) =>
  findScript(token) ? null : `import the module that calls tf.registerScript("${token}", func)`;
