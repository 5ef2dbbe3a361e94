/** Hostile GraphDefs, each with what is wrong with it. */
import * as tf from "@weft/weft";

// deno-lint-ignore no-explicit-any
type ErrorClass = abstract new (...args: any[]) => Error;
/** The fault of a GraphDef, the GraphDef, the class of the error, and a part of its message. */
export type HostileGraph = readonly [string, unknown, ErrorClass, string];

type Attr = Readonly<Record<string, unknown>>;
const node = (name: string, op: string, input: readonly string[] = [], attr: Attr = {}) => ({
  name,
  op,
  input,
  attr,
});
const FLOAT = { type: "DT_FLOAT" }, INT = { type: "DT_INT32" };
const types = (...type: string[]) => ({ list: { type } });
const x = node("x", "Placeholder", [], { dtype: FLOAT, shape: { shape: { unknownRank: true } } });
const axis = node("axis", "Const", [], {
  dtype: INT,
  value: { tensor: { dtype: "DT_INT32", tensorShape: {}, intVal: [0] } },
});
const graph = (nodes: readonly unknown[], functions?: readonly unknown[]) => ({
  node: nodes,
  versions: { producer: 1 },
  ...(functions ? { library: { function: functions } } : {}),
});
const constant = (dtype: string, tensor: Attr) =>
  graph([node("c", "Const", [], { dtype: { type: dtype }, value: { tensor } })]);
const shape = (...sizes: (string | number)[]) => ({ dim: sizes.map((size) => ({ size })) });
const func = (name: string, body: unknown, result = "n:y:0", type = "DT_FLOAT") => ({
  signature: {
    name,
    inputArg: [{ name: "a", type: "DT_FLOAT" }],
    outputArg: [{ name: "r", type }],
  },
  nodeDef: [body],
  ret: { r: result },
});
const neg = (name: string) => func(name, node("n", "Neg", ["a"], { T: FLOAT }));
const call = (name: string, input: string, called: unknown) =>
  node(name, "PartitionedCall", [input], {
    Tin: types("DT_FLOAT"),
    Tout: types("DT_FLOAT"),
    f: called,
  });
const to = (name: string) => ({ func: { name } });
/** Functions that call each other in turn, the last of which computes. */
const chain = (n: number) =>
  Array.from(
    { length: n },
    (_, i) =>
      i === n - 1 ? neg(`F${i}`) : func(`F${i}`, call("n", "a", to(`F${i + 1}`)), "n:output:0"),
  );
const loop = (vars: string) =>
  graph([
    x,
    node("w", "While", ["x"], {
      T: types("DT_FLOAT"),
      cond: to("G"),
      body: to("F"),
      output_shapes: { list: { shape: [{ unknownRank: true }] } },
      _loop_vars: { i: vars },
    }),
  ], [neg("F"), neg("G")]);

const OWN: Record<string, unknown> = {};
OWN.node = [OWN, OWN];

/** GraphDefs that are refused. */
export const HOSTILE_GRAPHS: readonly HostileGraph[] = [
  ["nothing", null, tf.ValueError, "wanted a GraphDef object"],
  [
    "a list of nodes that is none",
    { node: { length: 1 } },
    tf.ValueError,
    "wanted a GraphDef object",
  ],
  [
    "a graph that contains itself",
    OWN,
    tf.ValueError,
    "deeper than 32 messages, or contains itself",
  ],
  [
    "a node that is null",
    graph([null]),
    tf.ValueError,
    "node 0 in `node` is null, wanted an object",
  ],
  [
    "a node without a name",
    graph([{ op: "NoOp" }]),
    tf.ValueError,
    "the name of node 0 in `node` is undefined",
  ],
  [
    "an op that is a number",
    graph([{ name: "a", op: 7 }]),
    tf.ValueError,
    'the op of node "a" is 7',
  ],
  [
    "an input that is null",
    graph([{ name: "a", op: "Neg", input: [null] }]),
    tf.ValueError,
    'input 0 of node "a" is null',
  ],
  [
    "an attribute that is null",
    graph([node("a", "Neg", [], { T: null } as never)]),
    tf.ValueError,
    'attribute "T" of node "a" is null',
  ],
  [
    "a device that is a number",
    graph([{ name: "a", op: "NoOp", device: 3 }]),
    tf.ValueError,
    'the device of node "a" is 3',
  ],
  [
    "a function without a signature",
    graph([], [{ nodeDef: [] }]),
    tf.ValueError,
    "the signature of function 0 of the library is undefined",
  ],
  [
    "a function with two arguments of one name",
    graph([], [{
      signature: {
        name: "F",
        inputArg: [{ name: "a", type: "DT_FLOAT" }, { name: "a", type: "DT_FLOAT" }],
      },
    }]),
    tf.ValueError,
    'has the name of another, "a"',
  ],
  [
    "a name that skips the check of names",
    graph([node("a b$/", "NoOp")]),
    tf.ValueError,
    "'a b$' is not a valid root scope name",
  ],
  ["a name that is a scope", graph([node("/", "NoOp")]), tf.ValueError, "'' is not a valid"],
  [
    "millions of loop variables",
    loop("50000000"),
    tf.ValueError,
    "it has 50000000 loop variables and 1 inputs",
  ],
  ["fewer loop variables than none", loop("-1"), tf.ValueError, "it has -1 loop variables"],
  ["loop variables that are no number", loop("x"), tf.ValueError, "it has NaN loop variables"],
  [
    "a split into billions",
    graph([
      x,
      axis,
      node("s", "Split", ["axis", "x"], { T: FLOAT, num_split: { i: "2000000000" } }),
    ]),
    tf.ValueError,
    "more than 65536 outputs that no node reads",
  ],
  [
    "many splits into many",
    graph([
      x,
      axis,
      ...Array.from(
        { length: 10 },
        (_, i) => node(`s${i}`, "Split", ["axis", "x"], { T: FLOAT, num_split: { i: "10000" } }),
      ),
    ]),
    tf.ValueError,
    "more than 65536 outputs that no node reads",
  ],
  [
    "an unstack into billions",
    graph([x, node("s", "Unpack", ["x"], { T: FLOAT, num: { i: "2000000000" } })]),
    tf.ValueError,
    "more than 65536 outputs that no node reads",
  ],
  [
    "a split into none",
    graph([x, axis, node("s", "Split", ["axis", "x"], { T: FLOAT, num_split: { i: "0" } })]),
    tf.ValueError,
    "must be at least minimum 1",
  ],
  [
    "a sum of billions",
    graph([x, node("s", "AddN", ["x"], { T: FLOAT, N: { i: "2000000000" } })]),
    tf.ValueError,
    "Missing input 'inputs'",
  ],
  [
    "a sum of fewer than none",
    graph([node("s", "AddN", [], { T: FLOAT, N: { i: "-3" } })]),
    tf.ValueError,
    "Value for attr 'N' of -3 must be at least minimum 1",
  ],
  [
    "a count that is no integer",
    graph([x, node("s", "Unpack", ["x"], { T: FLOAT, num: { i: "1.5" } })]),
    tf.ValueError,
    "wanted an integer",
  ],
  [
    "a negative dimension",
    graph([node("p", "Placeholder", [], { dtype: FLOAT, shape: { shape: shape("-5") } })]),
    tf.ValueError,
    "the dimension -5 is negative",
  ],
  [
    "a dimension that is no number",
    graph([node("p", "Placeholder", [], { dtype: FLOAT, shape: { shape: shape("x") } })]),
    tf.ValueError,
    "wanted an integer",
  ],
  [
    "more dimensions than a tensor has",
    graph([
      node("p", "Placeholder", [], {
        dtype: FLOAT,
        shape: { shape: shape(...new Array(255).fill("1")) },
      }),
    ]),
    tf.ValueError,
    "at most 254 dimensions",
  ],
  [
    "a constant of unknown shape",
    constant("DT_FLOAT", { dtype: "DT_FLOAT", tensorShape: shape("-1") }),
    tf.ValueError,
    "must have a known shape",
  ],
  [
    "a constant of another type than it says",
    constant("DT_INT32", { dtype: "DT_FLOAT", tensorShape: {}, floatVal: [1] }),
    tf.ValueError,
    "Type mismatch between value (float32) and dtype (int32)",
  ],
  [
    "a constant that is cut short",
    constant("DT_FLOAT", { dtype: "DT_FLOAT", tensorShape: shape(2), tensorContent: "AACAPw==" }),
    tf.ValueError,
    "takes 8 bytes, received 4",
  ],
  [
    "a constant with more than fits",
    constant("DT_FLOAT", { dtype: "DT_FLOAT", tensorShape: shape(1), floatVal: [1, 2] }),
    tf.ValueError,
    "1 elements were announced, received 2",
  ],
  [
    "a constant of billions that repeat one",
    constant("DT_FLOAT", { dtype: "DT_FLOAT", tensorShape: shape("4000000000"), floatVal: [1] }),
    tf.ValueError,
    "repeat values more than 67108864 times",
  ],
  [
    "a constant that is no base64",
    constant("DT_FLOAT", { dtype: "DT_FLOAT", tensorShape: {}, tensorContent: "!" }),
    tf.ValueError,
    "wanted base64",
  ],
  [
    "a constant of handles",
    constant("DT_RESOURCE", { dtype: "DT_RESOURCE", tensorShape: {} }),
    tf.ValueError,
    "a constant of resource cannot be read",
  ],
  [
    "a billion strings that repeat one",
    constant("DT_STRING", {
      dtype: "DT_STRING",
      tensorShape: shape("1000000000"),
      stringVal: ["YQ=="],
    }),
    tf.ValueError,
    "repeat values more than",
  ],
  [
    "an integer in words",
    constant("DT_INT64", { dtype: "DT_INT64", tensorShape: {}, int64Val: ["one"] }),
    tf.ValueError,
    "wanted an integer",
  ],
  [
    "an unknown type",
    constant("DT_FLOAT", { dtype: "toString", tensorShape: {} }),
    tf.ValueError,
    "to a TensorFlow DType",
  ],
  [
    "an input of another type than the node says",
    graph([x, node("n", "Neg", ["x"], { T: INT })]),
    tf.ValueError,
    "float32",
  ],
  [
    "functions nested a thousand deep",
    graph([x, call("c", "x", to("F0"))], chain(1000)),
    tf.ValueError,
    "Cannot make function F101: it is made inside of functions nested 101 deep, at most 100 are possible",
  ],
  [
    "functions that call each other a thousand deep",
    graph(
      [x, ...Array.from({ length: 1000 }, (_, i) => call(`c${i}`, "x", to(`F${999 - i}`)))],
      chain(1000),
    ),
    tf.ValueError,
    "it calls functions nested 101 deep",
  ],
  [
    "a call of no function",
    graph([x, call("c", "x", { s: "RjA=" })]),
    tf.ValueError,
    'attribute "f" is no function',
  ],
  [
    "a function that takes something else",
    graph([axis, {
      ...call("c", "axis", to("F")),
      attr: { Tin: types("DT_INT32"), Tout: types("DT_FLOAT"), f: to("F") },
    }], [neg("F")]),
    tf.ValueError,
    "Input 0 of node n was passed int32",
  ],
  [
    "a function that returns something else",
    graph([x, {
      ...call("c", "x", to("F")),
      attr: { Tin: types("DT_FLOAT"), Tout: types("DT_FLOAT", "DT_FLOAT"), f: to("F") },
    }], [neg("F")]),
    tf.ValueError,
    "wants (float32, float32)",
  ],
  [
    "a result of another type than declared",
    graph([x, call("c", "x", to("F"))], [
      func("F", node("n", "Neg", ["a"], { T: FLOAT }), "n:y:0", "DT_INT32"),
    ]),
    tf.ValueError,
    "is float32, declared as int32",
  ],
  [
    "a result that only objects have",
    graph([x, call("c", "x", to("F"))], [{
      ...neg("F"),
      signature: {
        name: "F",
        inputArg: [{ name: "a", type: "DT_FLOAT" }],
        outputArg: [{ name: "constructor", type: "DT_FLOAT" }],
      },
    }]),
    tf.ValueError,
    "has no value for its result constructor",
  ],
  [
    "a variable read as another type",
    graph([
      node("v", "VarHandleOp", [], { dtype: FLOAT, shape: { shape: shape(2) } }),
      node("r", "ReadVariableOp", ["v"], { dtype: INT }),
    ]),
    tf.ValueError,
    "the variable 'v' is float32",
  ],
];
