/**
 * Raises the control flow of TensorFlow 1 (Switch, Merge, Enter, Exit, NextIteration) to If, Case and While with
 * functions, in the GraphDef. Innermost loops and conditions are raised first, so that the outer ones contain ordinary
 * nodes.
 */
import { groupBy } from "../../engine/core/collections/group_by.ts";
import { UnimplementedError } from "../../engine/core/errors.ts";
import type {
  ArgDefJson,
  AttrValueJson,
  FunctionDefJson,
  GraphDefJson,
  NodeDefJson,
} from "../../engine/graph/graph_def_json.ts";
import { checkInputCount } from "./check.ts";
import { controlInputs, dataInputs, isControl, sourceOf } from "./nodes.ts";
import { text } from "./values.ts";

const CONTROL = /^(Ref)?(Switch|Merge|Enter|Exit|NextIteration)$|^_SwitchN$|^LoopCond$/;
/** Ops that pass a value to one of several branches: one of two by a boolean, or one of many by a number. */
const SWITCH = /^(Ref)?Switch$|^_SwitchN$/;

/** True where a graph has control flow of version 1. */
export function hasControlFlowV1(nodes: readonly NodeDefJson[]): boolean {
  return nodes.some((n) => CONTROL.test(n.op));
}

/** Returns the graph with If, Case and While. Throws `UnimplementedError` for other forms, `ValueError` without inputs. */
export function raiseControlFlow(def: GraphDefJson): GraphDefJson {
  const control = def.node.filter((n) => CONTROL.test(n.op));
  for (const n of control) checkInputCount(n, SWITCH.test(n.op) ? 2 : 1);
  const nodes = new Nodes(def.node);
  const functions: FunctionDefJson[] = [...def.library?.function ?? []];
  while (raiseLoop(nodes, functions) || raiseConditions(nodes, functions));
  const left = nodes.all().find((n) => CONTROL.test(n.op) && !isLeft(n));
  if (left !== undefined) {
    throw new UnimplementedError(
      `Cannot import: node "${left.name}" (${left.op}) belongs to no loop or condition that could be recognised`,
      { op: left.op, node: left.name },
    );
  }
  return { ...def, node: nodes.needed(), library: { ...def.library, function: functions } };
}

/** The nodes of a graph by name, while some of them are replaced. */
class Nodes {
  readonly #byName: Map<string, NodeDefJson>;
  readonly #removed = new Set<string>();

  constructor(nodes: readonly NodeDefJson[]) {
    this.#byName = new Map(nodes.map((n) => [n.name, n]));
  }

  all(): NodeDefJson[] {
    return [...this.#byName.values()];
  }

  get(name: string): NodeDefJson | undefined {
    return this.#byName.get(name);
  }

  put(node: NodeDefJson): void {
    this.#byName.set(node.name, node);
  }

  remove(name: string): void {
    this.#byName.delete(name);
    this.#removed.add(name);
  }

  /** Returns all nodes except switches and nodes that depend only on them or on removed ones. */
  needed(): NodeDefJson[] {
    const all = this.all(), gone = [...this.#removed].filter((name) => !this.#byName.has(name));
    const edges = all.flatMap((n) => dataInputs(n).map((i) => ({ from: sourceOf(i), to: n.name })));
    const readers = groupBy(edges, ({ from }) => from);
    const dead = new Set<string>();
    const open = [
      ...gone,
      ...all.filter(isLeft).map((n) => n.name),
    ];
    for (let name = open.pop(); name !== undefined; name = open.pop()) {
      if (dead.has(name)) continue;
      dead.add(name);
      for (const { to } of readers.get(name) ?? []) open.push(to);
    }
    return all.filter((n) => !dead.has(n.name)).map((n) => ({
      ...n,
      input: (n.input ?? []).filter((i) => !isControl(i) || !dead.has(sourceOf(i))),
    }));
  }
}

/** True for a node whose value is not used any more after the raise. */
function isLeft({ op }: NodeDefJson): boolean {
  return SWITCH.test(op) || op === "LoopCond";
}

/** Returns a reference with its output's number: `x` is `x:0`. */
function full(input: string): string {
  return input.includes(":") ? input : `${input}:0`;
}

function is(node: NodeDefJson | undefined, op: string): node is NodeDefJson {
  return node !== undefined && (node.op === op || node.op === `Ref${op}`);
}

/** Returns the nodes between `results` and those that satisfy `isEdge`; blocked by other control flow. */
function bodyBehind(
  nodes: Nodes,
  results: readonly string[],
  isEdge: (node: NodeDefJson, input: string) => boolean,
): { readonly nodes: NodeDefJson[]; readonly isBlocked: boolean } {
  const found = new Map<string, NodeDefJson>();
  const open = [...results];
  let isBlocked = false;
  while (open.length > 0) {
    const input = open.pop()!;
    const node = nodes.get(sourceOf(input));
    if (node === undefined || found.has(node.name) || isEdge(node, input)) continue;
    if (CONTROL.test(node.op)) {
      isBlocked = true;
      continue;
    }
    found.set(node.name, node);
    open.push(...node.input ?? []);
  }
  return { nodes: [...found.values()], isBlocked };
}

/**
 * Adds a function of nodes, whose arguments are the `renamed` references, and returns its new name. Control edges from
 * outside are dropped: those nodes run before the call.
 */
function addFunction(
  functions: FunctionDefJson[],
  wanted: string,
  parts: {
    readonly args: readonly ArgDefJson[];
    readonly nodes: readonly NodeDefJson[];
    readonly renamed: Iterable<readonly [string, string]>;
    readonly results: readonly { readonly ref: string; readonly type: string }[];
  },
): string {
  const taken = new Set(functions.map((f) => f.signature.name));
  let name = wanted;
  for (let n = 1; taken.has(name); n++) name = `${wanted}_${n}`;
  const renamed = new Map(parts.renamed);
  const inside = new Set(parts.nodes.map((n) => n.name));
  const ref = (input: string): string => renamed.get(full(input)) ?? input;
  functions.push({
    signature: {
      name,
      inputArg: [...parts.args],
      outputArg: parts.results.map(({ type }, i) => ({ name: `out${i}`, type })),
    },
    nodeDef: parts.nodes.map((n) => ({
      ...n,
      input: (n.input ?? []).filter((i) => !isControl(i) || inside.has(sourceOf(i))).map((i) =>
        isControl(i) ? i : ref(i)
      ),
    })),
    ret: Object.fromEntries(parts.results.map((r, i) => [`out${i}`, ref(r.ref)])),
  });
  return name;
}

function typeOf(node: NodeDefJson): string {
  return node.attr?.T?.type ?? "DT_FLOAT";
}

function list(type: readonly string[]): AttrValueJson {
  return { list: { type: [...type] } };
}

/** A variable of a loop: its enter, merge, next iteration and exit. */
interface LoopVariable {
  readonly enter: NodeDefJson;
  readonly merge: NodeDefJson;
  readonly next: NodeDefJson;
  readonly switches: readonly NodeDefJson[];
}

/** Raises one innermost loop; false if there is none. */
function raiseLoop(nodes: Nodes, functions: FunctionDefJson[]): boolean {
  const frames = groupBy(
    nodes.all().filter((n) => is(n, "Enter")),
    (n) => text(n.attr?.frame_name?.s ?? ""),
  );
  return [...frames].some(([frame, enters]) => raiseFrame(nodes, functions, { frame, enters }));
}

function raiseFrame(
  nodes: Nodes,
  functions: FunctionDefJson[],
  { frame, enters }: { readonly frame: string; readonly enters: readonly NodeDefJson[] },
): boolean {
  const entering = new Set(enters.map((e) => e.name));
  const merges = nodes.all().filter((n) =>
    is(n, "Merge") && dataInputs(n).some((i) => entering.has(sourceOf(i)))
  );
  const switches = nodes.all().filter((n) => is(n, "Switch"));
  const variables = merges.flatMap((merge): LoopVariable[] => {
    const inputs = dataInputs(merge).map((i) => nodes.get(sourceOf(i)));
    const enter = inputs.find((n) => is(n, "Enter"));
    const next = inputs.find((n) => is(n, "NextIteration"));
    if (!enter || !next) return [];
    const own = switches.filter((s) => sourceOf(dataInputs(s)[0]) === merge.name);
    return [{ enter, merge, next, switches: own }];
  });
  const loopCond = variables.flatMap((v) => v.switches).map((s) =>
    nodes.get(sourceOf(dataInputs(s)[1]))
  ).find((n) => n?.op === "LoopCond");
  if (variables.length === 0 || loopCond === undefined) return false;
  const varying = new Set(variables.map((v) => v.enter.name));
  const constants = enters.filter((e) => !varying.has(e.name));

  const mergeNames = new Set(merges.map((m) => m.name));
  const ownSwitches = new Set(variables.flatMap((v) => v.switches.map((s) => s.name)));
  const isConstant = (n: NodeDefJson): boolean => entering.has(n.name);
  const cond = bodyBehind(
    nodes,
    dataInputs(loopCond),
    (n) => isConstant(n) || mergeNames.has(n.name),
  );
  const body = bodyBehind(
    nodes,
    variables.flatMap((v) => dataInputs(v.next)),
    (n) => isConstant(n) || ownSwitches.has(n.name),
  );
  if (cond.isBlocked || body.isBlocked) return false;

  const args = [...variables.map((v) => v.enter), ...constants].map((enter, i) => ({
    name: `arg${i}`,
    type: typeOf(enter),
  }));
  const outside = constants.map((c, k) => [full(c.name), `arg${variables.length + k}`] as const);
  const condName = addFunction(functions, `${frame}/cond`, {
    args,
    nodes: cond.nodes,
    renamed: [...outside, ...variables.map((v, i) => [full(v.merge.name), `arg${i}`] as const)],
    results: [{ ref: dataInputs(loopCond)[0], type: "DT_BOOL" }],
  });
  const switchedTo = (side: number, name: (i: number) => string) =>
    variables.flatMap((v, i) => v.switches.map((s) => [`${s.name}:${side}`, name(i)] as const));
  const returned = [
    ...variables.map((v) => dataInputs(v.next)[0]),
    ...constants.map((c) => c.name),
  ];
  const bodyName = addFunction(functions, `${frame}/body`, {
    args,
    nodes: body.nodes,
    renamed: [...outside, ...switchedTo(1, (i) => `arg${i}`)],
    results: returned.map((ref, i) => ({ ref, type: args[i].type })),
  });

  const loop = `${frame}/While`;
  nodes.put({
    name: loop,
    op: "While",
    input: [
      ...[...variables.map((v) => v.enter), ...constants].map((e) => dataInputs(e)[0]),
      ...enters.flatMap(controlInputs),
    ],
    attr: {
      T: list(args.map((a) => a.type)),
      cond: { func: { name: condName } },
      body: { func: { name: bodyName } },
    },
  });
  const leaving = new Map<string, string>(switchedTo(0, (i) => `${loop}:${i}`));
  for (const exit of nodes.all().filter((n) => is(n, "Exit"))) {
    const from = leaving.get(full(dataInputs(exit)[0]));
    if (from !== undefined) nodes.put({ ...exit, op: "Identity", input: [from] });
  }
  const gone = [
    ...enters,
    ...variables.flatMap((v) => [v.merge, v.next, ...v.switches]),
    loopCond,
    ...cond.nodes,
    ...body.nodes,
  ];
  for (const n of gone) nodes.remove(n.name);
  return true;
}

/** A value that depends on a condition. */
interface Choice {
  readonly merge: NodeDefJson;
  readonly predicate: string;
  /** True if a number selects the branch, false if a boolean does. */
  readonly isNumber: boolean;
  /** The value on each side: for a predicate the false and the true one, else one for each number. */
  readonly refs: readonly string[];
}

/** Raises the conditions of one predicate without others within; false if there are none. */
function raiseConditions(nodes: Nodes, functions: FunctionDefJson[]): boolean {
  const choices = nodes.all().flatMap((n) => is(n, "Merge") ? choiceOf(nodes, n) ?? [] : []);
  if (choices.length === 0) return false;
  const { predicate, isNumber } = choices[0];
  raiseChoices(
    nodes,
    functions,
    choices.filter((c) => c.predicate === predicate && c.isNumber === isNumber),
  );
  return true;
}

/** Returns the switches that a value depends on; blocked if other control flow is in between. */
function switchesBehind(nodes: Nodes, ref: string) {
  const edges: { node: NodeDefJson; side: number }[] = [];
  const { isBlocked } = bodyBehind(nodes, [ref], (node, input) => {
    if (!SWITCH.test(node.op)) return false;
    edges.push({ node, side: isControl(input) ? NaN : Number(input.split(":")[1] ?? 0) });
    return true;
  });
  return { edges, isBlocked };
}

/** Returns the predicate of a switch. The pivots of a condition read it itself, other switches a copy. */
function predicateOf(nodes: Nodes, node: NodeDefJson): string {
  const predicate = full(dataInputs(node)[1]), from = nodes.get(sourceOf(predicate));
  return from?.op === "Identity" ? full(dataInputs(from)[0]) : predicate;
}

/** Returns the number of branches of a switch. */
function sidesOf({ op, attr }: NodeDefJson): number {
  return op === "_SwitchN" ? Number(attr?.num_outs?.i ?? 0) : 2;
}

function choiceOf(nodes: Nodes, merge: NodeDefJson): Choice | null {
  const given = dataInputs(merge), behind = given.map((r) => switchesBehind(nodes, r));
  const switches = behind.flatMap((b) => b.edges.map((e) => e.node));
  const kinds = new Set(
    switches.map((n) => `${predicateOf(nodes, n)} ${sidesOf(n)} ${n.op === "_SwitchN"}`),
  );
  if (behind.some((b) => b.isBlocked) || kinds.size !== 1) return null;
  if (given.length !== sidesOf(switches[0])) return null;
  const refs = new Array<string | undefined>(given.length).fill(undefined);
  const open: string[] = [];
  given.forEach((ref, k) => {
    const side = behind[k].edges.find((e) => !Number.isNaN(e.side))?.side;
    if (side === undefined) open.push(ref);
    else refs[side] = ref;
  });
  // A branch that reads no switch is the remaining one.
  const whole = refs.map((ref) => ref ?? open.shift());
  if (open.length > 0 || whole.includes(undefined)) return null;
  return {
    merge,
    predicate: predicateOf(nodes, switches[0]),
    isNumber: switches[0].op === "_SwitchN",
    refs: whole as string[],
  };
}

function raiseChoices(
  nodes: Nodes,
  functions: FunctionDefJson[],
  choices: readonly Choice[],
): void {
  const [{ merge, predicate, isNumber, refs }] = choices;
  const switches = nodes.all().filter((n) =>
    SWITCH.test(n.op) && (n.op === "_SwitchN") === isNumber && predicateOf(nodes, n) === predicate
  );
  const args = switches.map((s, i) => ({ name: `arg${i}`, type: typeOf(s) }));
  const types = choices.map((c) => typeOf(c.merge));
  const base = `${merge.name}/${isNumber ? "Case" : "If"}`;
  const names = refs.map((_, k) =>
    addFunction(functions, `${base}_${isNumber ? k : k === 1}`, {
      args,
      nodes: bodyBehind(nodes, choices.map((c) => c.refs[k]), (n) => SWITCH.test(n.op)).nodes,
      renamed: switches.map((s, i) => [`${s.name}:${k}`, `arg${i}`]),
      results: choices.map((c, i) => ({ ref: c.refs[k], type: types[i] })),
    })
  );
  nodes.put({
    name: base,
    op: isNumber ? "Case" : "If",
    input: [predicate, ...switches.map((s) => dataInputs(s)[0])],
    attr: {
      Tin: list(args.map((a) => a.type)),
      Tout: list(types),
      ...(isNumber ? { branches: { list: { func: names.map((name) => ({ name })) } } } : {
        Tcond: { type: "DT_BOOL" },
        then_branch: { func: { name: names[1] } },
        else_branch: { func: { name: names[0] } },
      }),
    },
  });
  choices.forEach((c, i) => {
    nodes.put({
      name: c.merge.name,
      op: "Identity",
      input: [`${base}:${i}`],
      attr: { T: { type: types[i] } },
    });
  });
}
