/**
 * The objects that `tf.saved_model.load` makes of a SavedModel of ours: its signatures, a method for each, and its
 * variables. Follows TensorFlow `saved_object_graph.proto` and `saved_model/load.py`.
 */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { DTYPES } from "../../engine/core/dtype.ts";
import type {
  FunctionDefJson,
  GraphDefJson,
  NodeDefJson,
} from "../../engine/graph/graph_def_json.ts";
import { shapeToJson } from "../graph_def/values.ts";
import type { SavedObjectNode } from "../../library/io/checkpoint/format.ts";
import type { Variable } from "../../engine/runtime/variables/variable.ts";
import {
  type SavedObjectGraph,
  SavedObjectGraphSchema,
  type SavedObjectSchema,
  type SignatureDef,
  type StructuredValueSchema,
  type TensorInfo,
} from "../proto/saved_model_pb.ts";
import { dtype, shapeMessage } from "./to_message.ts";
import { valueKey } from "./object_graph.ts";

type SavedObject = MessageInitShape<typeof SavedObjectSchema>;
type Kind = NonNullable<SavedObject["kind"]>;
type Structure = MessageInitShape<typeof StructuredValueSchema>;

/** Contents of a model to save. */
export interface SavedParts {
  readonly def: GraphDefJson;
  /** Signatures by name, inputs in the order of the functions' parameters. */
  readonly signatures: Readonly<Record<string, SignatureDef>>;
  /** Variables by the names of the nodes that make their handles. */
  readonly variables: ReadonlyMap<string, Variable>;
}

/** Objects in the forms of a SavedModel and of its checkpoint, by the same numbers. */
export interface SavedObjects {
  readonly graph: SavedObjectGraph;
  readonly nodes: readonly SavedObjectNode[];
}

/**
 * Makes the objects of a model; null where a signature is more than one call on its inputs and captured objects: the
 * model remains one of version 1.
 */
export function savedObjects({ def, signatures, variables }: SavedParts): SavedObjects | null {
  const objects = new Objects();
  const root = objects.add(userObject("_generic_user_object"));
  const byNode = new Map<string, number>();
  for (const [node, variable] of variables) {
    byNode.set(node, objects.add(variableObject(variable), valueKey(variable.name)));
  }
  const all = [...byNode.values()];
  const isTrained = [...variables.values()].map((v) => v.trainable);
  objects.addList(root, "variables", all);
  objects.addList(root, "trainable_variables", all.filter((_, i) => isTrained[i]));
  const map = objects.add(userObject("signature_map"));
  objects.connect(root, "signatures", map);
  const concreteFunctions: SavedObjectGraph["concreteFunctions"] = {};
  for (const [name, signature] of Object.entries(signatures)) {
    const call = callOf(def, signature);
    if (call === null) return null;
    const bound = call.bound.map((node) => {
      if (node.op === "Const" && !byNode.has(node.name)) {
        byNode.set(node.name, objects.add({ case: "constant", value: { operation: node.name } }));
      }
      return byNode.get(node.name);
    });
    if (!bound.every((id) => id !== undefined)) return null;
    const { name: function_ } = call.body.signature, inputs = Object.keys(signature.inputs);
    concreteFunctions[function_] = {
      boundInputs: bound,
      canonicalizedInputSignature: tuple([tuple(specs(signature.inputs)), dict({})]),
      outputSignature: dict(specsByName(signature.outputs)),
    } as SavedObjectGraph["concreteFunctions"][string];
    const bare = { concreteFunctionName: function_, argumentKeywords: inputs };
    const value = { ...bare, allowedPositionalArguments: BigInt(inputs.length) };
    objects.connect(map, name, objects.add({ case: "bareConcreteFunction", value }));
    if (RESERVED.has(name) || !inputs.every((input) => ARGUMENT.test(input))) continue;
    const method = { concreteFunctions: [function_], functionSpec: functionSpec(signature) };
    objects.connect(root, name, objects.add({ case: "function", value: method }));
  }
  return objects.finish(concreteFunctions);
}

/** Attributes of the root besides methods. */
const RESERVED: ReadonlySet<string> = new Set(["signatures", "variables", "trainable_variables"]);
/** Valid names of arguments in Python. */
const ARGUMENT =
  /^(?!(?:False|None|True|and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield|self)$)[A-Za-z_]\w*$/;

class Objects {
  readonly #objects: { kind: Kind; key: string | null; children: Child[] }[] = [];

  /** Adds an object, whose value the checkpoint has under `key`, and returns its number. */
  add(kind: Kind, key: string | null = null): number {
    return this.#objects.push({ kind, key, children: [] }) - 1;
  }

  connect(parent: number, name: string, id: number): void {
    this.#objects[parent].children.push({ name, id });
  }

  addList(parent: number, name: string, ids: readonly number[]): void {
    const list = this.add(userObject("trackable_list_wrapper"));
    this.connect(parent, name, list);
    ids.forEach((id, i) => this.connect(list, String(i), id));
  }

  finish(concreteFunctions: SavedObjectGraph["concreteFunctions"]): SavedObjects {
    const nodes = this.#objects.map(({ kind, children }): SavedObject => ({
      kind,
      children: children.map(({ name, id }) => ({ localName: name, nodeId: id })),
    }));
    return {
      graph: create(SavedObjectGraphSchema, { nodes, concreteFunctions }),
      nodes: this.#objects.map(({ key, children }) => ({ key, children, slots: [] })),
    };
  }
}
type Child = SavedObjectNode["children"][number];

function userObject(identifier: string): Kind {
  return { case: "userObject", value: { identifier, version: { producer: 1, minConsumer: 1 } } };
}

function variableObject(v: Variable): Kind {
  const { name, trainable } = v, shape = shapeMessage(shapeToJson(v.staticShape));
  return {
    case: "variable",
    value: { name, trainable, dtype: dtype(DTYPES[v.dtype].tfEnum), shape },
  };
}

/** A call of a function. */
interface Call {
  readonly body: FunctionDefJson;
  /** Nodes of the captured arguments after the signature's inputs. */
  readonly bound: readonly NodeDefJson[];
}

/** Returns the single call of a signature, with its outputs in the order of their names; null where it is more. */
function callOf(def: GraphDefJson, { inputs, outputs }: SignatureDef): Call | null {
  const byName = new Map(def.node.map((node) => [node.name, node]));
  const names = Object.keys(outputs).sort();
  const [node, ...others] = new Set(names.map((key) => nodeOf(outputs[key])));
  const call = byName.get(node);
  const name = call?.attr?.f?.func?.name;
  const body = def.library?.function.find((f) => f.signature.name === name);
  const given = Object.values(inputs).map(nodeOf), taken = call?.input ?? [];
  const fits = body !== undefined && others.length === 0 &&
    body.signature.outputArg.length === names.length &&
    names.every((key, i) => tensorOf(outputs[key]) === `${node}:${i}`) &&
    given.every((input, i) => taken[i] === input) &&
    taken.every((input) => byName.has(input));
  return fits ? { body, bound: taken.slice(given.length).map((n) => byName.get(n)!) } : null;
}

function tensorOf({ encoding }: TensorInfo): string {
  return encoding.case === "name" ? encoding.value : "";
}

function nodeOf(info: TensorInfo): string {
  return tensorOf(info).replace(/:\d+$/, "");
}

function functionSpec({ inputs }: SignatureDef) {
  const none: Structure = { kind: { case: "noneValue", value: {} } };
  const text = (value: string): Structure => ({ kind: { case: "stringValue", value } });
  const list = (values: Structure[]): Structure => ({
    kind: { case: "listValue", value: { values } },
  });
  const values = Object.entries({
    args: list(Object.keys(inputs).map(text)),
    varargs: none,
    varkw: none,
    defaults: none,
    kwonlyargs: list([]),
    kwonlydefaults: none,
    annotations: dict({}),
  }).map(([key, value]) => ({ key, value }));
  return {
    fullargspec: { kind: { case: "namedTupleValue", value: { name: "FullArgSpec", values } } },
    inputSignature: tuple(specs(inputs)),
  } as const;
}

function tuple(values: Structure[]): Structure {
  return { kind: { case: "tupleValue", value: { values } } };
}

function dict(fields: Record<string, Structure>): Structure {
  return { kind: { case: "dictValue", value: { fields } } } as Structure;
}

function specsByName(infos: SignatureDef["inputs"]): Record<string, Structure> {
  return Object.fromEntries(
    Object.entries(infos).map(([name, { dtype, tensorShape: shape }]) => {
      const value = { name, dtype, ...(shape && { shape }) };
      return [name, { kind: { case: "tensorSpecValue", value } }];
    }),
  );
}

function specs(infos: SignatureDef["inputs"]): Structure[] {
  return Object.values(specsByName(infos));
}
