/**
 * Registers how script ops run, and lets `memory()` count registered scripts.
 */
import "./run_numpy_style.ts";
import "./run_eager_style.ts";
import { scriptCounter } from "../runtime/eager/memory.ts";
import { scriptWriter } from "../graph/graph_def/graph_def.ts";
import { scriptCheck } from "../runtime/graph_defs/missing.ts";
import { scriptFromRegistry } from "./imported.ts";
import {
  checkCallable,
  findScript,
  keepWritten,
  registeredScriptCount,
  type Script,
  writtenScript,
} from "./script.ts";

scriptCounter.count = registeredScriptCount;
scriptCheck.missing = (token) =>
  findScript(token) || writtenScript(token)
    ? null
    : `import the module that calls tf.registerScript("${token}", func), or pass { scripts: { "${token}": func } }`;
scriptCheck.bind = (attrs, scripts) => {
  const token = attrs.token as string;
  if (Object.hasOwn(scripts, token)) {
    checkCallable(scripts[token]);
    return scriptFromRegistry(attrs, { func: scripts[token] });
  }
  return writtenScript(token) ?? null;
};
scriptWriter.anonymous = (script) => keepWritten(script as Script);
