/** Refusals in TensorFlow's classes and phrases: cycles, devices, placements, loops, tensors out of scope. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects } from "@std/assert";

// deno-lint-ignore no-explicit-any
type ErrorClass = abstract new (...args: any[]) => Error;
/** An action, the class of its error, and a part of the message. */
type Case = readonly [name: string, act: () => unknown, kind: ErrorClass, phrase: string];

const { InvalidArgumentError, NotFoundError } = tf.errors;

function inGraph<R>(fn: (g: tf.Graph) => R): R {
  const g = new tf.Graph();
  return g.asDefault(() => fn(g));
}
const scalar = (name?: string): tf.Tensor => tf.placeholder("float32", [], name);
const node = (name: string, op: string, input: string[] = [], attr = {}): tf.NodeDefJson => ({
  name,
  op,
  input,
  attr,
});
const read =
  (nodes: readonly tf.NodeDefJson[], functions: readonly tf.FunctionDefJson[] = []) => () =>
    inGraph(() =>
      tf.importGraphDef({
        node: [...nodes],
        library: { function: [...functions] },
        versions: { producer: 1 },
      })
    );

/** A function that calls another, as a GraphDef has it. */
function caller(name: string, called: string): tf.FunctionDefJson {
  const types = { list: { type: ["DT_FLOAT"] } };
  const attr = { Tin: types, Tout: types, f: { func: { name: called } } };
  return {
    signature: {
      name,
      inputArg: [{ name: "x", type: "DT_FLOAT" }],
      outputArg: [{ name: "y", type: "DT_FLOAT" }],
    },
    nodeDef: [node("call", "PartitionedCall", ["x"], attr)],
    ret: { y: "call:output:0" },
  };
}
const [F, G] = [caller("F", "G"), caller("G", "F")];
const callF = node(
  "c",
  "PartitionedCall",
  ["x"],
  F.nodeDef[0].attr && {
    ...F.nodeDef[0].attr,
    f: { func: { name: "F" } },
  },
);
const placeholder = node("x", "Placeholder", [], {
  dtype: { type: "DT_FLOAT" },
  shape: { shape: {} },
});

const IMPORTS: readonly Case[] = [
  [
    "a data cycle",
    read([node("a", "Neg", ["b"]), node("b", "Neg", ["a"])]),
    tf.ValueError,
    "cycle",
  ],
  [
    "a control cycle",
    read([node("a", "NoOp", ["^b"]), node("b", "NoOp", ["^a"])]),
    tf.ValueError,
    "cycle",
  ],
  ["a node that reads itself", read([node("a", "Neg", ["a"])]), tf.ValueError, "cycle"],
  [
    "functions that call each other",
    read([placeholder, callF], [F, G]),
    tf.ValueError,
    "calls itself",
  ],
  ["an unknown function", read([placeholder, callF]), NotFoundError, "Function F"],
  [
    "two nodes of one name",
    read([node("a", "NoOp"), node("a", "NoOp")]),
    tf.ValueError,
    "Node 'a' is not unique",
  ],
  [
    "an unknown input",
    read([node("a", "Neg", ["zz"])]),
    tf.ValueError,
    "Node 'a': Unknown input node 'zz'",
  ],
  ["an output there is not", read([placeholder, node("a", "Neg", ["x:1"])]), tf.ValueError, "x:1"],
  [
    "a device of no known form",
    read([{ ...placeholder, device: "bogus/xx" }]),
    tf.ValueError,
    "Unknown attribute 'bogus'",
  ],
];

function run(device: string, options: { allowSoftPlacement?: boolean }): Promise<unknown> {
  const g = new tf.Graph();
  const y = g.asDefault(() => tf.device(device, () => tf.neg(tf.placeholderWithDefault(2, []))));
  return new tf.Session({ graph: g, ...options }).run(y);
}
const hard = (device: string) => () => run(device, { allowSoftPlacement: false });

const DEVICES: readonly Case[] = [
  [
    "a device spec of no known form",
    () => tf.device("bogus/xx", () => 1),
    tf.ValueError,
    "Unknown attribute 'bogus' is encountered while parsing the device spec: 'bogus/xx'",
  ],
  [
    "an eager op on a device there is not",
    () => tf.device("/gpu:7", () => tf.add(1, 2)),
    InvalidArgumentError,
    "/device:GPU:7",
  ],
  [
    "a hard placement on a GPU there is not",
    hard("/gpu:7"),
    InvalidArgumentError,
    "was explicitly assigned to /device:GPU:7 but available devices are [ /job:localhost/replica:0/task:0/device:CPU:0",
  ],
  [
    "a hard placement on an unknown type",
    hard("/device:TPUX:0"),
    InvalidArgumentError,
    "was explicitly assigned to /device:TPUX:0",
  ],
  [
    "a hard placement on another task",
    hard("/job:worker/task:3"),
    InvalidArgumentError,
    "was explicitly assigned to /job:worker/task:3",
  ],
  ...["/job:worker/task:0/cpu:0", "/job:worker", "/replica:1", "/task:1/cpu:0"].flatMap((
    name,
  ): Case[] => {
    const phrase = /task:1/.test(name)
      ? "/task:1/device:CPU:0"
      : name.replace("/cpu:", "/device:CPU:");
    return [
      [
        `an op of a session on another process, ${name}`,
        () => run(name, {}),
        InvalidArgumentError,
        `was explicitly assigned to ${phrase} but available devices are [ /job:localhost/replica:0/task:0/device:CPU:0`,
      ],
      [
        `an op of a function on another process, ${name}`,
        () => tf.function((x: tf.Tensor) => tf.device(name, () => tf.neg(x)))(tf.scalar(1)),
        InvalidArgumentError,
        `was explicitly assigned to ${phrase} but`,
      ],
      [
        `an eager op on another process, ${name}`,
        () => tf.device(name, () => tf.add(1, 2)),
        InvalidArgumentError,
        `Cannot find device ${phrase}: available devices are [ /job:localhost/replica:0/task:0/device:CPU:0`,
      ],
    ];
  }),
  [
    "a hard placement of an op that the device lacks",
    () => {
      const g = new tf.Graph();
      const y = g.asDefault(() =>
        tf.device("/gpu:0", () => tf.neg(tf.placeholder("float64", [], "x")))
      );
      return new tf.Session({ graph: g, allowSoftPlacement: false }).run(y, {
        feeds: { "x:0": 1 },
      });
    },
    InvalidArgumentError,
    "was explicitly assigned to /device:GPU:0",
  ],
];

const grow = (x: tf.Tensor): tf.Tensor[] => [tf.concat([x, x], 0)];
const forever = (): tf.Tensor => tf.constant(true, "bool");
const loop = (body: (x: tf.Tensor) => tf.Tensor[], options = {}) => () =>
  inGraph(() => tf.whileLoop(forever, body, [tf.ones([1])], options));

const LOOPS: readonly Case[] = [
  [
    "a loop variable that changes shape",
    loop(grow),
    tf.ValueError,
    "enters the loop with shape [1], but has shape [2] after one iteration. To allow the shape to vary across iterations, use the `shape_invariants` argument",
  ],
  [
    "a loop variable that breaks its invariant",
    loop(grow, { shapeInvariants: [[1]] }),
    tf.ValueError,
    "after one iteration",
  ],
  [
    "an invariant that the start breaks",
    loop((x) => [x], { shapeInvariants: [[2]] }),
    tf.ValueError,
    "is not compatible with the initial shape of the loop variable",
  ],
  [
    "invariants for other variables",
    loop((x) => [x], { shapeInvariants: [[1], [1]] }),
    tf.ValueError,
    "don't have the same nested structure",
  ],
  [
    "a loop variable that changes dtype",
    loop((x) => [tf.cast(x, "int32")]),
    TypeError,
    "enters the loop with type float32, but has type int32",
  ],
  ["a body of more variables", loop((x) => [x, x]), tf.ValueError, "number of inputs and outputs"],
  [
    "a condition that is no function",
    () => inGraph(() => tf.whileLoop(3 as never, (x) => x, [1])),
    TypeError,
    "'cond' must be callable",
  ],
  [
    "a condition that is no scalar",
    () => inGraph(() => tf.whileLoop((x) => tf.greater(x, 0), (x) => x, [tf.ones([2])])),
    tf.ValueError,
    "must be a scalar",
  ],
];

/** A tensor of a function's body that got out. */
function escaped(): tf.Tensor {
  let out: tf.Tensor | undefined;
  tf.function((x: tf.Tensor) => out = tf.add(x, 1))(tf.scalar(1));
  return out!;
}
/** A tensor of a loop's body that got out, and the graph of the loop. */
function escapedFromLoop(): { g: tf.Graph; t: tf.Tensor } {
  const g = new tf.Graph();
  let t: tf.Tensor | undefined;
  g.asDefault(() => tf.whileLoop((i) => tf.less(i, 3), (i) => t = tf.add(i, 1), [tf.constant(0)]));
  return { g, t: t! };
}
const outOfScope = "is out of scope and cannot be used here";

const ESCAPES: readonly Case[] = [
  ["a function's tensor in eager code", () => tf.add(escaped(), 1), TypeError, outOfScope],
  [
    "a function's tensor in another function",
    () => tf.function(() => tf.add(escaped(), 1))(),
    TypeError,
    outOfScope,
  ],
  [
    "a function's tensor in a graph",
    () => inGraph(() => tf.add(escaped(), 1)),
    tf.ValueError,
    "must be from the same graph",
  ],
  [
    "a function's tensor as a result",
    () => {
      const t = escaped();
      return tf.function(() => t)();
    },
    TypeError,
    outOfScope,
  ],
  [
    "a loop's tensor in the graph around it",
    () => {
      const { g, t } = escapedFromLoop();
      return g.asDefault(() => tf.neg(t));
    },
    tf.ValueError,
    "must be from the same graph",
  ],
  [
    "a loop's tensor as a fetch",
    () => {
      const { g, t } = escapedFromLoop();
      return new tf.Session({ graph: g }).run(t);
    },
    tf.ValueError,
    "is not an element of this graph",
  ],
  [
    "a branch's tensor in the other branch",
    () =>
      inGraph(() => {
        let t: tf.Tensor | undefined;
        const y = tf.cond(
          tf.placeholder("bool", [], "p"),
          () => t = tf.add(scalar("x"), 1),
          () => tf.neg(t!),
        );
        return tf.neg(y);
      }),
    TypeError,
    outOfScope,
  ],
  [
    "a graph's tensor in another graph",
    () => {
      const t = inGraph(() => scalar());
      return inGraph(() => tf.neg(t));
    },
    tf.ValueError,
    "must be from the same graph",
  ],
  ["a graph's tensor in eager code", () => tf.neg(inGraph(() => scalar())), TypeError, outOfScope],
  [
    "a graph's tensor as a condition",
    () => {
      const t = inGraph(() => scalar());
      return t ? Number(t) : 0;
    },
    tf.OperatorNotAllowedInGraphError,
    "not allowed",
  ],
  [
    "a graph's tensor read",
    () => inGraph(() => scalar()).dataSync(),
    tf.OperatorNotAllowedInGraphError,
    "so it has no value before the graph runs",
  ],
  [
    "a control dependency of another graph",
    () => {
      const t = inGraph(() => scalar());
      return inGraph(() => tf.controlDependencies([t], () => scalar()));
    },
    tf.ValueError,
    "not an operation or tensor of this graph",
  ],
];

const CLOSED: readonly Case[] = [
  [
    "an op after finalize()",
    () =>
      inGraph((g) => {
        const x = scalar();
        g.finalize();
        return tf.neg(x);
      }),
    tf.RuntimeError,
    "Graph is finalized and cannot be modified.",
  ],
  [
    "gradients after finalize()",
    () =>
      inGraph((g) => {
        const x = scalar(), y = tf.neg(x);
        g.finalize();
        return tf.gradients(y, [x]);
      }),
    tf.RuntimeError,
    "Graph is finalized and cannot be modified.",
  ],
  [
    "an import after finalize()",
    () =>
      inGraph((g) => {
        g.finalize();
        return tf.importGraphDef({ node: [placeholder], versions: { producer: 1 } });
      }),
    tf.RuntimeError,
    "Graph is finalized",
  ],
  [
    "a loop after finalize()",
    () =>
      inGraph((g) => {
        const x = scalar();
        g.finalize();
        return tf.whileLoop((i) => tf.less(i, 3), (i) => tf.add(i, 1), [x]);
      }),
    tf.RuntimeError,
    "Graph is finalized",
  ],
  [
    "a run after close()",
    async () => {
      const g = new tf.Graph(),
        x = g.asDefault(() => tf.constant(1)),
        s = new tf.Session({ graph: g });
      await s.close();
      return await s.run(x);
    },
    tf.RuntimeError,
    "Attempted to use a closed Session.",
  ],
  [
    "a run that close() cuts short",
    async () => {
      const g = new tf.Graph(), s = new tf.Session({ graph: g });
      const y = g.asDefault(() =>
        tf.numpyFunction(() => new Promise(() => {}), [scalar("x")], "float32")
      );
      const pending = s.run(y, { feeds: { "x:0": 1 } });
      await s.close();
      return await pending;
    },
    tf.errors.CancelledError,
    "Session has been closed.",
  ],
  [
    "a run of an empty graph",
    () => new tf.Session({ graph: new tf.Graph() }).run([]),
    tf.RuntimeError,
    "The Session graph is empty. Add operations to the graph before calling run().",
  ],
];

/** A run of a graph's only placeholder, with whatever comes second. */
const runWith = (options: (x: tf.Tensor) => unknown) => () => {
  const g = new tf.Graph(), x = g.asDefault(() => scalar("x"));
  return new tf.Session({ graph: g }).run(x, options(x) as tf.RunOptions);
};
const session = (options: unknown) => () =>
  inGraph(() => {
    scalar();
    return new tf.Session(options as tf.SessionOptions);
  });
const fedAs = "values are fed as run(fetches, { feeds: new Map([[x, value]]) })";

const SESSIONS: readonly Case[] = [
  ["feeds in place of options", runWith((x) => new Map([[x, 1]])), TypeError, fedAs],
  ["feeds by name in place of options", runWith(() => ({ "x:0": 1 })), TypeError, fedAs],
  [
    "feedDict",
    runWith((x) => ({ feedDict: new Map([[x, 1]]) })),
    TypeError,
    'Unknown option "feedDict" of Session.run: did you mean "feeds"?',
  ],
  [
    "a target that nothing serves",
    session({ target: "grpc://127.0.0.1:2222" }),
    NotFoundError,
    'No session factory registered for the given session options: {target: "grpc://127.0.0.1:2222"',
  ],
  [
    "a target as the first argument",
    session("grpc://127.0.0.1:2222"),
    TypeError,
    "Options of Session must be an object of graph",
  ],
  [
    "a graph as the first argument",
    () => new tf.Session(new tf.Graph() as never),
    TypeError,
    "Options of Session must be an object of graph",
  ],
];

for (
  const [title, cases] of Object.entries({ IMPORTS, DEVICES, LOOPS, ESCAPES, CLOSED, SESSIONS })
) {
  Deno.test(`bad input: ${title.toLowerCase()} have TensorFlow's classes and phrases`, async (t) => {
    for (const [name, act, kind, phrase] of cases) {
      await t.step(name, async () => {
        const e = await assertRejects(async () => await act(), kind as never) as Error;
        assert(e.message.includes(phrase), `${e.name}: ${e.message}`);
      });
    }
  });
}

Deno.test("a soft placement that cannot be met, and a graph that is finalized, still run", async () => {
  assertEquals(await run("/gpu:7", {}), -2);
  const g = new tf.Graph();
  const x = g.asDefault(() => tf.constant(1));
  g.finalize();
  assertEquals(await new tf.Session({ graph: g, target: "" }).run(x), 1);
});
