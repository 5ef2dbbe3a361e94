/**
 * Hashes of scripts: a graph may hold the hash of a script's source, so that another version of it does not run
 * unnoticed.
 */
import { wantFunction } from "../engine/core/arguments.ts";
import { FailedPreconditionError } from "../engine/core/errors.ts";
import type { GraphDefJson } from "../engine/graph/graph_def_json.ts";
import { text } from "../tensorflow/graph_def/values.ts";
import { isScriptOp } from "../tensorflow/graph/missing.ts";
import type { ScriptFunctions } from "../tensorflow/graph/scripts.ts";
import { findScript, type ScriptFunction } from "../engine/script/script.ts";

const known = new WeakMap<ScriptFunction, Promise<string>>();

/**
 * SHA-256 of a function's source, in hexadecimal: what the attribute `_script_hash` of a script's node holds.
 *
 * @example
 * ```ts
 * import { scriptHash } from "@weft/weft/distribute";
 * console.log((await scriptHash((x: number) => x)).length); // 64
 * ```
 */
// deno-lint-ignore no-explicit-any
export function scriptHash(func: (...args: any[]) => unknown): Promise<string> {
  wantFunction(func, "func", "scriptHash");
  let hash = known.get(func);
  if (hash === undefined) known.set(func, hash = hashOf(func.toString()));
  return hash;
}

async function hashOf(source: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(source));
  return Array.from(new Uint8Array(hash), (b) => b.toString(16).padStart(2, "0")).join("");
}

/**
 * Rejects with `FailedPreconditionError` where a graph holds the hash of another source than that of the function here.
 */
export async function checkScriptHashes(
  { node, library }: GraphDefJson,
  scripts: ScriptFunctions = {},
): Promise<void> {
  for (
    const { name, op, attr } of [node, ...(library?.function ?? []).map((f) => f.nodeDef)].flat()
  ) {
    if (!isScriptOp(op) || attr?._script_hash?.s === undefined) continue;
    const token = text(attr.token?.s ?? ""), wanted = text(attr._script_hash.s);
    const func = Object.hasOwn(scripts, token) ? scripts[token] : findScript(token)?.func;
    if (func === undefined || await scriptHash(func) === wanted) continue;
    throw new FailedPreconditionError(
      `Cannot run node "${name}": the source of script "${token}" is not what it was where the graph comes from`,
      { op, node: name },
    );
  }
}
