/**
 * Variables of a graph: the nodes that stand for them and read them, and those that belong to the graph itself.
 */
import { lookupOp } from "../core/op.ts";
import { withScope } from "../core/scope_context.ts";
import { ValueError } from "../core/errors.ts";
import type { Resource } from "../core/graph_node.ts";
import type { Spec } from "../core/tensor_spec.ts";
import type { Graph } from "./graph.ts";
import type { Operation, SymbolicTensor } from "./operation.ts";

/** Where a variable is in the graph that it belongs to. */
export interface VariableNode {
  /** The graph. */
  readonly graph: Graph;
  /** The node that stands for it. */
  readonly handle: SymbolicTensor;
  /** The operation that gives it its initial value, if there is one. */
  readonly initializer: Operation | null;
}

/** Adds a read of a variable: it is called and placed like none of the code that asks for it. */
export function addRead(
  handle: SymbolicTensor,
  { dtype, shape }: Pick<Spec, "dtype" | "shape">,
): SymbolicTensor {
  const attrs = { dtype, _shape: shape };
  return withScope(
    { opName: null, device: null },
    () => handle.graph.addOp(lookupOp("ReadVariableOp")!, [handle], attrs).outputs[0],
  );
}

/** The nodes of a graph that stand for variables. */
export class GraphVariables {
  readonly #graph: Graph;
  readonly #nodes = new Map<Resource, SymbolicTensor>();
  readonly #snapshots = new Map<Resource, SymbolicTensor>();

  /** Made by a graph. */
  constructor(graph: Graph) {
    this.#graph = graph;
  }

  /** The node that stands for a variable, or undefined where the graph does not use it. */
  find(resource: Resource): SymbolicTensor | undefined {
    return this.#nodes.get(resource);
  }
  /** Says which node stands for a variable. */
  adopt(resource: Resource, node: SymbolicTensor): void {
    this.#nodes.set(resource, node);
  }
  /** Adds a node for a variable: at the root for one from outside, with a scope's name for one that belongs to the graph. */
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

  /** The read of a variable that fetches of it give: one per variable. Throws `ValueError` where the graph does not use it. */
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
  /** All reads of a variable in this graph, for feeding it: that of {@linkcode GraphVariables.snapshot} is among them. */
  reads(resource: Resource): SymbolicTensor[] {
    const { operation: { def } } = this.snapshot(resource);
    return this.find(resource)!.consumers().filter((o) => o.def === def).map((o) => o.outputs[0]);
  }
}
