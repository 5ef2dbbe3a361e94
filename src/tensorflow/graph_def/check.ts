/**
 * Checks the form of a GraphDef read from a file: the types of all its fields. Their contents are checked where they
 * are read.
 */
import { describe } from "../../engine/core/convert.ts";
import { isDType } from "../../engine/core/dtype.ts";
import { ValueError } from "../../engine/core/errors.ts";
import type {
  ArgDefJson,
  FunctionDefJson,
  GraphDefJson,
  NodeDefJson,
} from "../../engine/graph/graph_def_json.ts";
import { dataInputs } from "./nodes.ts";

/** Limits the memory that a file can claim beyond its own size. */
export class Budget {
  #outputs: number;
  #elements = MOST_REPEATED;

  /** Makes the budget of a GraphDef whose nodes have this many inputs. */
  constructor(inputs: number) {
    this.#outputs = inputs + MOST_UNREAD;
  }

  /** Counts a node's outputs. Throws `ValueError` where a file has many more of them than inputs. */
  outputs(count: number): void {
    this.#outputs -= count;
    if (this.#outputs >= 0) return;
    throw new ValueError(
      `Cannot import: the nodes have more than ${MOST_UNREAD} outputs that no node reads`,
    );
  }

  /** Counts elements that repeat one. Throws `ValueError` for too many. */
  repeated(count: number): void {
    this.#elements -= count;
    if (this.#elements >= 0) return;
    throw new ValueError(
      `Cannot import: constants repeat values more than ${MOST_REPEATED} times, use Fill`,
    );
  }
}

/** A hundred times the unread outputs of a large model's splits. */
const MOST_UNREAD = 1 << 16;
/** A quarter of a gigabyte of float32: larger constants list all their elements. */
const MOST_REPEATED = 1 << 26;

/**
 * Returns the GraphDef in sound form, with the lists that a file may omit. Throws `ValueError` with the place of a
 * fault.
 */
export function checkGraphDef(def: unknown): GraphDefJson {
  if (!isRecord(def) || !Array.isArray(def.node)) {
    throw new ValueError("Cannot import: wanted a GraphDef object with a list `node`");
  }
  const library = def.library === undefined ? {} : record(def.library, "`library`");
  return {
    ...def as unknown as GraphDefJson,
    node: nodesOf(def.node, "`node`"),
    library: {
      function: list(library.function, "`library.function`").map(functionOf),
      gradient: list(library.gradient, "`library.gradient`").map((value, i) => {
        const at = `gradient ${i} of the library`,
          { functionName, gradientFunc } = record(value, at);
        return {
          functionName: text(functionName, `the function of ${at}`),
          gradientFunc: text(gradientFunc, `the name of ${at}`),
        };
      }),
    },
  };
}

function functionOf(value: unknown, i: number): FunctionDefJson {
  const at = `function ${i} of the library`;
  const f = record(value, at);
  const signature = record(f.signature, `the signature of ${at}`);
  const name = text(signature.name, `the name of ${at}`);
  const ret = textsOf(f.ret, `\`ret\` of function "${name}"`);
  const outputArg = argsOf(signature.outputArg, "result", name);
  const lost = outputArg.find((o) => ret[o.name] === undefined);
  if (lost) {
    throw new ValueError(
      `Cannot import: function "${name}" has no value for its result ${lost.name}`,
    );
  }
  const inputArg = argsOf(signature.inputArg, "argument", name);
  return {
    ...f,
    signature: { ...signature, name, inputArg, outputArg },
    nodeDef: nodesOf(f.nodeDef, `\`nodeDef\` of function "${name}"`),
    ret,
    controlRet: textsOf(f.controlRet, `\`controlRet\` of function "${name}"`),
  };
}

function argsOf(given: unknown, what: string, name: string): ArgDefJson[] {
  const seen = new Set<string>();
  return list(given, `${what}s of function "${name}"`).map((value, k) => {
    const where = `${what} ${k} of function "${name}"`;
    const arg = record(value, where);
    const own = text(arg.name, `the name of ${where}`);
    if (!isDType(arg.type)) {
      throw new ValueError(
        `Cannot import: the type of ${where} is ${describe(arg.type)}, which is unknown`,
      );
    }
    if (seen.has(own)) {
      throw new ValueError(`Cannot import: ${where} has the name of another, "${own}"`);
    }
    seen.add(own);
    return { ...arg, name: own, type: arg.type };
  });
}

/** Texts by name, without a prototype. */
function textsOf(given: unknown, what: string): Record<string, string> {
  const texts: Record<string, string> = Object.create(null);
  for (const [key, value] of Object.entries(given === undefined ? {} : record(given, what))) {
    texts[key] = text(value, `"${key}" in ${what}`);
  }
  return texts;
}

function nodesOf(given: unknown, what: string): NodeDefJson[] {
  return list(given, what).map((value, i) => {
    const node = record(value, `node ${i} in ${what}`);
    const name = text(node.name, `the name of node ${i} in ${what}`);
    const at = `node "${name}"`;
    text(node.op, `the op of ${at}`);
    if (node.device !== undefined) text(node.device, `the device of ${at}`);
    list(node.input, `the inputs of ${at}`).forEach((input, k) =>
      text(input, `input ${k} of ${at}`)
    );
    if (node.attr !== undefined) {
      const attrs = record(node.attr, `the attributes of ${at}`);
      for (const [key, attr] of Object.entries(attrs)) record(attr, `attribute "${key}" of ${at}`);
    }
    return node as unknown as NodeDefJson;
  });
}

/** Throws `ValueError` for a node with fewer data inputs than its readers need. */
export function checkInputCount(node: NodeDefJson, least: number): void {
  const count = dataInputs(node).length;
  if (count >= least) return;
  throw new ValueError(
    `Cannot import: node "${node.name}" of type ${node.op} has ${count} inputs, wanted ${least}`,
  );
}

/** Runs `read`; its errors name the node. */
export function located<R>({ name, op }: NodeDefJson, read: () => R): R {
  try {
    return read();
  } catch (e) {
    if (!(e instanceof ValueError) || e.message.startsWith("Cannot import: ")) throw e;
    throw new ValueError(`Cannot import: node "${name}" of type ${op}: ${e.message}`);
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function record(value: unknown, what: string): Record<string, unknown> {
  if (isRecord(value)) return value;
  throw new ValueError(`Cannot import: ${what} is ${describe(value)}, wanted an object`);
}

/** Files omit empty lists. */
function list(value: unknown, what: string): readonly unknown[] {
  if (value === undefined) return [];
  if (Array.isArray(value)) return value;
  throw new ValueError(`Cannot import: ${what} is ${describe(value)}, wanted a list`);
}

function text(value: unknown, what: string): string {
  if (typeof value === "string") return value;
  throw new ValueError(`Cannot import: ${what} is ${describe(value)}, wanted a string`);
}
