/**
 * The names that the entries export, read from the sources: every name with its declaration, documentation, examples, category and place.
 *
 * `deno doc` leaves out what a namespace exports from other modules, so namespaces such as `tf.linalg` would be empty. TypeScript
 * follows these exports; nothing is checked, since `deno task ok check` does that.
 *
 * @module
 */

import ts from "typescript";
import { categoryOf } from "../categories.ts";
import { readConfig, ROOT } from "../files.ts";
import { type Doc, docOf } from "./docs.ts";
import { headOf, membersOf, typeNameOf } from "./signatures.ts";

/** A member of a class or an interface. */
export interface ApiMember {
  readonly signature: string;
  /** The name of the type that it has or returns; empty where it has none. */
  readonly type: string;
  readonly doc: string;
}

/** Kinds of exported names. */
export type ApiKind = "class" | "enum" | "function" | "interface" | "type" | "value";

/** An exported name. */
export interface ApiSymbol extends Doc {
  /** The name below its entry: `softmax`, `io.readNpy`. */
  readonly name: string;
  readonly kind: ApiKind;
  readonly category: string;
  /** The declaration without its body, one for each overload. */
  readonly signatures: readonly string[];
  /** The name of the type that it has or returns; empty where it has none. */
  readonly type: string;
  readonly members: readonly ApiMember[];
  /** The file and the line of the declaration. */
  readonly file: string;
  readonly line: number;
  /** The declaration by itself: two names that share it are one thing. */
  readonly id: ts.Node;
}

/** A namespace, such as `io`; the empty name is the entry itself. */
export interface ApiGroup {
  readonly name: string;
  readonly doc: string;
  readonly symbols: readonly ApiSymbol[];
}

/** An entry of the package. */
export interface ApiEntry extends Doc {
  /** The name that programs import: `@weft/weft/onnx`. */
  readonly name: string;
  readonly groups: readonly ApiGroup[];
}

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ESNext,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  allowImportingTsExtensions: true,
  noLib: true,
  types: [],
};

const root = decodeURIComponent(ROOT.pathname);

/** Reads the entries, the main one first. */
export function readApi(): ApiEntry[] {
  const { name, exports } = readConfig();
  const files = Object.entries(exports).map(([key, path]): [string, string] => [
    name + key.slice(1),
    root + path.slice("./".length),
  ]);
  const program = ts.createProgram(files.map(([, file]) => file), OPTIONS);
  const checker = program.getTypeChecker();
  const main = new Set<ts.Node>();
  return files.map(([name, file], i) => {
    const source = program.getSourceFile(file)!;
    const module = checker.getSymbolAtLocation(source);
    if (module === undefined) throw new Error(`Cannot find what ${file} exports`);
    const groups: ApiGroup[] = [];
    addGroup(groups, new Set(), { checker, shared: main, module, name: "", doc: "" });
    if (i === 0) { for (const { symbols } of groups) for (const { id } of symbols) main.add(id); }
    return { name, ...docOf(source.statements[0]!, source, "@module"), groups };
  });
}

/** Arguments of {@linkcode addGroup}. */
interface GroupSource {
  readonly checker: ts.TypeChecker;
  /** Declarations of the main entry. Its types, which other entries export too, are listed there alone: signatures lead to them. */
  readonly shared: ReadonlySet<ts.Node>;
  readonly module: ts.Symbol;
  readonly name: string;
  readonly doc: string;
}

/** Adds what a module exports, and the namespaces in it behind it. */
function addGroup(groups: ApiGroup[], above: ReadonlySet<ts.Symbol>, from: GroupSource): void {
  const { checker, shared, module, name, doc } = from;
  const symbols: ApiSymbol[] = [], inner: GroupSource[] = [];
  groups.push({ name, doc, symbols });
  for (const exported of checker.getExportsOfModule(module)) {
    const isAlias = (exported.flags & ts.SymbolFlags.Alias) !== 0;
    const target = isAlias ? checker.getAliasedSymbol(exported) : exported;
    const full = name === "" ? exported.name : `${name}.${exported.name}`;
    const [first] = target.declarations ?? [];
    if (first === undefined) throw new Error(`Cannot find the declaration of ${full}`);
    if (ts.isSourceFile(first)) {
      // A namespace that leads to itself, as `tf.compat.v2` does, was listed above.
      if (above.has(target) || target === module) continue;
      const statement = exported.declarations![0]!.parent;
      const { doc } = docOf(statement, statement.getSourceFile());
      inner.push({ checker, shared, module: target, name: full, doc });
    } else if (!shared.has(first) || target.flags & ts.SymbolFlags.Value) {
      symbols.push(symbolOf(full, target.declarations!));
    }
  }
  for (const group of inner) addGroup(groups, new Set([...above, module]), group);
}

function symbolOf(name: string, all: readonly ts.Declaration[]): ApiSymbol {
  const overloads = all.filter((d) => ts.isFunctionDeclaration(d) && d.body === undefined);
  const declarations = overloads.length > 0 ? overloads : all;
  const [id] = declarations;
  const source = id!.getSourceFile();
  const file = source.fileName.slice(root.length);
  // The comment of a variable stands before its statement.
  const documented = declarations.map((d) => ts.isVariableDeclaration(d) ? d.parent.parent : d);
  const docs = documented.map((d) => docOf(d, d.getSourceFile()));
  return {
    name,
    kind: kindOf(id!),
    category: categoryOf(file),
    doc: [...new Set(docs.map(({ doc }) => doc).filter((doc) => doc !== ""))].join("\n\n"),
    examples: docs.flatMap(({ examples }) => examples),
    signatures: declarations.map((d) => headOf(d, name.split(".").at(-1)!)),
    type: typeNameOf(id!),
    members: declarations.flatMap(membersOf),
    file,
    line: source.getLineAndCharacterOfPosition(id!.getStart()).line + 1,
    id: id!,
  };
}

function kindOf(node: ts.Declaration): ApiKind {
  if (ts.isFunctionDeclaration(node)) return "function";
  if (ts.isClassDeclaration(node)) return "class";
  if (ts.isInterfaceDeclaration(node)) return "interface";
  if (ts.isTypeAliasDeclaration(node)) return "type";
  return ts.isEnumDeclaration(node) ? "enum" : "value";
}
