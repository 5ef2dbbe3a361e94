/**
 * Turns a kernel under shaders/ into a TypeScript function of its parameters that returns the kernel's text. shaders/README.md
 * tells what may stand in such a file: WGSL, and comments that begin with `//#`, which say what is a parameter, what is left
 * out and what is repeated.
 *
 * @module
 */

import {
  include,
  isDeclaration,
  type Line,
  linesOf,
  nameOf,
  type ReadShader,
  usedOf,
} from "./lines.ts";
import { camel, literal, type Names, staysAtomic } from "./text.ts";

/** A parameter of a kernel's builder. */
export interface Parameter {
  /** Its name in TypeScript. */
  readonly name: string;
  /** Its type in TypeScript. */
  readonly type: "number" | "boolean" | "string" | "readonly number[]" | "slot";
  /** Its description. */
  readonly doc: string;
  /** Text of what stands in the file. */
  readonly value: string;
}

/** A kernel, compiled. */
export interface Template {
  /** The parameters, in the order of the file. */
  readonly parameters: readonly Parameter[];
  /** Body of the function. */
  readonly code: string;
}

/** Loops that one directive opens: `i in 0..M, j in 0..N`. */
function loopsOf(ranges: string): string[] {
  return ranges.split(/, (?=\w+ in )/);
}

const BINDING = /^@group\(0\) @binding\(.*?\) var<(storage|uniform).*?> (\w+): (.*);$/;

/** Names that the function itself uses. */
const OWN: readonly string[] = ["g", "inputs", "outputs", "params", "body", "prelude", "list"];

/** Functions that expressions in directives may call. */
const FUNCTIONS = new Set(["ceil", "floor", "log2", "max", "min"]);

/** Compiles the kernel of a file. */
export function compileShader(path: string, source: string, read: ReadShader): Template {
  const declared: Line[] = [];
  const lines = include(linesOf(source), read, declared);
  const maker = new Maker();
  const own = lines.filter(isDeclaration);
  const taken = new Set(own.map(nameOf));
  const others = usedOf(declared, lines).filter((l) =>
    l.directive === "lane" || !taken.has(nameOf(l))
  );
  let line: Line | undefined;
  try {
    for (line of [...own, ...others]) maker.declare(line);
    maker.bind(lines);
    maker.macros();
    for (line of lines) if (!isDeclaration(line)) maker.line(line);
    return maker.done();
  } catch (error) {
    throw new Error(`${path}:${line?.number}: ${(error as Error).message}`);
  }
}

type Section = "top" | "params" | "head" | "body";

/** Writes the function, line by line. */
class Maker {
  readonly #parameters: Parameter[] = [];
  readonly #names: Names = {
    values: new Map(),
    bindings: new Map(),
    inlines: new Map(),
    indices: new Map(),
    lanes: new Set(),
    scopes: [new Set()],
  };
  readonly #inlines = new Map<
    string,
    { args: string[]; cases: { text: string; when: string }[] }
  >();
  readonly #out: string[] = [];
  readonly #variables = new Set(OWN);
  #text = "";
  #target = "";
  #section: Section = "top";
  #workgroup = "";
  readonly #blocks: number[] = [];

  declare({ code, directive }: Line): void {
    const [, word, doc] = /^(\w+)\s*([^]*)$/.exec(directive)!;
    const fn = /^fn (\w+)\(([^)]*)\)[^{]*\{ return (.*); \}$/.exec(code);
    if (word === "inline") {
      if (fn === null) throw new Error("An inline function is one return statement on its line");
      const args = fn[2].split(",").filter((a) => a.trim() !== "").map((a) =>
        a.split(":")[0].trim()
      );
      if (!this.#inlines.has(fn[1])) this.#variable(fn[1]);
      const inline = this.#inlines.get(fn[1]) ?? { args, cases: [] };
      inline.cases.push({ text: fn[3], when: doc });
      this.#inlines.set(fn[1], inline);
      return;
    }
    const [, token, value] = /^(?:const|alias) (\w+)(?:: \w+)? = (.*);$/.exec(code) ?? [];
    if (token === undefined) throw new Error(`Cannot declare ${code}`);
    const suffix = /^\d+u$/.test(value) ? "u" : "";
    if (word === "index" || word === "lane") {
      this.#names.indices.set(token, suffix);
      if (word === "lane") this.#names.lanes.add(token);
      return;
    }
    if (word === "let") {
      const name = camel(token);
      this.#variable(name);
      const type = /^(?:true|false)$/.test(value) ? "boolean" : "number";
      this.#out.push(`const ${name}: ${type} = ${this.#expression(doc)};`);
      this.#names.values.set(token, { text: name, suffix });
      return;
    }
    const isNumber = word === "param" && /^\d+u?$/.test(value);
    const type = isNumber
      ? "number"
      : /^(?:true|false)$/.test(value)
      ? "boolean"
      : value.startsWith("array(")
      ? "readonly number[]"
      : "string";
    this.#add({ name: camel(token), type, doc, value }, token, isNumber ? suffix : "");
  }

  #variable(name: string): void {
    if (this.#variables.has(name)) throw new Error(`There is a ${name} already`);
    this.#variables.add(name);
  }

  #add(parameter: Parameter, token: string, suffix: string): void {
    if (parameter.doc === "") throw new Error(`${token} has no line that says what it is`);
    if (this.#parameters.some((p) => p.name === parameter.name)) return;
    this.#parameters.push(parameter);
    this.#names.values.set(token, { text: `g.${parameter.name}`, suffix });
  }

  /** Bindings are called in0, in1, ..., out0, ...; what is called so already is, whatever stands before it. */
  bind(lines: readonly Line[]): void {
    const { bindings } = this.#names;
    let inputs = 0, outputs = 0;
    for (const { code, directive } of lines) {
      const binding = BINDING.exec(code);
      if (binding === null || directive === "alone" || binding[1] === "uniform") continue;
      const name = /var<storage, read>/.test(code) ? `in${inputs++}` : `out${outputs++}`;
      if (!/^(?:in|out)(?:\d+|_\w)$/.test(binding[2])) bindings.set(binding[2], name);
    }
  }

  /** Inline functions become functions of texts. */
  macros(): void {
    const seen = new Set<string>();
    // Those that others call come first, as these must know whether they need parentheses.
    const define = (name: string): void => {
      const inline = this.#inlines.get(name);
      if (inline === undefined || seen.has(name)) return;
      seen.add(name);
      const { args, cases } = inline;
      const called = cases.flatMap(({ text }) =>
        [...text.matchAll(/(\w+)\(/g)].map((m) => m[1]).filter((c) => this.#inlines.has(c))
      );
      called.forEach(define);
      const names: Names = { ...this.#names, scopes: [] };
      const values = new Map(names.values);
      for (const a of args) values.set(a, { text: a, suffix: "" });
      const texts = cases.map(({ text, when }) => {
        const made = `\`${literal(text, { ...names, values })}\``;
        return when === "" ? made : `${this.#expression(when)} ? ${made} : `;
      });
      if (cases.at(-1)!.when !== "") throw new Error(`The last case of ${name} has a condition`);
      // An argument needs parentheses among operators, and where another inline function may put it there.
      const isBare = (a: string): boolean =>
        called.length === 0 &&
        cases.every(({ text }) =>
          [...text.matchAll(new RegExp(`\\b${a}\\b`, "g"))].every((m) =>
            /(?:^|[(,[])\s*$/.test(text.slice(0, m.index)) &&
            /^\s*(?:$|[),\]])/.test(text.slice(m.index + a.length))
          )
        );
      this.#names.inlines.set(name, {
        bare: args.map(isBare),
        atomic: cases.every(({ text }) => staysAtomic(text, names)),
      });
      const list = args.map((a) => `${a}: string`).join(", ");
      this.#out.push(`const ${name} = (${list}): string => ${texts.join("")};`);
    };
    for (const name of this.#inlines.keys()) define(name);
  }

  line({ code, directive, closes }: Line): void {
    const [, word, rest] = /^(\w*)\s*([^]*)$/.exec(directive)!;
    if (code === "") return this.#directive(word, rest);
    if (word === "alone") return;
    if (word === "for") {
      const [, ranges, separator] = /^(.*?)(?: sep (.*))?$/.exec(rest)!;
      this.#flush();
      if (separator !== undefined) this.#out.push("{ const list: string[] = [];");
      const loops = loopsOf(ranges);
      for (const range of loops) this.#out.push(this.#loop(range));
      if (separator === undefined) this.#code(code, closes);
      else this.#out.push(`list.push(\`${literal(code, this.#names)}\`);`);
      this.#flush();
      for (const _ of loops) this.#end();
      if (separator !== undefined) {
        this.#out.push(`${this.#targetName()} += list.join(" ${separator} ") + "\\n"; }`);
      }
    } else if (word === "if") {
      this.#flush();
      this.#out.push(`if (${this.#expression(rest)}) {`);
      this.#code(code, closes);
      this.#flush();
      this.#out.push("}");
    } else if (word === "slot") {
      this.#slot(rest);
      this.#code(code, closes);
      this.#directive("end", "");
    } else if (word === "") this.#code(code, closes);
    else throw new Error(`Unknown directive ${word}`);
  }

  done(): Template {
    this.#flush();
    if (this.#blocks.length > 0) throw new Error("A block has no end");
    if (this.#workgroup === "") throw new Error("There is no entry point");
    const names = this.#parameters.map((p) => `g.${p.name}`).join(", ");
    return {
      parameters: this.#parameters,
      code: [
        `return [[${names}], () => {`,
        "const inputs: string[] = [], outputs: string[] = [], params: string[] = [];",
        `let prelude = "", body = "";`,
        ...this.#out,
        `return { inputs, outputs, params, workgroup: [${this.#workgroup}], prelude, body };`,
        "}];",
      ].join("\n"),
    };
  }

  #directive(word: string, rest: string): void {
    this.#flush();
    const { scopes } = this.#names;
    switch (word) {
      case "for":
        this.#blocks.push(loopsOf(rest).length);
        for (const range of loopsOf(rest)) this.#out.push(this.#loop(range));
        return;
      case "if":
        this.#out.push(`if (${this.#expression(rest)}) {`);
        scopes.push(new Set());
        this.#blocks.push(1);
        return;
      case "elif":
      case "else":
        scopes.pop();
        scopes.push(new Set());
        this.#out.push(word === "else" ? "} else {" : `} else if (${this.#expression(rest)}) {`);
        return;
      case "slot":
        return this.#slot(rest);
      case "let": {
        const [, name, value] = /^(\w+) = (.*)$/.exec(rest)!;
        this.#out.push(`const ${name} = ${this.#expression(value)};`);
        scopes.at(-1)!.add(name);
        return;
      }
      case "end": {
        const levels = this.#blocks.pop();
        if (levels === undefined) throw new Error("Nothing is open here");
        for (let i = 0; i < levels; i++) this.#end();
        return;
      }
    }
    throw new Error(`Unknown directive ${word}`);
  }

  #slot(rest: string): void {
    const [, token, doc] = /^(\w+)\s*([^]*)$/.exec(rest)!;
    const name = camel(token);
    this.#add({ name, type: "slot", doc, value: "" }, `\0${token}`, "");
    this.#flush();
    const target = this.#targetName();
    this.#out.push(
      `if (g.${name} !== undefined) ${target} += g.${name} === "" ? "" : g.${name} + "\\n"; else {`,
    );
    this.#names.scopes.push(new Set());
    this.#blocks.push(1);
  }

  #targetName(): string {
    return this.#section === "body" ? "body" : "prelude";
  }

  #loop(range: string): string {
    const { scopes } = this.#names;
    const own = new Set<string>();
    const [, name, from, to] = /^(\w+) in (.+?)\.\.(.+)$/.exec(range) ?? [];
    if (name !== undefined) {
      const end = this.#expression(to), most = end.includes("?") ? `(${end})` : end;
      const text = `for (let ${name} = ${this.#expression(from)}; ${name} < ${most}; ${name}++) {`;
      scopes.push(own.add(name));
      return text;
    }
    const [, counter, first, rest] = /^(\w+) = ([^;]+);(.+;.+)$/.exec(range) ?? [];
    if (counter === undefined) throw new Error(`Cannot loop over ${range}`);
    const start = this.#expression(first);
    scopes.push(own.add(counter));
    return `for (let ${counter} = ${start};${this.#expression(rest)}) {`;
  }

  #end(): void {
    this.#names.scopes.pop();
    this.#out.push("}");
  }

  #code(code: string, closes: boolean): void {
    const names = this.#names;
    if (this.#section === "params") {
      if (closes) this.#section = "top";
      else {
        for (const [, name, type] of code.matchAll(/(\w+): (\w+),/g)) {
          const text = literal(name, { ...names, values: new Map(), bindings: new Map() });
          this.#push("params", `${text}${type === "u32" ? "" : `:${type}`}`);
        }
      }
      return;
    }
    if (this.#section === "head") {
      if (code.endsWith("{")) this.#section = "body";
      return;
    }
    if (this.#section === "body") {
      if (closes) this.#section = "top";
      else this.#write("body", code);
      return;
    }
    const binding = BINDING.exec(code);
    if (binding !== null) {
      if (binding[1] === "uniform") return;
      const list = /var<storage, read>/.test(code) ? "inputs" : "outputs";
      const element = binding[3].slice("array<".length, -1);
      this.#push(list, literal(element, names));
    } else if (/^struct Params \{$/.test(code)) this.#section = "params";
    else if (code.startsWith("@compute")) {
      const sizes = /@workgroup_size\((.*)\)/.exec(code)![1].split(",").map((s) => s.trim());
      const all = [...sizes, "1", "1"].slice(0, 3);
      this.#workgroup = all.map((s) => this.#expression(s.replace(/(\d)u$/, "$1"))).join(", ");
    } else if (code.startsWith("fn main(")) {
      this.#section = code.endsWith("{") ? "body" : "head";
    } else this.#write("prelude", code);
  }

  /** Adds to a list of bindings or fields. */
  #push(list: string, text: string): void {
    this.#flush();
    const item = text.includes("${") ? `\`${text}\`` : JSON.stringify(text);
    const last = this.#out.at(-1);
    if (last?.startsWith(`${list}.push(`)) {
      this.#out[this.#out.length - 1] = `${last.slice(0, -2)}, ${item});`;
    } else this.#out.push(`${list}.push(${item});`);
  }

  #write(target: string, code: string): void {
    if (target !== this.#target) this.#flush();
    this.#target = target;
    this.#text += `${literal(code, this.#names)}\\n`;
  }

  #flush(): void {
    if (this.#text !== "") this.#out.push(`${this.#target} += \`${this.#text}\`;`);
    this.#text = "";
  }

  #expression(text: string): string {
    const { values, scopes } = this.#names;
    return text.replace(/"[^"]*"|[A-Za-z_]\w*|==|!=/g, (token) => {
      if (token.startsWith('"') || /^(?:true|false)$/.test(token)) return token;
      if (token === "==" || token === "!=") return `${token}=`;
      if (FUNCTIONS.has(token)) return `Math.${token}`;
      const value = values.get(token) ?? values.get(`\0${token}`);
      if (value !== undefined) return value.text;
      if (scopes.some((scope) => scope.has(token))) return token;
      throw new Error(`${token} is not declared`);
    });
  }
}
