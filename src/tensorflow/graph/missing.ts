/** Reports missing ops and script functions of a GraphDef, and requested names that it lacks. */
import { InternalError, NotFoundError, ValueError } from "../../engine/core/errors.ts";
import type { GraphDefJson, NodeDefJson } from "../../engine/graph/graph_def_json.ts";
import { calledFunctions } from "../graph_def/nodes.ts";
import { wellFormedText } from "../graph_def/values.ts";
import { refusalOf } from "./op_table.ts";
import { howToRegister, type ScriptSources } from "./scripts.ts";

const SCRIPT_OP = /^(PyFunc|PyFuncStateless|EagerPyFunc)$/;

export function isScriptOp(op: string): boolean {
  return SCRIPT_OP.test(op);
}

/** Throws `NotFoundError` that names all missing ops and scripts. */
export function checkMissing(
  def: GraphDefJson,
  { isKnown, ...sources }: ScriptSources & { readonly isKnown: (op: string) => boolean },
): void {
  const ops = new Map<string, string>(), functions: string[] = [];
  for (const n of nodesOf(def)) {
    if (!isKnown(n.op)) {
      if (!ops.has(n.op)) ops.set(n.op, n.name);
      continue;
    }
    const token = isScriptOp(n.op) ? tokenOf(n) : null;
    if (token === null) continue;
    const how = howToRegister(token, sources);
    if (how !== null) functions.push(`"${n.name}" needs script "${token}" (${how})`);
  }
  const parts: string[] = [];
  if (ops.size > 0) {
    const where = [...ops].map(([op, node]) => `'${op}' at node "${node}"${reason(op)}`).join(", ");
    parts.push(`${counted(ops.size, "op")} not registered: ${where}`);
  }
  if (functions.length > 0) {
    const what = counted(functions.length, "script function");
    parts.push(`${what} not registered: ${functions.join("; ")}`);
  }
  if (parts.length === 0) return;
  if (ops.size === 1 && functions.length === 0) {
    const [[op, node]] = ops;
    throw new NotFoundError(
      `Op type not registered '${op}' in binary running here, at node "${node}"${reason(op)}`,
      { op, node },
    );
  }
  throw new NotFoundError(`Cannot import: ${parts.join(". ")}`);
}

/** The reason why an op is refused, where the table of ops has one. */
function reason(op: string): string {
  const why = refusalOf(op);
  return why === undefined ? "" : ` (${why})`;
}

/** Collects the names of nodes by their unknown op. */
export function missingOps(
  def: GraphDefJson,
  isKnown: (op: string) => boolean,
): Map<string, string[]> {
  const out = new Map<string, string[]>();
  for (const { op, name } of nodesOf(def)) {
    if (!isKnown(op)) out.set(op, [...out.get(op) ?? [], name]);
  }
  return out;
}

function nodesOf({ node, library }: GraphDefJson): NodeDefJson[] {
  return [node, ...calledFunctions(node, library?.function ?? []).map((f) => f.nodeDef)].flat();
}

function tokenOf(n: NodeDefJson): string | null {
  const bytes = n.attr?.token?.s;
  if (bytes === undefined) return null;
  const token = wellFormedText(bytes);
  if (token !== null) return token;
  throw new InternalError(
    "Failed to create python tuple. Please make sure `token` is a well-formed UTF-8 string.",
    { op: n.op, node: n.name },
  );
}

function counted(n: number, what: string): string {
  return n === 1 ? `1 ${what} is` : `${n} ${what}s are`;
}

/** Throws `ValueError` for names that a GraphDef neither contains nor reads. */
export function checkInputMap({ node }: GraphDefJson, keys: readonly string[]): void {
  if (keys.length === 0) return;
  const nodeOf = (name: string): string => name.split(":")[0];
  const known = new Set(node.flatMap((n) => [n.name, ...(n.input ?? []).map(nodeOf)]));
  const unknown = keys.filter((key) => !known.has(nodeOf(key)));
  if (unknown.length === 0) return;
  throw new ValueError(
    `Cannot import: attempted to map inputs that were not found in graph_def: [${
      unknown.join(", ")
    }]`,
  );
}
