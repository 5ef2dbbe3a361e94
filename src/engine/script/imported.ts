/** Scripts of imported graphs, made from the body registered under the node's token. */
import type { DType } from "../core/dtype.ts";
import type { Attrs } from "../core/op.ts";
import type { PartialShape } from "../core/shape.ts";
import { findScript, isFlat, type RegisteredScript, type Script } from "./script.ts";
import { outputsOf } from "./tout.ts";

const made = new WeakMap<Attrs, Script>();

export function scriptFromRegistry(attrs: Attrs, found: RegisteredScript): Script {
  const known = made.get(attrs);
  if (known) return known;
  const shapes = attrs._output_shapes as PartialShape[] | null;
  const specs = (attrs.Tout as DType[]).map((dtype, i) => ({ dtype, shape: shapes?.[i] ?? null }));
  const structure = attrs._script_structure ?? (specs.length === 1 ? 0 : specs.map(() => 0));
  const args = attrs._script_args ?? (attrs.Tin as DType[]).map(() => 0);
  const { func, shapeFn, vjp, reads, stateful, vectorized = false } = found, { token } = attrs;
  const script: Script = {
    func,
    parameters: func.length,
    token,
    args,
    shapeFn,
    vjp,
    outputs: outputsOf(specs, structure),
    worker: null,
    reads,
    pure: stateful === false,
    vectorized: attrs._vectorized === true || vectorized,
    registered: true,
    flat: isFlat(args),
    mergeKey: () => token,
  };
  made.set(attrs, script);
  return script;
}

/** Returns the script of a node, made here or imported; null if its token is not registered. */
export function findScriptOf(attrs: Attrs): Script | null {
  const own = attrs._script as Script | null;
  if (own) return own;
  const found = findScript(attrs.token);
  return found ? scriptFromRegistry(attrs, found) : null;
}
