/** Scripts of imported graphs: finds the functions of their tokens in this process. */
import type { Attrs } from "../../engine/core/op.ts";
import { scriptFromRegistry } from "../../engine/script/imported.ts";
import { offeredScripts, writtenScripts } from "../../engine/script/offered.ts";
import { checkCallable, findScript, type Script } from "../../engine/script/script.ts";

/** Functions for the tokens of scripts. */
// deno-lint-ignore no-explicit-any
export type ScriptFunctions = Readonly<Record<string, (...args: any[]) => unknown>>;

/** The scripts that a GraphDef may call beside the registered ones. */
export interface ScriptSources {
  readonly scripts?: ScriptFunctions | undefined;
  /**
   * True for a graph from a network: of scripts without a registered name it reaches only those that sessions of this
   * process offered.
   */
  readonly isForeign?: boolean | undefined;
}

/** Scripts without a registered name that a graph may call. */
function withoutName(isForeign = false): Pick<Map<string, Script>, "get"> {
  return isForeign ? offeredScripts : writtenScripts;
}

/** Returns the text that tells how to register a script, or null if it can run. */
export function howToRegister(
  token: string,
  { scripts = {}, isForeign }: ScriptSources,
): string | null {
  const isHere = Object.hasOwn(scripts, token) || findScript(token) ||
    withoutName(isForeign).get(token);
  return isHere
    ? null
    : `import the module that calls tf.registerScript("${token}", func), or pass { scripts: { "${token}": func } }`;
}

/** Returns the script of a node with these attributes, or null if its token is looked up at each run. */
export function boundScript(
  attrs: Attrs,
  { scripts = {}, isForeign }: ScriptSources,
): Script | null {
  const token = attrs.token as string;
  if (Object.hasOwn(scripts, token)) {
    checkCallable(scripts[token]);
    return scriptFromRegistry(attrs, { func: scripts[token] });
  }
  return withoutName(isForeign).get(token) ?? null;
}
