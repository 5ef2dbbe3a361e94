/** Edits of a loaded model: replaced tensors, adapters, and their variables. */
import { ValueError } from "../../engine/core/errors.ts";
import type { Tensor, TensorLike } from "../../engine/core/tensor.ts";
import { asTensor, toInput } from "../../engine/ops/input.ts";
import { isolated } from "../../engine/runtime/eager/isolated.ts";
import { tidy } from "../../engine/runtime/eager/tensor.ts";
import { Variable, variable } from "../../engine/runtime/variables/variable.ts";
import type { NodeCall } from "../build/node_call.ts";
import type { Rule } from "../build/rule.ts";
import { Value } from "../build/value.ts";
import { Attributes } from "../file/attributes.ts";
import type { GraphNode, OnnxGraph } from "../file/graph.ts";
import { type Edit, editGraph, tensorNamed } from "./edit_graph.ts";

/**
 * Returns the variable of a name: the first call makes it, with this initial value. It is listed among the model's
 * variables as `output/name`.
 */
export type VariableMaker = (
  name: string,
  initial: () => TensorLike,
  trainable?: boolean,
) => Variable;

/** A function of tensors of a model, in the place of one of them. */
export type Replacement = (inputs: readonly Tensor[], variable: VariableMaker) => TensorLike;

/** Domain of the nodes that call functions. */
const DOMAIN = "weft.functions";

/** The edits of a model. */
export class Edits {
  /** The model's variables by name, those of edits included. */
  readonly variables: Record<string, Variable>;
  /** Rules of the nodes that edits add, by op name. */
  readonly rules: Map<string, Rule> = new Map();
  readonly #graph: OnnxGraph;
  readonly #name: string;
  readonly #list: Edit[] = [];
  /** Tensors that functions of the caller's make. */
  readonly #functions = new Set<string>();
  readonly #changed: () => void;
  #count = 0;
  #changes = 0;
  #isDisposed = false;

  /** Made for a model of this name; `changed` is told of each change. */
  constructor(
    name: string,
    graph: OnnxGraph,
    variables: Readonly<Record<string, Variable>>,
    changed: () => void,
  ) {
    this.#name = name;
    this.#graph = graph;
    this.variables = { ...variables };
    this.#changed = () => {
      this.#changes++;
      changed();
    };
  }

  /** Number of changes so far. */
  get changes(): number {
    return this.#changes;
  }

  /** The graph of the file. */
  get graph(): OnnxGraph {
    return this.#graph;
  }

  /** Edits in their order. */
  get list(): readonly Edit[] {
    return this.#list;
  }

  /** Names of the tensors that functions of the caller's make. */
  get functions(): readonly string[] {
    return [...this.#functions];
  }

  /** Throws `ValueError` if the model is disposed. */
  checkLive(what: string): void {
    if (this.#isDisposed) throw new ValueError(`Cannot ${what} ${this.#name}: it is disposed`);
  }

  /** Frees all variables. */
  dispose(): void {
    this.#isDisposed = true;
    this.#changed();
    for (const v of Object.values(this.variables)) v.dispose();
  }

  /** Returns the graph with all edits and these outputs. Throws `ValueError` for names that it does not have. */
  edited(outputs: readonly string[]): OnnxGraph {
    const names = outputs.map((name) => tensorNamed(this.#graph, name, `Cannot run ${this.#name}`));
    return editGraph(this.#graph, this.#list, names);
  }

  /** Returns variables and initialisers as values of a graph. */
  constants(): Map<string, Value> {
    const constants = new Map<string, Value>(), { variables } = this;
    for (const [name, data] of this.#graph.initialisers) {
      constants.set(
        name,
        Object.hasOwn(variables, name)
          ? Value.of(variables[name], data.isHeld ? { initial: data.array } : {})
          : Value.known(data.array, data.packed === null ? null : data),
      );
    }
    for (const [name, v] of Object.entries(variables)) {
      if (!constants.has(name)) constants.set(name, Value.of(v));
    }
    return constants;
  }

  /** Adds an edit with its variables. Throws `ValueError` for a name taken, or a tensor that no node makes. */
  add(edit: Edit, variables: Readonly<Record<string, Variable>> = {}): void {
    this.checkLive("change");
    for (const name of Object.keys(variables)) this.#checkFree(name);
    this.#list.push(edit);
    try {
      this.edited(this.#graph.outputs.map((v) => v.name));
    } catch (e) {
      this.#list.pop();
      throw e;
    }
    Object.assign(this.variables, variables);
    this.#changed();
  }

  /** Takes an edit back, with the variables of these names; they are not disposed. */
  remove(edit: Edit, variables: readonly string[] = []): void {
    const at = this.#list.indexOf(edit);
    if (at >= 0) this.#list.splice(at, 1);
    for (const name of variables) delete this.variables[name];
    this.#changed();
  }

  /** Puts what a function makes of the tensors `from` in the place of a tensor. */
  replace(output: string, from: readonly string[] | undefined, fn: Replacement): void {
    const whose = `Cannot replace a tensor of ${this.#name}`;
    const name = tensorNamed(this.#graph, output, whose);
    if (!this.#graph.nodes.some((n) => n.outputs.includes(name))) {
      throw new ValueError(
        `${whose}: "${output}" is no result of a node, wanted one; pass other inputs, or assign its variable`,
      );
    }
    const read = (from ?? [name]).map((n) => tensorNamed(this.#graph, n, whose));
    const op = `function${this.#count++}`, make = this.#makerOf(output);
    this.rules.set(
      `${DOMAIN}:${op}`,
      (n: NodeCall) => asTensor(toInput(fn(n.xs, make), "result", "replace")),
    );
    try {
      this.add({
        name,
        nodes: (own) => [callNode(op, read.map((n) => n === name ? own : n), name)],
      });
    } catch (e) {
      this.rules.delete(`${DOMAIN}:${op}`);
      throw e;
    }
    this.#functions.add(name);
  }

  #makerOf(output: string): VariableMaker {
    return (name, initial, trainable = true) => {
      const full = `${output}/${name}`;
      // A trace makes it eagerly, before its own ops: the model keeps it.
      return this.variables[full] ??= isolated({}, () => {
        let made: Variable | undefined;
        tidy(() => void (made = Variable.kept(() => variable(initial(), trainable))));
        return made!;
      });
    };
  }

  #checkFree(name: string): void {
    if (!Object.hasOwn(this.variables, name) && !this.#graph.initialisers.has(name)) return;
    throw new ValueError(`Cannot change ${this.#name}: there is a variable "${name}" already`);
  }
}

function callNode(op: string, inputs: readonly string[], output: string): GraphNode {
  return {
    op,
    domain: DOMAIN,
    version: 1,
    name: output,
    inputs,
    outputs: [output],
    attributes: new Attributes([], `node "${output}"`),
    graphs: {},
  };
}
