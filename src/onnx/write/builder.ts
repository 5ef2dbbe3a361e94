/** The graphs of a file while they are written: nodes, constants and names. Nodes that nothing reads are left out. */
import { create } from "@bufbuild/protobuf";
import type { NdArray } from "../../engine/core/nd_array.ts";
import type { DType } from "../../engine/core/dtype.ts";
import type { PartialShape } from "../../engine/core/shape.ts";
import {
  type Attribute,
  AttributeSchema,
  type Graph,
  GraphSchema,
  type Node,
  NodeSchema,
  type ValueInfo,
  ValueInfoSchema,
} from "../proto/onnx_pb.ts";
import { numberOfDType } from "../file/types.ts";
import { Ref } from "./ref.ts";
import { tensorMessage } from "./tensors.ts";

/** An attribute of a node: a whole number is a bigint, a float a number. */
export type AttributeValue =
  | bigint
  | number
  | string
  | readonly bigint[]
  | NdArray
  | GraphBuilder;

export type NodeAttributes = Readonly<Record<string, AttributeValue>>;

interface WrittenNode {
  readonly op: string;
  readonly domain: string;
  readonly name: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: NodeAttributes;
}

/** Names of one file: each is given once. */
export class Names {
  readonly #taken = new Set<string>();
  readonly #next = new Map<string, number>();

  /** Returns the wanted name, or that with a number where it is taken. */
  fresh(wanted: string): string {
    const base = wanted === "" ? "value" : wanted;
    let name = base, n = this.#next.get(base) ?? 1;
    while (this.#taken.has(name)) name = `${base}_${n++}`;
    this.#next.set(base, n);
    this.#taken.add(name);
    return name;
  }
}

/** A constant of the file: an array, or the value that a variable has when the file is written. */
export interface Initialiser {
  readonly name: string;
  readonly array: NdArray;
}

/** The file's constants, shared by all its graphs. */
export class Constants {
  readonly #names: Names;
  readonly #known = new Map<string, Ref>();
  readonly all: Map<string, Initialiser> = new Map();

  constructor(names: Names) {
    this.#names = names;
  }

  /** Adds an array under a name that nothing else has. Small ones that are equal are one. */
  add(
    array: NdArray,
    wanted: string,
    { isShared = true }: { readonly isShared?: boolean } = {},
  ): Ref {
    const key = isShared && array.size <= MOST_SHARED && array.dtype !== "string"
      ? `${array.dtype}[${array.shape}]${textOf(array)}`
      : null;
    const known = key === null ? undefined : this.#known.get(key);
    if (known !== undefined) return known;
    const name = this.#names.fresh(wanted);
    this.all.set(name, { name, array });
    const ref = new Ref(name, array.dtype, array.shape, isShared ? array : null);
    if (key !== null) this.#known.set(key, ref);
    return ref;
  }
}

/** Constants of so many elements are compared. */
const MOST_SHARED = 64;

function textOf({ data }: NdArray): string {
  return Array.from(
    data as ArrayLike<number | bigint>,
    (v) => Object.is(v, -0) ? "-0" : String(v),
  ).join();
}

/** An input of a graph. */
export interface GraphInput {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly (number | string | null)[] | null;
}

/** A graph: that of the file, or one in an attribute. */
export class GraphBuilder {
  readonly name: string;
  readonly inputs: GraphInput[] = [];
  outputs: Ref[] = [];
  /** Shapes of the outputs with names of extents, where these are known. */
  readonly outputShapes: (readonly (number | string | null)[] | null)[] = [];
  readonly #outer: GraphBuilder | null;
  readonly #nodes: WrittenNode[] = [];
  readonly #made = new Set<string>();
  readonly #casts = new Map<string, Ref>();

  constructor(name: string, outer: GraphBuilder | null = null) {
    this.name = name;
    this.#outer = outer;
  }

  addInput(input: GraphInput): Ref {
    this.inputs.push(input);
    return new Ref(input.name, input.dtype, numbersOf(input.shape));
  }

  addNode(node: WrittenNode): void {
    this.#nodes.push(node);
    for (const name of node.outputs) this.#made.add(name);
  }

  /** True for a value that a node of this very graph makes. */
  makes(name: string): boolean {
    return this.#made.has(name);
  }

  /** Returns what was made before under a key, here or in a graph around this one. */
  once(key: string, make: () => Ref): Ref {
    let known = this.#find(key);
    if (known === null) this.#casts.set(key, known = make());
    return known;
  }

  #find(key: string): Ref | null {
    const own = this.#casts.get(key);
    if (own !== undefined || this.#outer === null) return own ?? null;
    return this.#outer.#find(key);
  }

  /** Returns the message; `used` gets the names that it reads from outside, `renamed` the outputs with other names. */
  message(used: Set<string>, renamed: ReadonlyMap<string, string>): Graph {
    const name = (own: string): string => renamed.get(own) ?? own;
    const needed = new Set(this.outputs.map((r) => r.name)), nodes: Node[] = [];
    for (const node of this.#nodes.slice().reverse()) {
      if (!node.outputs.some((o) => needed.has(o))) continue;
      for (const input of node.inputs) needed.add(input);
      nodes.push(create(NodeSchema, {
        input: node.inputs.map(name),
        output: node.outputs.map(name),
        name: node.name,
        opType: node.op,
        domain: node.domain,
        attribute: Object.entries(node.attributes).map(([key, value]) =>
          attributeMessage(key, value, needed, renamed)
        ),
      }));
    }
    for (const read of needed) used.add(read);
    return create(GraphSchema, {
      name: this.name,
      node: nodes.reverse(),
      input: this.inputs.map((i) => valueMessage(i)),
      output: this.outputs.map((r, i) =>
        valueMessage({
          name: name(r.name),
          dtype: r.dtype,
          shape: this.outputShapes[i] ?? r.shape,
        })
      ),
    });
  }
}

function numbersOf(shape: GraphInput["shape"]): PartialShape {
  return shape?.map((d) => typeof d === "number" ? d : null) ?? null;
}

function valueMessage({ name, dtype, shape }: GraphInput): ValueInfo {
  return create(ValueInfoSchema, {
    name,
    type: {
      value: {
        case: "tensorType",
        value: {
          elemType: numberOfDType(dtype),
          ...(shape !== null && {
            shape: {
              dim: shape.map((d) =>
                d === null ? {} : {
                  value: typeof d === "number"
                    ? { case: "dimValue" as const, value: BigInt(d) }
                    : { case: "dimParam" as const, value: d },
                }
              ),
            },
          }),
        },
      },
    },
  });
}

const UTF8 = new TextEncoder();

function attributeMessage(
  name: string,
  value: AttributeValue,
  used: Set<string>,
  renamed: ReadonlyMap<string, string>,
): Attribute {
  if (typeof value === "bigint") return create(AttributeSchema, { name, type: 2, i: value });
  if (typeof value === "number") return create(AttributeSchema, { name, type: 1, f: value });
  if (typeof value === "string") {
    return create(AttributeSchema, { name, type: 3, s: UTF8.encode(value) });
  }
  if (Array.isArray(value)) {
    return create(AttributeSchema, { name, type: 7, ints: [...value as bigint[]] });
  }
  if (value instanceof GraphBuilder) {
    return create(AttributeSchema, { name, type: 5, g: value.message(used, renamed) });
  }
  return create(AttributeSchema, { name, type: 4, t: tensorMessage("", value as NdArray) });
}
