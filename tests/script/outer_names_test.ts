/** Names of the scope around it that a function uses, read from its source, and bodies that workers refuse for them. */
import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { outerNames } from "../../src/engine/script/workers/outer_names.ts";

const ROWS: readonly [string, string][] = [
  ["x => x * K", "K"],
  ["(x, y = mean) => x + y", ""],
  ["function f(x) { return f(x) + o.x.y; }", "o"],
  ["(x) => { const { a, b: [c], ...r } = x, d = K; return a + c + d + r; }", "K"],
  ["(x) => { const of = 1, word = of; let s; return s + word; }", ""],
  ["(x) => x ? K : mean", "K,mean"],
  ["() => ({ K: 1, mean, o() { return 1; }, [b]: 2, get c() { return 3; } })", "mean,b"],
  ['(x) => { for (const v of xs) { if (v / K / 2) /a"b/.test(v); } }', "xs,K"],
  ["(x) => `a ${x} ${K + `${mean}`} b`", "K,mean"],
  ["async (x) => { try { await g(x); } catch (e) { throw e; } }", "g"],
  [
    "() => { class A { x = 1; #p = 2; static y; m(q) { return q + this.#p; } } return new A().x + K; }",
    "K",
  ],
  ["(x) => { outer: for (;;) break outer; switch (x) { case K: return 1; default: } }", "K"],
  ['() => typeof K !== "undefined" ? K : null', ""],
  ["(x) => { const re = /[/\"'`]/g, y = x / 2 / 3; return x.replace(re, '') + y; }", ""],
  ["(x) => tf.add(x, tf.NdArray)", "tf.add,tf.NdArray"],
  ["() => { function g(a, [b], { c }) { return a + b + c; } return g(1, [2], {}); }", ""],
  ["if(K) { return K; }", ""],
  ["async *rows(n) { for (let i = 0, k = n; i < k; i++) yield* row(i); }", "row"],
  ["(x) => x?.a ?? (x ?.5:K)", "K"],
  ["() => { using f = open(); return f; }", "open"],
  ["// K\n(x) => x /* mean */ + 'o'", ""],
  ["() => { const s = 'unfinished", ""],
];

Deno.test("outerNames() finds what a function uses and does not declare", () => {
  for (const [source, names] of ROWS) {
    assertEquals([source, outerNames(source, new Set(["tf"])).join()], [source, names]);
  }
});

// deno-lint-ignore no-explicit-any
type Any = any;
const worker = true;
const K = 2, mean = [1, 2];

Deno.test("a closure that cannot be sent is refused at the call, with what it uses", () => {
  const rows: [(...args: Any[]) => unknown, string][] = [
    [(x) => Number(x) * K, "the body uses K of the scope"],
    [
      function normalise(x) {
        return { x, mean, other: x.K };
      },
      "normalise uses mean of the scope",
    ],
    [(x, i = 1) => (i > 1 ? K : `${mean[0]} ${x}`), "uses K, mean of the scope"],
    [(x) => tf.add(x, tf.NdArray ? 1 : 2), "uses tf.add of the scope"],
  ];
  for (const [f, text] of rows) {
    assertThrows(() => tf.numpyFunction(f, [], "float32", { worker }), tf.ValueError, text);
  }
});

Deno.test("what cannot be sent is refused while building", () => {
  new tf.Graph().asDefault(() => {
    const call = (f: Any, option: Any) => tf.numpyFunction(f, [], "float32", { worker: option });
    assertThrows(
      () => call((() => 1).bind(null), true),
      tf.ValueError,
      "the source of a bound or built-in function cannot be had",
    );
    assertThrows(() => call(Math.random, true), tf.ValueError, "bound or built-in");
    assertThrows(() => call(() => 1, { module: "./relative.ts" }), tf.ValueError, "absolute URL");
  });
});
