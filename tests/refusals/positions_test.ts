/**
 * Every function of the main entry that takes a number or a flag by its position is called as in its example, with something else there:
 * an options object, as one writes it in other libraries, is not taken for `true` in silence.
 */

import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import ts from "npm:typescript@5.7.3";
import { readApi } from "../../tools/reference/api.ts";

/** Values in the place of a number, of a flag and of options. */
const WRONG = {
  number: ["{ axis: 0 }"],
  boolean: ["{ keepDims: true }", "1"],
  options: ["true"],
} as const;

/** A function that takes anything there, and one that has options behind one, two or three numbers. */
const LEFT_OUT = new Set([
  "print verbose",
  "data.range stop",
  "data.range step",
  "data.range options",
]);

interface Position {
  readonly name: string;
  readonly kind: keyof typeof WRONG | null;
}

/** The kind of a parameter that takes numbers alone, flags alone, or options. */
function kindOf({ name, type, initializer }: ts.ParameterDeclaration): Position["kind"] {
  if (name.getText() === "options") return "options";
  const kinds = type?.getText().split("|").map((part) => part.trim())
    .filter((part) => part !== "null" && part !== "undefined");
  const is = (kind: string): boolean => kinds?.every((part) => part === kind) ?? false;
  const value = initializer?.getText() ?? "";
  if (kinds ? is("number") : /^-?\d[\d.e-]*$/.test(value)) return "number";
  return (kinds ? is("boolean") : /^(?:true|false)$/.test(value)) ? "boolean" : null;
}

function parse(text: string): ts.SourceFile {
  return ts.createSourceFile("example.ts", text, ts.ScriptTarget.ESNext, true);
}

function positionsOf(signature: string): readonly Position[] {
  const declared = parse(`${signature} {}`).statements.find(ts.isFunctionDeclaration);
  return declared?.parameters.map((p) => ({ name: p.name.getText(), kind: kindOf(p) })) ?? [];
}

/** The first call of a function in a program. */
function callOf(program: ts.SourceFile, name: string): ts.CallExpression | null {
  const last = name.split(".").at(-1)!;
  let found: ts.CallExpression | null = null;
  const visit = (node: ts.Node): void => {
    const callee = ts.isCallExpression(node) ? node.expression.getText() : "";
    if (callee === last || (callee.startsWith("tf.") && callee.endsWith(`.${last}`))) {
      found ??= node as ts.CallExpression;
    }
    ts.forEachChild(node, visit);
  };
  visit(program);
  return found;
}

/** An example with one position of its call replaced, as a function of the library, of `attempt` and of a console that is silent. */
function changed(text: string, name: string, at: number, wrong: string): Program | null {
  const body = text.replace(/^```ts[^\n]*\n|```\s*$/g, "");
  if (/^import (?!\* as tf )/m.test(body)) return null;
  const call = callOf(parse(body), name);
  if (call === null) return null;
  const given = call.arguments.map((argument) => argument.getText());
  while (given.length < at) given.push("undefined");
  given[at] = `(${wrong})`;
  const attempt = `attempt(() => ${call.expression.getText()}(${given.join(", ")}))`;
  const program = body.slice(0, call.getStart()) + attempt + body.slice(call.end);
  const { outputText } = ts.transpileModule(program.replace(/^import .*$/gm, ""), {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
  });
  const code = outputText.replace(/^export \{\};?$/m, "");
  return new AsyncFunction("tf", "attempt", "console", code) as Program;
}

type Program = (library: typeof tf, attempt: Attempt, console: object) => Promise<void>;
type Attempt = (call: () => unknown) => unknown;
const AsyncFunction = (async () => {}).constructor as new (...texts: string[]) => unknown;

/** The error of the call that a program makes by `attempt`; null where it has none. */
async function errorOf(program: Program): Promise<unknown> {
  let error: unknown = null;
  const refused = (e: unknown): never => {
    error = e;
    throw e;
  };
  const attempt: Attempt = (call) => {
    try {
      const result = call();
      return result instanceof Promise ? result.catch(refused) : result;
    } catch (e) {
      return refused(e);
    }
  };
  // What fails later does so for a value that was taken.
  await program(tf, attempt, { log() {} }).catch(() => {});
  return error;
}

Deno.test("options objects and other kinds in the positions of numbers and flags are refused by every function, and these in the place of options", async () => {
  const taken: string[] = [], tried = new Set<string>();
  const functions = readApi()[0]!.groups.flatMap(({ symbols }) => symbols)
    .filter(({ kind }) => kind === "function");
  for (const { name, signatures, examples } of functions) {
    for (const positions of signatures.map(positionsOf)) {
      for (const [at, { name: position, kind }] of positions.entries()) {
        if (kind === null || LEFT_OUT.has(`${name} ${position}`)) continue;
        for (const wrong of WRONG[kind]) {
          const key = `${name}: ${wrong} for ${position}`;
          const program = tried.has(key) ? null : examples
            .map(({ text }) => changed(text, name, at, wrong)).find((made) => made !== null);
          if (!program) continue;
          tried.add(key);
          if (!(await errorOf(program) instanceof Error)) taken.push(key);
        }
      }
    }
  }
  assert(tried.size > 500, `${tried.size} calls`);
  assertEquals(taken, []);
});
