/** Variables of a graph: the nodes that stand for them and read them, and the variables that belong to the graph. */
import { showAs } from "../core/arrays/shown.ts";
import { lookupOp } from "../core/op.ts";
import { withScope } from "../core/scope_context.ts";
import { ValueError } from "../core/errors.ts";
import type { Resource } from "../core/graph_node.ts";
import type { Graph } from "./graph.ts";
import type { Operation, SymbolicTensor } from "./operation.ts";
import { addRead } from "./variable_read.ts";

/** The place of a variable in its graph. */
export interface VariableNode {
  /** The graph. */
  readonly graph: Graph;
  /** The node of the variable. */
  readonly handle: SymbolicTensor;
  /** The operation that assigns its initial value, if any. */
  readonly initializer: Operation | null;
}

/** The nodes of a graph's variables. */
export class GraphVariables {
  readonly #graph: Graph;
  readonly #nodes = new Map<Resource, SymbolicTensor>();
  readonly #snapshots = new Map<Resource, SymbolicTensor>();

  /** Made by a graph. */
  constructor(graph: Graph) {
    this.#graph = graph;
  }

  /** Returns the node of a variable, or undefined if the graph does not use it. */
  find(resource: Resource): SymbolicTensor | undefined {
    return this.#nodes.get(resource);
  }
  /** Sets the node of a variable. */
  adopt(resource: Resource, node: SymbolicTensor): void {
    this.#nodes.set(resource, node);
  }
  /** Adds a node for a variable: at the root for an outer one, with a scope's name for the graph's own. */
  add(resource: Resource, scope?: string): SymbolicTensor {
    const { dtype, shape, sharedName } = resource;
    const attrs = { dtype, shape, shared_name: sharedName, _resource: resource };
    const make = (name: string): SymbolicTensor =>
      withScope(
        { opName: null },
        () => this.#graph.addOp(lookupOp("VarHandleOp")!, [], attrs, { name }).outputs[0],
      );
    const node = scope === undefined ? this.#graph.atRoot(() => make(sharedName)) : make(scope);
    this.adopt(resource, node);
    return node;
  }

  /**
   * Returns the read that fetches of a variable use, one per variable. Throws `ValueError` if the graph does not use
   * the variable.
   */
  snapshot(resource: Resource): SymbolicTensor {
    const known = this.#snapshots.get(resource);
    if (known) return known;
    const node = this.find(resource), graph = this.#graph;
    if (!node) {
      throw new ValueError(
        `Variable '${resource.sharedName}' is not an element of this graph (${graph.key})`,
      );
    }
    const read = () =>
      graph.nameScope(`${node.operation.name}/Read/`, () => addRead(node, resource));
    const made = graph.controlDependencies(null, read);
    this.#snapshots.set(resource, made);
    return made;
  }
  /** Returns all reads of a variable in this graph, for a feed; {@linkcode GraphVariables.snapshot}'s is among them. */
  reads(resource: Resource): SymbolicTensor[] {
    const { operation: { def } } = this.snapshot(resource);
    return this.find(resource)!.consumers().filter((o) => o.def === def).map((o) => o.outputs[0]);
  }

  /** Formats it for `console.log`. */
  toString(): string {
    return `<variables of ${this.#graph.key}: ${
      [...this.#nodes.keys()].map(({ sharedName }) => sharedName).join(", ")
    }>`;
  }
}
showAs(GraphVariables);
