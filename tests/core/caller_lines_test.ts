/** Stacks of errors begin at the line that called the library, and name nothing twice. */

import * as tf from "@weft/weft";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { TypeError as OwnTypeError } from "../../src/engine/core/throwing/builtin_errors.ts";
import { beginAtCaller } from "../../src/engine/core/throwing/user_stack.ts";
import { fileName, testOnDevices } from "../devices.ts";
import { ofTheDay } from "../effort.ts";
import {
  before,
  beginsHere,
  ENGINE,
  errorOf,
  firstFrame,
  functionsOf,
  KINDS,
  TELLING,
} from "./wrong_values.ts";

// deno-lint-ignore no-explicit-any
type Any = any;

const HERE = fileName(import.meta.url);

function thrownBy(use: () => unknown, name = String(use)): Error {
  try {
    use();
  } catch (e) {
    return e as Error;
  }
  throw new Error(`Nothing was thrown by ${name}`);
}

const MISTAKES: Record<string, (a: tf.Tensor, b: tf.Tensor) => unknown> = {
  matMul: (a, b) => tf.matMul(a, b),
  add: (a, b) => tf.add(a, b),
  "add of dtypes": () => tf.add("a" as Any, 1),
  reshape: (a) => tf.reshape(a, [4, 4]),
  concat: (a, b) => tf.concat([a, b], 0),
  stack: (a, b) => tf.stack([a, b]),
  slice: (a) => tf.slice(a, [5, 5], [1, 1]),
  gather: (a) => tf.gather(a, [[7]], 3),
  softmax: (a) => tf.softmax(a, 5),
  conv2d: (a, b) => tf.conv2d(a as Any, b as Any, 1, "same"),
  einsum: (a, b) => tf.einsum("ij,jk->ik", a, b),
  minimize: (a) => tf.train.sgd(0.1).minimize(() => a as Any),
  grad: (a, b) => tf.grad((x) => tf.matMul(x, b))(a),
  item: (a) => a.item(),
  constant: () => tf.constant([[1], [1, 2]]),
  variable: () => tf.variable([1]).assign([1, 2]),
  "a method": (a, b) => a.matMul(b),
  "a method after another": (a) => a.square().reshape([7]),
  "a function": (a, b) => tf.function((x: Any, y: Any) => tf.matMul(x, y))(a, b),
  "a script": (a) => tf.numpyFunction(() => [1, 2], [a], tf.TensorSpec([3], "float32")),
  "a body": (a, b) => tf.pyFunction((x: Any) => tf.matMul(x, b), [a], "float32"),
  "a graph": () => new tf.Graph().asDefault(() => tf.matMul(tf.ones([2, 3]), tf.ones([2, 3]))),
  NdArray: () => new tf.NdArray("float32", [2], Float32Array.of(1)),
  "an index": () => new tf.NdArray("float32", [1], Float32Array.of(1))[1],
};

testOnDevices("errors of ordinary mistakes begin at the caller, and are shown once", () => {
  for (const [name, mistake] of Object.entries(MISTAKES)) {
    tf.tidy(() => {
      const e = thrownBy(() => mistake(tf.ones([2, 3]), tf.ones([4, 5])), name);
      assertStringIncludes(firstFrame(e), HERE, name);
      assertEquals(e.stack!.split("\n")[0], `${e.name}: ${e.message.split("\n")[0]}`, name);
      const shown = Deno.inspect(e), [text] = e.message.split("\n");
      // What a body threw is in the text of its error, and its cause.
      if (!name.startsWith("a body") && !name.startsWith("a script")) {
        assertEquals(shown.split(text).length, 2, shown);
      }
      assert(!/\/src\/[a-z_]+\//.test(e.stack!), `${name}: ${e.stack}`);
    });
  }
});

Deno.test("errors of every exported function are the library's and begin at the caller", async () => {
  await tf.setBackend("cpu");
  const wrong: string[] = [], good = before();
  // Half of them on a day.
  const all = [...functionsOf(tf, "tf")], today = ofTheDay(all, 2);
  let refused = 0;
  for (const [name, fn] of today) {
    if (/\.(setBackend|ready|nextFrame|print|enable|disable)/.test(name)) continue;
    const calls: [kind: string, args: Any[]][] = [
      ...Object.entries(KINDS).map(([kind, v]): [string, Any[]] => [kind, [v, v, v]]),
      ...good.flatMap((args) =>
        TELLING.map((kind): [string, Any[]] => [kind, [...args, KINDS[kind]]])
      ),
    ];
    for (const [kind, args] of calls) {
      const e = await errorOf(() => fn(...args));
      if (!(e instanceof Error)) continue;
      refused++;
      if (!beginsHere(e, HERE) || ENGINE.test(e.message)) {
        wrong.push(`${name} of ${kind}, argument ${args.length}: ${e.stack}`);
      }
    }
  }
  assertEquals(wrong, []);
  const most = 13_000 * today.length / all.length;
  assert(refused > 0.9 * most, `Only ${refused} calls were refused`);
});

Deno.test("errors of awaited work begin at the caller", async () => {
  const graph = new tf.Graph();
  const uses: (() => Promise<unknown>)[] = [
    async () => await new tf.Session({ graph }).run("nothing:0"),
    async () => await tf.numpyFunctionAsync(() => 1, [undefined as Any], "float32"),
    async () => await tf.data.fromTensorSlices([1, 2]).batch(0).toArray(),
  ];
  for (const use of uses) {
    const e = await use().then(() => assert(false), (e) => e);
    assertStringIncludes(firstFrame(e), HERE, String(use));
  }
});

Deno.test("errors keep the library's frames where traceback filtering is disabled", () => {
  const mistake = (): unknown => tf.matMul(tf.ones([2, 3]), tf.ones([2, 3]));
  tf.debugging.disableTracebackFiltering();
  try {
    const e = thrownBy(mistake);
    assertMatch(firstFrame(e), /launch/);
    assert(e.cause instanceof tf.ValueError);
  } finally {
    tf.debugging.enableTracebackFiltering();
  }
  assertEquals([tf.debugging.isTracebackFilteringEnabled(), thrownBy(mistake).cause], [
    true,
    undefined,
  ]);
});

Deno.test("errors begin at the caller in stacks of every engine", () => {
  const home = new URL("../../src/", import.meta.url).href, { captureStackTrace } = Error;
  const stacks: [string, string][] = [
    // V8.
    [
      `TypeError: no\n    at toInput (${home}engine/ops/input.ts:3:1)\n    at Array.map (<anonymous>)\n    at mine (file:///a.ts:1:2)\n    at file:///a.ts:5:1`,
      "TypeError: no\n    at mine (file:///a.ts:1:2)\n    at file:///a.ts:5:1",
    ],
    // Firefox and Safari.
    [
      `toInput@${home}engine/ops/input.ts:3:1\nmine@http://host/a.js:1:2\n@http://host/a.js:5:1\n`,
      "mine@http://host/a.js:1:2\n@http://host/a.js:5:1",
    ],
    // Nothing but the library's.
    [`toInput@${home}engine/ops/input.ts:3:1`, `toInput@${home}engine/ops/input.ts:3:1`],
    ["", "TypeError: no"],
  ];
  try {
    // deno-lint-ignore no-explicit-any
    (Error as any).captureStackTrace = undefined;
    for (const [stack, wanted] of stacks) {
      const e = new TypeError("no");
      e.stack = stack;
      beginAtCaller(e);
      assertEquals(e.stack, wanted);
    }
  } finally {
    Error.captureStackTrace = captureStackTrace;
  }
});

Deno.test("an error's stack can be set, and its class is JavaScript's", () => {
  const e = new OwnTypeError("no", { cause: 1 });
  assertEquals([e.name, e.message, e.cause, Object.keys(e)], ["TypeError", "no", 1, []]);
  assert(e.constructor === TypeError && e instanceof TypeError && e instanceof OwnTypeError);
  assert(new TypeError("theirs") instanceof OwnTypeError);
  e.stack = "mine";
  assertEquals(e.stack, "mine");
  assertEquals(new tf.ValueError("").stack!.split("\n")[0], "ValueError");
});

Deno.test("every file of the library throws errors that begin at the caller", async () => {
  const made = /throw new (TypeError|RangeError|Error)\(/g,
    src = new URL("../../src/", import.meta.url);
  const missing: string[] = [];
  const visit = async (folder: URL): Promise<void> => {
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      if (isDirectory) await visit(new URL(`${name}/`, folder));
      // The code of threads is a text, which imports nothing.
      else if (/^(?!.*generated|thread_worker).*\.ts$/.test(name)) {
        const code = (await Deno.readTextFile(new URL(name, folder))).replace(/^ *\*.*$/gm, "");
        const imported = /import \{([^}]*)\} from "[^"]*builtin_errors\.ts"/.exec(code)?.[1] ?? "";
        for (const [, type] of code.matchAll(made)) {
          if (!imported.split(/[\s,]+/).includes(type)) missing.push(`${name}: ${type}`);
        }
      }
    }
  };
  await visit(src);
  assertEquals(missing, [], "Import them from engine/core/throwing/builtin_errors.ts");
});

Deno.test("an error of a gradient's node shows the line that asked for the gradient, not the library's", () => {
  const w = tf.variable([1, 0]), optimizer = tf.train.sgd(0.1);
  const norm = (x: tf.Tensor) => tf.sqrt(tf.sum(tf.square(x)));
  const step = tf.function(() =>
    optimizer.minimize(() => tf.add(norm(w), norm(tf.mul(w, 0))), true)
  );
  tf.debugging.enableCheckNumerics();
  try {
    const { message } = thrownBy(() => step());
    const [text, frames] = message.split("Original stack trace for 'gradient_tape/SqrtGrad':\n");
    assertStringIncludes(text, 'Detected Inf in output 0 of graph op "SqrtGrad"');
    assertStringIncludes(frames.split("\n")[0], HERE);
    assert(!frames.includes("/src/engine/"), frames);
  } finally {
    tf.debugging.disableCheckNumerics();
  }
});

Deno.test("operations of users' own gradients, and of what is computed anew for one, have their own lines", () => {
  const root = (x: tf.Tensor) => tf.sqrt(tf.mul(x, 0));
  const squareWithRoot = tf.customGrad((x: tf.Tensor) => ({
    value: tf.square(x),
    gradFunc: (dy: tf.Tensor) => tf.div(dy, root(dy)),
  }));
  const anew = tf.recomputeGrad((x: tf.Tensor) => tf.mul(root(x), x));
  tf.debugging.enableCheckNumerics();
  try {
    for (const [loss, line] of [[squareWithRoot, "gradFunc"], [anew, "SqrtGrad"]] as const) {
      const sloped = tf.function((x: tf.Tensor) => tf.grad((v) => tf.sum(loss(v) as tf.Tensor))(x));
      const { message } = thrownBy(() => sloped(tf.tensor([1, 2])));
      const frames = message.split("Original stack trace for ")[1];
      assertStringIncludes(frames, line);
      assertStringIncludes(frames.split("\n")[1], HERE);
      assert(!frames.includes("/src/engine/"), frames);
    }
  } finally {
    tf.debugging.disableCheckNumerics();
  }
});
