/** The result of an assignment in a graph: the operation, and as a tensor the value after it. */
import type { PartialShape } from "../core/shape.ts";
import { Tensor } from "../core/tensor.ts";
import type { Graph } from "./graph.ts";
import type { Operation, SymbolicTensor } from "./operation.ts";
import { addRead } from "./variable_read.ts";

/** A variable after an assignment. Follows TensorFlow's `_UnreadVariable`: its value is read only if it is used. */
export class AssignedVariable extends Tensor {
  /** The assigning operation. */
  readonly operation: Operation;
  #value: SymbolicTensor | null = null;

  /** Made by the methods of a variable. */
  constructor(operation: Operation) {
    super(operation.inputs[1].dtype);
    this.operation = operation;
  }

  /** True: graphs compute the value at run time. */
  override get isSymbolic(): boolean {
    return true;
  }
  /** Shape of the variable. */
  override get staticShape(): PartialShape {
    return this.operation.attrs._shape as PartialShape;
  }
  /** The graph. */
  override get graph(): Graph {
    return this.operation.graph;
  }
  /** The assigning operation. */
  override get op(): Operation {
    return this.operation;
  }
  /** Name of the value after the assignment. */
  override get name(): string {
    return this.readValue().name;
  }
  /** Returns the value after the assignment: a read that waits for it. */
  override readValue(): SymbolicTensor {
    if (this.#value !== null) return this.#value;
    const { graph, inputs: [handle] } = this.operation;
    const spec = { dtype: this.dtype, shape: this.staticShape };
    const read = () => graph.controlDependencies([this.operation], () => addRead(handle, spec));
    return this.#value = graph.controlDependencies(null, read);
  }
  /** Evaluates the value after the assignment. */
  override asOpInput(): SymbolicTensor {
    return this.readValue();
  }
  /** Refines the static shape of the value. */
  override setShape(shape: PartialShape): void {
    this.readValue().setShape(shape);
  }
  /** Short text for messages. */
  override toString(): string {
    return `<tf.Variable assigned by '${this.operation.name}'>`;
  }
}
