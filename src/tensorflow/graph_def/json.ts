/** Reads GraphDefs whose JSON has the original field names. */
import { ValueError } from "../../engine/core/errors.ts";
import { isPlainObject } from "../../engine/core/nest.ts";
import type { GraphDefJson } from "../../engine/graph/graph_def_json.ts";

/** Fields whose keys are the user's names. */
const MAPS = new Set(["attr", "ret", "controlRet", "argAttr"]);
/**
 * Maximum nesting of messages in a GraphDef: a function's attribute that names a function with attributes has eleven.
 */
const MOST_NESTED = 32;

/**
 * Returns a GraphDef with fields in lowerCamelCase, as JSON has them; unchanged if it has them already. Throws
 * `ValueError` for one that contains itself.
 */
export function withJsonNames(given: GraphDefJson): GraphDefJson {
  const def = renamed(given, false, 0) as GraphDefJson;
  // A graph without nodes is printed without the list of them.
  const isEmpty = isPlainObject(def) && def.node === undefined && def.versions !== undefined;
  return isEmpty ? { ...def, node: [] } : def;
}

/**
 * Returns a message with JSON's field names; keys of maps stay. Throws `ValueError` for deeper nesting than messages
 * have.
 */
function renamed(value: unknown, isMap: boolean, depth: number): unknown {
  if (depth > MOST_NESTED) {
    throw new ValueError(
      `Cannot import: the GraphDef is nested deeper than ${MOST_NESTED} messages, or contains itself`,
    );
  }
  if (Array.isArray(value)) {
    // Elements of a list are of one kind: numbers and texts have no fields.
    if (typeof value[0] !== "object") return value;
    const next = value.map((v) => renamed(v, false, depth + 1));
    return next.some((v, i) => v !== value[i]) ? next : value;
  }
  if (!isPlainObject(value)) return value;
  let hasChanged = false;
  const entries = Object.entries(value).map(([key, v]): [string, unknown] => {
    const name = isMap ? key : camelCase(key);
    const next = renamed(v, !isMap && MAPS.has(name), depth + 1);
    hasChanged ||= name !== key || next !== v;
    return [name, next];
  });
  return hasChanged ? Object.fromEntries(entries) : value;
}

function camelCase(name: string): string {
  return name.includes("_")
    ? name.replace(/_([a-z0-9])/g, (_, c: string) => c.toUpperCase())
    : name;
}
