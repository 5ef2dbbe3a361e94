/**
 * A graph as a master gets it: ops that TensorFlow lacks and calls of scripts stay at home, and placeholders stand
 * for their results.
 */
import { DTYPES } from "../../engine/core/dtype.ts";
import type { Attrs } from "../../engine/core/op.ts";
import type { Graph } from "../../engine/graph/graph.ts";
import type {
  AttrValueJson,
  FunctionDefJson,
  NodeDefJson,
} from "../../engine/graph/graph_def_json.ts";
import { GraphDefWriter } from "../../tensorflow/graph_def/graph_def.ts";
import { shapeToJson, text } from "../../tensorflow/graph_def/values.ts";
import type { Operation, SymbolicTensor } from "../../engine/graph/operation.ts";
import { runsScript } from "../../engine/graph/passes/cse.ts";
import { isLocalhost, isThisProcess, parseDevice } from "../../engine/runtime/devices/devices.ts";
import { FailedPreconditionError } from "../../engine/core/errors.ts";
import { lookupOp } from "../../engine/core/op.ts";
import type { ScriptOffers } from "../../engine/script/offered.ts";
import type { Script } from "../../engine/script/script.ts";

/** The written form of an operation; `nodes` is null where it can run only at home. */
interface Written {
  readonly attrs: Attrs;
  readonly outputs: number;
  readonly nodes: readonly NodeDefJson[] | null;
}

/**
 * Decides which operations of a graph run elsewhere and in which wave, and holds the nodes that a master gets. An
 * operation's wave is the number of times that values must come home before it: it never changes, so earlier waves
 * are not asked for again.
 */
export class RemoteGraph {
  /** Nodes in the order they were written; extended by {@linkcode RemoteGraph.update}. */
  readonly nodes: NodeDefJson[] = [];
  readonly #graph: Graph;
  readonly #offers: ScriptOffers;
  readonly #writer: GraphDefWriter;
  readonly #written = new Map<Operation, Written>();
  readonly #home = new Set<Operation>();
  readonly #waves = new Map<Operation, number>();
  readonly #waits = new Map<Operation, readonly Operation[]>();
  readonly #standIns = new Set<string>();
  readonly #withScripts = new Map<string, boolean>();
  #version = 0;

  /** Creates an empty graph. Scripts that tasks in this process run are among the offers. */
  constructor(graph: Graph, offers: ScriptOffers) {
    this.#graph = graph;
    this.#offers = offers;
    this.#writer = new GraphDefWriter({ tokenOf: (script) => offers.tokenOf(script as Script) });
  }

  /** Collects the functions that nodes call, directly or not. */
  functionsOf(nodes: readonly NodeDefJson[]): FunctionDefJson[] {
    const found = new Map<string, FunctionDefJson>();
    const follow = ({ attr = {} }: NodeDefJson): void => {
      for (const name of Object.values(attr).flatMap(functionsIn)) {
        const def = this.#writer.functions.get(name);
        if (def === undefined || found.has(name)) continue;
        found.set(name, def);
        def.nodeDef.forEach(follow);
      }
    };
    nodes.forEach(follow);
    return [...found.values()];
  }

  /**
   * Writes the operations that were added to the graph. Returns false where an earlier one would be written
   * differently now: the session must begin anew.
   */
  update(): boolean {
    const { operations, version } = this.#graph;
    if (version === this.#version) return true;
    for (const [op, { attrs, outputs }] of this.#written) {
      if (op.attrs !== attrs || op.outputs.length !== outputs) return false;
    }
    const added = operations.slice(this.#version), place = this.#writer.place(this.#graph);
    for (const op of added) {
      const nodes = this.#nodesOf(op, () => this.#writer.nodes(op, place));
      this.#written.set(op, { attrs: op.attrs, outputs: op.outputs.length, nodes });
      if (nodes === null) this.#home.add(op);
    }
    // Resources of tapes and lists do not travel: their makers run where their readers do.
    for (const op of operations.toReversed()) {
      if (!this.#home.has(op)) continue;
      for (const { dtype, operation: maker } of op.inputs) {
        if (dtype !== "variant" || this.#home.has(maker)) continue;
        if (this.#waves.has(maker)) return false;
        this.#home.add(maker);
      }
    }
    for (const op of added) {
      if (!isAnywhere(op)) this.#waves.set(op, this.#waveOf(op));
      if (this.#home.has(op)) continue;
      for (const node of this.#written.get(op)!.nodes!) this.nodes.push(this.#sent(node, op));
    }
    this.#version = version;
    return true;
  }

  /** True for an operation that runs here. */
  isHome(op: Operation): boolean {
    return this.#home.has(op);
  }

  /** Returns the wave of an operation; undefined for one that each wave has its own copy of. */
  waveOf(op: Operation): number | undefined {
    return this.#waves.get(op);
  }

  /**
   * Returns a tensor's remote name for nodes of a wave: a placeholder's where it comes from home or an earlier wave.
   */
  nameOf({ operation, valueIndex }: SymbolicTensor, wave: number): string {
    return this.#isBefore(operation, wave)
      ? `${standInName(operation, valueIndex)}:0`
      : `${operation.name}:${valueIndex}`;
  }

  /** True for an operation whose results must be fed to nodes of a wave. */
  #isBefore(op: Operation, wave: number): boolean {
    return this.#home.has(op) || (this.#waves.get(op) ?? wave) < wave;
  }

  #nodesOf(op: Operation, write: () => NodeDefJson[]): NodeDefJson[] | null {
    if (runsScript(op.def) && !isAtTask(op.device)) return null;
    const before = this.#writer.unportable.length;
    const nodes = write();
    if (this.#writer.unportable.length > before) return null;
    return nodes.some((node) => this.#isHomeScript(node, "")) ? null : nodes;
  }

  /**
   * True for a script that no task runs, and for a node that calls a function with one. `around` is the device of the
   * call.
   */
  #isHomeScript(node: NodeDefJson, around: string): boolean {
    const { op, attr = {} } = node, def = lookupOp(op), device = node.device || around;
    if (def !== undefined && runsScript(def)) {
      if (!isAtTask(device)) return true;
      this.#checkKnown(node, device);
    }
    return Object.values(attr).flatMap(functionsIn).some((name) => {
      const key = `${name} ${device}`;
      let found = this.#withScripts.get(key);
      if (found === undefined) {
        this.#withScripts.set(key, false);
        const body = this.#writer.functions.get(name)?.nodeDef ?? [];
        found = body.some((inner) => this.#isHomeScript(inner, device));
        this.#withScripts.set(key, found);
      }
      return found;
    });
  }

  /** Throws `FailedPreconditionError` for a script without a name that a task of another process is to run. */
  #checkKnown({ name, op, attr }: NodeDefJson, device: string): void {
    if (isThisProcess(parseDevice(device)) || !this.#offers.has(text(attr?.token?.s ?? ""))) return;
    throw new FailedPreconditionError(
      `Cannot run the script of "${name}" on ${device}: it has no name that the task could know, register it with tf.registerScript("ns.name@1", func)`,
      { op, node: name },
    );
  }

  #waveOf(op: Operation): number {
    const isHome = this.#home.has(op);
    let wave = 0;
    for (const before of [...op.inputs.map((t) => t.operation), ...this.#waitsOf(op)]) {
      const its = this.#waves.get(before);
      if (its === undefined) continue;
      wave = Math.max(wave, isHome && !this.#home.has(before) ? its + 1 : its);
    }
    return wave;
  }

  /** Returns an operation's control inputs; constants are replaced by their own. */
  #waitsOf(op: Operation): readonly Operation[] {
    const known = this.#waits.get(op);
    if (known !== undefined) return known;
    const isConstant = ({ def }: Operation): boolean => def.meaning.kind === "constant";
    const waits = [
      ...new Set([
        ...op.controlInputs.flatMap((c) => isConstant(c) ? this.#waitsOf(c) : [c]),
        ...op.inputs.flatMap(({ operation: o }) => isConstant(o) ? this.#waitsOf(o) : []),
      ]),
    ];
    this.#waits.set(op, waits);
    return waits;
  }

  /**
   * Returns a node as it is sent: it reads placeholders for values from home or earlier waves, and waits only for
   * operations of its own wave.
   */
  #sent(node: NodeDefJson, op: Operation): NodeDefJson {
    const wave = this.#waves.get(op) ?? 0;
    const input: string[] = [];
    for (const text of node.input ?? []) {
      const [, control, name, index = "0"] = /^(\^?)(.*?)(?::(\d+))?$/.exec(text)!;
      const source = this.#graph.findOperation(name);
      if (source === undefined || source === op) input.push(text);
      else if (control === "") {
        input.push(this.#isBefore(source, wave) ? this.#standIn(source, Number(index)) : text);
      }
    }
    const waits = isAnywhere(op)
      ? []
      : this.#waitsOf(op).filter((w) => !this.#home.has(w) && this.#waves.get(w) === wave);
    const all = [...input, ...waits.map((w) => `^${w.name}`)];
    const { input: _, ...rest } = node;
    return all.length > 0 ? { ...rest, input: all } : rest;
  }

  /** Returns the placeholder that stands for a result; a reader of a handle from elsewhere fails when it runs. */
  #standIn(op: Operation, index: number): string {
    const { dtype, staticShape } = op.outputs[index], name = standInName(op, index);
    if (!this.#standIns.has(name)) {
      this.#standIns.add(name);
      this.nodes.push({
        name,
        op: "Placeholder",
        attr: { dtype: { type: DTYPES[dtype].tfEnum }, shape: { shape: shapeToJson(staticShape) } },
      });
    }
    return name;
  }
}

/** True for operations that each wave has its own copy of: they cost nothing, and handles cannot be sent. */
function isAnywhere({ def, inputs, outputs }: Operation): boolean {
  if (inputs.length > 0 || outputs.length === 0) return false;
  const { kind } = def.meaning;
  return kind === "constant" || kind === "input" || outputs.every((t) => t.dtype === "resource");
}

function isAtTask(device: string): boolean {
  const spec = parseDevice(device);
  return spec.job !== undefined && !isLocalhost(spec);
}

function functionsIn({ func, list }: AttrValueJson): string[] {
  return [...(func ? [func] : []), ...(list?.func ?? [])].map((f) => f.name);
}

function standInName({ name }: Operation, index: number): string {
  return `${name}/_given_${index}`;
}
