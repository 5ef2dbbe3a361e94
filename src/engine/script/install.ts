/**
 * Registers how script ops run, and lets `memory()` count registered scripts.
 */
import "./run_numpy_style.ts";
import "./run_eager_style.ts";
import { scriptCounter } from "../runtime/eager/memory.ts";
import { scriptWriter } from "../graph/graph_def/graph_def.ts";
import { scriptCheck } from "../../tensorflow/graph/missing.ts";
import { scriptFromRegistry } from "./imported.ts";
import { offeredScripts, writtenScripts } from "./offered.ts";
import { checkCallable, findScript, registeredScriptCount, type Script } from "./script.ts";

scriptCounter.count = registeredScriptCount;
const withoutName = (isForeign = false) => isForeign ? offeredScripts : writtenScripts;
scriptCheck.missing = (token, { scripts = {}, isForeign }) => {
  const isHere = Object.hasOwn(scripts, token) || findScript(token) ||
    withoutName(isForeign).get(token);
  return isHere
    ? null
    : `import the module that calls tf.registerScript("${token}", func), or pass { scripts: { "${token}": func } }`;
};
scriptCheck.bind = (attrs, { scripts = {}, isForeign }) => {
  const token = attrs.token as string;
  if (Object.hasOwn(scripts, token)) {
    checkCallable(scripts[token]);
    return scriptFromRegistry(attrs, { func: scripts[token] });
  }
  return withoutName(isForeign).get(token) ?? null;
};
scriptWriter.anonymous = (script) => {
  const { token } = script as Script;
  writtenScripts.set(token, script as Script);
};
