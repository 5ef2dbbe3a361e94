/** Resolves the fetches and feeds of a session, given as tensors, variables, operations or names, in its graph. */
import { CompositeTensor } from "../core/composite.ts";
import { describe } from "../core/convert.ts";
import { TypeError } from "../core/throwing/builtin_errors.ts";
import { LookupError, ValueError } from "../core/errors.ts";
import { handleOf, resourceOf } from "../core/graph_node.ts";
import { Tensor } from "../core/tensor.ts";
import { AssignedVariable } from "./assigned_variable.ts";
import type { Graph } from "./graph.ts";
import { Operation, SymbolicTensor } from "./operation.ts";

/**
 * Returns the tensor or operation of a fetch. Throws `TypeError` for other values, `ValueError` for another graph's.
 */
export function fetchIn(graph: Graph, given: unknown): SymbolicTensor | Operation {
  if (given === null || given === undefined) {
    throw new TypeError(
      `Argument \`fetch\` = ${given} has invalid type "${given}". Cannot be null: of what no gradient reaches, gradients() gives null`,
    );
  }
  const f = given instanceof Tensor ? valueIn(graph, given, "fetch") : given;
  if (f instanceof SymbolicTensor || f instanceof Operation) {
    if (f.graph !== graph) throw refusedFetch(f, `${f} is not an element of this graph.`);
    return f;
  }
  if (typeof f !== "string") {
    throw new TypeError(
      `Argument \`fetch\` = ${
        describe(f)
      } has invalid type, must be a string or Tensor. (Can not convert a ${typeof f} into a Tensor or Operation.)`,
    );
  }
  try {
    return f.includes(":") ? graph.getTensorByName(f) : graph.getOperationByName(f);
  } catch (e) {
    throw refusedFetch(f, `"${(e as Error).message}"`);
  }
}

/** Returns the tensor of a value that stands for one: the read of a variable, the value after an assignment. */
function valueIn(graph: Graph, t: Tensor, argument: string): Tensor {
  if (t instanceof AssignedVariable) {
    return t.graph === graph ? t.readValue() : t.operation.inputs[1];
  }
  const handle = handleOf(t), resource = handle && resourceOf(handle);
  if (!resource) return t.readValue();
  try {
    return graph.variables.snapshot(resource);
  } catch (e) {
    if (!(e instanceof ValueError)) throw e;
    throw new ValueError(
      `Argument \`${argument}\` = ${t} cannot be interpreted as a Tensor. (${e.message})`,
    );
  }
}

/** Returns the feeds of a composite tensor's components. Throws `TypeError` for a value of another kind. */
export function fedParts(
  key: CompositeTensor,
  value: unknown,
): readonly (readonly [unknown, unknown])[] {
  const values = key.spec.componentsOf(value);
  if (values !== null) return key.components.map((part, i) => [part, values[i]]);
  throw new TypeError(
    `Type of feed value ${
      value instanceof CompositeTensor ? value : describe(value)
    } is not compatible with ${key}: wanted a value of ${key.spec}`,
  );
}

/** Returns the tensors of a feed's key: for a variable all its reads. Throws `TypeError` for other values. */
export function feedsIn(graph: Graph, key: unknown): readonly SymbolicTensor[] {
  if (key instanceof SymbolicTensor) {
    if (key.graph !== graph) throw refusedFeed(`${key} is not an element of this graph.`);
    return [key];
  }
  const handle = key instanceof Tensor ? handleOf(key) : undefined;
  const resource = handle && resourceOf(handle);
  if (resource) {
    if (graph.variables.find(resource)) return graph.variables.reads(resource);
    throw refusedFeed(`${key} is not an element of this graph.`);
  }
  if (typeof key !== "string") throw refusedFeed(`Can not convert a ${typeof key} into a Tensor.`);
  try {
    return [graph.getTensorByName(key)];
  } catch (e) {
    if (!(e instanceof ValueError || e instanceof LookupError)) throw e;
    throw refusedFeed(e.message);
  }
}

function refusedFetch(f: unknown, why: string): ValueError {
  return new ValueError(`Argument \`fetch\` = ${f} cannot be interpreted as a Tensor. (${why})`);
}

function refusedFeed(why: string): TypeError {
  return new TypeError(`Cannot interpret feeds key as Tensor: ${why}`);
}
