/** Registers the script ops' execution, and lets `memory()` count registered scripts. */
import { scriptCounter } from "../runtime/eager/memory.ts";
import { scriptWriter } from "../graph/graph_def/graph_def.ts";
import { writtenScripts } from "./offered.ts";
import { registeredScriptCount, type Script } from "./script.ts";

scriptCounter.count = registeredScriptCount;
scriptWriter.anonymous = (script) => {
  const { token } = script as Script;
  writtenScripts.set(token, script as Script);
};
