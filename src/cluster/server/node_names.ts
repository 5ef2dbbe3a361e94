/** Names of nodes and their outputs, as inputs of other nodes have them. */
export { operationOf } from "../../tensorflow/files/meta_graph.ts";

/** Adds output number 0 to a tensor's name that has none. */
export function fullName(name: string): string {
  return name.includes(":") ? name : `${name}:0`;
}

/** True for an input that is waited for, and has no value. */
export function isControl(input: string): boolean {
  return input.startsWith("^");
}
