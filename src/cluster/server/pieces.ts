/**
 * A partition as its executor runs it: sends, receives and control flow one by one, and between them pieces of ordinary nodes, which live
 * or are dead as a whole and run as one program each.
 */
import { asDType } from "../../engine/core/dtype.ts";
import { NotFoundError, UnimplementedError } from "../../engine/core/errors.ts";
import type { GraphDefJson, NodeDefJson } from "../../engine/graph/graph_def_json.ts";
import { hasRefVariables, raiseRefVariables } from "../../tensorflow/graph_def/ref_variables.ts";
import { text } from "../../tensorflow/graph_def/values.ts";
import { isScriptOp } from "../../tensorflow/graph/missing.ts";
import type { ScriptFunctions } from "../../tensorflow/graph/scripts.ts";
import type { GraphResources } from "../../tensorflow/graph/resources.ts";
import { fullName, isControl, operationOf } from "./node_names.ts";
import { Program } from "./program.ts";
import { SourceSets } from "./source_sets.ts";

export type ItemKind =
  | "send"
  | "receive"
  | "switch"
  | "merge"
  | "enter"
  | "exit"
  | "next"
  | "pass"
  | "piece";

/** Destination of an output. */
export interface Edge {
  readonly to: Item;
  /** The number of the destination's input. */
  readonly slot: number;
}

/** A node of control flow or of exchange, or a piece. */
export interface Item {
  readonly kind: ItemKind;
  /** Name in messages. */
  readonly name: string;
  inputs: number;
  waits: number;
  readonly outputs: Edge[][];
  /** Items that wait for it. */
  readonly before: Item[];
  /** Name of its frame, and its number there. */
  frame: string;
  index: number;
  /** Attributes of a node. */
  readonly attr: NonNullable<NodeDefJson["attr"]>;
  /** The program of a piece; null for other items. */
  readonly program: Program | null;
}

export interface CutPartition {
  readonly items: readonly Item[];
  /** Number of items in each frame, by name; the graph itself is `""`. */
  readonly frameSizes: ReadonlyMap<string, number>;
  /** Number of `Enter` nodes of each frame. */
  readonly enters: ReadonlyMap<string, number>;
}

export interface CutOptions {
  readonly resources: GraphResources;
  readonly scripts?: ScriptFunctions | undefined;
}

const KINDS: ReadonlyMap<string, ItemKind> = new Map<string, ItemKind>([
  ["_Send", "send"],
  ["_HostSend", "send"],
  ["_Recv", "receive"],
  ["_HostRecv", "receive"],
  ["_SwitchN", "switch"],
  ["LoopCond", "pass"],
  ...["", "Ref"].flatMap((ref): [string, ItemKind][] => [
    [`${ref}Switch`, "switch"],
    [`${ref}Merge`, "merge"],
    [`${ref}Enter`, "enter"],
    [`${ref}Exit`, "exit"],
    [`${ref}NextIteration`, "next"],
  ]),
]);

/** Nodes that each piece may have its own copy of: they take nothing and give the same each time. */
const ANYWHERE = /^(Const|VarHandleOp|HashTable(V2)?|(Resource)?ConditionalAccumulator)$/;

/** Nodes that may wait for other tasks: the nodes beside them must not wait as well. */
const WAITS =
  /(AccumulatorTakeGradient|Dequeue(Many|UpTo)?(V2)?|Enqueue(Many)?(V2)?|Barrier\w*|\wUnstage)$/;

/** Cuts a partition. Throws `NotFoundError` for unknown ops and scripts, `ValueError` for a broken graph. */
export function cutPartition(given: GraphDefJson, options: CutOptions): CutPartition {
  const named = { ...given, node: given.node.map(withRootNames) };
  const def = hasRefVariables(named.node) ? raiseRefVariables(named) : named;
  return new Cutter(def, options).cut();
}

/** Masters give nodes of functions names that begin with an underscore, which graphs of users may not have. */
function withRootNames(node: NodeDefJson): NodeDefJson {
  const root = (name: string): string => name.replace(/^(\^?)_/, "$1._");
  return { ...node, name: root(node.name), input: (node.input ?? []).map(root) };
}

interface Group {
  readonly nodes: NodeDefJson[];
  item: Item | null;
  fetches: string[];
}

/** False where each reader has its own copies of all nodes. */
function isNeeded({ nodes, fetches }: Group): boolean {
  return fetches.length > 0 || nodes.some((n) => !ANYWHERE.test(n.op));
}

class Cutter {
  readonly #def: GraphDefJson;
  readonly #options: CutOptions;
  readonly #nodes: ReadonlyMap<string, NodeDefJson>;
  readonly #sets = new SourceSets();
  readonly #sourcesOf = new Map<string, number>();
  readonly #groups = new Map<string, Group>();
  readonly #items = new Map<string, Item>();

  constructor(def: GraphDefJson, options: CutOptions) {
    this.#def = def;
    this.#options = options;
    this.#nodes = new Map(def.node.map((n) => [n.name, n]));
  }

  cut(): CutPartition {
    for (const node of this.#def.node) {
      const kind = KINDS.get(node.op);
      if (kind !== undefined) {
        this.#items.set(node.name, newItem(kind, node.name, { attr: node.attr ?? {} }));
      } else this.#group(node).nodes.push(node);
    }
    this.#findFetches();
    const groups = [...this.#groups.values()].filter(isNeeded);
    for (const group of groups) this.#pieceOf(group);
    for (const node of this.#def.node) {
      const item = this.#items.get(node.name);
      if (item !== undefined) this.#connect(item, [node]);
    }
    const items = [...this.#items.values(), ...groups.map((group) => this.#pieceOf(group))];
    return { items, ...framesOf(items) };
  }

  #node(name: string, reader: string): NodeDefJson {
    const node = this.#nodes.get(name);
    if (node !== undefined) return node;
    throw new NotFoundError(
      `Node "${reader}" of the partition reads "${name}", which is not in it`,
    );
  }

  /** The group of nodes that an ordinary node belongs to. */
  #group(node: NodeDefJson): Group {
    const key = isAlone(node) ? `node ${node.name}` : `set ${this.#sources(node)}`;
    let group = this.#groups.get(key);
    if (group === undefined) this.#groups.set(key, group = { nodes: [], item: null, fetches: [] });
    return group;
  }

  /** Finds the set of items and single nodes that decide whether and when a node can run. */
  #sources(root: NodeDefJson): number {
    const stack: [NodeDefJson, boolean][] = [[root, false]], open = new Set<string>();
    while (stack.length > 0) {
      const [node, isReady] = stack.pop()!;
      if (this.#sourcesOf.has(node.name)) continue;
      const before = (node.input ?? []).map((i) => this.#node(operationOf(i), node.name));
      if (!isReady) {
        if (open.has(node.name)) {
          throw new UnimplementedError(`Node "${node.name}" of the partition is part of a cycle`);
        }
        open.add(node.name);
        stack.push([node, true]);
        for (const n of before) {
          if (!isSource(n) && !this.#sourcesOf.has(n.name)) stack.push([n, false]);
        }
        continue;
      }
      const sets = (node.input ?? []).map((input, i) =>
        isSource(before[i])
          ? this.#sets.of(sourceName(before[i], input))
          : this.#sourcesOf.get(before[i].name)!
      );
      this.#sourcesOf.set(node.name, sets.reduce((a, b) => this.#sets.union(a, b), 0));
    }
    return this.#sourcesOf.get(root.name)!;
  }

  /** Notes the tensors that leave their pieces. */
  #findFetches(): void {
    const fetched = new Map<Group, Set<string>>();
    for (const node of this.#def.node) {
      const own = KINDS.has(node.op) ? null : this.#group(node);
      for (const input of node.input ?? []) {
        const from = this.#node(operationOf(input), node.name);
        if (isControl(input) || KINDS.has(from.op)) continue;
        const group = this.#group(from);
        if (group === own || (own !== null && ANYWHERE.test(from.op))) continue;
        if (!fetched.has(group)) fetched.set(group, new Set());
        fetched.get(group)!.add(fullName(input));
      }
    }
    for (const [group, names] of fetched) group.fetches = [...names];
  }

  /** The piece of a group, made with those before it. */
  #pieceOf(group: Group): Item {
    if (group.item !== null) return group.item;
    const own = new Set(group.nodes.map((n) => n.name));
    const extra = new Map<string, NodeDefJson>();
    const outside = new Map<string, string>();
    const nodes = group.nodes.map((node) => {
      const input: string[] = [];
      for (const i of node.input ?? []) {
        const from = this.#node(operationOf(i), node.name);
        if (own.has(from.name)) input.push(i);
        else if (isControl(i)) continue;
        else if (ANYWHERE.test(from.op)) {
          extra.set(from.name, { ...from, input: [] });
          input.push(i);
        } else {
          outside.set(fullName(i), this.#dtypeOf(fullName(i)));
          input.push(fullName(i));
        }
      }
      return { ...node, input };
    });
    const program = new Program({
      def: { ...this.#def, node: [...extra.values(), ...nodes] },
      inputs: [...outside].map(([name, dtype]) => ({ name, dtype })),
      fetches: group.fetches,
      // A variable's value matters only to its readers.
      targets: group.nodes.filter((n) => !ANYWHERE.test(n.op) && n.op !== "ReadVariableOp").map((
        n,
      ) => n.name),
      ...this.#options,
    });
    const item = group.item = newItem("piece", group.nodes[0].name, { program });
    this.#connect(item, group.nodes, [...outside.keys()]);
    return item;
  }

  #dtypeOf(tensor: string): string {
    const [name, index] = tensor.split(":"), node = this.#nodes.get(name)!;
    const kind = KINDS.get(node.op), { attr = {} } = node;
    if (kind === undefined) {
      const group = this.#group(node);
      return this.#pieceOf(group).program!.dtypes[group.fetches.indexOf(tensor)];
    }
    if (kind === "merge" && index === "1") return "int32";
    if (node.op === "LoopCond") return "bool";
    return asDType((attr.tensor_type ?? attr.T)?.type ?? "");
  }

  /** Adds the edges into an item: from tensors, and from what its nodes wait for. */
  #connect(
    item: Item,
    nodes: readonly NodeDefJson[],
    tensors: readonly string[] = nodes.flatMap((n) => dataInputs(n).map(fullName)),
  ): void {
    for (const tensor of tensors) {
      const [name, index] = tensor.split(":"), { from, output } = this.#output(name, Number(index));
      (from.outputs[output] ??= []).push({ to: item, slot: item.inputs++ });
    }
    const seen = new Set<string>(), before = new Set<Item>();
    const wait = (input: string): void => {
      const node = this.#nodes.get(operationOf(input))!;
      if (KINDS.has(node.op)) return void before.add(this.#items.get(node.name)!);
      const group = this.#group(node);
      if (group.item === item) return;
      // Such a node is ready as soon as its own control inputs are.
      if (ANYWHERE.test(node.op)) return follow(node);
      before.add(this.#pieceOf(group));
    };
    const follow = (node: NodeDefJson): void => {
      if (seen.has(node.name)) return;
      seen.add(node.name);
      for (const i of node.input ?? []) if (isControl(i)) wait(i);
    };
    for (const node of nodes) {
      follow(node);
      for (const i of dataInputs(node)) {
        const from = this.#nodes.get(operationOf(i))!;
        if (item.kind === "piece" && ANYWHERE.test(from.op)) follow(from);
      }
    }
    for (const from of before) {
      from.before.push(item);
      item.waits++;
    }
  }

  #output(name: string, index: number): { from: Item; output: number } {
    const item = this.#items.get(name);
    if (item !== undefined) return { from: item, output: index };
    const group = this.#group(this.#nodes.get(name)!);
    return { from: this.#pieceOf(group), output: group.fetches.indexOf(`${name}:${index}`) };
  }
}

function newItem(
  kind: ItemKind,
  name: string,
  { attr = {}, program = null }: Partial<Pick<Item, "attr" | "program">>,
): Item {
  const counts = { inputs: 0, waits: 0, frame: "", index: 0 };
  return { kind, name, ...counts, outputs: [], before: [], attr, program };
}

function dataInputs({ input = [] }: NodeDefJson): string[] {
  return input.filter((i) => !isControl(i));
}

function isAlone({ op }: NodeDefJson): boolean {
  return isScriptOp(op) || WAITS.test(op);
}

function isSource(node: NodeDefJson): boolean {
  return KINDS.has(node.op) || isAlone(node);
}

/** Outputs of a switch live apart; those of all others together. */
function sourceName({ name, op }: NodeDefJson, input: string): string {
  if (KINDS.get(op) !== "switch") return name;
  return isControl(input) ? `${name}^` : fullName(input);
}

/** Finds the frame of each item, and counts the items of each frame. */
function framesOf(items: readonly Item[]): Omit<CutPartition, "items"> {
  const parents = new Map<string, string>(), enters = new Map<string, number>();
  const placed = new Set<Item>();
  const open = items.filter((i) => i.inputs === 0 && i.waits === 0);
  for (const item of open) placed.add(item);
  while (open.length > 0) {
    const item = open.pop()!;
    let { frame } = item;
    if (item.kind === "enter") {
      frame = frameName(item);
      parents.set(frame, item.frame);
    } else if (item.kind === "exit") frame = parents.get(frame) ?? "";
    for (
      const to of [
        ...item.outputs.flatMap((edges) => (edges ?? []).map((e) => e.to)),
        ...item.before,
      ]
    ) {
      if (placed.has(to)) continue;
      placed.add(to);
      to.frame = frame;
      open.push(to);
    }
  }
  const frameSizes = new Map<string, number>([["", 0]]);
  for (const item of items) {
    item.index = frameSizes.get(item.frame) ?? 0;
    frameSizes.set(item.frame, item.index + 1);
    for (let i = 0; i < item.outputs.length; i++) item.outputs[i] ??= [];
    if (item.kind !== "enter") continue;
    const name = frameName(item);
    enters.set(name, (enters.get(name) ?? 0) + 1);
    if (!frameSizes.has(name)) frameSizes.set(name, 0);
  }
  return { frameSizes, enters };
}

/** The frame that an `Enter` leads to. */
export function frameName({ attr }: Item): string {
  return text(attr.frame_name?.s ?? "");
}
