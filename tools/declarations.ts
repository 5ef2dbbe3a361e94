/**
 * Makes declaration files of the sources, for users of the package that `deno task build` makes.
 *
 * Every exported name has its type written out (`isolatedDeclarations`), so TypeScript writes them, docstrings and all, without
 * checking anything first.
 *
 * @module
 */

import ts from "typescript";
import { categoryOf } from "./categories.ts";
import { ROOT } from "./files.ts";

/** Why the line is there: Deno wants the file's own name, TypeScript would rather have that of the code it stands for. */
const IGNORE = "// @ts-ignore TS2846: it is named as it lies here.\n";

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ESNext,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  allowImportingTsExtensions: true,
  strict: true,
  declaration: true,
  emitDeclarationOnly: true,
  isolatedDeclarations: true,
  noCheck: true,
  types: [],
};

/** The declarations of some modules and of what these refer to: texts by their paths, `src/engine/core/tensor.d.ts` and the like. */
export function declarations(entries: readonly string[]): Map<string, string> {
  const all = emit(entries);
  const made = new Map<string, string>();
  const wanted = new Set(entries.map(declarationPath));
  for (const path of wanted) {
    const { text, imports } = rewriteImports(path, all.get(path)!);
    const declared = path.startsWith("src/") ? withCategories(path, text) : text;
    made.set(path, withGpuTypes(declared));
    for (const path of imports) wanted.add(path);
  }
  return made;
}

/** Where the declarations of a module are. */
export function declarationPath(file: string): string {
  return file.replace(/\.ts$/, ".d.ts");
}

/** Returns TypeScript's output for some modules and all that they import. */
function emit(entries: readonly string[]): Map<string, string> {
  const root = decodeURIComponent(ROOT.pathname);
  const texts = new Map<string, string>();
  const program = ts.createProgram(entries.map((file) => root + file), OPTIONS);
  const { diagnostics } = program.emit(undefined, (path, text) => {
    texts.set(path.slice(root.length), text);
  });
  if (diagnostics.length > 0) {
    const [{ file, messageText }] = diagnostics as [ts.Diagnostic];
    const reason = ts.flattenDiagnosticMessageText(messageText, "\n");
    throw new Error(`Cannot declare what ${file?.fileName} exports: ${reason}`);
  }
  return texts;
}

/** Lets imports name declaration files, and takes out those that only run code. */
function rewriteImports(path: string, source: string): { text: string; imports: string[] } {
  const parsed = ts.createSourceFile(path, source, ts.ScriptTarget.ESNext);
  const imports: string[] = [];
  const edits: { start: number; end: number; text: string }[] = [];
  function rename(name: ts.Node | undefined): boolean {
    if (!name || !ts.isStringLiteral(name) || !name.text.startsWith(".")) return false;
    const target = declarationPath(name.text);
    imports.push(new URL(target, `file:///${path}`).pathname.slice(1));
    edits.push({ start: name.getStart(parsed), end: name.end, text: JSON.stringify(target) });
    return true;
  }
  function visit(node: ts.Node): void {
    const start = node.getStart(parsed);
    if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      rename(node.argument.literal);
    } else if (ts.isImportDeclaration(node) && !node.importClause) {
      edits.push({ start, end: node.end, text: "" });
    } else if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) {
      const isTypeOnly = ts.isExportDeclaration(node)
        ? node.isTypeOnly
        : node.importClause!.phaseModifier === ts.SyntaxKind.TypeKeyword;
      if (rename(node.moduleSpecifier) && !isTypeOnly) {
        edits.push({ start, end: start, text: IGNORE });
      }
    }
    ts.forEachChild(node, visit);
  }
  visit(parsed);
  let text = source;
  for (const edit of edits.sort((a, b) => b.start - a.start)) {
    text = text.slice(0, edit.start) + edit.text + text.slice(edit.end);
  }
  return { text, imports };
}

/** Gives a file types of WebGPU of its own: those of the type libraries in use where these have them, as TypeScript's has from 6.0 on. */
function withGpuTypes(text: string): string {
  const used = ["GPUAdapter", "GPUBuffer", "GPUDevice"].filter((name) =>
    new RegExp(`\\b${name}\\b`).test(text)
  );
  const types = used.map((name) =>
    `type ${name} = typeof globalThis extends { ${name}: { prototype: infer T } } ? T : object;\n`
  );
  return text + types.join("");
}

/** Says of each exported declaration in which category documentation lists it. */
function withCategories(path: string, source: string): string {
  const parsed = ts.createSourceFile(path, source, ts.ScriptTarget.ESNext);
  const line = `@category ${categoryOf(path)}`;
  let text = source;
  for (const node of [...parsed.statements].reverse()) {
    if (!ts.canHaveModifiers(node)) continue;
    if (!ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) continue;
    const comment = ts.getLeadingCommentRanges(source, node.pos)
      ?.findLast(({ pos }) => source.startsWith("/**", pos));
    if (comment === undefined) {
      const start = node.getStart(parsed);
      text = `${text.slice(0, start)}/** ${line} */\n${text.slice(start)}`;
    } else {
      const end = comment.end - "*/".length;
      text = `${text.slice(0, end).trimEnd()}\n * ${line}\n ${text.slice(end)}`;
    }
  }
  return text;
}
