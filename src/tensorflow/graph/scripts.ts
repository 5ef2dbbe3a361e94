/**
 * Scripts of imported graphs: the functions that their tokens stand for in this process.
 */
import type { Attrs } from "../../engine/core/op.ts";
import { scriptFromRegistry } from "../../engine/script/imported.ts";
import { offeredScripts, writtenScripts } from "../../engine/script/offered.ts";
import { checkCallable, findScript, type Script } from "../../engine/script/script.ts";

/** Functions for the tokens of scripts. */
// deno-lint-ignore no-explicit-any
export type ScriptFunctions = Readonly<Record<string, (...args: any[]) => unknown>>;

/** Which scripts a GraphDef may call beside those that are registered. */
export interface ScriptSources {
  /** Functions for scripts by their tokens. */
  readonly scripts?: ScriptFunctions | undefined;
  /** True: it came over a network, and reaches no script without a registered name but those that sessions of this process offered. */
  readonly isForeign?: boolean | undefined;
}

/** Scripts without a registered name that a graph may call. */
function withoutName(isForeign = false): Pick<Map<string, Script>, "get"> {
  return isForeign ? offeredScripts : writtenScripts;
}

/** The text that says how to register a script, or null where it can run here. */
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

/** The script that a node of these attributes runs, or null where it is looked up by its token at each run. */
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
